package admission_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/loop"
)

// service is an executor whose sessions take a minute and end as told.
type service struct {
	mu      sync.Mutex
	class   func(n int) harness.Trial // of the n-th session, from 1
	ran     int
	running int
	most    int
	starts  []time.Time
}

func (s *service) Run(ctx context.Context, _ harness.Spec) (harness.Trial, error) {
	s.mu.Lock()
	s.ran++
	n := s.ran
	s.running++
	s.most = max(s.most, s.running)
	s.starts = append(s.starts, time.Now())
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.running--; s.mu.Unlock() }()
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return harness.Trial{}, ctx.Err()
	}
	return s.class(n), nil
}

func valid(int) harness.Trial { return harness.Trial{Class: harness.Valid} }

// all runs n sessions side by side and returns the holds among their errors.
func all(t *testing.T, e loop.Executor, n int) (holds []*loop.HoldError) {
	t.Helper()
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { _, errs[i] = e.Run(t.Context(), harness.Spec{}) })
	}
	group.Wait()
	for _, err := range errs {
		if hold, ok := errors.AsType[*loop.HoldError](err); ok {
			holds = append(holds, hold)
		} else if err != nil {
			t.Error(err)
		}
	}
	return holds
}

// TestShrinksAndGrowsBack: a refusal halves what runs side by side, a burst of
// them once, and sessions without one bring it back step by step.
func TestShrinksAndGrowsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{class: valid}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 8})
		e := g.Govern(s)
		all(t, e, 8)
		if s.most != 8 {
			t.Fatalf("%d side by side, want 8", s.most)
		}
		for range 5 {
			g.Answer(http.StatusTooManyRequests, nil)
		}
		if got := g.Limit(); got != 4 {
			t.Fatalf("after a burst of refusals: %d, want 4", got)
		}
		s.most = 0
		all(t, e, 3)
		<-time.After(time.Minute)
		g.Answer(http.StatusTooManyRequests, nil)
		<-time.After(time.Minute)
		g.Answer(http.StatusTooManyRequests, nil)
		<-time.After(time.Minute)
		g.Answer(http.StatusTooManyRequests, nil)
		if got := g.Limit(); got != 1 {
			t.Fatalf("after refusals minutes apart: %d, want 1", got)
		}
		s.most = 0
		all(t, e, 1)
		if got := g.Limit(); got != 2 {
			t.Errorf("after one session without: %d, want 2", got)
		}
		all(t, e, 40)
		if got := g.Limit(); got != 8 {
			t.Errorf("after many sessions without: %d, want 8", got)
		}
	})
}

// TestQuotaIsKept: above the share that is kept nothing is started, and the hold
// lasts until that window resets.
func TestQuotaIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{class: valid}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 2, Leave: admission.Leave{FiveHour: .2, SevenDay: .3}})
		e := g.Govern(s)
		resets := time.Now().Add(2 * time.Hour).UTC().Truncate(time.Second)
		answer := func(five, seven string) {
			g.Answer(200, header(
				"anthropic-ratelimit-unified-5h-utilization", five, "anthropic-ratelimit-unified-5h-reset", unix(resets),
				"anthropic-ratelimit-unified-7d-utilization", seven, "anthropic-ratelimit-unified-7d-reset", unix(resets.Add(48*time.Hour)),
			))
		}
		answer("0.79", "0.69")
		if holds := all(t, e, 2); len(holds) != 0 {
			t.Fatalf("below what is kept: held %v", holds)
		}
		answer("0.80", "0.69")
		holds := all(t, e, 2)
		if len(holds) != 2 || !holds[0].Paused.Until.Equal(resets) || !strings.Contains(holds[0].Paused.Reason, "80 % of the 5h") || s.ran != 2 {
			t.Fatalf("at what is kept: held %v after %d sessions, want both until %v", holds, s.ran, resets)
		}
		<-time.After(2*time.Hour + time.Second)
		g.Wake()
		if holds := all(t, e, 1); len(holds) != 0 {
			t.Fatalf("after the reset: held %v", holds)
		}
		answer("0.05", "0.71")
		if holds := all(t, e, 1); len(holds) != 1 || !strings.Contains(holds[0].Paused.Reason, "7d") {
			t.Errorf("the week's share: held %v", holds)
		}
	})
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// TestQuotaSurvivesARestart: what was known before is held to at once.
func TestQuotaSurvivesARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{class: valid}
		q := harness.Quota{FiveHour: harness.Allowance{Used: .9, Resets: time.Now().Add(time.Hour)}, At: time.Now()}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 2, Leave: admission.Leave{FiveHour: .2}, Quota: q})
		if holds := all(t, g.Govern(s), 1); len(holds) != 1 || s.ran != 0 {
			t.Errorf("held %v, %d sessions run; want one hold and none run", holds, s.ran)
		}
	})
}

