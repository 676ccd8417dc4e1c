package loopd_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// order is the house: a package imports only packages of an earlier floor, which
// begins with "<". The packages of one floor do not import each other. A new
// package is one line here; the order is not bent to make a build pass.
const order = `
internal/hint
internal/testenv
< internal/atomicfile
  internal/redact
< stats
< stats/sim
< harness
< harness/transcript
< harness/unprompted
  harness/trace
  harness/repostate
< frozen
< candidates
< candidates/propose
< loop
< report
< .
  fixtures
  scenarios
< internal/store
  internal/git
  internal/isolate
  internal/agent
  internal/gateway
  internal/fake
  internal/exchange
 
< internal/admission
< internal/trial
< internal/campaign
< internal/daemon
  internal/config
< internal/app
< internal/rehearsal
  internal/web
< internal/setup
< cmd/loopd
`

// apart lists what the order would allow and the design does not, even through
// other packages: no held-out text where wording is proposed, no knowledge of
// candidates where is measured, no knowledge of loopd in the statistics.
const apart = `
candidates candidates/propose: harness harness/transcript harness/unprompted harness/trace harness/repostate fixtures scenarios
harness harness/transcript harness/unprompted harness/trace harness/repostate: candidates candidates/propose loop
stats: internal/atomicfile internal/redact harness
`

// owners names for every module from outside the packages that may import it.
// "tests" stands for any test file, "*" for anything.
const owners = `
github.com/go-git/go-git/v5        internal/git
github.com/go-git/go-billy/v5      internal/git
gonum.org/v1/gonum                 stats stats/sim
gonum.org/v1/plot                  internal/web
github.com/prometheus/client_golang internal/web
github.com/spf13/viper             internal/config
github.com/go-viper/mapstructure   internal/config
modernc.org/sqlite                 internal/store
github.com/robfig/cron/v3          cmd/loopd
github.com/coreos/go-systemd/v22   cmd/loopd
github.com/spf13/cobra             cmd/loopd
github.com/spf13/pflag             cmd/loopd
github.com/vbauerster/mpb/v8       cmd/loopd
github.com/mattn/go-isatty         cmd/loopd
github.com/mattn/go-runewidth      report
github.com/google/renameio/v2      internal/atomicfile
github.com/vbatts/go-mtree         frozen
github.com/fsnotify/fsnotify       frozen
github.com/bluekeyes/go-gitdiff    candidates
znkr.io/diff                       report
mvdan.cc/sh/v3                     harness/unprompted fixtures
github.com/landlock-lsm/go-landlock internal/isolate
github.com/gofrs/flock             internal/store internal/isolate internal/campaign internal/agent
github.com/goccy/go-yaml           harness candidates internal/config internal/exchange internal/fake internal/campaign internal/rehearsal internal/trial scenarios fixtures cmd/loopd
github.com/santhosh-tekuri/jsonschema/v6 harness tests
github.com/google/jsonschema-go    cmd/loopd tests
github.com/google/uuid             internal/fake internal/isolate internal/agent internal/gateway
golang.org/x/text                  *
golang.org/x/sys                   *
golang.org/x/term                  cmd/loopd
golang.org/x/sync                  *
github.com/google/go-cmp           tests internal/testenv
pgregory.net/rapid                 tests
go.uber.org/goleak                 tests
github.com/chromedp/chromedp       tests
github.com/chromedp/cdproto        tests
github.com/rogpeppe/go-internal    tests
`

// pure lists the packages that are functions of values, and withheld what such
// a package never imports.
const (
	pure     = "stats harness harness/transcript harness/unprompted harness/trace harness/repostate candidates candidates/propose loop report"
	withheld = "os net syscall crypto/rand math/rand math/rand/v2 log unsafe C"
)

// seeded is the one pure package that draws: from the campaign's recorded seed.
const seeded = "loop"

// clock is what a pure package never asks package time for.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

// testsOnly is the package that no program contains.
const testsOnly = "internal/testenv"

// revealers are the packages that may turn held-out text into a string.
const revealers = "internal/trial internal/web"

