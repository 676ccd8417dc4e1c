package loop

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	kept, kills, wrong := 0, 0, 0
	for seed := range uint64(20) {
		w := newWorld(seed + 1)
		s := w.begin(t, 900,
			candidate(w, "c001", lifted(0)), candidate(w, "c002", lifted(-.5)), candidate(w, "c003", lifted(.48)), candidate(w, "c004", lifted(0)))
		testenv.Must(t, w.loop(s).Run(t.Context()))
		for id, want := range map[string]Verdict{"c001": Reject, "c002": Reject, "c003": Keep} {
			got := s.Find(id).Decided.Verdict
			switch {
			case got == Keep && want == Keep:
				kept++
			case got == Keep:
				wrong++
			case got == want:
				kills++
			}
		}
		if got := s.Ended.Outcome; len(s.Kept) > 0 && got == NoChange || len(s.Kept) == 0 && got != NoChange {
			t.Errorf("seed %d: ended %s with %v kept", seed, got, s.Kept)
		}
	}
	if kept < 18 || wrong > 3 || kills < 30 {
		t.Errorf("20 campaigns: large kept %d times, null or harmful kept %d times, rejected %d times; want at least 18, at most 3, at least 30", kept, wrong, kills)
	}
}

func TestPromotionNeedsTheGate(t *testing.T) {
	t.Parallel()
	promoted := 0
	for seed := range uint64(10) {
		w := newWorld(seed + 100)
		s := w.begin(t, 900, candidate(w, "c001", lifted(.48)))
		testenv.Must(t, w.loop(s).Run(t.Context()))
		if s.Ended.Outcome != Promoted {
			continue
		}
		promoted++
		last := s.Rounds[len(s.Rounds)-1]
		if last.Subject != SubjectGate || *s.Ended.EValue < s.Started.Settings.PromoteAt {
			t.Errorf("seed %d: promoted after a round about %s with E %v", seed, last.Subject, *s.Ended.EValue)
		}
	}
	if promoted < 8 {
		t.Errorf("a large candidate was promoted in %d of 10 campaigns, want at least 8", promoted)
	}
}

// Every prefix of the ledger is a place where a crash may have left it.
func TestCrashAfterAnyEventGivesTheSameVerdicts(t *testing.T) {
	t.Parallel()
	make1 := func() (*world, *State) {
		w := newWorld(7)
		w.class = func(sp harness.Spec) harness.Class {
			if sp.Attempt == 1 && w.draw(sp) > .9 {
				return harness.Overloaded
			}
			return harness.Valid
		}
		lint := candidate(w, "c002", lifted(0))
		lint.Rationale = "lint"
		return w, w.begin(t, 500, candidate(w, "c001", lifted(.48)), lint, candidate(w, "c003", lifted(-.3)))
	}
	w, s := make1()
	testenv.Must(t, w.loop(s).Run(t.Context()))
	want, total := account(s), len(w.events)
	for cut := 5; cut < total; cut += 3 {
		w, s := make1()
		w.stopAt = cut
		if err := w.loop(s).Run(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("cut at %d: got error %v, want the crash", cut, err)
		}
		w.stopAt = 0
		s = w.replay(t)
		testenv.Must(t, w.loop(s).Run(t.Context()))
		if got := account(s); got != want {
			t.Fatalf("cut at %d of %d events: got\n%s\nwant\n%s", cut, total, got, want)
		}
		if got := account(w.replay(t)); got != want {
			t.Fatalf("cut at %d: a replay differs from the state that was run", cut)
		}
	}
}

func TestBetsAreRecordedBeforeTheirSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	s := w.begin(t, 400, candidate(w, "c001", lifted(.2)))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	planned := make(map[string]bool)
	trials := 0
	for _, e := range w.events {
		switch p := e.Payload.(type) {
		case Planned:
			for _, sl := range p.Round.Slots {
				planned[sl.Key()] = true
			}
		case Recorded:
			trials++
			if !planned[p.Trial.Spec.Slot.Key()] {
				t.Fatalf("trial of slot %s recorded before its round was planned", p.Trial.Spec.Slot.Key())
			}
		}
	}
	if trials == 0 {
		t.Fatal("no trial was recorded")
	}
}

