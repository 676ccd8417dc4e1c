package harness

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Tree is the files of a directory by slash path: what a session started from
// or left behind.
type Tree map[string]File

// File is one regular file: its permission bits and its bytes.
type File struct {
	Mode fs.FileMode
	Data []byte
}

// ReadTree reads every regular file below fsys. Links and special files are an
// error, for a sealed directory has none.
func ReadTree(fsys fs.FS) (Tree, error) {
	out := make(Tree)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s: not a regular file", name)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		out[name] = File{Mode: info.Mode().Perm(), Data: data}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	return out, nil
}

// Paths lists the paths in order.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// With returns the tree after a scenario's changes; t is left as it was.
func (t Tree) With(changes []Change) (Tree, error) {
	out := maps.Clone(t)
	for _, c := range changes {
		switch {
		case c.Remove != "":
			before := len(out)
			maps.DeleteFunc(out, func(p string, _ File) bool { return MatchPath(c.Remove, p) })
			if len(out) == before {
				return nil, fmt.Errorf("changes: remove %s: nothing matches", c.Remove)
			}
		case c.Path != "":
			out[c.Path] = File{Mode: 0o644, Data: []byte(c.Write)}
		default:
			return nil, fmt.Errorf("changes: an entry has neither remove nor path")
		}
	}
	return out, nil
}

// MatchPath reports whether a slash path matches a glob in which ** stands for
// any number of path elements. A glob without a wildcard also matches all that
// lies below it.
func MatchPath(glob, name string) bool {
	if !strings.ContainsAny(glob, "*?[") {
		return name == glob || strings.HasPrefix(name, strings.TrimSuffix(glob, "/")+"/")
	}
	return matchElements(strings.Split(glob, "/"), strings.Split(name, "/"))
}

func matchElements(glob, name []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			if len(glob) == 1 {
				return true
			}
			for i := range len(name) + 1 {
				if matchElements(glob[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(glob[0], name[0]); err != nil || !ok {
			return false
		}
		glob, name = glob[1:], name[1:]
	}
	return len(name) == 0
}
