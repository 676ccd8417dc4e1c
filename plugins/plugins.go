// Package plugins holds the bundled plugins under test: os-adr, skills, a
// SessionStart hook and small shell programs that keep decision records; and
// quayside, nine skills for the releases of a small tool, without a hook.
//
// It is data. It hands out the embedded files and the modes they need on disk,
// and refuses to write, run or interpret them: a plugin is only ever tried from
// a copy.
//
// Invariants: the tree has one directory per plugin; nothing in it names a
// record or a path of a bundled fixture, so that no wording contains an answer.
package plugins

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed all:*/*
var files embed.FS

// FS returns the bundled plugins, one directory each ("os-adr/…").
func FS() fs.FS { return files }

// Mode returns the permissions the file name of FS needs on disk, because
// embedding drops them: programs in a bin directory and hook programs, which
// carry no extension, are executable; everything else is plain text.
func Mode(name string) fs.FileMode {
	dir, base := path.Split(name)
	switch path.Base(dir) {
	case "bin":
		return 0o755
	case "hooks":
		if path.Ext(base) == "" {
			return 0o755
		}
	}
	return 0o644
}
