package loopd_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// documents are those that make promises about the tree.
var documents = []string{"README.md", "DESIGN.md", "docs/formats.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}

// document reads one of the documents in the root.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	testenv.Must(t, err)
	return string(text)
}

// testName finds a test named with its folder: `TestX` (folder).
var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)` \\(([a-z./]+)\\)")

// TestDocumentsNameRealTests holds that every test which a document names with its
// folder exists.
func TestDocumentsNameRealTests(t *testing.T) {
	t.Parallel()
	files := tree(t)
	for _, name := range documents {
		for _, complaint := range namesRealTests(document(t, name), files) {
			t.Error(name + ": " + complaint)
		}
	}
	have := sources(t, map[string]string{"a/a_test.go": "package a\nfunc TestA(t *testing.T) {}", "a/a.go": "package a\nfunc TestB() {}"})
	for doc, want := range map[string]int{"`TestA` (a)": 0, "`TestA` (b)": 1, "`TestB` (a)": 1, "`TestC` (a)": 1} {
		if got := namesRealTests(doc, have); len(got) != want {
			t.Errorf("%s: got %q, want %d complaints", doc, got, want)
		}
	}
}

func namesRealTests(doc string, files []source) []string {
	have := make(map[string]bool)
	for _, f := range files {
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() {
				have[fn.Name.Name+" "+f.dir()] = true
			}
		}
	}
	var out []string
	for _, m := range testName.FindAllStringSubmatch(doc, -1) {
		if !have[m[1]+" "+m[2]] {
			out = append(out, fmt.Sprintf("no test %s in %s", m[1], m[2]))
		}
	}
	return out
}

// TestFormats_NamesEveryWord wants the closed sets of the program in docs/formats.md
// as they are in the code: events, verdicts, reasons, outcomes, classes.
func TestFormats_NamesEveryWord(t *testing.T) {
	t.Parallel()
	formats, files := document(t, "docs/formats.md"), tree(t)
	for _, set := range []struct{ dir, kind string }{
		{"loop", "Kind"}, {"loop", "Verdict"}, {"loop", "Reason"}, {"loop", "Outcome"}, {"loop", "Phase"},
		{"harness", "Class"}, {"harness", "Outcome"}, {"harness", "Role"}, {"candidates", "Class"},
	} {
		words := constants(files, set.dir, set.kind)
		if len(words) < 2 {
			t.Errorf("%s.%s: got %q, want a closed set", set.dir, set.kind, words)
		}
		for _, w := range words {
			if !strings.Contains(formats, "`"+w+"`") {
				t.Errorf("docs/formats.md does not name `%s`, a %s.%s", w, set.dir, set.kind)
			}
		}
	}
}

// constants lists the values of a string type's constants.
func constants(files []source, dir, kind string) []string {
	var out []string
	for _, f := range files {
		if f.dir() != dir || f.test() {
			continue
		}
		for _, d := range f.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				out = append(out, literals(spec.(*ast.ValueSpec), kind)...)
			}
		}
	}
	return out
}

func literals(spec *ast.ValueSpec, kind string) []string {
	if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != kind {
		return nil
	}
	var out []string
	for _, v := range spec.Values {
		if lit, ok := v.(*ast.BasicLit); ok {
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

// TestDesign_NamesEveryPackageAndModule wants a line in the house for each
// package, and in CONTRIBUTING.md the reason for each module from outside.
func TestDesign_NamesEveryPackageAndModule(t *testing.T) {
	t.Parallel()
	files := tree(t)
	table := ownersOf()
	var packages, modules []string
	for _, f := range files {
		if d := f.dir(); d != "." && !slices.Contains(packages, d) {
			packages = append(packages, d)
		}
		for p := range f.imports() {
			if m := moduleOf(table, p); m != "" && !slices.Contains(modules, m) {
				modules = append(modules, m)
			}
		}
	}
	for doc, names := range map[string][]string{"DESIGN.md": packages, "CONTRIBUTING.md": modules} {
		text := document(t, doc)
		for _, name := range names {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s does not name `%s`", doc, name)
			}
		}
	}
}

// makeTarget finds "make x" in running text and in blocks.
var makeTarget = regexp.MustCompile("(?m)(?:`|^\\$ |^)make ([a-z]+)")

// TestDocumentsNameRealTargets looks at every document in the root.
func TestDocumentsNameRealTargets(t *testing.T) {
	t.Parallel()
	makefile := document(t, "Makefile")
	found := 0
	for _, name := range documents {
		for _, m := range makeTarget.FindAllStringSubmatch(document(t, name), -1) {
			found++
			if !regexp.MustCompile("(?m)^" + m[1] + ":.*## ").MatchString(makefile) {
				t.Errorf("%s: make %s is no target with a help text", name, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no document names a target of the Makefile")
	}
}

// TestBaselineIsDocumented wants the page of the fixed cases to say how their
// baseline is made again, by a target that exists, and to name every check.
// req 105
func TestBaselineIsDocumented(t *testing.T) {
	t.Parallel()
	page := document(t, "docs/eval/README.md")
	found := regexp.MustCompile(`(?m)^    make ([a-z]+)$`).FindStringSubmatch(page)
	if found == nil || !regexp.MustCompile("(?m)^"+found[1]+":.*## .*baseline").MatchString(document(t, "Makefile")) {
		t.Errorf("docs/eval/README.md: got %q, want the target that makes the baseline", found)
	}
	checks := untyped(tree(t), "harness/trace", "evaluate.go")
	if len(checks) < 17 {
		t.Fatalf("got %d names of checks, want 17 at least", len(checks))
	}
	for _, name := range checks {
		if !strings.Contains(page, "| `"+name+"` |") && name != "missing_trace" && name != "unknown_case" {
			t.Errorf("docs/eval/README.md does not name the check `%s`", name)
		}
	}
}

// untyped lists the values of the constants of one file that have no type.
func untyped(files []source, dir, name string) []string {
	var out []string
	for _, f := range files {
		if f.path != dir+"/"+name {
			continue
		}
		for _, d := range f.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for _, v := range spec.(*ast.ValueSpec).Values {
					if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						text, err := strconv.Unquote(lit.Value)
						if err == nil {
							out = append(out, text)
						}
					}
				}
			}
		}
	}
	return out
}
