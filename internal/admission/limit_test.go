package admission_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/gateway"
	"loopd/internal/testenv"
	"loopd/loop"
)

// account is a service whose sessions take a minute and that refuses, from one
// session on, until a moment it names in words.
type account struct {
	from    int // the session that meets the limit, from 1
	resets  time.Time
	words   string
	ran     int
	refused []time.Time // sessions that met the limit
	after   time.Time   // the first that did not, afterwards
}

func (a *account) Run(_ context.Context, spec harness.Spec) (harness.Trial, error) {
	a.ran++
	t := harness.Trial{ID: spec.TrialID(), Spec: spec, Class: harness.Valid, Started: time.Now()}
	t.Result = harness.Result{Kind: harness.Unprompted, Outcome: harness.Fail, Checks: []harness.Check{{Name: harness.AxisA, Outcome: harness.Fail}}}
	if a.ran >= a.from && time.Now().Before(a.resets) {
		a.refused = append(a.refused, time.Now())
		t.Class, t.Result = harness.UsageLimit, harness.Result{Kind: harness.Unprompted, Outcome: harness.Invalid}
		t.Lifts, _ = gateway.ParseReset(a.words, time.Now())
		return t, nil
	}
	if len(a.refused) > 0 && a.after.IsZero() {
		a.after = time.Now()
	}
	<-time.After(time.Minute)
	return t, nil
}

// record is a ledger in memory.
type record struct{ events []loop.Event }

func (r *record) Append(_ context.Context, events ...loop.Event) error {
	r.events = append(r.events, events...)
	return nil
}

// Prepare and CommitAA commit what they are given.
func (*record) Prepare(_ context.Context, champion string, c candidates.Candidate) (loop.Payload, error) {
	return loop.Committed{Candidate: c.ID, Commit: "w-" + c.ID, Ref: "refs/heads/loopd/n/" + c.ID, Parent: champion}, nil
}

func (*record) CommitAA(_ context.Context, start string) (loop.Committed, error) {
	return loop.Committed{Candidate: loop.SubjectAA, Commit: "w-twin", Ref: "refs/heads/loopd/n/aa", Parent: start}, nil
}

// replay is the state a restarted loopd begins with.
func (r *record) replay(t *testing.T) *loop.State {
	t.Helper()
	s := loop.NewState()
	for _, e := range r.events {
		testenv.Must(t, s.Apply(e))
	}
	return s
}

func (r *record) add(t *testing.T, s *loop.State, p loop.Payload) {
	t.Helper()
	e := loop.Event{Time: time.Now(), Payload: p}
	r.events = append(r.events, e)
	testenv.Must(t, s.Apply(e))
}

// night runs a campaign to its end, waiting out every limit; with restart it
// begins anew from the record at each. It returns the attempts charged.
func night(t *testing.T, a *account, restart bool) *loop.State {
	t.Helper()
	r := &record{}
	s := loop.NewState()
	set := loop.DefaultSettings(60)
	set.PilotReps, set.PoolReps, set.GuardReps, set.MaxCandidates = 2, 2, 2, 1
	cell := func(sc string) harness.Cell { return harness.Cell{Scenario: sc, Tier: "haiku"} }
	r.add(t, s, loop.Started{
		Campaign: "n", Start: "w-start", Objective: []harness.Cell{cell("R1"), cell("R2")}, Guards: []harness.Cell{cell("N1")}, Settings: set,
	})
	r.add(t, s, loop.Queued{Candidate: candidates.Candidate{ID: "c001", Source: candidates.Person}})
	g := admission.NewGovernor(admission.GovernorOptions{Parallel: 1, Rand: func() float64 { return .5 }})
	for range 20 {
		l := &loop.Loop{
			State: s, Log: r, Executor: g.Govern(a), Preparer: r, Parallel: 1, Now: time.Now,
			Verify: func(context.Context) (*frozen.Drift, error) { return nil, nil },
		}
		testenv.Must(t, l.Run(t.Context()))
		if s.Paused == nil {
			return s
		}
		if !s.Paused.Lifts() {
			t.Fatalf("paused for good: %+v", s.Paused)
		}
		if restart {
			s = r.replay(t)
			g = admission.NewGovernor(admission.GovernorOptions{Parallel: 1, Probe: true, Rand: func() float64 { return .5 }})
		}
		if !(admission.Wall{}).Wait(t.Context(), nil, admission.Due(s.ChangedAt, s.Paused.Until)) {
			t.Fatal("the wait was broken off")
		}
		r.add(t, s, loop.Resumed{})
		g.Wake()
	}
	t.Fatal("the night never ended")
	return nil
}

// TestANightWaitsOutALimit: the first session that meets a limit is the last one
// started, the night goes on within a minute of the reset, also after a restart
// in between, and on the two days of the year on which clocks change.
func TestANightWaitsOutALimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone   string
		begins [5]int        // when the night begins there
		words  string        // what the service says
		resets time.Duration // after the beginning
	}{
		"an ordinary day":           {"Asia/Tokyo", [5]int{2026, 6, 3, 10, 0}, "You've hit your limit · resets 3:50pm (Asia/Tokyo)", 5*time.Hour + 50*time.Minute},
		"clocks go forward":         {"America/New_York", [5]int{2026, 3, 8, 0, 30}, "You've hit your limit · resets 4:30am (America/New_York)", 3 * time.Hour},
		"within the hour left out":  {"America/New_York", [5]int{2026, 3, 8, 0, 30}, "You've hit your limit · resets 2:30am (America/New_York)", 2 * time.Hour},
		"clocks go back":            {"America/New_York", [5]int{2026, 11, 1, 0, 30}, "You've hit your limit · resets 4:30am (America/New_York)", 5 * time.Hour},
		"within the hour run twice": {"America/New_York", [5]int{2026, 11, 1, 0, 30}, "You've hit your limit · resets 1:30am (America/New_York)", 2 * time.Hour},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restart %v", name, restart), func(t *testing.T) {
				t.Parallel()
				zone, err := time.LoadLocation(c.zone)
				testenv.Must(t, err)
				synctest.Test(t, func(t *testing.T) {
					begins := time.Date(c.begins[0], time.Month(c.begins[1]), c.begins[2], c.begins[3], c.begins[4], 0, 0, zone)
					<-time.After(time.Until(begins))
					a := &account{from: 6, words: c.words, resets: begins.Add(c.resets)}
					s := night(t, a, restart)
					if len(a.refused) != 1 {
						t.Errorf("%d sessions met the limit (%v), want one", len(a.refused), a.refused)
					}
					if late := a.after.Sub(a.resets); late < 0 || late > time.Minute {
						t.Errorf("the night went on %v after the reset, want within a minute", late)
					}
					if s.Ended == nil || s.Ended.Outcome != loop.NoChange || s.Find("c001").Decided == nil {
						t.Errorf("ended %+v, want no change and a verdict on the candidate", s.Ended)
					}
					for _, tr := range s.Trials {
						if tr.Class != harness.Valid && !loop.FromOutside(tr.Class) {
							t.Errorf("trial %s is charged as %s", tr.ID, tr.Class)
						}
					}
				})
			})
		}
	}
}
