package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// TestOldState opens what commit 9fc77bb wrote: the directories of two rehearsals, one
// that promoted and one that was stopped in its search.
func TestOldState(t *testing.T) {
	t.Parallel()
	dir := testenv.OpenDir(t)
	testenv.Must(t, exec.CommandContext(t.Context(), "tar", "-xzf", "testdata/state-9fc77bb.tar.gz", "-C", dir).Run())
	call := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		e := env{
			Env:   app.Env{Dir: dir, Environ: append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "xdg")), Warn: &out},
			stdin: strings.NewReader(""), stdout: &out, stderr: &out,
		}
		if got := run(t.Context(), e, args); got != want {
			t.Errorf("loopd %s: got exit %d, want %d:\n%s", strings.Join(args, " "), got, want, out.String())
		}
		return out.String()
	}
	wants := func(text string, phrases ...string) {
		t.Helper()
		for _, p := range phrases {
			if !strings.Contains(text, p) {
				t.Errorf("no %q in:\n%s", p, text)
			}
		}
	}
	tables := map[string][]byte{}
	for _, name := range []string{"results.tsv", "loop-results.tsv"} {
		data, err := os.ReadFile(filepath.Join(dir, "promoted/state", name))
		testenv.Must(t, err)
		tables[name] = data
		testenv.Must(t, os.Remove(filepath.Join(dir, "promoted/state", name)))
	}
	for which, derived := range map[string]string{"promoted": "rounds 21, verdicts 4, derived again from 318 trials", "open": "rounds 3, verdicts 1, derived again from 107 trials"} {
		wants(call(hint.Done, "verify", "--state", which+"/state", "--deep"), "every hash right", derived, "  0 differ")
	}
	wants(call(hint.Done, "status", "--state", "promoted/state"), "promoted: c003", "34.8")
	wants(call(hint.Done, "report", "--state", "promoted/state"), "c003", "E = 34.8")
	wants(call(hint.Usage, "rehearse", "--resume", "open"),
		"it began with another instrument: loopd's own checks was 9ed5186a6225, is ", `hint: loopd freeze --end --reason "the instrument changed"`)
	// Opened again for a comparison with what is planted today, it makes its tables anew.
	wants(call(hint.Measured, "rehearse", "--resume", "promoted"), "promoted, E = 34.8 at the gate", "c003  large        keep           67        49.2   as planned")
	for name, want := range tables {
		got, err := os.ReadFile(filepath.Join(dir, "promoted/state", name))
		testenv.Must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not rebuilt to the same bytes", name)
		}
	}
}
