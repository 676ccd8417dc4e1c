package loop

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/testenv"
)

// finish runs a world to its end.
func (w *world) finish(t *testing.T, s *State) *State {
	t.Helper()
	testenv.Must(t, w.loop(s).Run(t.Context()))
	return s
}

func TestPilotHaltsWhenTheSameBytesDiffer(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	s := w.begin(t, 400, candidate(w, "c001", lifted(.5)))
	l := w.loop(s)
	l.Observe = func(_ *State, e Event) {
		if p, ok := e.Payload.(Committed); ok && p.Candidate == SubjectAA {
			w.rates["w-start"] = func(harness.Cell) float64 { return .95 }
			w.rates["w-twin"] = func(harness.Cell) float64 { return .05 }
		}
	}
	testenv.Must(t, l.Run(t.Context()))
	if s.Halted == nil || !strings.Contains(s.Halted.Reason, "A/A") || s.AA == nil || s.AA.P >= aaLevel {
		t.Errorf("got %+v after %+v, want a halt for the A/A pilot", s.Halted, s.AA)
	}
}

func TestPilotSharesItsRepsBetweenTwoLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(6)
	s := w.finish(t, w.begin(t, 120, candidate(w, "c001", lifted(0))))
	labels, reps := make(map[string]int), make(map[string]int)
	for _, tr := range s.Trials {
		sl := tr.Spec.Slot
		if tr.Purpose == ForPilot && !strings.HasPrefix(sl.Cell.Scenario, "N") {
			labels[sl.Wording]++
			reps[sl.Cell.String()+string(rune('0'+sl.Rep))]++
		}
	}
	if labels["w-start"] != 24 || labels["w-twin"] != 24 || len(reps) != 48 {
		t.Errorf("got %v with %d repetitions, want 3 of 8 cells under each label, numbered through", labels, len(reps))
	}
	for i := range s.Started.Objective {
		if n := s.startPilot[i].N; n != 2 {
			t.Errorf("cell %d: pilot of %d, want 2 of the 6", i, n)
		}
	}
	if s.AA == nil || s.AA.P < .01 {
		t.Errorf("got %+v, want an unremarkable A/A pilot", s.AA)
	}
}

// A champion measured before the model changed looks worse than it is. Evidence
// with both arms fresh is not fooled.
func TestStrictAsksAgainWithBothArmsFresh(t *testing.T) {
	t.Parallel()
	kept := func(p Profile) (n int) {
		for seed := range uint64(20) {
			w := newWorld(seed + 300)
			s := w.beginWith(t, DefaultSettings(900).Under(p), candidate(w, "c001", base))
			l := w.loop(s)
			l.Observe = func(_ *State, e Event) {
				if _, ok := e.Payload.(Closed); ok && s.Phase == Search {
					w.rates["w-start"], w.rates["w-c001"] = lifted(.4), lifted(.4)
				}
			}
			testenv.Must(t, l.Run(t.Context()))
			d := s.Find("c001").Decided
			if d.Verdict == Keep {
				n++
			}
			if c := s.Find("c001").Comparison; c.Concurrent && (d.ConcurrentE == nil || *d.EValue < s.Started.Settings.KeepAt) {
				t.Errorf("seed %d: got E %v and %v, want both stages' evidence", seed, d.EValue, d.ConcurrentE)
			}
		}
		return n
	}
	fast, strict := kept(Fast), kept(Strict)
	if fast < 10 || strict > fast/2 {
		t.Errorf("after a drift fast kept %d of 20 nulls and strict %d, want strict to keep far fewer", fast, strict)
	}
}

