package loopd_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"loopd/internal/testenv"
)

// module is the import path of the root, as go.mod has it: the policy does not
// break when the module is given a home.
var module = sync.OnceValue(func() string {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		panic(fmt.Sprintf("read the module's name: %v", err))
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
})

// source is one parsed Go file. The policy tests parse in this process: what a
// child process reads is unknown to the test cache, so a broken rule could be
// answered with an old success.
type source struct {
	path  string // from the root, with slashes
	lines int
	text  string
	set   *token.FileSet
	file  *ast.File
}

// dir returns the folder of the file; the root is ".".
func (s source) dir() string { return path.Dir(s.path) }

// test reports whether only go test compiles the file.
func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// at names a place for a complaint.
func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(pos).Line)
}

// imports maps each import path to the place it stands at.
func (s source) imports() map[string]token.Pos {
	out := make(map[string]token.Pos)
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec.Pos()
		}
	}
	return out
}

// called returns the name under which the file uses an import, or "".
func (s source) called(importPath string) string {
	for _, spec := range s.file.Imports {
		if spec.Path.Value != strconv.Quote(importPath) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func parse(name string, text []byte) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, fmt.Errorf("parse %s: %w", name, err)
	}
	return source{path: name, lines: strings.Count(string(text), "\n"), text: string(text), set: set, file: file}, nil
}

// fewest is how many Go files a checkout has at least; fewer means that the
// walk looked in the wrong place and every rule would hold of nothing.
const fewest = 60

// tree parses every Go file of the checkout.
func tree(t *testing.T) []source {
	t.Helper()
	var out []source
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && skipped(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s, err := parse(name, text)
		out = append(out, s)
		return err
	})
	testenv.Must(t, err)
	if len(out) < fewest {
		t.Fatalf("found %d Go files, want at least %d: not the root of the checkout", len(out), fewest)
	}
	return out
}

// skipped says which folders hold no source of ours.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "bin" || name == "testdata" || name == "node_modules"
}

// damage is a small file set that breaks a rule, and what the complaint must
// name. A rule without one has never been seen to fail.
type damage struct {
	files map[string]string
	want  string
}

// check is a rule: it returns one line for everything that breaks it.
type check func([]source) []string

// rule holds a check against the checkout and against every damage, and proves
// that the check is silent on a sound file set.
func rule(t *testing.T, c check, sound map[string]string, damages ...damage) {
	t.Helper()
	for _, complaint := range c(tree(t)) {
		t.Error(complaint)
	}
	if got := c(sources(t, sound)); len(got) > 0 {
		t.Errorf("complains about a sound file set: %q", got)
	}
	if len(damages) == 0 {
		t.Error("the rule has no damage")
	}
	for i, d := range damages {
		got := c(sources(t, d.files))
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, d.want) }) {
			t.Errorf("damage %d: got %q, want a complaint with %q", i, got, d.want)
		}
	}
}

func sources(t *testing.T, files map[string]string) []source {
	t.Helper()
	var out []source
	for name, text := range files {
		text = strings.ReplaceAll(text, `"loopd/`, `"`+module()+"/")
		s, err := parse(name, []byte(text))
		testenv.Must(t, err)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return out
}
