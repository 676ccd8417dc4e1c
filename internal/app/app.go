package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/hint"
	"loopd/internal/store"
	"loopd/loop"
)

// Settings say how a campaign is run with its parts.
type Settings struct {
	Campaign campaign.Options // but what follows from the parts
	Gate     admission.Options
	Spend    admission.SpendLimits
	// Locked: the state directory's own lock is held by whoever serves.
	Locked bool
	NoWait bool // a limit ends the run instead of being waited out
	// Proposer is who fills an empty queue; nil for nobody.
	Proposer func(*App) *campaign.Proposer
}

// App is a campaign with everything it needs open. Close it.
type App struct {
	Settings
	Campaign *campaign.Campaign
	Sessions *Sessions
	Gate     *admission.Gate

	parts    Parts
	spending *admission.Spending
	lock     *store.Lock
}

// New opens the campaign of a state directory and the way to the service.
func New(ctx context.Context, s Settings, p Parts) (*App, error) {
	a := &App{Settings: s, parts: p}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) open(ctx context.Context) (err error) {
	o := a.Settings.Campaign
	if !a.Locked {
		if err := o.Home.Make(); err != nil {
			return err
		}
		if a.lock, err = store.Hold(o.Home.Dir, daemon.LockName); err != nil {
			return err
		}
	}
	o.AgentSHA, o.Judge, o.Graphs, o.Now = a.parts.Agent.SHA256, a.parts.Judge.Name, a.parts.Graphs, a.now
	if a.Campaign, err = campaign.Open(ctx, o); err != nil {
		return err
	}
	if a.parts.Wording == nil {
		a.parts.Wording = a.Campaign.Wordings.Trial
	}
	a.parts.Store, a.parts.Now = o.Home.Trials(), a.now
	a.Sessions, err = Connect(ctx, a.parts)
	return err
}

func (a *App) now() time.Time {
	if c := a.Settings.Gate.Clock; c != nil {
		return c.Now()
	}
	return time.Now()
}

// Start says what a run begins with: a new campaign, the one under way, or the
// open gate of the last one.
type Start struct {
	Settings loop.Settings // of a new campaign
	Grid     campaign.Grid
	Extend   int  // sessions for the open gate of the last campaign; 0 leaves it
	Resume   bool // a pause or a halt is lifted first
	Finish   bool // the search is ended
}

// Begin opens a new campaign or goes on with the one there is.
func (a *App) Begin(ctx context.Context, s Start) error {
	if s.Resume {
		if err := a.Campaign.Resume(ctx); err != nil {
			command := hint.Of(err)
			if command == "" {
				command = "loopd status"
			}
			return hint.Usagef(command, "resume: %w", err)
		}
	}
	extended := false
	if s.Extend > 0 {
		var err error
		if extended, err = a.Campaign.Extend(ctx, s.Extend); err != nil {
			return fmt.Errorf("continue the gate: %w", err)
		}
	}
	if !extended {
		if err := a.Campaign.Begin(ctx, s.Settings, s.Grid); err != nil {
			return fmt.Errorf("start campaign: %w", err)
		}
	}
	if s.Finish {
		return a.Campaign.Grant(ctx, loop.Finished{})
	}
	return nil
}

// Watch is who hears of a run, and who may speak to it. Every field may be nil.
type Watch struct {
	Asks    <-chan loop.Request
	Status  *daemon.Status
	Observe func(*loop.State, loop.Event)
	// Say is told that a pause is waited out, and until when.
	Say func(until time.Time)
	// Ready is told when sessions may start.
	Ready func()
	// Around is put around the executor of sessions, within the gate.
	Around func(loop.Executor) loop.Executor
}

// Run runs sessions until the campaign ends, halts, needs the user, or end has
// come; zero for no end. It begins nothing once drain is closed.
func (a *App) Run(ctx context.Context, drain <-chan struct{}, end time.Time, w Watch) error {
	s := a.Campaign.Current()
	a.spending = admission.NewSpending(a.Spend, s)
	a.Sessions.Instrument, a.Sessions.SpendLimits = s.Started.Instrument, a.spending.Of
	a.Sessions.Asked, a.Sessions.Served = askedOf(s), servedOf(s)
	executor, err := a.Sessions.Executor(ctx)
	if err != nil {
		return err
	}
	o := a.Settings.Gate
	o.Spending = a.spending
	a.Gate = admission.NewGate(o)
	a.Sessions.gateway.Watch(a.Gate.Governor().Answer)
	a.Gate.StayAwake(ctx)
	defer a.Gate.Sleep()
	var run loop.Executor = executor
	if w.Around != nil {
		run = w.Around(run)
	}
	if w.Status != nil {
		run = w.Status.Watch(a.Sessions.Store, run)
	}
	if w.Ready != nil {
		w.Ready()
	}
	worker := daemon.Worker{
		Campaign: a.Campaign, Gate: a.Gate, End: end, NoWait: a.NoWait, Requests: w.Asks, Status: w.Status, Say: w.Say,
		Loop: loop.Loop{Executor: a.Gate.Admit(run), TestJudge: a.testJudge, Parallel: a.Parallel(), Observe: w.Observe, Proposing: a.proposing()},
	}
	return worker.Run(ctx, drain)
}

// Parallel is how many sessions run side by side at most.
func (a *App) Parallel() int { return max(a.Settings.Gate.Governor.Parallel, 1) }

// testJudge asks the judge the gold set.
func (a *App) testJudge(ctx context.Context) (harness.JudgeTest, error) {
	return a.Sessions.TestJudge(ctx, a.Campaign.Judge, a.Parallel())
}

// proposing is who fills an empty queue.
func (a *App) proposing() loop.Proposing {
	if a.Proposer == nil {
		return loop.Proposing{}
	}
	p := a.Proposer(a)
	if p == nil {
		return loop.Proposing{}
	}
	return a.Campaign.Proposing(*p)
}

// Close releases what is open, in reverse order.
func (a *App) Close() error {
	var err error
	if a.Sessions != nil {
		err = a.Sessions.Close()
	}
	if a.Campaign != nil {
		err = errors.Join(err, a.Campaign.Close())
	}
	if a.lock != nil {
		_ = a.lock.Release() // the kernel frees it with the process at the latest
	}
	return err
}

// askedOf is how the agent asked the model on each tier in the campaign so far.
func askedOf(s *loop.State) map[string]harness.Fingerprint {
	out := make(map[string]harness.Fingerprint)
	for _, t := range s.Trials {
		tier := t.Spec.Slot.Cell.Tier
		if _, known := out[tier]; !known && t.Class == harness.Valid && t.Fingerprint != nil {
			out[tier] = *t.Fingerprint
		}
	}
	return out
}

// servedOf are the models that answered on each tier in the campaign so far.
func servedOf(s *loop.State) map[string]harness.Served {
	out := make(map[string]harness.Served)
	for _, t := range s.Trials {
		if t.Class == harness.Valid && len(t.Served) > 0 {
			tier := t.Spec.Slot.Cell.Tier
			out[tier] = out[tier].With(t.Served)
		}
	}
	return out
}
