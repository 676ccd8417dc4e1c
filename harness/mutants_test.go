package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"loopd/internal/testenv"
)

// A mutant is a package with one condition, one row of a table or one alternative
// of a pattern switched off: the tests of the rules are to notice. All mutants of
// a package are in one test binary. A condition c is compiled as
// mutant(7, 8, c), which is true when LOOPD_MUTANT is 7 and false when it is 8,
// so that a mutant costs one run of the quick tests and no compilation.
//
// A survivor is a mutant that no test tells from the original. Each is listed in
// testdata/survivors.txt with the reason why no input could tell.

const (
	// slow are the tests that a mutant is not shown, for they take long. late
	// are those that only a mutant which survived the others is shown.
	slow = "TestLongLineIsReadWhole|TestMemoryOfAnEndlessStream|TestHugeRecord"
	late = "TestHostileCommandsEnd"
	// bounds are a mutant's processor time in seconds, which unlike a clock is
	// the same on a busy machine, and its memory in kilobytes: an endless loop
	// ends by the one, and one that appends by the other.
	bounds = "ulimit -t 6; ulimit -v 3000000 2>/dev/null"
)

// build is a package's test binary with all its mutants.
type build struct {
	name    string // of the package's folder, from the root of the module
	dir     string // the same from here
	binary  string
	mutants []mutant
}

func TestMutants_EachIsKilled(t *testing.T) {
	testenv.NightlyOnly(t, "5 minutes of the processor")
	listed := readSurvivors(t)
	for _, dir := range []string{"harness/transcript", "harness/unprompted", "harness/trace", "harness/repostate"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b := newBuild(t, dir)
			var ids []int
			for i := range b.mutants {
				ids = append(ids, i+1)
			}
			alive := b.run(t, ids)
			for _, complaint := range b.compare(ids, alive, listed) {
				t.Error(complaint)
			}
			t.Logf("%s: %d mutants, %d killed, %d survivors, kill rate %.1f %%", dir, len(ids),
				len(ids)-len(alive), len(alive), 100*float64(len(ids)-len(alive))/float64(len(ids)))
		})
	}
}

// compare holds the survivors against the list, one complaint each.
func (b build) compare(ids []int, alive map[int]bool, listed map[string]string) []string {
	var out []string
	known := make(map[string]bool)
	for _, m := range b.mutants {
		known[m.String()] = true
	}
	for _, id := range ids {
		name := b.mutants[id-1].String()
		switch _, excused := listed[name]; {
		case alive[id] && !excused:
			out = append(out, "no test fails with this rule changed (add a case, or list it with a reason):\n"+name)
		case !alive[id] && excused:
			out = append(out, "listed as a survivor and killed (take it off the list):\n"+name)
		}
	}
	for name := range listed {
		if filepath.Dir(strings.Split(name, "\t")[0]) == b.name && !known[name] {
			out = append(out, "listed as a survivor and no mutant (the rule has changed):\n"+name)
		}
	}
	return out
}