func TestImportOrder(t *testing.T) {
	t.Parallel()
	rule(t, checkOrder,
		map[string]string{
			"harness/a.go":             `package harness; import _ "loopd/stats"`,
			"internal/agent/a_test.go": `package agent; import _ "loopd/internal/fake"`,
		},
		damage{map[string]string{"stats/a.go": `package stats; import _ "loopd/loop"`}, "stats imports loop"},
		damage{map[string]string{"harness/trace/a.go": `package trace; import _ "loopd/harness/unprompted"`}, "harness/trace imports harness/unprompted"},
		damage{map[string]string{"loop/a_test.go": `package loop; import _ "loopd/internal/store"`}, "loop imports internal/store"},
		damage{map[string]string{"common/a.go": `package common`}, "common has no place"},
		damage{map[string]string{"loop/a.go": `package loop; import _ "loopd/util"`}, "util has no place"},
	)
}

func TestPackagesApart(t *testing.T) {
	t.Parallel()
	rule(t, checkApart,
		map[string]string{"candidates/a.go": `package candidates; import _ "loopd/frozen"`, "frozen/a.go": `package frozen`},
		damage{map[string]string{"candidates/a.go": `package candidates; import _ "loopd/harness"`}, "candidates reaches harness"},
		damage{map[string]string{"candidates/a_test.go": `package candidates; import _ "loopd/scenarios"`}, "candidates reaches scenarios"},
		damage{map[string]string{
			"candidates/propose/a.go": `package propose; import _ "loopd/frozen"`,
			"frozen/a.go":             `package frozen; import _ "loopd/harness/trace"`,
		}, "candidates/propose reaches harness/trace: candidates/propose > frozen > harness/trace"},
		damage{map[string]string{"harness/a.go": `package harness; import _ "loopd/candidates"`}, "harness reaches candidates"},
		damage{map[string]string{"stats/a.go": `package stats; import _ "loopd/internal/redact"`}, "stats reaches internal/redact"},
	)
}

func TestModuleOwners(t *testing.T) {
	t.Parallel()
	rule(t, checkOwners,
		map[string]string{
			"internal/git/a.go": `package git; import _ "github.com/go-git/go-git/v5/plumbing/object"`,
			"loop/a_test.go":    `package loop; import _ "github.com/google/go-cmp/cmp"`,
		},
		damage{map[string]string{"frozen/a.go": `package frozen; import _ "github.com/go-git/go-git/v5"`}, "frozen imports github.com/go-git/go-git/v5"},
		damage{map[string]string{"report/a.go": `package report; import _ "gonum.org/v1/gonum/stat"`}, "report imports gonum.org/v1/gonum"},
		damage{map[string]string{"cmd/loopd/a.go": `package main; import _ "github.com/spf13/viper"`}, "cmd/loopd imports github.com/spf13/viper"},
		damage{map[string]string{"internal/trial/a.go": `package trial; import _ "modernc.org/sqlite"`}, "internal/trial imports modernc.org/sqlite"},
		damage{map[string]string{"internal/daemon/a.go": `package daemon; import _ "github.com/robfig/cron/v3"`}, "internal/daemon imports github.com/robfig/cron/v3"},
		damage{map[string]string{"loop/a.go": `package loop; import _ "github.com/google/go-cmp/cmp"`}, "loop imports github.com/google/go-cmp"},
		damage{map[string]string{"loop/a_test.go": `package loop; import _ "github.com/stretchr/testify/assert"`}, "testify/assert has no owner"},
	)
}

func TestPureImports(t *testing.T) {
	t.Parallel()
	sound := map[string]string{
		"loop/a.go":               `package loop; import ("io/fs"; "math/rand/v2"; "time"); var _ = time.UTC`,
		"loop/a_test.go":          `package loop; import "os"`,
		"internal/agent/a.go":     `package agent; import ("os"; "time"); var _ = time.Now`,
		"harness/transcript/a.go": `package transcript; import t "time"; func now(x struct{ Now int }) int { return x.Now }; var _ t.Time`,
	}
	var bad []damage
	for _, p := range strings.Fields(pure) {
		for _, what := range []string{"os", "os/exec", "net/http", "math/rand", "crypto/rand"} {
			text := fmt.Sprintf("package x; import _ %q", what)
			bad = append(bad, damage{map[string]string{p + "/a.go": text}, p + " imports " + what})
		}
	}
	bad = append(bad,
		damage{map[string]string{"stats/a.go": `package stats; import _ "math/rand/v2"`}, "stats imports math/rand/v2"},
		damage{map[string]string{"loop/a.go": `package loop; import "time"; var _ = time.Now()`}, "loop asks time.Now"},
		damage{map[string]string{"report/a.go": `package report; import "time"; var _ = time.Since`}, "report asks time.Since"},
		damage{map[string]string{"harness/trace/a.go": `package trace; import clock "time"; var _ = clock.Now`}, "harness/trace asks time.Now"},
		damage{map[string]string{"stats/a.go": `package stats; import . "time"; var _ = Now`}, "dot"},
	)
	rule(t, checkPure, sound, bad...)
}

