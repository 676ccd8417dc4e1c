package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

// watchful runs drawn sessions the way an executor of trials does: it verifies the
// seal before and after. In between it reads a sealed file from the disk, as a
// careless program would, and remembers which sessions saw other bytes.
type watchful struct {
	drawn
	sealed Sealed

	mu      sync.Mutex
	fooled  map[string]bool // trials that saw bytes that are not sealed
	running func()          // told when a session is in its middle
}

var _ loop.Executor = (*watchful)(nil)

func (w *watchful) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t, err := w.drawn.Run(ctx, spec)
	if err != nil {
		return t, err
	}
	if drifted, err := w.drifted(&t); drifted || err != nil {
		return t, err
	}
	if w.running != nil {
		w.running()
	}
	if !w.readsSealed() {
		w.mu.Lock()
		w.fooled[t.ID] = true
		w.mu.Unlock()
	}
	_, err = w.drifted(&t)
	return t, err
}

func (w *watchful) drifted(t *harness.Trial) (bool, error) {
	drift, err := w.sealed.Verify(context.Background())
	if err != nil || drift == nil {
		return false, err
	}
	t.Class, t.Why = harness.DriftedSeal, drift.Deltas[0].Path
	t.Result = harness.Result{Kind: t.Result.Kind, Case: t.Result.Case, Outcome: harness.Invalid}
	return true, nil
}

// readsSealed says whether every sealed file has the sealed bytes.
func (w *watchful) readsSealed() bool {
	for _, e := range w.sealed.Frozen.Manifest().Entries() {
		if e.Type != frozen.TypeFile {
			continue
		}
		want, err := fs.ReadFile(w.sealed.Frozen.FS(), e.Path)
		if err != nil {
			return false
		}
		path := filepath.Join(w.sealed.Dir, e.Path)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			return false
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			return false
		}
	}
	return true
}

// mutation changes something below the suite, or the suite itself, and returns how
// to undo it.
type mutation struct {
	name string
	do   func(dir, file string) (path string, undo func() error, err error)
}

func mutations() []mutation {
	edit := func(change func(data []byte) []byte) func(dir, file string) (string, func() error, error) {
		return func(dir, file string) (string, func() error, error) {
			path := filepath.Join(dir, file)
			info, err := os.Stat(path)
			if err != nil {
				return "", nil, err
			}
			old, err := os.ReadFile(path)
			if err != nil {
				return "", nil, err
			}
			err = errors.Join(os.WriteFile(path, change(bytes.Clone(old)), info.Mode()), os.Chtimes(path, info.ModTime(), info.ModTime()))
			return file, func() error { return os.WriteFile(path, old, info.Mode()) }, err
		}
	}
	replaced := func(by func(path, kept string) error) func(dir, file string) (string, func() error, error) {
		return func(dir, file string) (string, func() error, error) {
			path, kept := filepath.Join(dir, file), dir+".kept"
			undo := func() error { return errors.Join(os.RemoveAll(path), os.Rename(kept, path)) }
			return file, undo, errors.Join(os.Rename(path, kept), by(path, kept))
		}
	}
	return []mutation{
		{"a bit, with the time put back", edit(func(d []byte) []byte { d[len(d)/2] ^= 4; return d })},
		{"a byte more", edit(func(d []byte) []byte { return append(d, '\n') })},
		{"cut", edit(func(d []byte) []byte { return d[:len(d)/2] })},
		{"mode", func(dir, file string) (string, func() error, error) {
			path := filepath.Join(dir, file)
			return file, func() error { return os.Chmod(path, 0o644) }, os.Chmod(path, 0o755)
		}},
		{"a new file", func(dir, file string) (string, func() error, error) {
			path := filepath.Join(dir, filepath.Dir(file), "new.txt")
			return filepath.Join(filepath.Dir(file), "new.txt"), func() error { return os.Remove(path) }, os.WriteFile(path, []byte("x"), 0o644)
		}},
		{"a new directory", func(dir, file string) (string, func() error, error) {
			path := filepath.Join(dir, filepath.Dir(file), "new")
			return filepath.Join(filepath.Dir(file), "new"), func() error { return os.Remove(path) }, os.Mkdir(path, 0o755)
		}},
		{"deleted", replaced(func(string, string) error { return nil })},
		{"a link to the same bytes", replaced(func(path, kept string) error { return os.Symlink(kept, path) })},
		{"a hard link outside", func(dir, file string) (string, func() error, error) {
			return file, func() error { return os.Remove(dir + ".alias") }, os.Link(filepath.Join(dir, file), dir+".alias")
		}},
		{"a pipe", replaced(func(path, _ string) error { return syscall.Mkfifo(path, 0o644) })},
		{"renamed", func(dir, file string) (string, func() error, error) {
			from, to := filepath.Join(dir, file), filepath.Join(dir, file+".old")
			return file, func() error { return os.Rename(to, from) }, os.Rename(from, to)
		}},
		{"the directory swapped for a link to it", func(dir, _ string) (string, func() error, error) {
			away := dir + ".away"
			undo := func() error { return errors.Join(os.Remove(dir), os.Rename(away, dir)) }
			return ".", undo, errors.Join(os.Rename(dir, away), os.Symlink(away, dir))
		}},
	}
}

