package loop

import (
	"context"
	"testing"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/testenv"
)

// ringing is an executor whose third session rings the alarm and then waits until
// it is called off; what runs beside it comes to its end.
type ringing struct {
	*world
	alarm chan struct{}
	sees  func() // what has happened to the suite when the alarm rings
	calls chan struct{}
}

func (r ringing) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	r.calls <- struct{}{}
	if len(r.calls) != 3 {
		return r.world.Run(ctx, spec)
	}
	r.sees()
	r.alarm <- struct{}{}
	<-ctx.Done()
	return r.world.Run(ctx, spec) // a result as good as any, and void
}

func TestAnAlarmWithDriftVoidsWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	s := w.begin(t, 400, candidate(w, "c001", lifted(0)))
	l := w.loop(s)
	r := ringing{world: w, alarm: make(chan struct{}), sees: func() { w.drift = true }, calls: make(chan struct{}, 100)}
	l.Executor, l.Alarm, l.Parallel = r, r.alarm, 1
	testenv.Must(t, l.Run(t.Context()))
	if s.Halted == nil || len(s.Halted.Deltas) != 1 || s.Halted.Deltas[0].Path != "rubric.md" {
		t.Errorf("got %+v, want a halt naming rubric.md", s.Halted)
	}
	if len(r.calls) != 3 || len(s.Trials) != 2 {
		t.Errorf("%d sessions began and %d were recorded, want 3 and the 2 before the change", len(r.calls), len(s.Trials))
	}
}

// An alarm without drift is a touch: the campaign goes on to the same end.
func TestAFalseAlarmChangesNothing(t *testing.T) {
	t.Parallel()
	end := func(alarm bool) (*State, int) {
		w := newWorld(5)
		s := w.begin(t, 400, candidate(w, "c001", lifted(.5)))
		l, rang := w.loop(s), 0
		bell := make(chan struct{}, 1)
		if alarm {
			l.Alarm = bell
		}
		l.Observe = func(_ *State, e Event) {
			if _, ok := e.Payload.(Recorded); !ok {
				return
			}
			select {
			case bell <- struct{}{}:
				rang++
			default:
			}
		}
		testenv.Must(t, l.Run(t.Context()))
		return s, rang
	}
	quiet, _ := end(false)
	loud, rang := end(true)
	if loud.Halted != nil || loud.Ended == nil || *loud.Ended.EValue != *quiet.Ended.EValue || loud.Ended.Outcome != quiet.Ended.Outcome || rang < 10 {
		t.Errorf("after %d alarms: got %+v and halt %v, want %+v", rang, loud.Ended, loud.Halted, quiet.Ended)
	}
}

// full is a preparer that has no room for its first commit and its first A/A arm.
type full struct {
	*world
	refused map[string]bool
}

func (f full) hold(what string) error {
	if f.refused[what] {
		return nil
	}
	f.refused[what] = true
	return &HoldError{Paused: Paused{Reason: "disk: no room left", Class: harness.Disk}}
}

func (f full) Prepare(ctx context.Context, champion string, c candidates.Candidate) (Payload, error) {
	if err := f.hold(c.ID); err != nil {
		return nil, err
	}
	return f.world.Prepare(ctx, champion, c)
}

func (f full) CommitAA(ctx context.Context, start string) (Committed, error) {
	if err := f.hold("twin"); err != nil {
		return Committed{}, err
	}
	return f.world.CommitAA(ctx, start)
}

func TestACommitWithoutRoomPausesAndIsMadeLater(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	s := w.begin(t, 400, candidate(w, "c001", lifted(.5)))
	l := w.loop(s)
	f := full{w, make(map[string]bool)}
	l.Preparer = f
	pauses := 0
	for range 5 {
		testenv.Must(t, l.Run(t.Context()))
		if s.Paused == nil {
			break
		}
		if pauses++; s.Paused.Class != harness.Disk || !s.Paused.Lifts() {
			t.Errorf("got %+v, want a pause of the class disk that lifts", s.Paused)
		}
		testenv.Must(t, l.record(t.Context(), Resumed{}))
	}
	if pauses != len(f.refused) || pauses == 0 || s.Ended == nil || s.Progress[0].Decided == nil {
		t.Errorf("%d pauses for %d commits; ended %v", pauses, len(f.refused), s.Ended)
	}
}
