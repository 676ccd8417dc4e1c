package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"loopd/harness"
	"loopd/internal/gateway"
	"loopd/loop"
)

// Leave is the share of each allowance that is kept for the owner of the account.
type Leave struct{ FiveHour, SevenDay float64 }

// GovernorOptions say how much may run at once and what is kept back.
type GovernorOptions struct {
	Parallel int
	Leave    Leave
	// Quota is what was known last, such as before a restart.
	Quota harness.Quota
	// Probe: everything was held before, so one session goes ahead.
	Probe bool
	// Rand gives numbers in [0, 1) for the jitter; nil for the usual source.
	Rand func() float64
	// Now is the time; nil for the clock on the wall.
	Now func() time.Time
}

// The numbers of the breaker and of the way back.
const (
	failuresOpen   = 3 // failed sessions within failureWindow that hold everything
	failureWindow  = 5 * time.Minute
	firstHold      = time.Minute // doubled with every hold in a row
	longestHold    = 15 * time.Minute
	shrinkEvery    = 30 * time.Second // several refusals of one moment shrink once
	longestStagger = 10 * time.Second // wait before a session after a failed one
)

// Governor is in front of an executor. It is safe for concurrent use.
type Governor struct {
	o GovernorOptions

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when something may start again
	running  int
	limit    int // sessions side by side, at most o.Parallel
	fine     int // sessions in a row without a refusal
	shrunk   time.Time
	probing  bool
	quota    harness.Quota
	failures []time.Time
	holds    int // in a row
	held     *loop.Paused
}

// NewGovernor makes a governor.
func NewGovernor(o GovernorOptions) *Governor {
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Parallel = max(o.Parallel, 1)
	return &Governor{o: o, changed: make(chan struct{}), limit: o.Parallel, probing: o.Probe, quota: o.Quota}
}

// Answer is told of every answer of the API: its status and its headers.
func (g *Governor) Answer(status int, h http.Header) {
	now := g.o.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if q, ok := gateway.ReadQuota(h, now); ok {
		g.quota = q
	}
	if status == http.StatusTooManyRequests && now.Sub(g.shrunk) >= shrinkEvery {
		g.limit, g.fine, g.shrunk = max(1, g.limit/2), 0, now
	}
}

// Quota is what the API said last.
func (g *Governor) Quota() harness.Quota {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.quota
}

// Limit is how many sessions may run side by side now.
func (g *Governor) Limit() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed()
}

func (g *Governor) allowed() int {
	if g.probing {
		return 1
	}
	return g.limit
}

// May says why nothing may be asked of the API now, as a *loop.HoldError; nil
// where something may.
func (g *Governor) May() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.hold(g.o.Now()); p != nil {
		return &loop.HoldError{Paused: *p}
	}
	return nil
}

// Wake ends a hold: what held is over, and one session goes ahead.
func (g *Governor) Wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.probing, g.failures = nil, true, nil
	g.announce()
}

// Govern puts the governor in front of an executor.
func (g *Governor) Govern(e loop.Executor) loop.Executor { return governed{g, e} }

type governed struct {
	g *Governor
	e loop.Executor
}

// Run runs a session when one may run. What may not run for longer than a moment
// is not run, and the error is a *loop.HoldError.
func (e governed) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	if err := e.g.enter(ctx); err != nil {
		return harness.Trial{}, err
	}
	t, err := e.e.Run(ctx, spec)
	e.g.leave(t, err)
	if q := e.g.Quota(); !q.IsZero() && err == nil {
		t.Quota = &q
	}
	return t, err
}

// enter waits until one more session may run.
func (g *Governor) enter(ctx context.Context) error {
	if err := g.stagger(ctx); err != nil {
		return err
	}
	for {
		g.mu.Lock()
		if p := g.hold(g.o.Now()); p != nil {
			g.mu.Unlock()
			return &loop.HoldError{Paused: *p}
		}
		if g.running < g.allowed() {
			g.running++
			g.mu.Unlock()
			return nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// stagger keeps sessions that follow a failed one from asking in the same moment.
func (g *Governor) stagger(ctx context.Context) error {
	g.mu.Lock()
	n := len(g.failures)
	g.mu.Unlock()
	if n == 0 {
		return ctx.Err()
	}
	wait := time.NewTimer(time.Duration(g.o.Rand() * float64(longestStagger)))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}

// hold says what keeps any session from being started.
func (g *Governor) hold(now time.Time) *loop.Paused {
	if g.held != nil && g.held.Until.After(now) {
		return g.held
	}
	g.held = nil
	for _, w := range []struct {
		name  string
		a     harness.Allowance
		leave float64
	}{{"5h", g.quota.FiveHour, g.o.Leave.FiveHour}, {"7d", g.quota.SevenDay, g.o.Leave.SevenDay}} {
		if w.leave <= 0 || w.a.Used < 1-w.leave || !w.a.Resets.After(now) {
			continue
		}
		reason := fmt.Sprintf("quota: %.0f %% of the %s allowance is used and %.0f %% is kept for you", 100*w.a.Used, w.name, 100*w.leave)
		g.held = &loop.Paused{Reason: reason, Until: w.a.Resets}
		return g.held
	}
	return nil
}

// leave looks at how a session ended.
func (g *Governor) leave(t harness.Trial, err error) {
	now := g.o.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	defer g.announce()
	if err != nil {
		return
	}
	// What a session says it was told counts where no header has come since it began.
	if t.Quota != nil && g.quota.At.Before(t.Started) {
		g.quota = *t.Quota
	}
	switch t.Class {
	case harness.Overloaded, harness.ServerError, harness.Connection:
		g.failed(now)
	case harness.RateLimit, harness.UsageLimit:
		g.fine = 0
		g.held = &loop.Paused{Reason: string(t.Class), Class: t.Class, Until: t.Lifts}
	case harness.Cancelled:
	default:
		g.went()
	}
}

// went notes a session the API had nothing against.
func (g *Governor) went() {
	g.probing, g.holds, g.failures = false, 0, nil
	if g.fine++; g.fine >= g.limit && g.limit < g.o.Parallel {
		g.limit, g.fine = g.limit+1, 0
	}
}

// ServiceFailed is the reason of a pause after several sessions that the service
// failed.
const ServiceFailed = "the service failed session after session"

// failed notes a session that the service failed, and holds everything after
// several.
func (g *Governor) failed(now time.Time) {
	g.failures = slices.DeleteFunc(append(g.failures, now), func(t time.Time) bool { return now.Sub(t) > failureWindow })
	n := len(g.failures)
	if n < failuresOpen && !(g.probing && n > 0) {
		return
	}
	wait := min(firstHold<<min(g.holds, 10), longestHold)
	wait = time.Duration(float64(wait) * (.75 + .5*g.o.Rand()))
	g.holds++
	g.held = &loop.Paused{Reason: ServiceFailed, Until: now.Add(wait).UTC().Truncate(time.Second)}
}

func (g *Governor) announce() {
	close(g.changed)
	g.changed = make(chan struct{})
}
