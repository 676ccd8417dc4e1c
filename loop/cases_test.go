package loop

import (
	"context"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// sessions gives every trial of a world a session id, changed by as.
type sessions struct {
	*world
	as func(harness.Trial) string
}

func (x sessions) Run(ctx context.Context, sp harness.Spec) (harness.Trial, error) {
	t, err := x.world.Run(ctx, sp)
	t.Session = x.as(t)
	return t, err
}

// Two invalid trials of eight are run again until there are eight valid ones.
func TestInvalidTrialsAreToppedUp(t *testing.T) { // case G1
	t.Parallel()
	w := newWorld(2)
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Attempt == 1 && sp.Slot.Rep <= 2 {
			return harness.Overloaded
		}
		return harness.Valid
	}
	s := w.finish(t, w.begin(t, 400, candidate(w, "c001", base)))
	valid, invalid := make(map[harness.Cell]int), 0
	for _, tr := range s.Trials {
		if tr.Purpose != ForPilot {
			continue
		}
		if tr.Class == harness.Valid {
			valid[tr.Spec.Slot.Cell]++
		} else {
			invalid++
		}
	}
	for _, cell := range s.Started.Objective {
		if valid[cell] != 6 {
			t.Errorf("%s: %d valid reps, want 6", cell, valid[cell])
		}
	}
	if invalid != 2*len(s.Started.Objective)+2*len(s.Started.Guards) {
		t.Errorf("%d invalid trials kept in the record, want every one", invalid)
	}
}

// Only the candidate hangs, in four of ten sessions: no statistical verdict.
func TestUnequalInvalidRatesBlockTheVerdict(t *testing.T) { // case G2
	t.Parallel()
	w := newWorld(2)
	w.class = func(sp harness.Spec) harness.Class {
		if sp.Slot.Wording == "w-c001" && w.draw(sp) < .4 {
			return harness.Hang
		}
		return harness.Valid
	}
	s := w.finish(t, w.begin(t, 900, candidate(w, "c001", lifted(.6))))
	if d := s.Find("c001").Decided; d.Verdict != Broken || d.Reason != ByInvalidRate {
		t.Errorf("got %+v, want broken (invalid_rate)", d)
	}
	hangs := 0
	for _, tr := range s.Trials {
		if tr.Class == harness.Hang {
			hangs++
		}
	}
	if hangs == 0 || len(s.Kept) != 0 {
		t.Errorf("%d hangs in the record, kept %v", hangs, s.Kept)
	}
}

// Each rep is a session of its own.
func TestRepsAreDistinctSessions(t *testing.T) { // case G5
	t.Parallel()
	w := newWorld(4)
	s := w.begin(t, 400, candidate(w, "c001", base))
	l := w.loop(s)
	l.Executor = sessions{w, func(tr harness.Trial) string { return "session-" + tr.ID }}
	testenv.Must(t, l.Run(t.Context()))
	ids, trials := make(map[string]bool), make(map[string]bool)
	for _, tr := range s.Trials {
		ids[tr.Session], trials[tr.ID] = true, true
	}
	if len(ids) != len(s.Trials) || len(trials) != len(s.Trials) {
		t.Errorf("%d trials with %d ids and %d sessions", len(s.Trials), len(trials), len(ids))
	}
}

// A rep that is a replay of another session is none, and is run again.
func TestReplayedSessionIsNoRep(t *testing.T) { // case G6
	t.Parallel()
	w := newWorld(4)
	s := w.begin(t, 400, candidate(w, "c001", base))
	l := w.loop(s)
	l.Parallel = 1
	l.Executor = sessions{w, func(tr harness.Trial) string {
		if tr.Spec.Slot.Rep == 2 && tr.Spec.Attempt == 1 && tr.Spec.Slot.Cell.String() == "R1/haiku" {
			return "session-of-R1/haiku"
		}
		if tr.Spec.Slot.Cell.String() == "R1/haiku" && tr.Spec.Slot.Rep == 1 {
			return "session-of-R1/haiku"
		}
		return "session-" + tr.ID
	}}
	testenv.Must(t, l.Run(t.Context()))
	duplicates := 0
	for _, tr := range s.Trials {
		if tr.Class == harness.Duplicate {
			duplicates++
			if tr.Result.Outcome != harness.Invalid || tr.Why == "" {
				t.Errorf("got %+v, want an invalid trial that names the first", tr)
			}
		}
	}
	if duplicates == 0 || s.startPilot[0].N != 2 {
		t.Errorf("%d duplicates, pilot of %d: want the replay refused and the rep run again", duplicates, s.startPilot[0].N)
	}
}
