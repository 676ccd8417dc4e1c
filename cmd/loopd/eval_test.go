package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"loopd/harness"
	"loopd/harness/trace"
	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/testenv"
	"loopd/report"
)

// evalHere runs a command in the root of the checkout and returns what it wrote.
func evalHere(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, talk bytes.Buffer
	root, err := filepath.Abs("../..")
	testenv.Must(t, err)
	if got := run(t.Context(), env{Env: app.Env{Dir: root}, stdout: &out, stderr: &talk}, args); got != want {
		t.Fatalf("%q: got exit code %d, want %d:\n%s%s", args, got, want, out.String(), talk.String())
	}
	return out.String()
}

// TestBaseline makes the baseline of the fixed cases again and compares both
// files. req 102-106
func TestBaseline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	evalHere(t, hint.Done, "eval", "trace", "docs/eval/cases.yaml", "docs/eval/traces",
		"--json", filepath.Join(dir, "baseline.json"), "--markdown", filepath.Join(dir, "baseline.md"))
	for _, name := range []string{"baseline.json", "baseline.md"} {
		kept, err := os.ReadFile(filepath.Join("../../docs/eval", name))
		made, err2 := os.ReadFile(filepath.Join(dir, name))
		testenv.Must(t, errors.Join(err, err2))
		testenv.Same(t, fmt.Sprintf("docs/eval/%s is not what the program writes; make baseline", name), string(kept), string(made))
	}
	var kept report.EvalDocument
	data, err := os.ReadFile("../../docs/eval/baseline.json")
	testenv.Must(t, errors.Join(err, json.Unmarshal(data, &kept)))
	if data, err = os.ReadFile("../../docs/eval/cases.yaml"); err != nil {
		t.Fatal(err)
	}
	cases, err := trace.ParseCases(data)
	testenv.Must(t, err)
	results := make(map[string]int)
	for _, r := range kept.Results {
		results[r.Case]++
	}
	for _, k := range cases.Cases {
		if results[k.ID] != 1 {
			t.Errorf("the baseline has %d results of %s, want 1", results[k.ID], k.ID)
		}
	}
	if len(results) != len(cases.Cases) {
		t.Errorf("the baseline has %d cases, want %d", len(results), len(cases.Cases))
	}
}

// TestDiffBesideTheBaseline breaks one case and adds another. req 111, 114
func TestDiffBesideTheBaseline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		code       int
		want       string
	}{
		"one case broken": {"slow-checkout.json", `{"finalAnswer": "Nobody knows."}`, hint.Measured, "- slow-checkout: fail, was pass\n"},
		"a new case":      {"door.json", `{"finalAnswer": "The door is open.", "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS"}}}`, hint.Done, "\ndoor: new "},
	} {
		dir := t.TempDir()
		testenv.Must(t, os.CopyFS(dir, os.DirFS("../../docs/eval")))
		cases, err := os.ReadFile(filepath.Join(dir, "cases.yaml"))
		testenv.Must(t, err)
		if c.code == hint.Done {
			cases = append(cases, "  - {id: door, question: Why is it cold?, expectedRootCauseKeywords: [door], requiredEvidenceTools: [], allowedVerdicts: [PASS]}\n"...)
		}
		err = errors.Join(os.WriteFile(filepath.Join(dir, "cases.yaml"), cases, 0o644), os.WriteFile(filepath.Join(dir, "traces", c.file), []byte(c.text), 0o644))
		testenv.Must(t, err)
		now := filepath.Join(dir, "now.json")
		evalHere(t, c.code, "eval", "trace", filepath.Join(dir, "cases.yaml"), filepath.Join(dir, "traces"), "--json", now)
		if out := evalHere(t, c.code, "diff", "docs/eval/baseline.json", now); !bytes.Contains([]byte(out), []byte(c.want)) {
			t.Errorf("%s: got\n%s\nwant %q in it", name, out, c.want)
		}
	}
}

// However many files there are, few are on their way at once, and the results
// come in the order of the files.
func TestSideBySideKeepsOrderAndStaysSmall(t *testing.T) {
	t.Parallel()
	const n = 2_000
	dir := t.TempDir()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%04d.json", i))
		testenv.Must(t, os.WriteFile(filepath.Join(dir, names[i]), []byte("{}"), 0o644))
	}
	var started, most, came atomic.Int64
	j := judged{bytes: func(name string, _ []byte) (harness.Evaluated, error) {
		most.Store(max(most.Load(), started.Add(1)-came.Load()))
		return harness.Evaluated{Trace: name}, nil
	}}
	next := 0
	err := sideBySide(t.Context(), j, dir, names, func(r harness.Evaluated) error {
		if r.Trace != names[next] {
			t.Errorf("got %s as number %d", r.Trace, next)
		}
		next++
		came.Add(1)
		return nil
	})
	if err != nil || next != n || most.Load() > 100 {
		t.Errorf("got %d results, %v, %d on their way at once; want all, and few at once", next, err, most.Load())
	}
}

// An error of one file, of the receiver, or an interrupt ends the run, and no
// goroutine stays behind: the function waits for them.
func TestSideBySideEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	broken := errors.New("broken")
	fine := judged{bytes: func(string, []byte) (harness.Evaluated, error) { return harness.Evaluated{}, nil }}
	bad := judged{bytes: func(name string, _ []byte) (harness.Evaluated, error) {
		if name == "c" {
			return harness.Evaluated{}, broken
		}
		return harness.Evaluated{}, nil
	}}
	count := 0
	if err := sideBySide(t.Context(), bad, dir, names, func(harness.Evaluated) error { count++; return nil }); !errors.Is(err, broken) || count != 2 {
		t.Errorf("got %v after %d results, want the error after 2", err, count)
	}
	if err := sideBySide(t.Context(), fine, dir, names, func(harness.Evaluated) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the receiver's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := sideBySide(ctx, fine, dir, names, func(harness.Evaluated) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interrupt", err)
	}
	drained := make(chan struct{})
	close(drained)
	stopped, stop := interruptible(t.Context(), env{drain: drained})
	<-stopped.Done()
	stop()
}

func TestResidueOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/.DS_Store": "a/.DS_Store", "lib/__pycache__/x/a.pyc": "lib/__pycache__/", ".idea/w.xml": ".idea/", "notes.md~": "notes.md~",
		"notes.md": "", "pycache/a": "", "idea": "", "a.swp": "a.swp", "__pycache__": "", "src/.#lock": "src/.#lock",
	} {
		if got := residueOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestRelativeTo(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"/r/a/b": "a/b", "/r": ".", "/q/a": "", "/ra": ""} {
		if got := relativeTo("/r", file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
