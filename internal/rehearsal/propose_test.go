package rehearsal

import (
	"path/filepath"
	"slices"
	"testing"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/testenv"
	"loopd/loop"
)

// nullWorld is a rehearsal without a queue in which no wording has an effect.
func nullWorld(p ProposerKind, sessions int) Setup {
	return Setup{Seed: 4, Agent: StandIn, Profile: loop.Fast, Sessions: sessions, Scenarios: []string{"W1", "R1", "N1"}, Proposer: p, Null: true}
}

// Candidates come without a queue, and nothing is promoted.
func TestNullWorldOfBuiltin(t *testing.T) {
	testenv.NightlyOnly(t, "a whole rehearsal")
	t.Parallel()
	res, err := Run(t.Context(), options(nullWorld(BuiltinProposer, 90), filepath.Join(testenv.OpenDir(t), "work")))
	testenv.Must(t, err)
	p := res.Proposals
	if p == nil || p.Made < 3 || p.Made != p.Asks || p.InVain != 0 || len(res.Candidates) != p.Made {
		t.Fatalf("got %+v with %d candidates, want one for each ask", p, len(res.Candidates))
	}
	if res.Outcome == loop.Promoted || res.Outcome == "" || res.Mismatches != 0 || res.TrueGain != 0 || !res.UserUntouched {
		t.Errorf("got outcome %q, %d mismatches, a true gain of %v", res.Outcome, res.Mismatches, res.TrueGain)
	}
	for _, c := range res.Candidates {
		if c.Planted != Proposed || c.Verdict == "" || c.Reason == loop.ByLint {
			t.Errorf("got %+v, want a verdict after sessions", c)
		}
	}
}

// The agent is played by a script: every leak is refused without a session, and
// the clean edits pass.
func TestNullWorldOfAnAgent(t *testing.T) {
	testenv.NightlyOnly(t, "a whole rehearsal")
	t.Parallel()
	res, err := Run(t.Context(), options(nullWorld(AgentProposer, 90), filepath.Join(testenv.OpenDir(t), "work")))
	testenv.Must(t, err)
	p := res.Proposals
	if p == nil || p.LeaksPlanted != 40 || p.LeaksAccepted != 0 || p.CleanPlanted != 40 || p.CleanRefused > 2 {
		t.Fatalf("got %+v, want 40 leaks planted and none accepted, and at most 2 of 40 clean edits refused", p)
	}
	if p.Made <= p.LeaksPlanted || p.InVain > 3 || res.Mismatches != 0 || res.Outcome != loop.NoChange {
		t.Errorf("got %+v, outcome %q, %d mismatches", p, res.Outcome, res.Mismatches)
	}
	for _, c := range res.Candidates {
		if c.Planted == Leak && (c.Sessions != 0 || c.Reason != loop.ByLint || c.EValue != nil || !c.Right) {
			t.Errorf("a leak: got %+v, want the lint and no session", c)
		}
		if c.Planted == Proposed && c.Reason == loop.ByLint {
			t.Errorf("a clean edit: got %+v", c)
		}
	}
}

// Every suite that is bundled has a script, and each phrase of it has its place.
func TestEverySuiteHasAScript(t *testing.T) {
	t.Parallel()
	for _, name := range suiteNames(t) {
		suite := suiteOf(t, name)
		p, err := ReadPlanting(suite)
		testenv.Must(t, err)
		r := &run{Options: Options{Setup: Setup{Proposer: AgentProposer}}, sealed: campaign.Sealed{Suite: suite}}
		s, err := r.readScript(p)
		if err != nil || len(s.leaks) != 40 || len(s.clean) != 40 {
			t.Errorf("%s: %d leaks, %d clean edits, %v; want 40 of each", name, len(s.leaks), len(s.clean), err)
		}
	}
}

// Every answer of the script holds as many candidates as one may, and no leak is
// left out or brought twice.
func TestScriptBringsEveryLeakOnce(t *testing.T) {
	t.Parallel()
	var s script
	for i := range 40 {
		s.leaks = append(s.leaks, candidates.Candidate{Rationale: string(rune('A' + i))})
	}
	s.clean = []candidates.Candidate{{Rationale: "clean 1"}, {Rationale: "clean 2"}}
	var got []string
	for n := range 20 {
		for _, c := range s.turn(n + 1) {
			got = append(got, c["rationale"].(string))
		}
	}
	if len(got) != 42 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 42 {
		t.Errorf("got %d candidates: %q, want 42 different ones", len(got), got)
	}
}

// What is planted as a leak is refused by the lint of the suite, and by nothing
// but its search for leaks.
func TestPlantedLeaksAreEchoes(t *testing.T) {
	t.Parallel()
	for _, name := range suiteNames(t) {
		suite := suiteOf(t, name)
		files := make(harness.Tree)
		for path, data := range filesOf(t, suite) {
			files[path] = harness.File{Mode: 0o644, Data: data}
		}
		n := 0
		for _, p := range planned(t, suite, 0).Candidates {
			classes := candidates.Classes(campaign.LintOn(suite, files, candidateOf(p), nil))
			leak := slices.Equal(classes, []candidates.Class{candidates.Echo})
			if leak != (p.Kind == Leak) && (p.Kind == Leak || slices.Contains(classes, candidates.Echo)) {
				t.Errorf("%s: %s %s: got %v", name, p.ID, p.Kind, classes)
			}
			if p.Kind == Leak {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s: no leak is planted", name)
		}
	}
}
