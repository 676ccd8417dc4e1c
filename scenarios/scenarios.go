// Package scenarios holds the bundled suite of scenarios for the os-adr plugin:
// the tasks, what is expected of them, the judge's rubric and the settings of
// the checker.
//
// It is data. It hands out the embedded files and refuses to parse them, which
// is harness's work. The Task blocks are held out: nothing outside a trial may
// read them to a model.
//
// Invariants: no Task names the record system, a record or the rule under test;
// every oracle and nop can be carried out on the scenario's fixture.
package scenarios

import (
	"embed"
	"io/fs"
)

//go:embed all:*/*
var files embed.FS

// Default is the bundled suite that is meant when none is named.
const Default = "os-adr"

// FS returns the bundled suites, one directory each ("os-adr/…").
func FS() fs.FS { return files }
