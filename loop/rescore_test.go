package loop

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/internal/testenv"
)

// scoresOf gives every recorded trial the score that change makes of it.
func scoresOf(events []Event, change func(harness.Trial) harness.Trial) map[string]harness.Trial {
	out := make(map[string]harness.Trial)
	for _, e := range events {
		if p, ok := e.Payload.(Recorded); ok {
			out[p.Trial.ID] = change(p.Trial)
		}
	}
	return out
}

func unchanged(t harness.Trial) harness.Trial { return t }

// turned makes a valid trial pass or fail.
func turned(t harness.Trial, to harness.Outcome) harness.Trial {
	t.Class, t.Result.Outcome = harness.Valid, to
	t.Result.Checks = []harness.Check{{Name: harness.AxisA, Outcome: to}}
	return t
}

func voided(t harness.Trial, class harness.Class) harness.Trial {
	t.Class, t.Result = class, harness.Result{Kind: harness.Unprompted, Outcome: harness.Invalid}
	return t
}

func rescore(t *testing.T, events []Event, change func(harness.Trial) harness.Trial) Changes {
	t.Helper()
	c, err := Rescore(events, scoresOf(events, change))
	testenv.Must(t, err)
	return c
}

// The rules the campaign was decided by come to the same again, bit for bit.
func TestRescoreBySameRulesChangesNothing(t *testing.T) {
	t.Parallel()
	for _, p := range Profiles() {
		if c := rescore(t, recorded(t, p), unchanged); c.Any() {
			t.Errorf("%s: got %+v", p, c)
		}
	}
	w := newWorld(5)
	w.class = func(sp harness.Spec) harness.Class {
		switch d := w.draw(sp); {
		case sp.Slot.Wording == "w-c002":
			return harness.HookNotDelivered
		case sp.Attempt == 1 && d > .9:
			return harness.RateLimit
		}
		return harness.Valid
	}
	s := w.begin(t, 600, candidate(w, "c001", lifted(.4)), candidate(w, "c002", base))
	for s.Ended == nil {
		if s.Paused != nil {
			testenv.Must(t, w.loop(s).record(t.Context(), Resumed{}))
		}
		testenv.Must(t, w.loop(s).Run(t.Context()))
	}
	if c := rescore(t, w.events, unchanged); c.Any() || s.lifted == 0 || s.Find("c002").Decided.Verdict != Broken {
		t.Errorf("%d pauses, broken candidate: got %+v", s.lifted, c)
	}
}

func TestRescoreFindsWhatFlips(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	was := rescore(t, events, unchanged).State
	if was.Find("c001").Decided.Verdict != Keep || was.Ended.Outcome != Promoted || was.Find("c003").Decided.Verdict != Reject {
		t.Fatalf("the record is not what this test is about: %s", account(was))
	}
	of := func(wording string, then func(harness.Trial) harness.Trial) func(harness.Trial) harness.Trial {
		return func(t harness.Trial) harness.Trial {
			if t.Class == harness.Valid && t.Spec.Slot.Wording == wording && !strings.HasPrefix(t.Spec.Slot.Cell.Scenario, "N") {
				return then(t)
			}
			return t
		}
	}
	fails := func(t harness.Trial) harness.Trial { return turned(t, harness.Fail) }
	passes := func(t harness.Trial) harness.Trial { return turned(t, harness.Pass) }
	for name, c := range map[string]struct {
		change func(harness.Trial) harness.Trial
		about  string
		now    func(Ruling) bool
		stops  bool
	}{
		"the kept candidate fails":    {of("w-c001", fails), "c001", func(r Ruling) bool { return r.Verdict == Reject && r.Reason == ByHarm }, false},
		"and is not confirmed":        {of("w-c001", fails), SubjectGate, func(r Ruling) bool { return r.Outcome == "" && r.Why != "" && *r.EValue < 1 }, false},
		"the rejected one passes":     {of("w-c003", passes), "c003", func(r Ruling) bool { return r.Verdict != Reject }, false},
		"the kept one is void":        {of("w-c001", func(t harness.Trial) harness.Trial { return voided(t, harness.HookNotDelivered) }), "c001", func(r Ruling) bool { return r.Verdict == Broken }, true},
		"the start passes everywhere": {of("w-start", passes), "c001", func(r Ruling) bool { return r.Verdict != Keep }, true},
	} {
		got := rescore(t, events, c.change)
		i := slices.IndexFunc(got.Verdicts, func(v NewVerdict) bool { return v.Subject == c.about })
		if i < 0 || !got.Verdicts[i].Flips() || !c.now(got.Verdicts[i].Now) {
			t.Errorf("%s: got %+v about %s", name, got.Verdicts, c.about)
		}
		if len(got.Trials) == 0 || len(got.Trials) != len(got.Scores) || (len(got.Stops) > 0) != c.stops {
			t.Errorf("%s: %d trials, %d scores, stops %q", name, len(got.Trials), len(got.Scores), got.Stops)
		}
	}
}

