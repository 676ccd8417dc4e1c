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

	"loopd/candidates"
	"loopd/internal/testenv"
	"loopd/loop"
)

// twoWordings runs a campaign in which the second candidate builds on the first.
func (n *night) twoWordings() *Campaign {
	n.t.Helper()
	c := n.open()
	n.begin(c)
	first, err := sentence(n.t, better).Candidate()
	testenv.Must(n.t, err)
	second := candidates.Candidate{ID: "c002", Source: candidates.Person, Rationale: "Zwölf\nwords", Edits: []candidates.Edit{
		{Path: "hooks/session-start-note.md", Old: "choice comes up.", New: "choice comes up. They are <short> & plain."},
	}}
	first.ID = "c001"
	for _, cand := range []candidates.Candidate{first, second} {
		testenv.Must(n.t, c.Queue(n.t.Context(), cand))
	}
	n.run(c)
	s := c.Current()
	if len(s.Progress) != 2 || s.Progress[0].Decided.Verdict != loop.Keep || s.Progress[1].Parent != s.Progress[0].Commit {
		n.t.Fatalf("got %v, want a second candidate on top of a kept one", verdicts(s))
	}
	return c
}

// following is all that must come back: the projections, the branches in both
// repositories, and the bytes of every commit.
func (n *night) following(s *loop.State) map[string]string {
	n.t.Helper()
	out := make(map[string]string)
	for _, path := range []string{n.home.Results(), n.home.LoopResults()} {
		out[path] = testenv.Read(n.t, path)
	}
	err := filepath.WalkDir(filepath.Join(n.home.Dir, "reports"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path] = testenv.Read(n.t, path)
		}
		return err
	})
	testenv.Must(n.t, err)
	out["user"] = n.git("for-each-ref", "refs/heads/loopd")
	out["private"] = n.gitIn(n.home.Repo(), "for-each-ref", "refs/heads/loopd")
	for _, p := range s.Progress {
		out[p.Commit] = n.gitIn(n.home.Repo(), "cat-file", "commit", p.Commit) + n.gitIn(n.home.Repo(), "ls-tree", "-r", p.Commit)
	}
	return out
}

func TestEverythingBesideTheLedgerIsMended(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.twoWordings()
	s := c.Current()
	n.close(c)
	want := n.following(s)
	if len(want) != 14 {
		t.Fatalf("followed: got %d things, want two tables, six reports, two lists of branches, two commits", len(want))
	}
	for _, d := range n.damages(s) {
		t.Run(d.name, func(t *testing.T) {
			d.do(t)
			c, err := Open(t.Context(), n.options())
			testenv.Must(t, err)
			n.close(c)
			testenv.Same(t, "result", want, n.following(s))
			if d.after != nil {
				d.after(t)
			}
			testenv.Same(t, "the user's repository changed", n.before, n.user())
			n.gitIn(n.home.Repo(), "fsck", "--strict", "--no-dangling")
		})
	}
}

type damage struct {
	name      string
	do, after func(t *testing.T)
}

// damages are what a crash or a person may do to what follows the ledger.
func (n *night) damages(s *loop.State) []damage {
	first, second := s.Progress[0], s.Progress[1]
	inUser := func(ref string) string { return filepath.Join(n.root, ".git", filepath.FromSlash(ref)) }
	inPrivate := func(ref string) string { return filepath.Join(n.home.Repo(), filepath.FromSlash(ref)) }
	lock := inUser(second.Ref) + ".lock"
	write := func(path, text string) func(*testing.T) {
		return func(t *testing.T) { overwrite(t, path, text) }
	}
	remove := func(paths ...string) func(*testing.T) {
		return func(t *testing.T) { removeAll(t, paths...) }
	}
	gone := func(path string) func(*testing.T) {
		return func(t *testing.T) {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there: %v", path, err)
			}
		}
	}
	return []damage{
		{name: "nothing", do: func(*testing.T) {}},
		{name: "branch deleted", do: func(*testing.T) { n.git("update-ref", "-d", first.Ref) }},
		{name: "branch of nothing", do: write(inUser(first.Ref), "")},
		{name: "branch of NULs", do: write(inUser(first.Ref), strings.Repeat("\x00", 41))},
		{name: "all branches gone", do: remove(filepath.Dir(inUser(first.Ref)))},
		{name: "private branch deleted", do: remove(inPrivate(first.Ref))},
		{name: "private branch of nothing", do: write(inPrivate(second.Ref), "")},
		{name: "private branch elsewhere", do: write(inPrivate(second.Ref), first.Commit+"\n")},
		{name: "private lock", do: write(inPrivate(first.Ref)+".lock", ""), after: gone(inPrivate(first.Ref) + ".lock")},
		{name: "old lock at the user's", do: func(t *testing.T) {
			overwrite(t, lock, "")
			removeAll(t, inUser(second.Ref))
			old := time.Now().Add(-2 * staleLock)
			testenv.Must(t, os.Chtimes(lock, old, old))
		}, after: gone(lock)},
		{name: "fresh lock at the user's", do: write(lock, ""), after: remove(lock)},
		{name: "tables deleted", do: remove(n.home.Results(), n.home.LoopResults())},
		{name: "reports deleted", do: remove(filepath.Join(n.home.Dir, "reports"))},
		{name: "report edited", do: write(filepath.Join(n.home.Report(s.Started.Campaign), "c001.md"), "# Kept\n")},
		{name: "private repository deleted", do: remove(n.home.Repo())},
		{name: "a commit lost", do: remove(inPrivate("objects/" + second.Commit[:2] + "/" + second.Commit[2:]))},
		{name: "the first of two commits lost", do: remove(inPrivate("objects/" + first.Commit[:2] + "/" + first.Commit[2:]))},
		{name: "private repository and branches deleted", do: func(t *testing.T) {
			removeAll(t, n.home.Repo(), filepath.Dir(inUser(first.Ref)))
			n.git("prune", "--expire=now")
		}},
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

func removeAll(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			t.Fatalf("nothing to damage: %v", err)
		}
		testenv.Must(t, os.RemoveAll(path))
	}
}

