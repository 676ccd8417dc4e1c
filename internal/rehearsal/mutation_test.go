package rehearsal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

// mutation changes a file of a sealed suite and returns the path that must be
// named for it.
type mutation struct {
	name string
	do   func(dir, file string) (path string, err error)
}

func mutations() []mutation {
	write := func(change func([]byte) []byte) func(dir, file string) (string, error) {
		return func(dir, file string) (string, error) {
			path := filepath.Join(dir, file)
			info, err := os.Stat(path)
			if err != nil {
				return file, err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return file, err
			}
			return file, errors.Join(os.WriteFile(path, change(bytes.Clone(data)), info.Mode()), os.Chtimes(path, info.ModTime(), info.ModTime()))
		}
	}
	return []mutation{
		{"flip", write(func(d []byte) []byte { d[len(d)/2] ^= 1; return d })},
		{"truncate", write(func(d []byte) []byte { return d[:len(d)/2] })},
		{"replace", func(dir, file string) (string, error) {
			path := filepath.Join(dir, file)
			return file, errors.Join(os.Rename(path, dir+".kept"), os.Symlink(dir+".kept", path))
		}},
		{"delete", func(dir, file string) (string, error) { return file, os.Remove(filepath.Join(dir, file)) }},
		{"rename", func(dir, file string) (string, error) {
			return file, os.Rename(filepath.Join(dir, file), filepath.Join(dir, file+".old"))
		}},
		{"chmod", func(dir, file string) (string, error) { return file, os.Chmod(filepath.Join(dir, file), 0o755) }},
		{"add", func(dir, file string) (string, error) {
			added := filepath.Join(filepath.Dir(file), "added.md")
			return added, os.WriteFile(filepath.Join(dir, added), []byte("x\n"), 0o644)
		}},
	}
}

// sealedFiles are the files of a suite on disk that have bytes to change.
func sealedFiles(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == frozen.ManifestName {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > 1 {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("got %d files of %s, %v", len(out), dir, err)
	}
	return out
}

// TestNoScoreOnMutatedBytes changes a sealed file at a random moment of a real
// trial. The rehearsal halts and names what changed, and neither the trial that
// was under way nor one that began later is evidence.
func TestNoScoreOnMutatedBytes(t *testing.T) {
	t.Parallel()
	n, kinds, rng := testenv.Count(3, 100), mutations(), testenv.Rand(t)
	for i := range n {
		m, moments := kinds[(i+rng.IntN(len(kinds)))%len(kinds)], []moment{laid, started, ended}
		at, after, pick := moments[i%len(moments)], 1+rng.IntN(8), rng.Uint64()
		t.Run(fmt.Sprintf("%d %s when session %d is %s", i, m.name, after, at), func(t *testing.T) {
			if !testenv.Nightly() {
				t.Parallel()
			}
			mutated(t, m, at, after, pick)
		})
	}
}

func mutated(t *testing.T, m mutation, at moment, after int, pick uint64) {
	s := small()
	s.Candidates, s.Sessions = 1, 60
	o := options(s, filepath.Join(testenv.OpenDir(t), "work"))
	var (
		mu      sync.Mutex
		seen    int
		path    string
		touched = make(map[string]bool) // trials under way or begun since
		state   *loop.State
	)
	o.meanwhile = func(spec harness.Spec, now moment) {
		mu.Lock()
		defer mu.Unlock()
		if path != "" {
			touched[spec.TrialID()] = true
			return
		}
		if now != at {
			return
		}
		if seen++; seen < after {
			return
		}
		dir := home(o.Dir).Suite()
		files := sealedFiles(t, dir)
		file := files[pick%uint64(len(files))]
		var err error
		if path, err = m.do(dir, file); err != nil {
			t.Errorf("%s of %s: %v", m.name, file, err)
		}
		touched[spec.TrialID()] = true
	}
	o.Observe = func(s *loop.State, _ loop.Event) { state = s }
	r, err := Run(t.Context(), o)
	testenv.Must(t, err)
	named := strings.Contains(r.HaltedBy, path) || slices.ContainsFunc(r.Drift, func(d frozen.Delta) bool { return d.Path == path })
	if !strings.HasPrefix(r.HaltedBy, string(harness.DriftedSeal)) || path == "" || !named {
		t.Errorf("%s of %q: halted by %q for %v", m.name, path, r.HaltedBy, r.Drift)
	}
	for _, run := range state.Trials {
		if touched[run.ID] && run.Class == harness.Valid {
			t.Errorf("%s of %s: trial %s is evidence and ran over the change", m.name, path, run.ID)
		}
	}
}