// One trial more or less in the evidence is named without a verdict changing.
func TestRescoreNamesOneTrial(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	var id string
	for _, e := range events {
		if p, ok := e.Payload.(Recorded); ok && p.Trial.Spec.Slot.Wording == "w-c001" && p.Trial.Passed() {
			id = p.Trial.ID
		}
	}
	got := rescore(t, events, func(t harness.Trial) harness.Trial {
		if t.ID == id {
			return turned(t, harness.Fail)
		}
		return t
	})
	if len(got.Trials) != 1 || got.Trials[0].ID != id || got.Trials[0].Wording != "c001" || got.Trials[0].Was.String() != "pass" || got.Trials[0].Now.String() != "fail" {
		t.Errorf("got %+v, want trial %s alone", got.Trials, id)
	}
}

// An attempt that was run because the one before was taken for invalid counts as
// no rep once that one is valid.
func TestRescoreCountsOneRepOfASlot(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	got, err := Rescore(events, scoresOf(events, func(t harness.Trial) harness.Trial {
		if t.Class == harness.Overloaded {
			return turned(t, harness.Pass)
		}
		return t
	}))
	if err != nil || len(got.Trials) == 0 {
		t.Fatalf("got %d trials, %v; want the overloaded ones", len(got.Trials), err)
	}
	r := &replay{now: scoresOf(events, unchanged), state: NewState(), early: make(map[string]early), stops: make(map[string]bool)}
	for _, e := range events {
		if p, ok := e.Payload.(Recorded); ok && p.Trial.Class == harness.Overloaded {
			r.now[p.Trial.ID] = turned(p.Trial, harness.Pass)
		}
		testenv.Must(t, r.event(e))
	}
	if r.state.Sessions() != got.State.Sessions() {
		t.Errorf("%d sessions, %d recorded", r.state.Sessions(), got.State.Sessions())
	}
	for i, p := range r.state.Progress {
		if was := got.State.Progress[i].Comparison; was != nil && p.Comparison.Sessions != was.Sessions {
			t.Errorf("%s: %d sessions, %d recorded", p.Candidate.ID, p.Comparison.Sessions, was.Sessions)
		}
	}
	for i, pool := range r.state.GateComparison.Own {
		if want := len(got.State.GateComparison.Own[i]); len(pool) != want {
			t.Errorf("cell %d: %d reps at the gate, %d recorded", i, len(pool), want)
		}
	}
}

// A replay of another session stays none, whatever the checker says of it.
func TestRescoreKnowsAReplayedSession(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	s := w.begin(t, 400, candidate(w, "c001", base))
	l := w.loop(s)
	l.Parallel = 1
	l.Executor = sessions{w, func(tr harness.Trial) string {
		if tr.Spec.Attempt == 1 && tr.Spec.Slot.Cell.String() == "R1/haiku" && tr.Spec.Slot.Rep <= 2 {
			return "one session"
		}
		return "session-" + tr.ID
	}}
	testenv.Must(t, l.Run(t.Context()))
	replays := 0
	c := rescore(t, w.events, func(t harness.Trial) harness.Trial {
		if t.Class == harness.Duplicate {
			replays++
			t.Class, t.Why, t.Result.Outcome = harness.Valid, "", harness.Pass
		}
		return t
	})
	if replays == 0 || c.Any() {
		t.Errorf("%d replays, got %+v", replays, c)
	}
}

// Whatever other rules make of the sessions, the recorded course can be followed.
func TestRescoreFollowsAnyScores(t *testing.T) {
	t.Parallel()
	records := make(map[Profile][]Event)
	for _, p := range Profiles() {
		records[p] = recorded(t, p)
	}
	rapid.Check(t, func(rt *rapid.T) {
		events := records[rapid.SampledFrom(Profiles()).Draw(rt, "profile")]
		share := rapid.SampledFrom([]int{1, 10, 50}).Draw(rt, "of a hundred")
		now := scoresOf(events, func(t harness.Trial) harness.Trial {
			if rapid.IntRange(0, 99).Draw(rt, "which") >= share {
				return t
			}
			switch rapid.IntRange(0, 2).Draw(rt, "how") {
			case 0:
				return turned(t, harness.Pass)
			case 1:
				return turned(t, harness.Fail)
			}
			return voided(t, rapid.SampledFrom(harness.Classes()[1:]).Draw(rt, "class"))
		})
		got, err := Rescore(events, now)
		if err != nil {
			rt.Fatal(err)
		}
		for _, v := range got.Verdicts {
			if v.Subject != SubjectGate && got.State.Find(v.Subject) == nil {
				rt.Fatalf("a verdict about %q", v.Subject)
			}
		}
	})
}