func TestABranchMovedOnPurposeIsLeftAlone(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	s := c.Current()
	n.close(c)
	ref := s.Progress[0].Ref
	n.git("update-ref", ref, s.Started.Start)
	n.close(n.open())
	if got := n.git("rev-parse", ref); got != s.Started.Start {
		t.Errorf("branch: got %s, want it where it was put, %s", got, s.Started.Start)
	}
	if !strings.Contains(n.log.String(), "branch moved by someone else") {
		t.Errorf("nothing was said: %q", n.log.String())
	}
}

func TestABranchSomeoneHoldsIsMadeNextTime(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	p := c.Current().Progress[0]
	n.close(c)
	n.git("update-ref", "-d", p.Ref)
	lock := filepath.Join(n.root, ".git", filepath.FromSlash(p.Ref)) + ".lock"
	testenv.Must(t, os.MkdirAll(filepath.Dir(lock), 0o755))
	overwrite(t, lock, "")
	n.close(n.open())
	if !strings.Contains(n.log.String(), "branch is locked") || n.git("for-each-ref", "refs/heads/loopd") != "" {
		t.Errorf("said %q", n.log.String())
	}
	removeAll(t, lock)
	n.close(n.open())
	if got := n.git("rev-parse", p.Ref); got != p.Commit {
		t.Errorf("branch: got %s, want %s", got, p.Commit)
	}
}

func TestCheckSaysWhatItMended(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	s := c.Current()
	n.close(c)
	lost := filepath.Join(n.home.Report(s.Started.Campaign), "campaign.md")
	removeAll(t, lost, n.home.Repo())
	found, err := Check(t.Context(), n.options(), false)
	testenv.Must(t, err)
	want := Found{
		Events: found.Events, Campaigns: 1, Trials: s.Sessions(), Seal: n.sealed.Frozen.Digest().Short(), Mended: []string{lost},
	}
	if diff := cmp.Diff(want, found); diff != "" || found.Events == 0 {
		t.Errorf("%d events: %s", found.Events, diff)
	}
	if found, err = Check(t.Context(), n.options(), false); err != nil || len(found.Mended) > 0 {
		t.Errorf("second check: got %+v, %v", found, err)
	}
	before := n.following(s)
	blind := n.options()
	blind.Sealed = Sealed{}
	if _, err := Check(t.Context(), blind, false); err != nil {
		t.Error(err)
	}
	testenv.Same(t, "a check without the suite changed something", before, n.following(s))
}

func TestReportsOfEarlierCampaignsAreMended(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	first := c.Current()
	n.close(c)
	c = n.open()
	n.begin(c)
	n.close(c)
	c = n.open()
	want := n.following(first)
	n.close(c)
	n.git("update-ref", "-d", first.Progress[0].Ref)
	removeAll(t, n.home.Repo(), n.home.Report(first.Started.Campaign))
	n.close(n.open())
	got := n.following(first)
	if got["user"] != "" {
		t.Errorf("a branch of a campaign that is over came back: %q", got["user"])
	}
	delete(want, "user")
	delete(got, "user")
	testenv.Same(t, "result", want, got)
}

func TestPrepareAgainAfterACrashGivesTheSame(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	n.begin(c)
	cand, err := sentence(t, better).Candidate()
	testenv.Must(t, err)
	cand.ID = "c001"
	testenv.Must(t, c.Queue(t.Context(), cand))
	s := c.Current()
	one, err := c.preparer(s).Prepare(t.Context(), s.Champion, cand)
	testenv.Must(t, err)
	n.close(c) // published, and not recorded

	c = n.open()
	defer c.Close()
	n.begin(c)
	s = c.Current()
	two, err := c.preparer(s).Prepare(t.Context(), s.Champion, s.Progress[0].Candidate)
	testenv.Must(t, err)
	testenv.Same(t, "result", one, two)
	n.run(c)
	committed := one.(loop.Committed)
	if p := c.Current().Progress[0]; p.Commit != committed.Commit || p.Ref != committed.Ref {
		t.Errorf("run again: got %s %s, want %s %s", p.Commit, p.Ref, committed.Commit, committed.Ref)
	}
	if got := len(strings.Split(n.git("for-each-ref", "refs/heads/loopd"), "\n")); got != 1 {
		t.Errorf("branches: got %d, want 1", got)
	}
}
