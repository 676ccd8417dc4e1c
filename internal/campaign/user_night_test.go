package campaign

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/internal/testenv"
	"loopd/loop"
)

// TestTheUserCommitsAllNight has the user commit every 50 ms while many candidates
// are tried: no commit is lost, and nothing of theirs is touched.
func TestTheUserCommitsAllNight(t *testing.T) {
	t.Parallel()
	n := newNight(t, "plugin")
	n.put("unknown.txt", "unknown\n")
	c := n.open()
	want := testenv.Count(3, 50)
	set := loop.DefaultSettings(max(200, 40*want)).Under(loop.Scout) // a few sessions a candidate
	set.MaxCandidates = want
	testenv.Must(t, c.Begin(t.Context(), set, drawnGrid()))
	for i := range want {
		n.drop(sentence(t, fmt.Sprintf("It is quick, they say %d times.", i)))
	}
	config, head := testenv.Read(t, filepath.Join(n.root, ".git", "config")), testenv.Read(t, filepath.Join(n.root, ".git", "HEAD"))
	u := n.busyUser()
	n.run(c)
	commits := u.stop()
	s := c.Current()
	n.close(c)
	tried := 0
	for _, p := range s.Progress {
		if p.Commit != "" {
			tried++
		}
	}
	if tried < want*2/3 || s.Ended == nil || len(commits) < 3 {
		t.Fatalf("got %d candidates tried, an end %v, and %d commits of the user", tried, s.Ended, len(commits))
	}
	log := strings.Fields(n.git("log", "--format=%H", "--reverse", "main"))
	testenv.Same(t, "the user's commits", commits, log[len(log)-len(commits):])
	if got := len(strings.Split(n.git("reflog", "--all", "--format=%H"), "\n")); got != 2*len(log) { // of HEAD and of main
		t.Errorf("reflog: got %d entries, want two for each of %d commits", got, len(log))
	}
	if testenv.Read(t, filepath.Join(n.root, ".git", "config")) != config || testenv.Read(t, filepath.Join(n.root, ".git", "HEAD")) != head {
		t.Error("configuration or HEAD changed")
	}
	if got, want := n.git("status", "--porcelain"), "?? spare.txt"; got != want {
		t.Errorf("status: got %q, want %q", got, want)
	}
	n.git("fsck", "--strict", "--no-dangling")
	if !strings.Contains(n.log.String(), "base moved") {
		t.Errorf("nobody was told that the base moved: %q", n.log.String())
	}
	t.Logf("%d candidates, %d commits of the user meanwhile", tried, len(commits))
}

// busyUser commits every 50 ms until it is stopped.
type busyUser struct {
	end     chan struct{}
	wait    sync.WaitGroup
	commits []string
}

func (n *night) busyUser() *busyUser {
	u := &busyUser{end: make(chan struct{})}
	n.git("add", "--all")
	n.git("commit", "--quiet", "--message", "what lay about")
	u.wait.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-u.end:
				n.put("spare.txt", "not committed\n")
				return
			case <-tick.C:
			}
			n.put("diary.txt", fmt.Sprintf("entry %d\n", i))
			n.git("add", "diary.txt")
			n.git("commit", "--quiet", "--message", fmt.Sprintf("entry %d", i))
			u.commits = append(u.commits, n.git("rev-parse", "HEAD"))
		}
	})
	return u
}

func (u *busyUser) stop() []string {
	close(u.end)
	u.wait.Wait()
	return u.commits
}