func TestCertifiedAsksForMore(t *testing.T) {
	t.Parallel()
	w := newWorld(8)
	s := w.beginWith(t, DefaultSettings(2000).Under(Certified), candidate(w, "c001", lifted(.6)), candidate(w, "c002", base))
	w.finish(t, s)
	c := s.Find("c001").Comparison
	if want := 2 / .2; c.KeepAt != want {
		t.Errorf("first candidate of two: keeps at %v, want %v", c.KeepAt, want)
	}
	if s.Find("c001").Decided.Verdict != Keep {
		t.Fatalf("got %+v, want keep", s.Find("c001").Decided)
	}
	if got, want := s.Find("c002").Comparison.KeepAt, 2/.2/2; got != want {
		t.Errorf("after one keep: keeps at %v, want %v", got, want)
	}
}

func TestScoutShortlists(t *testing.T) {
	t.Parallel()
	w := newWorld(12)
	set := DefaultSettings(300).Under(Scout)
	s := w.finish(t, w.beginWith(t, set, candidate(w, "c001", lifted(.7)), candidate(w, "c002", lifted(-.9))))
	good, bad := s.Find("c001"), s.Find("c002")
	if good.Decided.Verdict != Shortlisted || good.Decided.EValue != nil {
		t.Errorf("got %+v, want shortlisted without an e-value", good.Decided)
	}
	if bad.Decided.Verdict != Reject || bad.Decided.Sessions != 8 {
		t.Errorf("got %+v, want a reject after one rep of 8 cells", bad.Decided)
	}
	if s.Ended.Outcome != Promoted && s.Ended.Outcome != Unconfirmed || s.Ended.EValue == nil {
		t.Errorf("got %+v, want a gate", s.Ended)
	}
	if s.AA != nil {
		t.Error("one rep a cell was split between two labels")
	}
}

func TestScoutStillGuards(t *testing.T) {
	t.Parallel()
	shortlisted := 0
	for seed := range uint64(20) {
		w := newWorld(seed + 50)
		gone := func(c harness.Cell) float64 {
			if c.Scenario == "R2" || c.Scenario == "R3" {
				return .01
			}
			return .95
		}
		s := w.finish(t, w.beginWith(t, DefaultSettings(300).Under(Scout), candidate(w, "c001", gone)))
		if s.Find("c001").Decided.Verdict == Shortlisted {
			shortlisted++
		}
	}
	if shortlisted > 2 {
		t.Errorf("%d of 20 candidates with two collapsed scenarios were shortlisted", shortlisted)
	}
}

// A candidate that used up its share is taken up again when nothing else waits,
// with the evidence it had.
func TestParkedIsGoneOnWith(t *testing.T) {
	t.Parallel()
	resumed := 0
	for seed := range uint64(12) {
		w := newWorld(seed + 1)
		s := w.begin(t, 2000, candidate(w, "c001", lifted(.13)), candidate(w, "c002", lifted(-.5)))
		set := &s.Started.Settings
		set.MaxCandidates = 20
		w.finish(t, s)
		verdicts := 0
		for _, e := range w.events {
			switch p := e.Payload.(type) {
			case Decided:
				verdicts++
			case Unparked:
				resumed++
				if p.Candidate != "c001" && p.Candidate != "c002" {
					t.Errorf("took up %q", p.Candidate)
				}
			}
		}
		c := s.Find("c001").Comparison
		for i := 1; i < len(c.Path); i++ {
			if c.Path[i].Sessions < c.Path[i-1].Sessions {
				t.Errorf("seed %d: the evidence path goes back", seed)
			}
		}
		if got := account(w.replay(t)); got != account(s) {
			t.Errorf("seed %d: a replay differs: %s, %s", seed, got, account(s))
		}
	}
	if resumed == 0 {
		t.Error("not one candidate was taken up again")
	}
}

func TestFinishEndsTheSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	s := w.begin(t, 900, candidate(w, "c001", lifted(.5)), candidate(w, "c002", lifted(.1)), candidate(w, "c003", base))
	l := w.loop(s)
	l.Observe = func(_ *State, e Event) {
		if p, ok := e.Payload.(Committed); ok && p.Candidate == "c002" {
			if err := l.record(t.Context(), Finished{}); err != nil {
				t.Error(err)
			}
		}
	}
	testenv.Must(t, l.Run(t.Context()))
	if d := s.Find("c002").Decided; d == nil || d.Verdict != Inconclusive || d.Reason != ByFinish {
		t.Errorf("the candidate under way got %+v, want inconclusive (finish)", d)
	}
	if s.Find("c003").Decided != nil {
		t.Error("a waiting candidate was still tried")
	}
	if s.Ended == nil || s.Ended.EValue == nil {
		t.Errorf("got %+v, want the gate to have run", s.Ended)
	}
}

func TestGateGoesOnWithMoreSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(21)
	set := DefaultSettings(150)
	set.GateShare = .1
	s := w.finish(t, w.beginWith(t, set, candidate(w, "c001", lifted(.6))))
	if !s.GateOpen() || len(s.Kept) != 1 {
		t.Fatalf("got %+v with %v kept, want a gate that ran out of budget", s.Ended, s.Kept)
	}
	before := *s.Ended.EValue
	l := w.loop(s)
	testenv.Must(t, l.record(t.Context(), Extended{Sessions: 400}))
	if got := s.Comparison.E(); got != before {
		t.Errorf("the gate goes on at E %v, want %v", got, before)
	}
	w.finish(t, s)
	if s.Ended.Outcome != Promoted || s.Budget() != 550 {
		t.Errorf("got %+v with a budget of %d, want promoted of 550", s.Ended, s.Budget())
	}
	if s.GateOpen() || s.Apply(Event{Payload: Extended{Sessions: 1}}) == nil {
		t.Error("a promoted campaign was extended")
	}
	if account(w.replay(t)) != account(s) {
		t.Error("a replay differs")
	}
}

func TestTransferFollowsTheGateAndDecidesNothing(t *testing.T) {
	t.Parallel()
	run := func(reserve []harness.Cell) *State {
		w := newWorld(3)
		w.reserve = reserve
		return w.finish(t, w.begin(t, 900, candidate(w, "c001", lifted(.5))))
	}
	without, with := run(nil), run(cellsOf("R8"))
	if without.Ended.Outcome != Promoted || with.Ended.Outcome != Promoted || *without.Ended.EValue != *with.Ended.EValue {
		t.Fatalf("got %+v and %+v, want the same promotion", without.Ended, with.Ended)
	}
	arms := make(map[string]int)
	for i, tr := range with.Trials {
		if tr.Purpose != ForTransfer {
			continue
		}
		arms[tr.Spec.Slot.Wording]++
		if i < len(without.Trials) {
			t.Error("the reserve was run before the gate was over")
		}
	}
	if arms["w-start"] != 4 || arms["w-c001"] != 4 {
		t.Errorf("got %v, want 2 reps of 2 cells for start and champion", arms)
	}
}

// The gate bets on the declared cells; a collapse elsewhere is found there too.
func TestGateLooksOutsideItsCells(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	one := func(c harness.Cell) float64 {
		if c.String() == "R1/sonnet" {
			return .95
		}
		return base(c)
	}
	s := w.begin(t, 900, candidate(w, "c001", one, "R1/sonnet"))
	l := w.loop(s)
	l.Observe = func(_ *State, e Event) {
		if d, ok := e.Payload.(Decided); ok && d.Verdict == Keep {
			w.rates["w-c001"] = func(c harness.Cell) float64 {
				if c.String() == "R2/sonnet" {
					return 0
				}
				return one(c)
			}
		}
	}
	testenv.Must(t, l.Run(t.Context()))
	if len(s.Kept) != 1 || s.Ended.Outcome != Unconfirmed || !strings.Contains(s.Ended.Why, "R2/sonnet") || s.Ended.Open {
		t.Errorf("got %+v with %v kept, want unconfirmed for R2/sonnet", s.Ended, s.Kept)
	}
	for i, cell := range s.Started.Objective {
		if n := len(s.GateComparison.Own[i]); s.GateComparison.Weights[i] == 0 && n < 3 {
			t.Errorf("%s: %d fresh reps at the gate, want at least %d", cell, n, 3)
		}
	}
}

