package loop

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
)

// audit derives a record again.
func audit(t *testing.T, events []Event) (Audit, error) {
	t.Helper()
	a := NewAuditor()
	for _, e := range events {
		if err := a.Event("an event", e); err != nil {
			return a.Audit, err
		}
	}
	return a.Audit, nil
}

func recorded(t *testing.T, p Profile) []Event {
	t.Helper()
	w := newWorld(7)
	w.reserve = cellsOf("R8")
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Attempt == 1 && w.draw(sp) > .93 {
			return harness.Overloaded
		}
		return harness.Valid
	}
	lint := candidate(w, "c002", lifted(0))
	lint.Rationale = "lint"
	w.finish(t, w.beginWith(t, DefaultSettings(700).Under(p), candidate(w, "c001", lifted(.48)), lint, candidate(w, "c003", lifted(-.3))))
	return w.events
}

func TestAuditDerivesEveryRecord(t *testing.T) {
	t.Parallel()
	for _, p := range Profiles() {
		a, err := audit(t, recorded(t, p))
		if err != nil || len(a.Wrong) != 0 {
			t.Errorf("%s: got %v, %v", p, a.Wrong, err)
		}
		if a.Rounds < 3 || a.Closed != a.Rounds || a.Verdicts != 3 || a.ByHand != 1 || a.Trials == 0 {
			t.Errorf("%s: looked at %+v, want every round, two verdicts, the end and the lint", p, a)
		}
	}
}

// Whatever is touched in the record is named or cannot be applied.
func TestAuditFindsWhatWasTouched(t *testing.T) {
	t.Parallel()
	events := recorded(t, Fast)
	at := func(kind Kind, ok func(Payload) bool) int {
		return slices.IndexFunc(events, func(e Event) bool { return e.Payload.Kind() == kind && ok(e.Payload) })
	}
	any := func(Payload) bool { return true }
	bet := func(p Payload) bool { return p.(Planned).Round.Purpose == ForBet }
	for name, c := range map[string]struct {
		at     int
		change func(Payload) Payload
	}{
		"a bet": {at(KindPlanned, bet), func(p Payload) Payload {
			x := p.(Planned)
			bets := *x.Round.Bets
			bets.Lambda *= 1 + 1e-15
			x.Round.Bets = &bets
			return x
		}},
		"a coin": {at(KindPlanned, bet), func(p Payload) Payload {
			x := p.(Planned)
			x.Round.Slots = slices.Clone(x.Round.Slots)
			x.Round.Slots[0], x.Round.Slots[1] = x.Round.Slots[1], x.Round.Slots[0]
			return x
		}},
		"the evidence": {at(KindClosed, func(p Payload) bool { return p.(Closed).LogE != 0 }), func(p Payload) Payload {
			x := p.(Closed)
			x.LogE += 1e-14
			return x
		}},
		"a verdict": {at(KindDecided, func(p Payload) bool { return p.(Decided).Verdict == Reject && p.(Decided).Reason != ByLint }), func(p Payload) Payload {
			x := p.(Decided)
			x.Verdict, x.Reason = Keep, ""
			return x
		}},
		"the gate's E": {at(KindEnded, any), func(p Payload) Payload {
			x := p.(Ended)
			e := *x.EValue * 2
			x.EValue = &e
			return x
		}},
		"a parent": {at(KindCommitted, func(p Payload) bool { return p.(Committed).Candidate == "c001" }), func(p Payload) Payload {
			x := p.(Committed)
			x.Parent = "w-twin"
			return x
		}},
	} {
		if c.at < 0 {
			t.Fatalf("%s: no such event", name)
		}
		touched := slices.Clone(events)
		touched[c.at].Payload = c.change(touched[c.at].Payload)
		a, err := audit(t, touched)
		if err == nil && len(a.Wrong) == 0 {
			t.Errorf("%s was changed and not found", name)
		}
		if len(a.Wrong) > 0 && !strings.Contains(a.Wrong[0], string(events[c.at].Payload.Kind())) {
			t.Errorf("%s: named %q first", name, a.Wrong[0])
		}
	}
	// A trial before its round was planned.
	first := at(KindRecorded, any)
	early := slices.Insert(slices.Clone(events), first-1, events[first])
	if _, err := audit(t, early); err == nil {
		t.Error("a trial recorded before its round was planned was not found")
	}
	// An outcome changed afterwards: the evidence no longer follows.
	flip := at(KindRecorded, func(p Payload) bool { return p.(Recorded).Trial.Passed() })
	changed := slices.Clone(events)
	trial := changed[flip].Payload.(Recorded)
	trial.Trial.Result.Outcome = harness.Fail
	changed[flip].Payload = trial
	if a, err := audit(t, changed); err == nil && len(a.Wrong) == 0 {
		t.Error("a pass turned into a fail was not found")
	}
}