// Every way in which the list and the survivors can differ is a complaint.
func TestMutants_Compare(t *testing.T) {
	b := build{name: "p", mutants: []mutant{{file: "p/a.go", expr: "a"}, {file: "p/a.go", expr: "b"}, {file: "p/a.go", expr: "b", again: 2}}}
	first, second := b.mutants[0].String(), b.mutants[1].String()
	for _, c := range []struct {
		name   string
		alive  map[int]bool
		listed map[string]string
		want   string
	}{
		{"all killed", nil, nil, ""},
		{"survivor with a reason", map[int]bool{1: true}, map[string]string{first: "why"}, ""},
		{"another package's entry", nil, map[string]string{"q/a.go\tf\tx\ttrue": "why"}, ""},
		{"survivor without one", map[int]bool{1: true}, nil, "no test fails"},
		{"another's reason", map[int]bool{1: true, 2: true}, map[string]string{first: "why"}, "no test fails"},
		{"killed and listed", map[int]bool{1: true}, map[string]string{first: "why", second: "why"}, "and killed"},
		{"no such mutant", nil, map[string]string{"p/a.go\tf\tx\ttrue": "why"}, "no mutant"},
	} {
		got := strings.Join(b.compare([]int{1, 2}, c.alive, c.listed), "\n")
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// newBuild rewrites a package beside the checkout and compiles its tests.
func newBuild(t *testing.T, dir string) build {
	t.Helper()
	b := build{name: dir, dir: filepath.Join("..", filepath.FromSlash(dir)), binary: filepath.Join(t.TempDir(), "mutants.test")}
	overlay := map[string]string{}
	temp := t.TempDir()
	write := func(name, text string) {
		to := filepath.Join(temp, name)
		testenv.Must(t, os.WriteFile(to, []byte(text), 0o600))
		at, err := filepath.Abs(filepath.Join(b.dir, name))
		testenv.Must(t, err)
		overlay[at] = to
	}
	p := load(t, b.dir)
	r := &rewriter{info: p.info, fset: p.fset, seen: map[mutant]int{}}
	for i, name := range p.names {
		write(name, r.rewrite(dir+"/"+name, p.texts[i], p.files[i]))
	}
	write("mutant_switch.go", strings.Replace(testenv.Read(t, "testdata/mutants/switch.go.txt"), "PACKAGE", p.files[0].Name.Name, 1))
	b.mutants = r.mutants
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	testenv.Must(t, err)
	list := filepath.Join(t.TempDir(), "overlay.json")
	testenv.Must(t, os.WriteFile(list, data, 0o600))
	goTool(t, b.dir, "test", "-c", "-trimpath", "-ldflags=-s -w", "-overlay", list, "-o", b.binary, ".")
	return b
}

// goTool runs the go command with the flags of "make build", whose compiled
// packages it shares.
func goTool(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// loaded is a package's non-test files with the types of their expressions.
type loaded struct {
	names, texts []string
	files        []*ast.File
	fset         *token.FileSet
	info         *types.Info
}

func load(t *testing.T, dir string) loaded {
	t.Helper()
	p := loaded{fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	paths := testenv.Glob(t, filepath.Join(dir, "*.go"))
	for _, at := range paths {
		if strings.HasSuffix(at, "_test.go") {
			continue
		}
		text, err := os.ReadFile(at)
		testenv.Must(t, err)
		file, err := parser.ParseFile(p.fset, at, text, parser.SkipObjectResolution)
		testenv.Must(t, err)
		p.names, p.texts, p.files = append(p.names, filepath.Base(at)), append(p.texts, string(text)), append(p.files, file)
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", exports(t, dir))}
	if _, err := config.Check(dir, p.fset, p.files, p.info); err != nil {
		t.Fatalf("types of %s: %v", dir, err)
	}
	return p
}

// exports opens the compiled form of whatever a package imports.
func exports(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	at := make(map[string]string)
	out := goTool(t, dir, "list", "-trimpath", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		at[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(at[path]) }
}

// run returns which of the mutants survive the quick tests.
func (b build) run(t *testing.T, ids []int) map[int]bool {
	t.Helper()
	if err := b.test(t.Context(), 0); err != nil {
		t.Fatalf("the tests of %s fail without any mutant: %v", b.dir, err)
	}
	results, next := make([]error, len(ids)), make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				results[i] = b.test(t.Context(), ids[i])
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	wg.Wait()
	alive := make(map[int]bool)
	for i, err := range results {
		switch exit := new(exec.ExitError); {
		case err == nil:
			alive[ids[i]] = true
		case !errors.As(err, &exit):
			t.Fatal(err)
		}
	}
	return alive
}

// test runs the quick tests with one mutant, the late ones last.
func (b build) test(ctx context.Context, id int) error {
	if err := b.tests(ctx, id, "-test.run=^Test", "-test.skip="+slow+"|"+late); err != nil {
		return err
	}
	return b.tests(ctx, id, "-test.run="+late)
}

// tests runs some tests with one mutant. The seed of drawn cases is fixed:
// whether a mutant is killed must not be a matter of luck.
func (b build) tests(ctx context.Context, id int, which ...string) error {
	args := append([]string{"-c", bounds + `; exec "$0" "$@"`, b.binary, "-test.failfast", "-test.timeout=5m",
		"-rapid.seed=1", "-rapid.checks=20", "-rapid.nofailfile", "-rapid.shrinktime=0s"}, which...)
	cmd := exec.CommandContext(ctx, "/bin/sh", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("LOOPD_MUTANT=%d", id))
	return cmd.Run()
}

// readSurvivors reads testdata/survivors.txt into the reason of each mutant.
// A paragraph is a line "reason: ..." and the mutants it excuses.
func readSurvivors(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/survivors.txt")
	testenv.Must(t, err)
	out := make(map[string]string)
	reason := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		why, begins := strings.CutPrefix(line, "reason: ")
		switch _, twice := out[line]; {
		case strings.HasPrefix(line, "#"), line == "":
			reason = ""
		case begins:
			reason = why
		case len(strings.Fields(reason)) < 3 || twice:
			t.Errorf("survivors.txt: without a reason, or twice:\n%s", line)
		default:
			out[line] = reason
		}
	}
	return out
}

// A file of rules becomes what testdata has, with its mutants in.
func TestMutants_Rewrite(t *testing.T) {
	unwritten := testenv.Read(t, "testdata/mutants/unwritten.go.txt")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", unwritten, parser.SkipObjectResolution)
	testenv.Must(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exports(t, "."))}
	if _, err := config.Check("p", fset, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	r := &rewriter{info: info, fset: fset, seen: map[mutant]int{}}
	testenv.Golden(t, "testdata/mutants/rewritten.go.txt", []byte(r.rewrite("p.go", unwritten, file)))
	if i := slices.Index(r.mutants, mutant{"p.go", "f", "a", "true", 1}); i != 2 || len(r.mutants) != 31 {
		t.Errorf("got %d mutants: %v", len(r.mutants), r.mutants)
	}
}
