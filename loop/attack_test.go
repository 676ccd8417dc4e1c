package loop

import (
	"errors"
	"slices"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// A pause recorded beside a halt does not replace it.
func TestHaltOutlivesPause(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]harness.Class{{harness.VersionDrift, harness.RateLimit}, {harness.RateLimit, harness.VersionDrift}} {
		w := newWorld(5)
		s := w.begin(t, 400, candidate(w, "c001", base))
		l := w.loop(s)
		toFirstRound(t, s, l)
		r := s.round()
		for i, cl := range order {
			tr := harness.Trial{Spec: harness.Spec{Campaign: "t", Slot: r.Slots[i], Attempt: 1}, Class: cl, Result: harness.Result{Kind: harness.Unprompted}}
			testenv.Must(t, l.record(t.Context(), Recorded{tr}))
		}
		if _, ok := Next(s).Append[0].(Halted); !ok {
			t.Errorf("%v: next is %+v, want a halt", order, Next(s).Append[0])
		}
	}
}

// toFirstRound takes the A/A arm and plans the pilot.
func toFirstRound(t *testing.T, s *State, l *Loop) {
	t.Helper()
	for s.round() == nil {
		testenv.Must(t, l.take(t.Context(), Next(s)))
	}
}

// A window that closes does not drop a halt.
func TestWindowPauseKeepsHalt(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Slot.Rep == 3 {
			return harness.VersionDrift
		}
		return harness.Valid
	}
	s := w.begin(t, 400, candidate(w, "c001", base))
	l := w.loop(s)
	drain := make(chan struct{})
	l.Drain = drain
	l.Observe = func(_ *State, e Event) {
		if p, ok := e.Payload.(Recorded); ok && p.Trial.Class == harness.VersionDrift {
			select {
			case <-drain:
			default:
				close(drain)
			}
		}
	}
	if err := l.Run(t.Context()); !errors.Is(err, ErrDrained) {
		t.Fatal(err)
	}
	_ = l.record(t.Context(), Paused{Reason: "window"})
	_ = l.record(t.Context(), Resumed{})
	if st := Next(s); len(st.Append) != 1 || st.Append[0].Kind() != KindHalted {
		t.Errorf("after the window: %+v, want the halt for version drift", st)
	}
}

// A halt that lifts does not hide a pass of the impossible control.
func TestLeakOutlivesALiftableHalt(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.controls = cellsOf("X1")
	w.leak = true
	s := w.begin(t, 400, candidate(w, "c001", base))
	l := w.loop(s)
	toFirstRound(t, s, l)
	r := s.round()
	i := slices.IndexFunc(r.Slots, func(sl harness.Slot) bool { return sl.Cell.Scenario == "X1" })
	tr, _ := w.Run(t.Context(), harness.Spec{Campaign: "t", Slot: r.Slots[i], Attempt: 1})
	_ = l.record(t.Context(), Recorded{tr})
	refused := harness.Trial{Spec: harness.Spec{Campaign: "t", Slot: r.Slots[(i+1)%len(r.Slots)], Attempt: 1}, Class: harness.Auth}
	refused.Result.Kind = harness.Unprompted
	_ = l.record(t.Context(), Recorded{refused})
	for range 3 {
		st := Next(s)
		if len(st.Append) == 0 {
			break
		}
		_ = l.record(t.Context(), st.Append...)
		if s.Halted != nil && s.Halted.Lifts() {
			_ = l.record(t.Context(), Resumed{})
		}
	}
	if s.Halted == nil {
		t.Errorf("the leak was forgotten: next %+v", Next(s))
	}
}

