package loop

import (
	"context"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// partly answers each first attempt with a dead connection; served, after a model
// had answered.
type partly struct {
	*world
	served harness.Served
}

func (p partly) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t, err := p.world.Run(ctx, spec)
	t.Served = p.served
	return t, err
}

// A session that never reached the service is charged to no budget. One that broke
// off later is, and so is every one of a campaign begun before that was told apart.
func TestUnreachedIsNotCharged(t *testing.T) {
	t.Parallel()
	run := func(spare bool, served harness.Served) *State {
		w := newWorld(5)
		w.class = func(spec harness.Spec) harness.Class {
			if spec.Attempt == 1 && spec.Slot.Rep == 1 {
				return harness.Connection
			}
			return harness.Valid
		}
		set := DefaultSettings(400)
		set.SpareUnreached = spare
		s := w.beginWith(t, set, candidate(w, "c001", lifted(.3)))
		l := w.loop(s)
		l.Executor = partly{w, served}
		testenv.Must(t, l.Run(t.Context()))
		if len(s.Trials) < 50 || s.Ended == nil {
			t.Fatalf("%d trials, ended %+v", len(s.Trials), s.Ended)
		}
		return s
	}
	dead := 0
	s := run(true, nil)
	for _, tr := range s.Trials {
		if tr.Class == harness.Connection {
			dead++
		}
	}
	if dead == 0 || s.Unreached() != dead || s.Sessions() != len(s.Trials)-dead {
		t.Errorf("%d of %d never reached the service: %d charged, %d spared", dead, len(s.Trials), s.Sessions(), s.Unreached())
	}
	for name, s := range map[string]*State{"answered first": run(true, harness.Served{"m": {"m"}}), "of before": run(false, nil)} {
		if s.Unreached() != 0 || s.Sessions() != len(s.Trials) {
			t.Errorf("%s: %d of %d are charged", name, s.Sessions(), len(s.Trials))
		}
	}
}

// A service that is dead for good ends a campaign all the same: slots have a cap of
// attempts whatever is charged.
func TestADeadServiceEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.class = func(harness.Spec) harness.Class { return harness.Connection }
	s := w.begin(t, 400, candidate(w, "c001", lifted(.5)))
	testenv.Must(t, w.loop(s).Run(t.Context()))
	if s.Ended == nil || s.Ended.Outcome != NothingMeasured || s.Sessions() != 0 || len(s.Trials) == 0 {
		t.Errorf("got %+v after %d trials, %d charged", s.Ended, len(s.Trials), s.Sessions())
	}
	// Dead from the search on: the candidate has no evidence, and the search ends.
	w = newWorld(5)
	s = w.begin(t, 400, candidate(w, "c001", lifted(.5)), candidate(w, "c002", lifted(.5)))
	w.class = func(harness.Spec) harness.Class {
		if s.Phase == Search {
			return harness.Connection
		}
		return harness.Valid
	}
	l := w.loop(s)
	l.Parallel = 1
	testenv.Must(t, l.Run(t.Context()))
	if s.Ended == nil || len(s.Kept) != 0 || len(s.Trials) > 400 {
		t.Errorf("got %+v with %v kept after %d trials", s.Ended, s.Kept, len(s.Trials))
	}
}
