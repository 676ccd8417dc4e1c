package campaign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

// keepFiles lays what a trial keeps into its folder.
func (n *night) keepFiles(id string) {
	n.t.Helper()
	dir := filepath.Join(n.home.Trials(), id)
	testenv.Must(n.t, os.MkdirAll(dir, 0o700))
	overwrite(n.t, filepath.Join(dir, trial.TranscriptFile), "0123456789")
	overwrite(n.t, filepath.Join(dir, trial.LaunchFile), "{}")
}

func (n *night) folders(names ...string) string {
	n.t.Helper()
	var out []string
	for _, name := range names {
		entries, err := os.ReadDir(filepath.Join(n.home.Trials(), name))
		if errors.Is(err, fs.ErrNotExist) {
			out = append(out, "gone")
			continue
		}
		var files []string
		for _, e := range entries {
			files = append(files, e.Name())
		}
		out = append(out, strings.Join(files, " "))
	}
	return strings.Join(out, "; ")
}

func TestPrune(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	s := c.Current()
	ledgerBefore := n.following(s)
	first, last := s.Trials[0], s.Trials[len(s.Trials)-1]
	n.keepFiles(first.ID)
	n.keepFiles(last.ID)
	n.keepFiles("stray")
	now := n.clock.Now().Add(time.Hour)
	testenv.Must(t, os.Chtimes(filepath.Join(n.home.Trials(), "stray"), now, now))
	const whole, dropped = "launch.json transcript.jsonl", "pruned"

	prune := func(states []*loop.State, before time.Time, dry bool) Pruned {
		t.Helper()
		p, err := n.home.Prune(states, before, now, dry)
		testenv.Must(t, err)
		p.Before = time.Time{}
		return p
	}
	all := s.Sessions()
	dry := prune(c.states, last.Started, true)
	testenv.Same(t, "dry run", Pruned{DryRun: true, Trials: 1, Files: 2, Bytes: 12, Kept: 1}, dry)
	if got := n.folders(first.ID, last.ID, "stray"); got != whole+"; "+whole+"; "+whole {
		t.Errorf("a dry run dropped something: %s", got)
	}
	prune(c.states, last.Started, false)
	if got := n.folders(first.ID, last.ID, "stray"); got != dropped+"; "+whole+"; "+whole {
		t.Errorf("after pruning: %s", got)
	}
	// Cut short after its note, it is done the next time.
	overwrite(t, filepath.Join(n.home.Trials(), first.ID, trial.LaunchFile), "{}")
	again := prune(c.states, now.Add(time.Hour), false)
	testenv.Same(t, "the rest", Pruned{Trials: 2, Files: 3, Bytes: 14, Strays: 1}, again)
	if got := n.folders(first.ID, last.ID, "stray"); got != dropped+"; "+dropped+"; gone" {
		t.Errorf("after pruning all: %s", got)
	}
	if gone, ok := errors.AsType[*trial.PrunedError](trial.Pruned(filepath.Join(n.home.Trials(), first.ID))); !ok || !gone.On.Equal(now.UTC().Truncate(time.Second)) {
		t.Errorf("the note: got %v, want when", gone)
	}
	n.close(c)
	testenv.Same(t, "a projection or a branch changed", ledgerBefore, n.following(s))

	// A campaign under way keeps everything, and so does what may be running.
	c = n.open()
	defer n.close(c)
	n.begin(c)
	n.run(c)
	going := *c.Current()
	going.Ended = nil
	n.keepFiles(going.Trials[0].ID)
	n.keepFiles("running")
	p := prune([]*loop.State{s, &going}, now.Add(time.Hour), false)
	if diff := cmp.Diff(Pruned{UnderWay: going.Sessions(), Already: 2}, p); diff != "" || all == 0 {
		t.Errorf("beside one under way: %s", diff)
	}
	if got := n.folders(going.Trials[0].ID, "running"); got != whole+"; "+whole {
		t.Errorf("of a campaign under way: %s", got)
	}
}

func TestTheStateIsKeptFromOthers(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	s := c.Current()
	n.keepFiles(s.Trials[0].ID)
	n.close(c)
	n.drop(sentence(t, "It is quick."))
	if open, err := n.home.Open(true); err != nil || len(open) > 0 {
		t.Fatalf("of what loopd writes itself: got %v and %v, want nothing open", open, err)
	}
	deep := filepath.Join(n.home.Trials(), s.Trials[0].ID, trial.TranscriptFile)
	for path, c := range map[string]struct {
		mode  fs.FileMode
		hint  string
		start bool // whether a start sees it
	}{
		n.home.Results():                       {0o640, "chmod 600 ", true},
		n.home.Trials():                        {0o711, "chmod 700 ", true},
		filepath.Join(n.home.Dir, "ledger.db"): {0o604, "chmod 600 ", true},
		n.home.Dir:                             {0o750, "chmod 700 ", true},
		deep:                                   {0o644, "chmod 600 ", false},
		filepath.Join(n.home.Dir, "reports"):   {0o755, "chmod 700 ", true},
		filepath.Join(n.home.Suite(), "rubric.md"):    {0o644, "", false}, // as it is sealed
		filepath.Join(n.home.Repo(), "description2"):  {0o644, "", false},
		filepath.Join(n.home.Spool(), "by-hand.yaml"): {0o644, "", false},
		n.home.Spool(): {0o755, "chmod 700 ", true},
	} {
		info, err := os.Stat(path)
		if err != nil {
			overwrite(t, path, "")
		} else {
			defer os.Chmod(path, info.Mode())
		}
		testenv.Must(t, os.Chmod(path, c.mode))
		open, err := n.home.Open(true)
		switch {
		case err != nil:
			t.Error(err)
		case c.hint == "" && len(open) > 0:
			t.Errorf("%s: got %v, want nothing", path, open)
		case c.hint != "" && (len(open) != 1 || open[0].Hint() != c.hint+path):
			t.Errorf("%s: got %v, want %s%s", path, open, c.hint, path)
		}
		_, startErr := Open(t.Context(), n.options())
		if wide, refused := errors.AsType[*store.AccessError](startErr); refused != c.start || refused && wide.Path != path {
			t.Errorf("%s: a start: got %v, want a refusal %v", path, startErr, c.start)
		}
		if info != nil {
			testenv.Must(t, os.Chmod(path, info.Mode()))
		}
	}
}
