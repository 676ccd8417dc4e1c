#!/bin/sh
touch THIS-MUST-NEVER-BE-RUN
