package loopd_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bundledName are the word forms by which a bundled plugin would be known: of
// the first one its records too, of every one its own name, its suite's and its
// project's.
var bundledName = regexp.MustCompile(`(?i)docs/adr|\badrs?(?:\b|_)|` + strings.Join(namesOfData("fixtures", "fixtures/plugins", "scenarios"), "|"))

// namesOfData are the directories of packages that hold data, ready for a
// pattern.
func namesOfData(packages ...string) (names []string) {
	for _, p := range packages {
		entries, err := os.ReadDir(p)
		if err != nil {
			panic(err) // a package that is part of the module
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != "plugins" && e.Name() != "rehearsals" {
				names = append(names, regexp.QuoteMeta(e.Name()))
			}
		}
	}
	return names
}

// bundledData are the packages that hold the bundled plugins and what belongs to
// them, as data.
const bundledData = "fixtures scenarios"

// TestNoPluginNameInCode keeps the bundled plugins out of the program: whatever
// is true of one plugin only stands in the data of its suite, so that another
// plugin needs no line of Go.
func TestNoPluginNameInCode(t *testing.T) {
	t.Parallel()
	if names := namesOfData("fixtures", "fixtures/plugins", "scenarios"); len(names) < 6 {
		t.Errorf("names of bundled data: %q", names)
	}
	rule(t, checkPluginName,
		map[string]string{
			"scenarios/a.go":    `package scenarios; const Default = "os-adr"`,
			"loop/a_test.go":    `package loop; const p = "docs/adr"`,
			"loop/a.go":         "package loop\n// quadrature of a cadre\nvar padrs = 1",
			"fixtures/sub/a.go": "package sub // ADR",
		},
		damage{map[string]string{"loop/a.go": "package loop\nconst p = \"os-adr\""}, "loop/a.go:2: names a bundled plugin: os-adr"},
		damage{map[string]string{"loop/a.go": "package loop\n\n// such as ADR or RFC"}, "loop/a.go:3: names a bundled plugin: ADR"},
		damage{map[string]string{"cmd/loopd/a.go": "package main; const e = `ADR_EVAL`"}, "cmd/loopd/a.go:1: names a bundled plugin: ADR_"},
		damage{map[string]string{"internal/rehearsal/a.go": "package rehearsal; const e = `bin/adr-find`"}, "names a bundled plugin: adr"},
		damage{map[string]string{"harness/a.go": "package harness; const e = `the adrs?`"}, "names a bundled plugin: adrs"},
		damage{map[string]string{"cmd/loopd/a.go": "package main; const s = `nine-skills`"}, "names a bundled plugin: nine-skills"},
		damage{map[string]string{"loop/a.go": "package loop // Quayside"}, "names a bundled plugin: Quayside"},
		damage{map[string]string{"report/a.go": "package report; const f = `rakeup/cli.py`"}, "names a bundled plugin: rakeup"},
	)
}

func checkPluginName(files []source) []string {
	var out []string
	for _, f := range files {
		top, _, _ := strings.Cut(f.path, "/")
		if f.test() || slices.Contains(strings.Fields(bundledData), top) {
			continue
		}
		n := 0
		for line := range strings.Lines(f.text) {
			n++
			if found := bundledName.FindString(line); found != "" {
				out = append(out, fmt.Sprintf("%s:%d: names a bundled plugin: %s", f.path, n, found))
			}
		}
	}
	return out
}