// TestBreaker: three failed sessions within five minutes hold everything, each
// hold in a row for longer, one session goes ahead after it, and one good session
// opens the way.
func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := true
		s := &service{class: func(int) harness.Trial {
			if bad {
				return harness.Trial{Class: harness.Overloaded}
			}
			return harness.Trial{Class: harness.Valid}
		}}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 4, Rand: func() float64 { return .5 }})
		e := g.Govern(s)
		if holds := all(t, e, 4); len(holds) != 0 || s.ran != 4 {
			t.Fatalf("held %v after %d", holds, s.ran)
		}
		var last time.Duration
		for i := range 6 {
			holds := all(t, e, 4)
			if len(holds) != 4 && i == 0 || len(holds) == 0 {
				t.Fatalf("hold %d: %v", i, holds)
			}
			wait := time.Until(holds[0].Paused.Until)
			if wait < last || wait > 16*time.Minute {
				t.Errorf("hold %d lasts %v after %v", i, wait, last)
			}
			last = wait
			<-time.After(wait + time.Second)
			g.Wake()
			before := s.ran
			if holds := all(t, e, 4); len(holds) != 3 || s.ran != before+1 {
				t.Fatalf("probe %d: %d held, %d run; want one session ahead of the rest", i, len(holds), s.ran-before)
			}
		}
		bad = false
		<-time.After(20 * time.Minute)
		g.Wake()
		s.most = 0
		if holds := all(t, e, 9); len(holds) != 0 || g.Limit() != 4 || s.most != 4 {
			t.Errorf("after the outage: %d held, limit %d, %d side by side", len(holds), g.Limit(), s.most)
		}
	})
}

// TestOneSessionAhead: after a hold the others wait for one to come back.
func TestOneSessionAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{class: valid}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 4, Probe: true})
		all(t, g.Govern(s), 4)
		if len(s.starts) != 4 || s.starts[1].Sub(s.starts[0]) < time.Minute || s.starts[3].Sub(s.starts[1]) > time.Second {
			t.Errorf("starts %v, want three a minute after the first", s.starts)
		}
	})
}

// TestLimitHoldsTheRest: the first session that meets a limit is the last one to
// be started.
func TestLimitHoldsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lifts := time.Now().Add(3 * time.Hour)
		s := &service{class: func(int) harness.Trial { return harness.Trial{Class: harness.UsageLimit, Lifts: lifts} }}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 1})
		holds := all(t, g.Govern(s), 5)
		if len(holds) != 4 || s.ran != 1 || !holds[0].Paused.Until.Equal(lifts) {
			t.Errorf("%d held until %v after %d sessions; want 4 until %v after 1", len(holds), holds, s.ran, lifts)
		}
	})
}

// TestCalledOffWhileWaiting: who waits for a place goes home when the campaign
// does.
func TestCalledOffWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{class: valid}
		e := admission.NewGovernor(admission.GovernorOptions{Parallel: 1}).Govern(s)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		for range 2 {
			go func() { _, err := e.Run(ctx, harness.Spec{}); errs <- err }()
		}
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the call-off", err)
			}
		}
	})
}

// TestDueWithoutAnEnd: a pause that nobody gave an end is tried again.
func TestDueWithoutAnEnd(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	if due := admission.Due(began, time.Time{}); due.Sub(began) != 15*time.Minute {
		t.Errorf("without an end: %v, want a quarter of an hour", due.Sub(began))
	}
}

// TestQuotaOfTheStream: where no header comes, what a session says it was told is
// held to; a header that has come since it began counts for more.
func TestQuotaOfTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		said := harness.Quota{FiveHour: harness.Allowance{Used: .9, Resets: began.Add(3 * time.Hour)}, At: began.Add(time.Minute)}
		s := &service{class: func(int) harness.Trial { return harness.Trial{Class: harness.Valid, Started: began, Quota: &said} }}
		g := admission.NewGovernor(admission.GovernorOptions{Parallel: 1, Leave: admission.Leave{FiveHour: .2}})
		if holds := all(t, g.Govern(s), 2); len(holds) != 1 || s.ran != 1 || g.Quota() != said {
			t.Errorf("%d held after %d sessions, quota %+v; want the second held", len(holds), s.ran, g.Quota())
		}
		g = admission.NewGovernor(admission.GovernorOptions{Parallel: 1, Leave: admission.Leave{FiveHour: .2}})
		<-time.After(time.Second)
		g.Answer(200, header("anthropic-ratelimit-unified-5h-utilization", "0.1", "anthropic-ratelimit-unified-5h-reset", unix(began.Add(3*time.Hour))))
		if holds := all(t, g.Govern(s), 2); len(holds) != 0 || g.Quota().FiveHour.Used != .1 {
			t.Errorf("held %v, quota %+v; want what the header said", holds, g.Quota())
		}
	})
}

func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}
