// Package rehearsals holds what a rehearsal plants, as data: the start's pass
// rates, the candidates in queue order and the faults of single sessions. There
// is one file for each bundled plugin that wants its own, and any.yaml for the
// others.
//
// PLUGIN.proposals.yaml is what a scripted proposer brings: leaks that the lint
// must refuse, and clean edits that it must not.
//
// It is data. It hands out the embedded files and refuses to parse them, which
// is internal/rehearsal's work. It is no part of a suite: nothing in it is
// sealed, and no session sees it before its wording has been laid.
//
// Invariants: a file names places and cells that its plugin and suite have; what
// a kind of candidate must come to is fixed by the program and never said here.
package rehearsals

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// Generic is the file for a plugin that has none of its own.
const Generic = "any.yaml"

// FS returns the files, one for each plugin ("PLUGIN.yaml") and Generic.
func FS() fs.FS { return files }