// TestBranchesAreDamagedInEveryPhase does to a candidate's branch what people and
// crashes do, while the campaign is in each phase. It comes to the same end, and
// what was only broken is there again.
func TestBranchesAreDamagedInEveryPhase(t *testing.T) {
	t.Parallel()
	moments := []moment{
		{"just committed", func(_ *loop.State, e loop.Event) bool { _, ok := e.Payload.(loop.Committed); return ok }},
		{"being tried", func(s *loop.State, e loop.Event) bool { return s.Comparison != nil && hasRun(s) }},
		{"decided", func(_ *loop.State, e loop.Event) bool { _, ok := e.Payload.(loop.Decided); return ok }},
		{"at the gate", func(s *loop.State, _ loop.Event) bool { return s.Phase == loop.Gate }},
		{"at the end", func(_ *loop.State, e loop.Event) bool { _, ok := e.Payload.(loop.Ended); return ok }},
	}
	var want []string
	for i, name := range slices.Sorted(maps.Keys(branchDamages())) {
		do, at := branchDamages()[name], moments
		if !testenv.Nightly() {
			at = moments[i%len(moments) : i%len(moments)+1] // each damage, each moment
		}
		for _, m := range at {
			moment, when := m.name, m.is
			n := newNight(t, "")
			got, done := n.damagedAt(when, do)
			if !done {
				t.Errorf("%s: the campaign was never %s", name, moment)
				continue
			}
			if want == nil {
				want = got
			}
			testenv.Same(t, fmt.Sprintf("%s, %s: other verdicts", name, moment), want, got)
			n.wantBranch(name+", "+moment, do.moved)
		}
	}
}

// moment is when something is done to a branch.
type moment struct {
	name string
	is   func(s *loop.State, e loop.Event) bool
}

func hasRun(s *loop.State) bool {
	for _, t := range s.Trials {
		if t.Subject == "c001" {
			return true
		}
	}
	return false
}

// branchDamage is what happens to a branch; moved where somebody meant it.
type branchDamage struct {
	do    func(n *night, ref string)
	moved bool
}

func branchDamages() map[string]branchDamage {
	file := func(n *night, ref string) string { return filepath.Join(n.root, ".git", filepath.FromSlash(ref)) }
	return map[string]branchDamage{
		"deleted":      {do: func(n *night, ref string) { n.git("update-ref", "-d", ref) }},
		"force-pushed": {do: func(n *night, ref string) { n.git("update-ref", ref, "main") }, moved: true},
		"packed":       {do: func(n *night, _ string) { n.git("pack-refs", "--all") }},
		"packed and collected": {do: func(n *night, _ string) {
			n.git("gc", "--quiet", "--prune=now")
		}},
		"empty":   {do: func(n *night, ref string) { overwrite(n.t, file(n, ref), "") }},
		"of NULs": {do: func(n *night, ref string) { overwrite(n.t, file(n, ref), strings.Repeat("\x00", 41)) }},
		"deleted and collected": {do: func(n *night, ref string) {
			n.git("update-ref", "-d", ref)
			n.git("gc", "--quiet", "--prune=now")
		}},
	}
}

// damagedAt runs a campaign of one kept candidate, does that to its branch at the
// first such moment, and returns the verdicts.
func (n *night) damagedAt(when func(*loop.State, loop.Event) bool, d branchDamage) (verdicts []string, done bool) {
	n.t.Helper()
	c := n.open()
	n.begin(c)
	n.drop(sentence(n.t, better))
	observe := func(s *loop.State, e loop.Event) {
		if done || len(s.Progress) == 0 || s.Progress[0].Ref == "" || !when(s, e) {
			return
		}
		done = true
		d.do(n, s.Progress[0].Ref)
	}
	testenv.Must(n.t, c.Run(n.t.Context(), loop.Loop{Executor: drawn{c}, Parallel: 1, Observe: observe}))
	n.close(c)
	n.close(n.open()) // the next start mends
	return verdictsWithE(c.Current()), done
}

// wantBranch wants the branch where the ledger has it, or where somebody put it,
// and the candidate's commit in either repository.
func (n *night) wantBranch(what string, moved bool) {
	n.t.Helper()
	c := n.open()
	defer n.close(c)
	p := c.Current().Progress[0]
	got := n.git("rev-parse", p.Ref)
	if (got == p.Commit) == moved {
		n.t.Errorf("%s: the branch names %s, the ledger %s, moved on purpose: %v", what, got, p.Commit, moved)
	}
	n.gitIn(n.home.Repo(), "cat-file", "-e", p.Commit)
	if !moved {
		n.git("cat-file", "-e", p.Commit)
	}
	if _, err := os.Stat(filepath.Join(n.home.Report(c.Current().Started.Campaign), "c001.md")); err != nil {
		n.t.Error(err)
	}
}
