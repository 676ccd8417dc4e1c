package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/hint"
)

// Executor runs one spec to its end. It returns an error only when loopd
// itself could not do its part; whatever happened to the session is in the
// trial's class.
type Executor interface {
	Run(ctx context.Context, spec harness.Spec) (harness.Trial, error)
}

// Log makes events durable, all of them or none, before it returns.
type Log interface {
	Append(ctx context.Context, events ...Event) error
}

// Preparer lints a candidate on top of the champion and commits it: Committed
// when it may be tried, Decided when the lint refused it.
type Preparer interface {
	Prepare(ctx context.Context, champion string, c candidates.Candidate) (Payload, error)
	// CommitAA commits the start's bytes once more, the way a candidate is.
	CommitAA(ctx context.Context, start string) (Committed, error)
}

// Loop drives a campaign. All fields but TestJudge, Alarm, Drain, Intake, Proposing, Requests and
// Observe are required.
type Loop struct {
	State    *State
	Log      Log
	Executor Executor
	Preparer Preparer
	// Verify compares the seal with the files; nil drift means it holds.
	Verify func(ctx context.Context) (*frozen.Drift, error)
	// TestJudge asks the judge every item of the gold set; it may be nil where the
	// campaign has none.
	TestJudge func(ctx context.Context) (harness.JudgeTest, error)
	Now       func() time.Time
	Parallel  int
	// Alarm has a value when a sealed file may have changed while sessions run: the
	// seal is verified at once. Nil is no alarm; the seal is verified all the same.
	Alarm <-chan struct{}
	// Drain, when closed, lets running sessions end and starts nothing new.
	Drain <-chan struct{}
	// Intake returns candidates that have arrived since it was last asked; it is
	// asked between two candidates and before the search ends. Nil takes none.
	Intake func(ctx context.Context, s *State) ([]candidates.Candidate, error)
	// Requests are what the user asks of a campaign that runs; nil takes none.
	Requests <-chan Request
	// Proposing is who is asked when nothing waits; the zero value asks nobody.
	Proposing Proposing
	// Observe is told of every event after it has been applied.
	Observe func(*State, Event)
}

// ErrDrained is returned when Drain stopped the loop before the campaign ended.
var ErrDrained = hint.New(hint.Interrupted, errors.New("stopped before the campaign ended"), "")

// HoldError is returned by an executor that did not run a session, or a preparer
// that made no commit, because that may not be done for now. Nothing is recorded
// but that the campaign pauses.
type HoldError struct{ Paused Paused }

// Error says what holds.
func (e *HoldError) Error() string { return "held back: " + e.Paused.Reason }

// Run goes on until the campaign ends, pauses or halts; the state says which.
// It may be called again on a state replayed from the ledger.
func (l *Loop) Run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.takeRequests(ctx)
		if err := l.takeIn(ctx); err != nil {
			return err
		}
		step := Next(l.State)
		if step.Idle {
			return nil
		}
		if l.drained() {
			return ErrDrained
		}
		err := error(nil)
		if l.asks(step) {
			err = l.propose(ctx)
		} else {
			err = l.take(ctx, step)
		}
		if err != nil {
			return err
		}
	}
}

// takeIn queues what has arrived, at the moments a new candidate could be next.
func (l *Loop) takeIn(ctx context.Context) error {
	if l.Intake == nil || l.State.Phase != Search || l.State.Comparison != nil {
		return nil
	}
	arrived, err := l.Intake(ctx, l.State)
	if err != nil {
		return fmt.Errorf("take in candidates: %w", err)
	}
	for _, c := range arrived {
		if err := l.record(ctx, Queued{c}); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) drained() bool {
	select {
	case <-l.Drain:
		return true
	default:
		return false
	}
}

func (l *Loop) take(ctx context.Context, step Step) error {
	if step.Sealed || step.Prepare != nil || step.CommitAA || step.TestJudge {
		if halted, err := l.haltOnDrift(ctx); err != nil || halted {
			return err
		}
	}
	switch {
	case step.Prepare != nil:
		p, err := l.Preparer.Prepare(ctx, l.State.Champion, *step.Prepare)
		if hold, ok := errors.AsType[*HoldError](err); ok {
			return l.record(ctx, hold.Paused)
		}
		if err != nil {
			return fmt.Errorf("prepare candidate %s: %w", step.Prepare.ID, err)
		}
		return l.record(ctx, p)
	case step.CommitAA:
		p, err := l.Preparer.CommitAA(ctx, l.State.Started.Start)
		if hold, ok := errors.AsType[*HoldError](err); ok {
			return l.record(ctx, hold.Paused)
		}
		if err != nil {
			return fmt.Errorf("prepare the A/A pilot: %w", err)
		}
		return l.record(ctx, p)
	case step.TestJudge:
		return l.testJudge(ctx)
	case len(step.Run) > 0:
		return l.runAll(ctx, step.Run)
	default:
		return l.record(ctx, step.Append...)
	}
}

// testJudge records what the judge made of the gold set. Drain or a request
// ends it at once.
func (l *Loop) testJudge(ctx context.Context) error {
	if l.TestJudge == nil {
		return errors.New("test the judge: nobody asks it")
	}
	var t harness.JudgeTest
	var err error
	request := l.interruptible(ctx, func(ctx context.Context) { t, err = l.TestJudge(ctx) })
	defer l.grantDue(ctx, request)
	if hold, ok := errors.AsType[*HoldError](err); ok {
		return l.record(ctx, hold.Paused)
	}
	switch {
	case err != nil && ctx.Err() == nil && (request != nil || l.drained()):
		return nil // it is tested again when the campaign goes on
	case err != nil:
		return fmt.Errorf("test the judge: %w", err)
	}
	return l.record(ctx, JudgeTested{t})
}

// haltOnDrift verifies the seal and halts the campaign when it does not hold.
func (l *Loop) haltOnDrift(ctx context.Context) (bool, error) {
	drift, err := l.Verify(ctx)
	if err != nil {
		return false, fmt.Errorf("verify seal: %w", err)
	}
	if drift == nil {
		return false, nil
	}
	return true, l.record(ctx, Halted{Reason: string(harness.DriftedSeal), Deltas: drift.Deltas})
}

// record makes payloads durable, then applies them, then tells the observer.
func (l *Loop) record(ctx context.Context, payloads ...Payload) error {
	events := make([]Event, len(payloads))
	for i, p := range payloads {
		events[i] = Event{Time: l.Now(), Payload: p}
	}
	if err := l.Log.Append(ctx, events...); err != nil {
		return fmt.Errorf("append to ledger: %w", err)
	}
	for _, e := range events {
		if err := l.State.Apply(e); err != nil {
			return err
		}
		if l.Observe != nil {
			l.Observe(l.State, e)
		}
	}
	return nil
}

type ran struct {
	trial harness.Trial
	err   error
}

// runAll hands the specs out, Parallel at a time, and records what comes back.
// A trial that halts the campaign cancels the rest: what was measured beside a
// drift or a refused login is void. A limit only lets nothing more start.
func (l *Loop) runAll(ctx context.Context, specs []harness.Spec) error {
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan harness.Spec)
	results := make(chan ran)
	var workers sync.WaitGroup
	for range max(l.Parallel, 1) {
		workers.Go(func() {
			for spec := range queue {
				t, err := l.Executor.Run(ctx, spec)
				results <- ran{t, err}
			}
		})
	}
	defer workers.Wait()
	defer cancel()
	defer close(queue)
	return l.collect(ctx, cancel, specs, queue, results)
}

