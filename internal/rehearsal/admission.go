package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/store"
	"loopd/loop"
)

// cause is why a pause was recorded.
type cause string

// The causes that are planted.
const (
	causeLimit   cause = "limit"
	causeDisk    cause = "disk"
	causeBattery cause = "battery"
)

// causeOf tells the cause of a pause, empty for another one.
func causeOf(p loop.Paused) cause {
	switch {
	case p.Battery:
		return causeBattery
	case p.Class == harness.Disk:
		return causeDisk
	case p.Class == harness.RateLimit:
		return causeLimit
	}
	return ""
}

// pause is a pause of the ledger and when it was lifted, zero for not.
type pause struct {
	p          loop.Paused
	at, lifted time.Time
}

// pausesOf reads the pauses of a state directory's ledger, oldest first.
func pausesOf(ctx context.Context, dir string) ([]pause, error) {
	l, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	var out []pause
	for e, err := range l.Entries(ctx, 1) {
		if err != nil {
			return nil, err
		}
		p, err := loop.Decode(loop.Kind(e.Kind), e.Payload)
		if err != nil {
			return nil, err
		}
		switch p := p.(type) {
		case loop.Paused:
			out = append(out, pause{p: p, at: e.Time})
		case loop.Resumed:
			if len(out) > 0 {
				out[len(out)-1].lifted = e.Time
			}
		}
	}
	return out, nil
}

// lifted reports whether there was a pause of this cause and each was lifted.
func lifted(pauses []pause, c cause) bool {
	found := false
	for _, h := range pauses {
		if causeOf(h.p) != c {
			continue
		}
		if found = true; h.lifted.IsZero() {
			return false
		}
	}
	return found
}

// machine is the disk and the power supply beside which a rehearsal's sessions
// run. A planted fault lasts until the loop has paused for it.
type machine struct {
	root string // pauses sys/class/power_supply
	full atomic.Bool
}

// The limits of a rehearsal's gate. No real disk is so full, and no session that
// goes well costs as much.
const (
	machineFloor = 1 << 20 // bytes
	sessionLimit = 1       // USD
)

// newMachine makes a machine on AC power with space on its disk.
func newMachine(dir string) (*machine, error) {
	m := &machine{root: filepath.Join(dir, "machine")}
	return m, m.battery(false)
}

// gate is what keeps sessions of a rehearsal from being started.
func (m *machine) gate(parallel int, dirs ...string) admission.Options {
	return admission.Options{
		Governor:       admission.GovernorOptions{Parallel: parallel, Rand: func() float64 { return 0 }},
		Disk:           admission.Disk{Floor: machineFloor, Dirs: dirs, Free: m.free},
		Machine:        admission.Machine{OS: "linux", Root: m.root},
		PauseOnBattery: true, Clock: &skipping{},
	}
}

func (m *machine) free(dir string) (uint64, error) {
	if m.full.Load() {
		return 0, nil
	}
	return admission.FreeBytes(dir)
}

// battery writes what the kernel says of the power supply.
func (m *machine) battery(on bool) error {
	online, status := "1", "Full"
	if on {
		online, status = "0", "Discharging"
	}
	var errs []error
	for name, text := range map[string]string{
		"AC/type": "Mains", "AC/online": online, "BAT0/type": "Battery", "BAT0/status": status, "BAT0/capacity": "9",
	} {
		path := filepath.Join(m.root, "sys", "class", "power_supply", name)
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text+"\n"), 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("plant a power supply: %w", err)
	}
	return nil
}

// skipping is the clock on the wall, but that it goes on at once to the end of what
// is waited for: a rehearsal sits out no pause.
type skipping struct {
	wall  admission.Wall
	ahead atomic.Int64 // nanoseconds
}

var _ admission.Alarm = (*skipping)(nil)

// Now is the time on the wall and all that was skipped.
func (s *skipping) Now() time.Time { return s.wall.Now().Add(time.Duration(s.ahead.Load())) }

// Wait skips to that time.
func (s *skipping) Wait(ctx context.Context, stop <-chan struct{}, at time.Time) bool {
	select {
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	default:
	}
	if left := at.Sub(s.Now()); left > 0 {
		s.ahead.Add(int64(left))
	}
	return true
}

// Deadline closes its channel at that time by this clock as it stands now.
func (s *skipping) Deadline(at time.Time) (<-chan struct{}, func()) {
	return s.wall.Deadline(at.Add(-time.Duration(s.ahead.Load())))
}

// plant brings about what a pause is to follow from.
func (m *machine) plant(c cause) error {
	switch c {
	case causeDisk:
		m.full.Store(true)
	case causeBattery:
		return m.battery(true)
	}
	return nil
}

// lift ends what a pause was for.
func (m *machine) lift(p loop.Paused) error {
	switch causeOf(p) {
	case causeDisk:
		m.full.Store(false)
	case causeBattery:
		return m.battery(false)
	}
	return nil
}

// replant brings about again what an interrupted rehearsal had not paused for yet:
// the fault of every session that is recorded without its pause.
func (r *run) replant(ctx context.Context) error {
	pauses, err := pausesOf(ctx, home(r.Dir).Dir)
	if err != nil {
		return err
	}
	paused := make(map[cause]bool)
	for _, h := range pauses {
		paused[causeOf(h.p)] = true
	}
	var errs []error
	for _, t := range r.Campaign.Current().Trials {
		if f := r.injector.faultOf(t.Spec); !paused[f.pause] {
			errs = append(errs, r.machine.plant(f.pause))
		}
	}
	return errors.Join(errs...)
}