func TestInvalidTrialsChangeNoCount(t *testing.T) {
	t.Parallel()
	run := func(faulty bool) *State {
		w := newWorld(11)
		if faulty {
			w.class = func(sp harness.Spec) harness.Class {
				if sp.Attempt == 1 && (sp.Slot.Rep+len(sp.Slot.Cell.Tier))%2 == 0 {
					return harness.Overloaded
				}
				return harness.Valid
			}
		}
		s := w.begin(t, 4000, candidate(w, "c001", lifted(.3)))
		s.Started.Settings.MaxCandidates = 60
		testenv.Must(t, w.loop(s).Run(t.Context()))
		return s
	}
	clean, faulty := run(false), run(true)
	a, b := clean.Find("c001").Comparison.Path, faulty.Find("c001").Comparison.Path
	rounds := min(len(a), len(b))
	for i := range rounds {
		if a[i].LogE != b[i].LogE {
			t.Errorf("round %d: log E is %v with invalid trials, %v without", i+1, b[i].LogE, a[i].LogE)
		}
	}
	if rounds < 2 {
		t.Errorf("only %d rounds to compare", rounds)
	}
	if len(faulty.Trials) <= len(clean.Trials) {
		t.Error("the faulty campaign ran no extra attempts: the fault was not planted")
	}
}

func TestBrokenHookIsNoStatisticalVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Slot.Wording == "w-c001" {
			return harness.HookNotDelivered
		}
		return harness.Valid
	}
	s := w.begin(t, 400, candidate(w, "c001", lifted(.5)), candidate(w, "c002", lifted(0)))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	d := s.Find("c001").Decided
	if d.Verdict != Broken || d.Reason != ByDelivery || d.Sessions > 8 {
		t.Errorf("got %s (%s) after %d sessions, want broken (delivery) within a round", d.Verdict, d.Reason, d.Sessions)
	}
	if s.Find("c002").Decided.Verdict == Broken {
		t.Error("the next candidate was called broken too")
	}
}

func TestNothingMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.class = func(harness.Spec) harness.Class { return harness.ServerError }
	s := w.begin(t, 400, candidate(w, "c001", lifted(.5)))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	if s.Ended == nil || s.Ended.Outcome != NothingMeasured {
		t.Errorf("got %+v, want nothing_measured", s.Ended)
	}
}

func TestDriftHaltsBeforeTheNextVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	s := w.begin(t, 400, candidate(w, "c001", lifted(0)), candidate(w, "c002", lifted(0)))
	l := w.loop(s)
	l.Observe = func(_ *State, e Event) {
		if _, ok := e.Payload.(Committed); ok {
			w.drift = true
		}
	}
	testenv.Must(t, l.Run(t.Context()))
	if s.Halted == nil || len(s.Halted.Deltas) != 1 || s.Halted.Deltas[0].Path != "rubric.md" {
		t.Fatalf("got %+v, want a halt naming rubric.md", s.Halted)
	}
	for _, p := range s.Progress {
		if p.Decided != nil {
			t.Errorf("%s got the verdict %s after the change", p.Candidate.ID, p.Decided.Verdict)
		}
	}
	before := len(w.events)
	if err := w.loop(w.replay(t)).Run(t.Context()); err != nil || len(w.events) != before {
		t.Errorf("a halted campaign went on: %d events, then %d, error %v", before, len(w.events), err)
	}
}

func TestHaltingClassStopsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.class = func(harness.Spec) harness.Class { return harness.Auth }
	s := w.begin(t, 400, candidate(w, "c001", lifted(0)))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	if s.Halted == nil || !strings.HasPrefix(s.Halted.Reason, "auth") {
		t.Fatalf("got %+v, want a halt for auth", s.Halted)
	}
	// One request found out; those already under way beside it may end.
	if n := len(s.Trials); n > 3 {
		t.Errorf("%d sessions were spent on a refused login, want at most the 3 side by side", n)
	}
}

func TestDrainStartsNothingNew(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	s := w.begin(t, 400, candidate(w, "c001", lifted(0)))
	drain := make(chan struct{})
	l := w.loop(s)
	l.Drain = drain
	l.Observe = func(_ *State, e Event) {
		if _, ok := e.Payload.(Recorded); ok && len(s.Trials) == 10 {
			close(drain)
		}
	}
	if err := l.Run(t.Context()); !errors.Is(err, ErrDrained) {
		t.Fatalf("got %v, want ErrDrained", err)
	}
	if n := len(s.Trials); n < 10 || n > 10+l.Parallel {
		t.Errorf("%d trials recorded, want 10 and those under way", n)
	}
}

