// Package scenarios holds the bundled suites of scenarios, os-adr and
// nine-skills: the tasks, what is expected of them, the settings of checker and
// launch, and the judge's rubric where one is asked. It also holds what a
// rehearsal plants: rates at the start, candidates in queue order and faults of
// single sessions (PLUGIN.yaml, or any.yaml for the others), and what a scripted
// proposer brings (PLUGIN.proposals.yaml).
//
// It is data. It hands out the embedded files and refuses to parse them. The Task
// blocks are held out: nothing outside a trial may read them to a model. What is
// planted is no part of a suite and is not sealed.
//
// Invariants: no Task names the record system, a record, a skill or the rule
// under test; no two suites measure one plugin; every oracle and nop can be
// carried out on the scenario's fixture. A planted file names places and cells
// that its plugin and suite have, and never says what a candidate must come to.
package scenarios

import (
	"embed"
	"io/fs"
)

//go:embed all:nine-skills all:os-adr
var suites embed.FS

//go:embed rehearsals
var rehearsals embed.FS

// Default is the bundled suite that is meant when none is named.
const Default = "os-adr"

// FS returns the bundled suites, one directory each ("os-adr/…").
func FS() fs.FS { return suites }

// Rehearsal returns a file of what rehearsals plant, by its name.
func Rehearsal(name string) ([]byte, error) { return rehearsals.ReadFile("rehearsals/" + name) }
