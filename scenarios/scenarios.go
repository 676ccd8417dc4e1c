// Package scenarios holds the bundled suites of scenarios, os-adr and
// nine-skills: the tasks, what is expected of them, the settings of checker and
// launch, and the judge's rubric where one is asked.
//
// It is data. It hands out the embedded files and refuses to parse them, which
// is harness's work. The Task blocks are held out: nothing outside a trial may
// read them to a model.
//
// Invariants: no Task names the record system, a record, a skill or the rule
// under test; no two suites measure one plugin; every oracle and nop can be
// carried out on the scenario's fixture.
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
