package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/report"
)

// whole runs a campaign over one wording that helps, one that builds on it, and
// one that is off the surface.
func (n *night) whole() *Campaign {
	n.t.Helper()
	c := n.open()
	n.begin(c)
	n.drop(sentence(n.t, better))
	n.run(c)
	return c
}

// verdicts lists what became of each candidate.
func verdicts(s *loop.State) []string {
	var out []string
	for _, p := range s.Progress {
		text := p.Candidate.ID + " waiting"
		if p.Decided != nil {
			text = fmt.Sprintf("%s %s %s", p.Candidate.ID, p.Decided.Verdict, p.Decided.Reason)
		}
		out = append(out, text)
	}
	return out
}

func TestACampaignLeavesBranchesAndNothingElse(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	s := c.Current()
	if got := verdicts(s); s.Ended == nil || len(got) != 1 || got[0] != "c001 keep " {
		t.Fatalf("got %v, ended %+v, want c001 kept", got, s.Ended)
	}
	if _, err := Open(t.Context(), n.options()); err == nil {
		t.Error("a second opener got in")
	} else if locked, ok := errors.AsType[*store.LockedError](err); !ok || locked.PID != os.Getpid() {
		t.Errorf("second opener: got %v, want the lock of this process", err)
	}
	n.close(c)
	p := s.Progress[0]
	if got := n.git("rev-parse", p.Ref); got != p.Commit {
		t.Errorf("branch: got %s, want %s", got, p.Commit)
	}
	if got := n.git("diff", "--name-only", p.Commit+"^", p.Commit); got != findSkill {
		t.Errorf("the commit changes %q", got)
	}
	if got := n.git("diff", "--raw", "--abbrev=1", p.Commit+"^", p.Commit); !strings.HasPrefix(got, ":100644 100644 ") {
		t.Errorf("the commit changes a mode: %q", got)
	}
	testenv.Same(t, "the user's repository changed", n.before, n.user())
}

func TestReplayGivesTheSameState(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	n.close(c)
	again := n.open()
	defer again.Close()
	one, two := report.Build(c.Current()), report.Build(again.Current())
	testenv.Same(t, "result", jsonOf(t, one), jsonOf(t, two))
	testenv.Same(t, "result", string(report.Results(c.states...)), string(report.Results(again.states...)))
	if stale, err := again.Stale(); err != nil || len(stale) > 0 {
		t.Errorf("projections behind the ledger: %v, %v", stale, err)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	testenv.Must(t, err)
	return string(data)
}

func TestBeginRefusesAnotherInstrument(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	n.begin(c)
	n.close(c)

	o := n.options()
	o.AgentSHA = "another"
	other, err := Open(t.Context(), o)
	testenv.Must(t, err)
	err = other.Begin(t.Context(), settings(), Grid{})
	if wrong, ok := errors.AsType[*InstrumentError](err); !ok || len(wrong.Differ) != 1 || !strings.HasPrefix(wrong.Differ[0], "agent was ") || wrong.Hint() == "" {
		t.Errorf("another agent: got %v", err)
	}
	n.close(other)

	o = n.options()
	o.Sealed = resealed(t)
	other, err = Open(t.Context(), o)
	testenv.Must(t, err)
	if err := other.Begin(t.Context(), settings(), Grid{}); err == nil || !strings.Contains(err.Error(), "it began with the seal "+n.sealed.Frozen.Digest().Short()) {
		t.Errorf("another seal: got %v", err)
	}
	n.close(other)

	same := n.open()
	defer same.Close()
	n.begin(same)
	if len(same.states) != 1 {
		t.Errorf("campaigns: got %d, want the one under way", len(same.states))
	}
}

// resealed is the bundled suite with another rubric.
func resealed(t *testing.T) Sealed {
	t.Helper()
	h := Home{Dir: t.TempDir()}
	testenv.Must(t, WriteBundled(h.Suite()))
	file := filepath.Join(h.Suite(), "rubric.md")
	testenv.Must(t, os.WriteFile(file, []byte("Answer NO.\n"), 0o644))
	return sealDir(t, h.Suite())
}

func TestBeginContinuesAPausedCampaign(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	n.begin(c)
	testenv.Must(t, c.record(t.Context(), loop.Paused{Reason: "limit"}))
	n.close(c)
	c = n.open()
	defer c.Close()
	n.begin(c)
	if s := c.Current(); s.Paused != nil || len(c.states) != 1 {
		t.Errorf("got paused %v in %d campaigns", s.Paused, len(c.states))
	}
}

func TestIDsContinueAndLeftoversAreQueuedAgain(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	first := c.Current()
	n.close(c)

	c = n.open()
	n.begin(c)
	for _, text := range []string{"It is quick.", "It is small."} {
		cand, err := sentence(t, text).Candidate()
		testenv.Must(t, err)
		cand.ID = c.nextID(0)
		testenv.Must(t, c.Queue(t.Context(), cand))
	}
	n.close(c)
	testenv.Must(t, EndUnderWay(t.Context(), n.home, "the suite changed", n.clock.Now, nil))
	c = n.open()
	defer c.Close()
	n.begin(c)
	want := []string{"c002 waiting", "c003 waiting"}
	testenv.Same(t, "result", want, verdicts(c.Current()))
	if got := c.nextID(0); got != "c004" {
		t.Errorf("next id: got %s, want c004", got)
	}
	names := map[string]bool{}
	for _, s := range c.states {
		names[s.Started.Campaign] = true
	}
	if len(names) != 3 || first.Started.Start != c.Current().Started.Start {
		t.Errorf("campaigns: got %v", names)
	}
	if s := c.states[1]; s.Ended == nil || s.Ended.Outcome != loop.NoChange || s.Ended.Why != "the suite changed" {
		t.Errorf("second campaign: ended %+v", s.Ended)
	}
}

func TestBadSettingsOpenNothing(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	set := settings()
	set.Budget = 1
	if err := c.Begin(t.Context(), set, Grid{Objective: []harness.Cell{{Scenario: "R1", Tier: "haiku"}}}); err == nil || c.Current() != nil {
		t.Errorf("got %v and campaign %v", err, c.Current())
	}
}

// drawnGrid is the grid of drawn campaigns.
func drawnGrid() Grid {
	return Grid{
		Objective: []harness.Cell{{Scenario: "R1", Tier: "sonnet"}, {Scenario: "W1", Tier: "haiku"}}, Guards: []harness.Cell{{Scenario: "N1", Tier: "haiku"}},
	}
}

// verdictsWithE is what must not depend on how often a campaign was cut short.
func verdictsWithE(s *loop.State) []string {
	out := verdicts(s)
	for i, p := range s.Progress {
		if p.Decided != nil && p.Decided.EValue != nil {
			out[i] += fmt.Sprintf(" %d %.12g", p.Decided.Sessions, *p.Decided.EValue)
		}
	}
	if s.Ended != nil {
		out = append(out, fmt.Sprint(s.Ended.Outcome, s.Sessions()))
	}
	return out
}