// accepted is the event of a rescore of the record.
func accepted(c Changes) Rescored {
	return Rescored{Reason: "the rule was wrong", Trials: c.Scores, Verdicts: c.Verdicts, Stops: c.Stops}
}

func TestAcceptedRescoreTakesBackAndGrantsNothing(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	swap := func(t harness.Trial) harness.Trial {
		switch t.Spec.Slot.Wording {
		case "w-c001":
			return turned(t, harness.Fail)
		case "w-c003":
			return turned(t, harness.Pass)
		}
		return t
	}
	c := rescore(t, events, swap)
	s := c.State
	before := account(s)
	testenv.Must(t, s.Apply(Event{Payload: accepted(c)}))
	if !s.Withdrawn("c001") || !s.Withdrawn(SubjectGate) || s.Withdrawn("c003") || s.Withdrawn("c002") {
		t.Errorf("withdrawn: got %v %v %v %v, want c001 and the gate", s.Withdrawn("c001"), s.Withdrawn(SubjectGate), s.Withdrawn("c003"), s.Withdrawn("c002"))
	}
	if diff := cmp.Diff(before, account(s)); diff != "" || !slices.Equal(s.Kept, []string{"c001"}) {
		t.Errorf("what was decided changed: %s", diff)
	}
	n := 0
	for _, r := range s.Trials {
		if r.Recorded != nil {
			n++
			if SameScore(*r.Recorded, r.Trial) || r.Recorded.ID != r.ID {
				t.Errorf("trial %s: the new result is not beside the recorded one", r.ID)
			}
		}
	}
	if n != len(c.Scores) || n == 0 {
		t.Errorf("%d trials with a new result, want %d", n, len(c.Scores))
	}
	// The record again by its own rules: results return, what was taken back does not.
	testenv.Must(t, s.Apply(Event{Payload: Rescored{Reason: "it was right after all"}}))
	if !s.Withdrawn("c001") || slices.ContainsFunc(s.Trials, func(r Run) bool { return r.Recorded != nil }) {
		t.Error("a second rescore gave a keep back, or left results of the first")
	}
}

func TestRescoreThatCannotFollow(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	c := rescore(t, events, func(t harness.Trial) harness.Trial { return turned(t, harness.Fail) })
	good := accepted(c)
	for name, p := range map[string]Rescored{
		"no reason":         {Trials: good.Trials},
		"a trial twice":     {Reason: "r", Trials: []NewScore{good.Trials[0], good.Trials[0]}},
		"a trial and lost":  {Reason: "r", Trials: good.Trials[:1], Lost: []string{good.Trials[0].ID}},
		"an unknown trial":  {Reason: "r", Trials: []NewScore{{ID: "0000"}}},
		"an unknown loss":   {Reason: "r", Lost: []string{"0000"}},
		"nobody's verdict":  {Reason: "r", Verdicts: []NewVerdict{{Subject: "c009"}}},
		"before its end":    good,
		"a false was":       {Reason: "r", Verdicts: []NewVerdict{{Subject: "c001", Was: Ruling{Verdict: Reject}}}},
		"no difference":     {Reason: "r", Trials: []NewScore{sameAgain(t, c.State)}},
		"well formed, good": good,
	} {
		before := len(events)
		if name == "before its end" {
			before--
		}
		a, err := audit(t, append(slices.Clone(events[:before]), Event{Payload: p}))
		if bad := err != nil || len(a.Wrong) > 0; bad == strings.HasSuffix(name, "good") {
			t.Errorf("%s: got %v, %v", name, err, a.Wrong)
		}
	}
}

// The campaign under way is decided by the rules it began with.
func TestRescoreWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	s := NewState()
	for _, e := range recorded(t, Fast) {
		if _, last := e.Payload.(Ended); !last {
			testenv.Must(t, s.Apply(e))
		}
	}
	if err := s.Apply(Event{Payload: Rescored{Reason: "r"}}); err == nil || len(s.Rescored) != 0 {
		t.Errorf("got %v with %d rescores", err, len(s.Rescored))
	}
}

func sameAgain(t *testing.T, s *State) NewScore {
	t.Helper()
	old := s.Trials[0]
	return NewScore{old.ID, old.Class, "other words", old.Result}
}

// A gate that waits for more sessions does not go on under rules that were left.
func TestRescoredCampaignIsNotExtended(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		w := newWorld(seed + 21)
		s := w.finish(t, w.begin(t, 130, candidate(w, "c001", lifted(.95))))
		if !s.GateOpen() {
			continue
		}
		testenv.Must(t, s.Apply(Event{Payload: Rescored{Reason: "r"}}))
		if s.GateOpen() || s.Apply(Event{Payload: Extended{Sessions: 50}}) == nil {
			t.Error("a rescored campaign was extended")
		}
		return
	}
	t.Fatal("no seed leaves a gate open")
}
