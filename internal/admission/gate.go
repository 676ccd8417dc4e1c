package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"loopd/harness"
	"loopd/loop"
)

// Options say what keeps a session from being started.
type Options struct {
	// Clock is what waits; nil for the clock of this machine.
	Clock    Alarm
	Governor GovernorOptions
	Disk     Disk
	Spending *Spending // nil for no limit
	Machine  Machine
	// PauseOnBattery starts no session while the machine runs on its battery.
	PauseOnBattery bool
	// KeepAwake keeps the machine from falling asleep while sessions may run.
	KeepAwake bool
	// Every is how often a pause looks whether its reason is over; 0 for 10 s.
	Every time.Duration
	// Warn is told of what does not keep a session from being started; it may be nil.
	Warn func(error)
}

// every is how often a pause looks whether the disk has space again, or the
// machine AC power.
const every = 10 * time.Second

// Gate holds every reason not to start a session. It is safe for concurrent use,
// but for StayAwake, Sleep and Wait, which belong to whoever runs the campaign.
type Gate struct {
	o        Options
	governor *Governor
	awake    *Awake
}

// NewGate makes a gate.
func NewGate(o Options) *Gate {
	if o.Clock == nil {
		o.Clock = Wall{}
	}
	o.Every = cmp.Or(o.Every, every)
	o.Governor.Now = o.Clock.Now
	return &Gate{o: o, governor: NewGovernor(o.Governor)}
}

// Governor is the one that the API's answers are told to.
func (g *Gate) Governor() *Governor { return g.governor }

// Clock is the clock the gate goes by.
func (g *Gate) Clock() Alarm { return g.o.Clock }

// Admit puts the gate in front of an executor. A session that may not start is
// not run, and the error is a *loop.HoldError.
func (g *Gate) Admit(e loop.Executor) loop.Executor { return admitted{g, g.governor.Govern(e)} }

type admitted struct {
	g *Gate
	e loop.Executor
}

// Run runs a session when nothing keeps it from being started.
func (a admitted) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	if err := cmp.Or(a.g.o.Spending.May(), a.g.power(ctx), a.g.o.Disk.May()); err != nil {
		return harness.Trial{}, err
	}
	return a.e.Run(ctx, spec)
}

// May returns why nothing may be asked of the API now beside sessions, as a
// *loop.HoldError; nil where something may.
func (g *Gate) May() error { return cmp.Or(g.governor.May(), g.o.Spending.May()) }

// power holds a session while the machine runs on its battery. What cannot be
// read counts as AC power.
func (g *Gate) power(ctx context.Context) error {
	if !g.o.PauseOnBattery {
		return nil
	}
	s, err := g.o.Machine.Supply(ctx)
	if err != nil || !s.OnBattery {
		return nil
	}
	reason := "power: on battery"
	if s.Percent > 0 {
		reason = fmt.Sprintf("power: on battery, %d %% left", s.Percent)
	}
	return &loop.HoldError{Paused: loop.Paused{Reason: reason, Battery: true}}
}

// Due is when a pause that began at that time is tried again; zero where it lasts
// until the disk has space or the machine AC power.
func (g *Gate) Due(began time.Time, p loop.Paused) time.Time {
	if p.Battery || p.Class == harness.Disk {
		return time.Time{}
	}
	return Due(began, p.Until)
}

// Wait returns when the reason of a pause is over, or stop closes, and reports
// whether it is over. The machine may sleep while it waits for AC power.
func (g *Gate) Wait(ctx context.Context, stop <-chan struct{}, p loop.Paused, due time.Time) bool {
	switch {
	case p.Battery:
		g.Sleep()
		onAC := func() bool {
			s, err := g.o.Machine.Supply(ctx)
			return err != nil || !s.OnBattery
		}
		if !g.until(ctx, stop, onAC) {
			return false
		}
		g.StayAwake(ctx)
		return true
	case p.Class == harness.Disk:
		return g.until(ctx, stop, func() bool { return g.o.Disk.May() == nil })
	}
	return g.o.Clock.Wait(ctx, stop, due)
}

// until looks again and again whether something is so.
func (g *Gate) until(ctx context.Context, stop <-chan struct{}, so func() bool) bool {
	for !so() {
		if !g.o.Clock.Wait(ctx, stop, g.o.Clock.Now().Add(g.o.Every)) {
			return false
		}
	}
	return true
}

// StayAwake keeps the machine awake from now on, where that is asked for. Where it
// cannot be had, a machine with a battery may sleep the night away, so its owner is
// warned.
func (g *Gate) StayAwake(ctx context.Context) {
	if !g.o.KeepAwake {
		return
	}
	g.Sleep()
	var err error
	if g.awake, err = g.o.Machine.KeepAwake(ctx); err == nil {
		return
	}
	s, supplyErr := g.o.Machine.Supply(ctx)
	if errors.Is(err, ErrNoKeeper) && (supplyErr != nil || !s.Battery) {
		return
	}
	if g.o.Warn != nil {
		g.o.Warn(fmt.Errorf("the machine may fall asleep: %w", err))
	}
}

// Sleep lets the machine sleep again.
func (g *Gate) Sleep() {
	g.awake.Stop()
	g.awake = nil
}