func TestTargetsAreWeighted(t *testing.T) {
	t.Parallel()
	w := newWorld(9)
	only := func(c harness.Cell) float64 {
		if c.String() == "R1/sonnet" {
			return .9
		}
		return base(c)
	}
	s := w.begin(t, 600, candidate(w, "c001", only, "R1/sonnet"))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	p := s.Find("c001")
	if p.Decided.Verdict != Keep {
		t.Fatalf("got %s (%s), want keep", p.Decided.Verdict, p.Decided.Reason)
	}
	_, own := p.Comparison.Counts()
	for i, cell := range s.Started.Objective {
		if own[i].N < 2 {
			t.Errorf("%s: %d reps before the keep, want at least %d for the collapse guard", cell, own[i].N, 2)
		}
	}
}

func TestOverTriggerIsVetoed(t *testing.T) {
	t.Parallel()
	vetoed := 0
	for seed := range uint64(10) {
		w := newWorld(seed + 40)
		eager := func(c harness.Cell) float64 {
			if strings.HasPrefix(c.Scenario, "N") {
				return .1
			}
			return lifted(.5)(c)
		}
		s := w.begin(t, 900, candidate(w, "c001", eager))
		testenv.Must(t, w.loop(s).Run(t.Context()))
		if d := s.Find("c001").Decided; d.Verdict == Reject && d.Reason == ByVeto {
			vetoed++
		}
	}
	if vetoed < 9 {
		t.Errorf("vetoed %d of 10 candidates that always detour, want at least 9", vetoed)
	}
}

func TestExecutorErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	s := w.begin(t, 400, candidate(w, "c001", lifted(0)))
	l := w.loop(s)
	boom := errors.New("no space for the sandbox")
	l.Executor = executorFunc(func(context.Context, harness.Spec) (harness.Trial, error) { return harness.Trial{}, boom })
	if err := l.Run(t.Context()); !errors.Is(err, boom) {
		t.Errorf("got %v, want %v", err, boom)
	}
}

type executorFunc func(context.Context, harness.Spec) (harness.Trial, error)

func (f executorFunc) Run(ctx context.Context, sp harness.Spec) (harness.Trial, error) {
	return f(ctx, sp)
}

func TestEvidenceIsFinite(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	s := w.begin(t, 900, candidate(w, "c001", func(harness.Cell) float64 { return 1 }), candidate(w, "c002", func(harness.Cell) float64 { return 0 }))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	for _, p := range s.Progress {
		if e := *p.Decided.EValue; math.IsNaN(e) || math.IsInf(e, 0) || e < 0 {
			t.Errorf("%s: E is %v", p.Candidate.ID, e)
		}
	}
}

func TestPassOfTheImpossibleControlHalts(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.controls = cellsOf("X1")
	s := w.begin(t, 900, candidate(w, "c001", lifted(.5)))
	l := w.loop(s)
	l.Observe = func(_ *State, e Event) {
		if _, ok := e.Payload.(Committed); ok {
			w.mu.Lock()
			w.leak = true // from now on every control passes axis b
			w.mu.Unlock()
		}
	}
	testenv.Must(t, l.Run(t.Context()))
	if s.Halted == nil || !strings.Contains(s.Halted.Reason, "X1/") || len(s.Kept) != 0 {
		t.Errorf("got %+v with %v kept, want a halt naming X1 before the keep", s.Halted, s.Kept)
	}
}

func TestControlsAreRunAndNeverCounted(t *testing.T) {
	t.Parallel()
	run := func(controls []harness.Cell) *State {
		w := newWorld(3)
		w.controls = controls
		s := w.begin(t, 4000, candidate(w, "c001", lifted(.5)))
		testenv.Must(t, w.loop(s).Run(t.Context()))
		return s
	}
	without, with := run(nil), run(cellsOf("X1"))
	if a, b := without.Find("c001").Decided, with.Find("c001").Decided; a.Verdict != b.Verdict || *a.EValue != *b.EValue {
		t.Errorf("controls changed the evidence: %v, %v", a, b)
	}
	reps := 0
	for _, tr := range with.Trials {
		if tr.Spec.Slot.Cell.Scenario == "X1" {
			reps++
		}
	}
	if reps != 8 {
		t.Errorf("%d control sessions, want 2 a tier in the pilot and 2 a tier before the keep", reps)
	}
}

// A trial voided by drift leads to a halt that names every path, not only the
// one the trial met first.
func TestDriftSeenByATrialNamesEveryPath(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Slot.Rep == 3 {
			return harness.DriftedSeal
		}
		return harness.Valid
	}
	w.drift = true
	s := w.begin(t, 400, candidate(w, "c001", lifted(0)))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	if s.Halted == nil || len(s.Halted.Deltas) != 1 {
		t.Errorf("got %+v, want a halt with the deltas", s.Halted)
	}
}