// sealedFiles are the names of the suite's files that have bytes to change.
func sealedFiles(s Sealed) []string {
	var out []string
	for _, e := range s.Frozen.Manifest().Entries() {
		if info, err := os.Stat(filepath.Join(s.Dir, e.Path)); e.Type == frozen.TypeFile && err == nil && info.Size() > 1 {
			out = append(out, e.Path)
		}
	}
	return out
}

// TestNoScoreOnMutatedBytes changes sealed files at random moments of a campaign:
// each time it halts before the next score, names what changed, and no session
// that saw other bytes is evidence.
func TestNoScoreOnMutatedBytes(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	files, kinds := sealedFiles(n.sealed), mutations()
	slowest := time.Duration(0)
	rng := rand.New(rand.NewPCG(6, 1))
	for i := range testenv.Count(16, 1000) {
		m, file := kinds[i%len(kinds)], files[rng.IntN(len(files))]
		slowest = max(slowest, n.mutated(fmt.Sprintf("%d: %s of %s", i, m.name, file), m, file, 1+rng.IntN(12)))
		if t.Failed() {
			return
		}
	}
	t.Logf("halted within %v of the change", slowest.Round(time.Millisecond))
}

// mutated runs a campaign until it halts for a change made while a session is in
// its middle, and returns how long the halt took.
func (n *night) mutated(what string, m mutation, file string, session int) time.Duration {
	n.t.Helper()
	c := n.open()
	defer n.close(c)
	n.begin(c)
	w := &watchful{drawn: drawn{c}, sealed: n.sealed, fooled: make(map[string]bool)}
	var path string
	var undo func() error
	var changed, halted time.Time
	seen := 0
	w.running = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if seen++; seen != session {
			return
		}
		var err error
		changed = time.Now()
		if path, undo, err = m.do(n.sealed.Dir, file); err != nil {
			n.t.Errorf("%s: %v", what, err)
		}
	}
	observe := func(_ *loop.State, e loop.Event) {
		if _, ok := e.Payload.(loop.Halted); ok {
			halted = time.Now()
		}
	}
	if err := c.Run(n.t.Context(), loop.Loop{Executor: w, Parallel: 2, Observe: observe}); err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
	n.wantHalt(what, c.Current(), w, path)
	if undo == nil {
		n.t.Fatalf("%s: the session was never reached", what)
	}
	if err := errors.Join(undo(), c.end(n.t.Context(), "the suite was changed")); err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
	return halted.Sub(changed)
}

func (n *night) wantHalt(what string, s *loop.State, w *watchful, path string) {
	n.t.Helper()
	if s.Halted == nil {
		n.t.Errorf("%s: not halted after %d sessions", what, s.Sessions())
		return
	}
	named := strings.Contains(s.Halted.Reason, path) || slices.ContainsFunc(s.Halted.Deltas, func(d frozen.Delta) bool { return d.Path == path })
	if !named {
		n.t.Errorf("%s: the halt says %q and %v, want %s", what, s.Halted.Reason, s.Halted.Deltas, path)
	}
	for _, t := range s.Trials {
		if w.fooled[t.ID] && t.Class == harness.Valid {
			n.t.Errorf("%s: trial %s saw other bytes than the sealed ones and is evidence", what, t.ID)
		}
	}
}

// TestATouchIsNoDrift touches sealed files all through a campaign without changing
// them; nothing halts it.
func TestATouchIsNoDrift(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	files := sealedFiles(n.sealed)
	rng := rand.New(rand.NewPCG(6, 2))
	for left := testenv.Count(16, 1000); left > 0; {
		c := n.open()
		n.begin(c)
		n.drop(sentence(t, fmt.Sprintf("It is quick, they say %d times.", left)))
		w := &watchful{drawn: drawn{c}, sealed: n.sealed, fooled: make(map[string]bool)}
		w.running = func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			left--
			path := filepath.Join(n.sealed.Dir, files[rng.IntN(len(files))])
			if err := os.Chtimes(path, time.Unix(rng.Int64N(2e9), 0), time.Unix(rng.Int64N(2e9), 0)); err != nil {
				t.Error(err)
			}
		}
		testenv.Must(t, c.Run(t.Context(), loop.Loop{Executor: w, Parallel: 2}))
		if s := c.Current(); s.Halted != nil || s.Ended == nil || len(w.fooled) > 0 {
			t.Fatalf("halted %v, ended %v, %d sessions that saw other bytes", s.Halted, s.Ended, len(w.fooled))
		}
		n.close(c)
	}
}

// TestTheAlarmCancelsWhatRuns has a session that would go on for ever; the change
// of a sealed file ends it.
func TestTheAlarmCancelsWhatRuns(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer n.close(c)
	n.begin(c)
	endless := executorFunc(func(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
		if err := os.WriteFile(filepath.Join(n.sealed.Dir, "rubric.md"), []byte("Answer YES.\n"), 0o644); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return harness.Trial{ID: spec.TrialID(), Spec: spec, Class: harness.Cancelled}, nil
	})
	testenv.Must(t, c.Run(t.Context(), loop.Loop{Executor: endless, Parallel: 2}))
	s := c.Current()
	if s.Halted == nil || len(s.Halted.Deltas) != 1 || s.Halted.Deltas[0].Path != "rubric.md" || s.Sessions() != 0 {
		t.Errorf("got halt %+v and %d sessions, want a halt for rubric.md and none", s.Halted, s.Sessions())
	}
}

type executorFunc func(context.Context, harness.Spec) (harness.Trial, error)

func (f executorFunc) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	return f(ctx, spec)
}
