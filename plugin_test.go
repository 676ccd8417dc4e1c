package loopd_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bundledName are the word forms by which the bundled plugin would be known.
var bundledName = regexp.MustCompile(`(?i)os-adr|docs/adr|\badrs?(?:\b|_)`)

// bundledData are the packages that hold the bundled plugin and what belongs to
// it, as data.
const bundledData = "fixtures plugins rehearsals scenarios"

// TestNoPluginNameInCode keeps the bundled plugin out of the program: whatever
// is true of one plugin only stands in the data of its suite, so that another
// plugin needs no line of Go.
func TestNoPluginNameInCode(t *testing.T) {
	t.Parallel()
	rule(t, checkPluginName,
		map[string]string{
			"scenarios/a.go":     `package scenarios; const Default = "os-adr"`,
			"loop/a_test.go":     `package loop; const p = "docs/adr"`,
			"loop/a.go":          "package loop\n// quadrature of a cadre\nvar padrs = 1",
			"fixtures/sub/a.go":  "package sub // ADR",
			"rehearsals/data.go": "package rehearsals // os-adr",
		},
		damage{map[string]string{"loop/a.go": "package loop\nconst p = \"os-adr\""}, "loop/a.go:2: names the bundled plugin: os-adr"},
		damage{map[string]string{"loop/a.go": "package loop\n\n// such as ADR or RFC"}, "loop/a.go:3: names the bundled plugin: ADR"},
		damage{map[string]string{"cmd/loopd/a.go": "package main; const e = `ADR_EVAL`"}, "cmd/loopd/a.go:1: names the bundled plugin: ADR_"},
		damage{map[string]string{"internal/rehearsal/a.go": "package rehearsal; const e = `bin/adr-find`"}, "names the bundled plugin: adr"},
		damage{map[string]string{"harness/a.go": "package harness; const e = `the adrs?`"}, "names the bundled plugin: adrs"},
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
				out = append(out, fmt.Sprintf("%s:%d: names the bundled plugin: %s", f.path, n, found))
			}
		}
	}
	return out
}