func TestRevealCalls(t *testing.T) {
	t.Parallel()
	rule(t, checkReveal,
		map[string]string{
			"internal/trial/a.go": `package trial; func f(s S) string { return s.Task.Reveal() }`,
			"harness/a.go":        `package harness; func (h HeldOut) Reveal() string { return h.text }`,
			"harness/a_test.go":   `package harness; var _ = h.Reveal()`,
		},
		damage{map[string]string{"loop/a.go": `package loop; func f(s S) string { return s.Task.Reveal() }`}, "loop calls Reveal"},
		damage{map[string]string{"harness/a.go": `package harness; var f = HeldOut.Reveal`}, "harness calls Reveal"},
		damage{map[string]string{"candidates/propose/a_test.go": `package propose; var _ = h.Reveal()`}, "candidates/propose calls Reveal"},
	)
}

func TestHelpersOfTests(t *testing.T) {
	t.Parallel()
	rule(t, checkTestsOnly,
		map[string]string{"loop/a_test.go": `package loop; import _ "loopd/internal/testenv"`, "loop/a.go": `package loop; import _ "loopd/harness"`},
		damage{map[string]string{"loop/a.go": `package loop; import _ "loopd/internal/testenv"`}, "loop imports internal/testenv outside a test"},
		damage{map[string]string{"internal/testenv/a.go": `package testenv; import _ "loopd/harness"`}, "internal/testenv imports harness"},
	)
}

func checkTestsOnly(files []source) []string {
	var out []string
	for _, f := range files {
		for p, pos := range f.imports() {
			switch dir, ours := own(p); {
			case !ours:
			case dir == testsOnly && !f.test():
				out = append(out, fmt.Sprintf("%s: %s imports %s outside a test", f.at(pos), f.dir(), dir))
			case f.dir() == testsOnly && dir != testsOnly:
				out = append(out, fmt.Sprintf("%s: %s imports %s and is below every package", f.at(pos), f.dir(), dir))
			}
		}
	}
	return out
}

// layers reads the order into the number of each package's line.
func layers() map[string]int {
	out := make(map[string]int)
	for i, line := range strings.Split(order, "<") {
		for _, p := range strings.Fields(line) {
			out[p] = i
		}
	}
	return out
}

// own returns the folder of an import path of ours.
func own(importPath string) (dir string, ok bool) {
	if importPath == module() {
		return ".", true
	}
	return strings.CutPrefix(importPath, module()+"/")
}

func checkOrder(files []source) []string {
	place := layers()
	var out []string
	for _, f := range files {
		from, known := place[f.dir()]
		if !known {
			out = append(out, fmt.Sprintf("%s: package %s has no place in the order", f.path, f.dir()))
			continue
		}
		for p, pos := range f.imports() {
			dir, ours := own(p)
			if !ours || dir == f.dir() {
				continue
			}
			to, known := place[dir]
			switch {
			case !known:
				out = append(out, fmt.Sprintf("%s: package %s has no place in the order", f.at(pos), dir))
			case to >= from && !besideInTest(f, dir, to == from):
				out = append(out, fmt.Sprintf("%s: %s imports %s, which does not come before it", f.at(pos), f.dir(), dir))
			}
		}
	}
	return out
}

// besideInTest allows a test two things its package may not do: to use a
// neighbour as the other end, and to read the bundled data.
func besideInTest(f source, dir string, neighbour bool) bool {
	return f.test() && (neighbour || slices.Contains([]string{"fixtures", "scenarios"}, dir))
}

func checkApart(files []source) []string {
	graph := make(map[string][]string)
	fromTests := make(map[string][]string)
	for _, f := range files {
		for p := range f.imports() {
			dir, ours := own(p)
			switch {
			case !ours || dir == f.dir():
			case f.test():
				fromTests[f.dir()] = append(fromTests[f.dir()], dir)
			default:
				graph[f.dir()] = append(graph[f.dir()], dir)
			}
		}
	}
	var out []string
	for line := range strings.Lines(strings.TrimSpace(apart)) {
		from, to, _ := strings.Cut(line, ":")
		for _, p := range strings.Fields(from) {
			reached := reach(graph, p)
			for _, direct := range fromTests[p] {
				reached[direct] = p + " > " + direct + " (test)"
			}
			for _, q := range strings.Fields(to) {
				if way, ok := reached[q]; ok {
					out = append(out, fmt.Sprintf("%s reaches %s: %s", p, q, way))
				}
			}
		}
	}
	return out
}