// collect is the owner's side of runAll: it feeds the queue and records.
func (l *Loop) collect(ctx context.Context, cancel context.CancelFunc, specs []harness.Spec, queue chan<- harness.Spec, results <-chan ran) error {
	var first error
	var held *HoldError
	drain := l.Drain
	for running := 0; running > 0 || len(specs) > 0; {
		feed, next := queue, harness.Spec{}
		if len(specs) == 0 {
			feed = nil
		} else {
			next = specs[0]
		}
		select {
		case feed <- next:
			specs = specs[1:]
			running++
		case <-drain:
			specs, drain = nil, nil
		case r := <-l.Requests:
			r.Done <- l.grant(ctx, r)
			if l.State.Paused != nil || l.State.Halted != nil {
				specs = nil
			}
			if l.State.Halted != nil {
				cancel()
			}
		case <-l.Alarm:
			halted, err := l.haltOnDrift(context.WithoutCancel(ctx))
			if halted || err != nil {
				cancel()
				return errors.Join(first, err, discard(running, results))
			}
		case <-ctx.Done():
			specs = nil
			if running == 0 {
				return errors.Join(first, context.Cause(ctx))
			}
			first = errors.Join(first, l.settle(ctx, <-results))
			running--
		case r := <-results:
			running--
			if hold, ok := errors.AsType[*HoldError](r.err); ok {
				held, specs = hold, nil
				continue
			}
			first = errors.Join(first, l.settle(ctx, r))
			if l.State.stop != nil {
				specs = nil // a limit stops what follows and lets the others end
			}
			if first != nil || l.voids() {
				specs = nil
				cancel()
			}
		}
	}
	if first == nil && held != nil && l.State.stop == nil && l.State.Paused == nil && l.State.Halted == nil {
		return l.record(context.WithoutCancel(ctx), held.Paused)
	}
	return first
}

// discard waits for sessions whose results are void, and returns what went wrong
// with loopd itself.
func discard(running int, results <-chan ran) error {
	var err error
	for range running {
		if r := <-results; r.err != nil && !errors.Is(r.err, context.Canceled) {
			err = errors.Join(err, r.err)
		}
	}
	return err
}

// voids reports whether what still runs is worth nothing any more.
func (l *Loop) voids() bool {
	s := l.State
	return s.stop != nil && severity(s.stop.Class) > severityPause || s.leaked != nil || l.abandoned()
}

// abandoned reports whether the round under way has already lost its purpose.
func (l *Loop) abandoned() bool {
	c := l.State.Comparison
	return c != nil && (undelivered(l.State, c) || overspent(l.State, c)) || instrumentBroken(l.State) != ""
}

// Distinct turns a trial whose session is known, by session id, as that of an
// earlier trial into no evidence: it is a replay of that one, from a cache or a
// copied transcript.
func Distinct(known map[string]string, t harness.Trial) harness.Trial {
	if first, ok := known[t.Session]; ok && t.Class == harness.Valid {
		t.Class, t.Why = harness.Duplicate, "the session is that of trial "+first
		t.Result = harness.Result{Kind: t.Result.Kind, Case: t.Result.Case, Outcome: harness.Invalid}
	}
	return t
}

// settle records a trial. A session that was cancelled from outside is not
// recorded: the slot is simply run again.
func (l *Loop) settle(ctx context.Context, r ran) error {
	if r.err != nil {
		return r.err
	}
	if r.trial.Class == harness.Cancelled && ctx.Err() != nil {
		return nil
	}
	return l.record(context.WithoutCancel(ctx), Recorded{Distinct(l.State.sessions, r.trial)})
}