func TestSimplifyIsKeptForNotBeingWorse(t *testing.T) {
	t.Parallel()
	kept := 0
	for seed := range uint64(10) {
		w := newWorld(seed + 70)
		same := candidate(w, "c001", base)
		same.Simplify = true
		s := w.begin(t, 1500, same)
		s.Started.Settings.Simplify = .25 // wide, so that few sessions decide
		w.finish(t, s)
		if s.Find("c001").Comparison.D0 != -.25 {
			t.Fatalf("evidence speaks against a rise of %v", s.Find("c001").Comparison.D0)
		}
		if s.Find("c001").Decided.Verdict == Keep {
			kept++
		}
	}
	if kept < 7 {
		t.Errorf("kept %d of 10 candidates that change nothing, want at least 7", kept)
	}
}

func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	good := DefaultSettings(400)
	testenv.Must(t, good.Validate(14))
	for name, change := range map[string]func(*Settings){
		"profile": func(s *Settings) { s.Profile = "quick" }, "budget": func(s *Settings) { s.Budget = 84 },
		"gate_share": func(s *Settings) { s.GateShare = math.NaN() }, "keep_at": func(s *Settings) { s.KeepAt = 1 },
		"keep_fdr": func(s *Settings) { s.Profile, s.KeepFDR = Certified, 0 }, "transfer_reps": func(s *Settings) { s.TransferReps = -1 },
		"sentinels": func(s *Settings) { s.Sentinels = 1 },
	} {
		set := good
		change(&set)
		if err := set.Validate(14); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want a refusal that names it", name, err)
		}
	}
}

// Sentinels notice that the model has changed; from then on the pool is not bet
// on and both arms are fresh.
func TestSentinelsStopTheUseOfThePool(t *testing.T) {
	t.Parallel()
	alarms, after := 0, 0
	for seed := range uint64(10) {
		w := newWorld(seed + 500)
		set := DefaultSettings(3000)
		set.Sentinels = .5
		var queue []candidates.Candidate
		for i := range 12 {
			queue = append(queue, candidate(w, fmt.Sprintf("c%03d", i+1), base))
		}
		s := w.beginWith(t, set, queue...)
		l := w.loop(s)
		l.Observe = func(_ *State, e Event) {
			if p, ok := e.Payload.(Closed); ok && p.AA != nil {
				for name := range w.rates { // much worse from the end of the pilot on
					w.rates[name] = func(c harness.Cell) float64 { return base(c) / 8 }
				}
			}
		}
		testenv.Must(t, l.Run(t.Context()))
		if !s.Baseline.Watch.Alarm {
			continue
		}
		alarms++
		for _, p := range s.Progress {
			if p.Comparison != nil && p.Comparison.Stale {
				after++
			}
		}
		if got := account(w.replay(t)); got != account(s) {
			t.Errorf("seed %d: a replay differs", seed)
		}
	}
	if alarms < 7 || after < alarms {
		t.Errorf("%d alarms in 10 campaigns whose model fell apart, %d comparisons without the pool", alarms, after)
	}
}

func TestNoSentinelsUnlessAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	s := w.finish(t, w.begin(t, 900, candidate(w, "c001", lifted(.5)), candidate(w, "c002", base)))
	for _, r := range s.Rounds {
		for i, n := range r.Reveals {
			cell := s.Started.Objective[i]
			if n > 0 && r.Subject != SubjectGate && slices.ContainsFunc(r.Slots, func(sl harness.Slot) bool {
				return sl.Cell == cell && sl.Wording != s.Find(r.Subject).Commit
			}) {
				t.Errorf("round %d runs the champion in %s, where the pool has reps left", r.N, cell)
			}
		}
	}
}