// reach maps everything a package imports, directly or not, to the way there.
func reach(graph map[string][]string, from string) map[string]string {
	ways := map[string]string{}
	todo := []string{from}
	way := func(p string) string {
		if w, ok := ways[p]; ok {
			return w
		}
		return p
	}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		for _, q := range slices.Sorted(slices.Values(graph[p])) {
			if _, seen := ways[q]; !seen {
				ways[q] = way(p) + " > " + q
				todo = append(todo, q)
			}
		}
	}
	return ways
}

// ownersOf reads the table of owners.
func ownersOf() map[string][]string {
	out := make(map[string][]string)
	for line := range strings.Lines(strings.TrimSpace(owners)) {
		words := strings.Fields(line)
		out[words[0]] = words[1:]
	}
	return out
}

// moduleOf returns the listed module an import path belongs to, or "".
func moduleOf(table map[string][]string, importPath string) string {
	for m := range maps.Keys(table) {
		if importPath == m || strings.HasPrefix(importPath, m+"/") {
			return m
		}
	}
	return ""
}

func checkOwners(files []source) []string {
	table := ownersOf()
	var out []string
	for _, f := range files {
		for p, pos := range f.imports() {
			if _, ours := own(p); ours || standard(p) {
				continue
			}
			m := moduleOf(table, p)
			switch {
			case m == "":
				out = append(out, fmt.Sprintf("%s: %s has no owner", f.at(pos), p))
			case slices.Contains(table[m], "*"), slices.Contains(table[m], f.dir()), f.test() && slices.Contains(table[m], "tests"):
			default:
				out = append(out, fmt.Sprintf("%s: %s imports %s, which belongs to %s", f.at(pos), f.dir(), m, strings.Join(table[m], ", ")))
			}
		}
	}
	return out
}

// standard reports whether an import path is of the standard library: its first
// element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func checkPure(files []source) []string {
	var out []string
	for _, f := range files {
		if f.test() || !slices.Contains(strings.Fields(pure), f.dir()) {
			continue
		}
		for p, pos := range f.imports() {
			if impure(f.dir(), p) {
				out = append(out, fmt.Sprintf("%s: %s imports %s and is pure", f.at(pos), f.dir(), p))
			}
		}
		out = append(out, clockUses(f)...)
	}
	return out
}

func impure(dir, importPath string) bool {
	if importPath == "math/rand/v2" && dir == seeded {
		return false
	}
	return slices.ContainsFunc(strings.Fields(withheld), func(w string) bool {
		return importPath == w || w != "log" && strings.HasPrefix(importPath, w+"/")
	})
}

// clockUses finds every mention of the clock, called or handed on.
func clockUses(f source) []string {
	var out []string
	name := f.called("time")
	if name == "." {
		return []string{f.path + ": dot import of time hides the clock"}
	}
	ast.Inspect(f.file, func(n ast.Node) bool {
		if pkg, sel, pos := selector(n); name != "" && pkg == name && slices.Contains(clock, sel) {
			out = append(out, fmt.Sprintf("%s: %s asks time.%s and is pure", f.at(pos), f.dir(), sel))
		}
		return true
	})
	return out
}

// selector splits a node of the form x.y.
func selector(n ast.Node) (x, y string, pos token.Pos) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", "", token.NoPos
	}
	if id, ok := s.X.(*ast.Ident); ok {
		x = id.Name
	}
	return x, s.Sel.Name, s.Pos()
}

// checkReveal knows no types, so any method of that name counts: there is to be
// no other. Tests outside the proposer may reveal what they made up themselves.
func checkReveal(files []source) []string {
	var out []string
	for _, f := range files {
		proposing := f.dir() == "candidates" || path.Dir(f.dir()) == "candidates"
		if slices.Contains(strings.Fields(revealers), f.dir()) || f.test() && !proposing {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			if _, sel, pos := selector(n); sel == "Reveal" {
				out = append(out, fmt.Sprintf("%s: %s calls Reveal", f.at(pos), f.dir()))
			}
			return true
		})
	}
	return out
}
