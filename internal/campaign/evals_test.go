package campaign

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// Kept reports are numbered in the order they come, the same bytes once; what
// else lies there is none of them.
func TestKeepEval(t *testing.T) {
	t.Parallel()
	h := Home{Dir: t.TempDir()}
	keep := func(kind harness.Kind, text string) string {
		id, err := h.KeepEval(kind, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		testenv.Must(t, err)
		return id
	}
	if ids, err := h.KeptEvals(); err != nil || len(ids) != 0 {
		t.Errorf("before any: got %q, %v", ids, err)
	}
	first, second := keep(harness.Trace, "one"), keep(harness.RepoState, "two")
	if again := keep(harness.Trace, "one"); again != first {
		t.Errorf("the same again: got %s, want %s", again, first)
	}
	for _, name := range []string{"baseline.json", "00003-other-aaaaaaaaaaaa.json", "00003-trace-aaaaaaaaaaaa.txt"} {
		testenv.Must(t, os.WriteFile(filepath.Join(h.Evals(), name), nil, 0o600))
	}
	err := errors.Join(os.Mkdir(filepath.Join(h.Evals(), "00004-trace-aaaaaaaaaaaa.json"), 0o700),
		os.Symlink("/etc/passwd", filepath.Join(h.Evals(), "00005-trace-aaaaaaaaaaaa.json")))
	testenv.Must(t, err)
	if ids, err := h.KeptEvals(); err != nil || !slices.Equal(ids, []string{first, second}) {
		t.Errorf("got %q, %v; want %s and %s", ids, err, first, second)
	}
	f, err := h.OpenEval(second)
	testenv.Must(t, err)
	defer f.Close()
	if data, err := io.ReadAll(f); err != nil || string(data) != "two" {
		t.Errorf("got %q, %v", data, err)
	}
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("got mode %v, %v; want nobody else let in", info.Mode(), err)
	}
	broken := errors.New("broken")
	if _, err := h.KeepEval(harness.Trace, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of who writes", err)
	}
	if third := keep(harness.Trace, "three"); third[:6] != "00003-" {
		t.Errorf("got %s, want the next number", third)
	}
}