// Limits say nothing about the candidate that happened to run.
func TestRateLimitsBreakNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	hits := map[string]int{}
	n := 0
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Slot.Wording == "w-c001" && n < 4 {
			w.mu.Lock()
			defer w.mu.Unlock()
			n++
			hits[sp.Slot.Key()]++
			return harness.RateLimit
		}
		return harness.Valid
	}
	s := w.begin(t, 900, candidate(w, "c001", lifted(.5)))
	for s.Ended == nil {
		w.finish(t, s)
		if s.Paused != nil {
			_ = w.loop(s).record(t.Context(), Resumed{})
		}
		if s.Halted != nil {
			t.Fatal(s.Halted)
		}
	}
	if d := s.Find("c001").Decided; d.Verdict == Broken {
		t.Errorf("four rate limits: %+v (tries %+v vs %+v)", d, s.triesOf("w-c001"), s.triesOf("w-start"))
	}
}

// Where a crash falls does not decide whether the instrument is broken.
func TestInstrumentCrash(t *testing.T) {
	t.Parallel()
	mk := func() (*world, *State) {
		w := newWorld(7)
		w.class = func(sp harness.Spec) harness.Class {
			if sp.Attempt == 1 && sp.Slot.Cell.String() == "R1/haiku" && sp.Slot.Rep <= 2 {
				return harness.HookNotDelivered
			}
			return harness.Valid
		}
		return w, w.begin(t, 400, candidate(w, "c001", lifted(.3)))
	}
	w, s := mk()
	w.finish(t, s)
	want := account(s)
	bad := 0
	for cut := 5; cut < len(w.events); cut++ {
		w2, s2 := mk()
		w2.stopAt = cut
		l := w2.loop(s2)
		l.Parallel = 1
		_ = l.Run(t.Context()) // the crash
		w2.stopAt = 0
		s2 = w2.replay(t)
		w2.finish(t, s2)
		if account(s2) != want {
			bad++
			if bad == 1 {
				t.Errorf("cut %d: halted %+v; got %s want %s", cut, s2.Halted, account(s2), want)
			}
		}
	}
}

// A campaign may be ended by hand at any moment.
func TestEndByHandIsHonest(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	bad := map[Kind]int{}
	for cut := 5; cut < len(events); cut++ {
		a := NewAuditor()
		for _, e := range events[:cut] {
			_ = a.Event("x", e)
		}
		if a.State.Ended != nil {
			break
		}
		out := NoChange
		if len(a.State.Kept) > 0 {
			out = Unconfirmed
		}
		_ = a.Event("end", Event{Payload: Ended{Outcome: out, Why: "seal changed", ByHand: true}})
		if len(a.Audit.Wrong) > 0 {
			bad[events[cut].Payload.Kind()]++
		}
	}
	if len(bad) > 0 {
		t.Errorf("by-hand ends called wrong, by the event that would have followed: %v", bad)
	}
}

// What is gone on with after an alarm bets on no pool.
func TestUnparkedIsStaleAfterAlarm(t *testing.T) {
	t.Parallel()
	w := newWorld(9)
	s := w.begin(t, 2000, candidate(w, "c001", lifted(.13)))
	c := func() *Comparison {
		l := w.loop(s)
		for s.Comparison == nil {
			testenv.Must(t, l.take(t.Context(), Next(s)))
		}
		return s.Comparison
	}()
	_ = s.Apply(Event{Payload: Decided{Candidate: "c001", Verdict: Inconclusive, Reason: ByLimit}})
	s.Baseline.Watch.Alarm = true
	testenv.Must(t, s.Apply(Event{Payload: Unparked{"c001"}}))
	r := planBet(s, c)
	if slices.Max(r.Reveals) > 0 {
		t.Errorf("bets on the pool after the alarm: %v", r.Reveals)
	}
}

// A lint only ever rejects.
func TestForgedLintVerdict(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	i := slices.IndexFunc(events, func(e Event) bool { d, ok := e.Payload.(Decided); return ok && d.Reason == ByLint })
	d := events[i].Payload.(Decided)
	d.Verdict = Keep
	d.Sessions = 40
	e := 7.0
	d.EValue = &e
	touched := slices.Clone(events)
	touched[i].Payload = d
	if a, err := audit(t, touched); err == nil && len(a.Wrong) == 0 {
		t.Error("a lint verdict changed to keep with E 7 was not found")
	}
}
