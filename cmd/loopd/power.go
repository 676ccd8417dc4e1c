package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/config"
	"loopd/loop"
)

// plugged starts no session on a battery, where the settings say so. What cannot
// be told counts as the mains.
type plugged struct {
	onBattery config.Battery
	machine   admission.Machine
	e         loop.Executor
}

// Run runs a session while the machine has power from outside.
func (p plugged) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	if p.onBattery == config.PauseOnBattery {
		if s, err := p.machine.Supply(ctx); err == nil && s.OnBattery {
			return harness.Trial{}, &loop.HoldError{Paused: loop.Paused{Reason: batteryText(s), Battery: true}}
		}
	}
	return p.e.Run(ctx, spec)
}

func batteryText(s admission.Supply) string {
	if s.Percent == 0 {
		return "power: on battery"
	}
	return fmt.Sprintf("power: on battery, %d %% left", s.Percent)
}

// mainsEvery is how often is looked whether the mains are back.
const mainsEvery = 10 * time.Second

// waitForMains lets the machine sleep until it has power from outside, and says
// whether it has.
func (n *night) waitForMains(ctx context.Context, e env, stop <-chan struct{}) bool {
	n.awake.Stop()
	for {
		if s, err := e.machine.Supply(ctx); err != nil || !s.OnBattery {
			n.stayAwake(ctx, e)
			return true
		}
		if !(admission.Wall{}).Wait(ctx, stop, time.Now().Add(mainsEvery)) {
			return false
		}
	}
}

// stayAwake keeps the machine awake. Where that cannot be had a machine with a
// battery may sleep the night away, so its owner is told.
func (n *night) stayAwake(ctx context.Context, e env) {
	n.awake = nil
	if !n.cfg.KeepAwake {
		return
	}
	var err error
	if n.awake, err = e.machine.KeepAwake(ctx); err == nil {
		return
	}
	s, supplyErr := e.machine.Supply(ctx)
	if errors.Is(err, admission.ErrNoKeeper) && (supplyErr != nil || !s.Battery) {
		return
	}
	fmt.Fprintf(e.stderr, "loopd: warning: the machine may fall asleep: %v\n", err)
}
