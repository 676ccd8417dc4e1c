package frozen

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the way in which one path moved.
type Kind string

// The kinds of a Delta. A file that lost both content and mode yields two.
const (
	Added      Kind = "added"
	Missing    Kind = "missing"
	Changed    Kind = "changed"
	ModeMoved  Kind = "mode"
	TypeMoved  Kind = "type"
	Unreadable Kind = "unreadable"
)

// Delta is one difference between two manifests. Old and New hold digests for
// content, octal modes for modes, mtree words for types, "nlink=N" for links,
// and for an unreadable path the reason.
type Delta struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// String renders the delta as one line for a terminal or a log.
func (d Delta) String() string {
	return fmt.Sprintf("%s %q: %s -> %s", d.Kind, d.Path, orNothing(d.Old), orNothing(d.New))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Drift is the finding that a sealed directory no longer matches its seal.
type Drift struct {
	Deltas []Delta `json:"deltas"`
	Old    Digest  `json:"old"` // the frozen digest that was sealed
	New    Digest  `json:"new"` // the digest of what is there now
}

// String renders one line a delta, in the order of the paths.
func (d *Drift) String() string {
	lines := make([]string, len(d.Deltas))
	for i, delta := range d.Deltas {
		lines[i] = delta.String()
	}
	return strings.Join(lines, "\n")
}

// Compare lists the differences from want to got in order of their paths. What
// was below a directory that is no longer one, or cannot be read, is not listed:
// the one line for the directory says it.
func Compare(want, got Manifest) []Delta {
	deltas := compareRoots(want.root, got.root)
	old, now := want.entries, got.entries
	var hidden []string // prefixes of the paths below such directories
	for len(old) > 0 || len(now) > 0 {
		switch order(old, now) {
		case -1:
			if !below(hidden, old[0].Path) {
				deltas = append(deltas, Delta{Path: old[0].Path, Kind: Missing, Old: old[0].summary()})
			}
			old = old[1:]
		case +1:
			deltas = append(deltas, addition(now[0]))
			now = now[1:]
		default:
			deltas = append(deltas, compareEntry(old[0], now[0])...)
			if old[0].Type == TypeDir && (now[0].Type != TypeDir || now[0].Problem != "") {
				hidden = append(hidden, old[0].prefix())
			}
			old, now = old[1:], now[1:]
		}
	}
	return deltas
}

// order says which list holds the earlier path; an empty list holds none.
func order(old, now []Entry) int {
	if len(now) == 0 {
		return -1
	}
	if len(old) == 0 {
		return +1
	}
	return byPath(old[0], now[0])
}

func below(prefixes []string, path string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
}

// compareRoots notices another directory in the place of the sealed one. It can
// only when both manifests were walked on this machine.
func compareRoots(want, got identity) []Delta {
	if want == (identity{}) || got == (identity{}) || want == got {
		return nil
	}
	return []Delta{{Path: ".", Kind: Changed, Old: want.String(), New: got.String()}}
}

func (id identity) String() string {
	return fmt.Sprintf("directory %d:%d", id.dev, id.ino)
}

func addition(e Entry) Delta {
	if e.Problem != "" {
		return Delta{Path: e.Path, Kind: Added, New: "unreadable: " + e.Problem}
	}
	return Delta{Path: e.Path, Kind: Added, New: e.summary()}
}

func compareEntry(want, got Entry) []Delta {
	delta := func(kind Kind, old, now string) Delta {
		return Delta{Path: want.Path, Kind: kind, Old: old, New: now}
	}
	if want.Type != got.Type {
		return []Delta{delta(TypeMoved, string(want.Type), string(got.Type))}
	}
	if got.Problem != "" {
		return []Delta{delta(Unreadable, string(want.Sum), got.Problem)}
	}
	var deltas []Delta
	switch {
	case want.Sum != got.Sum || want.Size != got.Size:
		deltas = append(deltas, delta(Changed, string(want.Sum), string(got.Sum)))
	case want.Links != got.Links:
		// Another name for the same file: whoever holds it can write past us.
		deltas = append(deltas, delta(Changed, links(want), links(got)))
	}
	if want.Mode != got.Mode {
		deltas = append(deltas, delta(ModeMoved, octal(want), octal(got)))
	}
	return deltas
}

func links(e Entry) string { return fmt.Sprintf("nlink=%d", e.Links) }

func octal(e Entry) string { return fmt.Sprintf("%#o", e.Mode) }

// summary is the one thing to say about an entry that has no counterpart.
func (e Entry) summary() string {
	switch e.Type {
	case TypeFile:
		return string(e.Sum)
	case TypeDir:
		return "dir " + octal(e)
	default:
		return string(e.Type)
	}
}

// prefix begins every path inside a directory.
func (e Entry) prefix() string {
	if e.Path == "." {
		return ""
	}
	return e.Path + "/"
}
