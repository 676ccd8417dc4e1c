package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"loopd/internal/admission"
	"loopd/internal/store"
	"loopd/loop"
)

// Options are what a daemon needs. All fields are required.
type Options struct {
	Dir     string // state directory, whose daemon lock is held
	Clock   admission.Clock
	Windows Windows
	// Work opens the campaign, works on it until the window ends or drain closes,
	// and closes it. It answers requests meanwhile, and returns why it ended.
	Work func(ctx context.Context, w Window, drain <-chan struct{}, requests <-chan loop.Request) (string, error)
	// Apply records a payload in the campaign under way while no window is open. It
	// is false where there is none.
	Apply func(ctx context.Context, p loop.Payload) (bool, error)
	// Guard runs one window so that a panic in it does not end the daemon.
	Guard func(work func())
	// Notify is told what its owner should know.
	Notify func(kind, why string)
	Status *Status
	// Drain closes when no window is to be opened any more and running sessions
	// are to end.
	Drain <-chan struct{}
	Log   *slog.Logger
}

// Daemon opens windows until it is told to stop.
type Daemon struct {
	*Handler
	o      Options
	wakeup chan struct{} // the state has changed: the windows are to be computed again
	mu     sync.Mutex
	known  State
	inUse  chan struct{} // has a value while somebody has the campaign open
}

var _ Service = (*Daemon)(nil)

// New reads what is remembered.
func New(o Options) (*Daemon, error) {
	m, err := readState(o.Dir)
	if err != nil {
		return nil, err
	}
	if m.Open {
		m.LastStart, m.Open = m.LastStart.Add(-time.Nanosecond), false
	}
	return &Daemon{Handler: NewHandler(o.Status), o: o, wakeup: make(chan struct{}, 1), known: m, inUse: make(chan struct{}, 1)}, nil
}

// state is what is remembered now.
func (d *Daemon) state() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known
}

// Run opens windows as they come until Drain closes or ctx ends.
func (d *Daemon) Run(ctx context.Context) error {
	for !d.stopping(ctx) {
		mem := d.state()
		w, some := d.o.Windows.Next(d.o.Clock.Now(), mem.LastStart)
		if !some {
			return errors.New("no window will ever open")
		}
		if !mem.Held.IsZero() {
			d.o.Status.Show(Held, mem.Why, time.Time{})
			select {
			case <-ctx.Done():
			case <-d.o.Drain:
			case <-d.wakeup:
			}
			continue
		}
		d.o.Status.Show(Idle, "until the next window", w.Start)
		if d.wait(ctx, w.Start) && !d.stopping(ctx) {
			if err := d.window(ctx, w); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (d *Daemon) stopping(ctx context.Context) bool {
	select {
	case <-d.o.Drain:
		return true
	default:
		return ctx.Err() != nil
	}
}

// wait returns at that time, or early when something has changed, and reports
// whether it was the time.
func (d *Daemon) wait(ctx context.Context, at time.Time) bool {
	stop, release := either(d.o.Drain, d.wakeup)
	defer release()
	return d.o.Clock.Wait(ctx, stop, at)
}

// either is closed at the first value or close of one of the two, or at release,
// which returns when nothing waits any more.
func either(a, b <-chan struct{}) (out <-chan struct{}, release func()) {
	closed, done := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-a:
		case <-b:
		case <-done:
		}
		close(closed)
	})
	return closed, func() { close(done); wait.Wait() }
}

// busyAgain is how long is waited where another loopd holds the state directory.
const busyAgain = time.Minute

// window remembers that it is opened, and works in it. What goes wrong ends the
// window and not the daemon: the next one may find it repaired.
func (d *Daemon) window(ctx context.Context, w Window) error {
	if err := d.note(func(m *State) { m.LastStart, m.Open = w.Start, true }); err != nil {
		return err
	}
	d.o.Status.Set(func(l *Live) { l.Window = &w })
	defer d.o.Status.Set(func(l *Live) { l.Window = nil })
	d.o.Log.Info("window opens", "start", w.Start, "end", w.End)
	for {
		why, err := d.work(ctx, w)
		locked, busy := errors.AsType[*store.LockedError](err)
		if !busy || d.stopping(ctx) || !w.End.After(d.o.Clock.Now().Add(busyAgain)) {
			d.concluded(why, err)
			if d.stopping(ctx) {
				return nil
			}
			return d.note(func(m *State) { m.Open = false })
		}
		d.o.Status.Show(Waiting, locked.Error(), d.o.Clock.Now().Add(busyAgain))
		d.wait(ctx, d.o.Clock.Now().Add(busyAgain))
	}
}

// work runs the window under guard. A panic is an error here and a trace there.
func (d *Daemon) work(ctx context.Context, w Window) (why string, err error) {
	err = errors.New("the work of this window panicked; the next window runs")
	d.inUse <- struct{}{} // whoever has the ledger open closes it first
	defer func() { <-d.inUse }()
	d.o.Guard(func() {
		d.o.Status.Show(Opening, "", w.End)
		requests, shut := d.Open()
		defer shut()
		// Whoever paused until now was told that nothing opens; the loop answers later commands.
		if m := d.state(); !m.Held.IsZero() {
			why, err = m.Why, nil
			return
		}
		why, err = d.o.Work(ctx, w, d.o.Drain, requests)
	})
	return why, err
}

func (d *Daemon) concluded(why string, err error) {
	if err != nil {
		why = err.Error()
		d.o.Log.Error("window failed", "error", why)
		d.o.Notify("failed", why)
	} else {
		d.o.Log.Info("window closes", "why", why)
	}
	d.o.Status.Set(func(l *Live) { l.Stopped = why })
}

// remember changes the state. The error is that it would not outlive a restart.
func (d *Daemon) remember(change func(*State)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.known)
	return d.known.write(d.o.Dir)
}

// note remembers what a restart may forget: a full disk ends no daemon. Without
// its state directory, and the lock in it, a daemon is no longer the only one.
func (d *Daemon) note(change func(*State)) error {
	err := d.remember(change)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the state directory is gone: %w", err)
	}
	if err != nil {
		d.o.Log.Error("a restart would not know of this window", "error", err)
	}
	return nil
}

// Do carries a command out, also between two windows.
func (d *Daemon) Do(ctx context.Context, w Command, reason string) (string, error) {
	switch w {
	case Pause:
		return d.pause(ctx, reason)
	case Resume:
		return d.resume(ctx)
	case Look:
		return d.Handler.Do(ctx, w, reason)
	}
	p, done, err := payloadOf(w, reason)
	if err != nil {
		return "", err
	}
	_, err = d.apply(ctx, p)
	return done, err
}

// pause holds every window until resume, also where no campaign is under way.
func (d *Daemon) pause(ctx context.Context, reason string) (string, error) {
	p, done, err := payloadOf(Pause, reason)
	if err != nil {
		return "", err
	}
	why := byHand("paused by hand", reason)
	kept := d.remember(func(m *State) { m.Held, m.Why = d.o.Clock.Now().UTC(), why })
	defer d.wake()
	heard, err := d.apply(ctx, p)
	switch {
	case kept != nil:
		return "", fmt.Errorf("no window opens, but a restart would forget it: %w", kept)
	case heard && err != nil && !errors.Is(err, loop.ErrNotUnderWay):
		return "", fmt.Errorf("no window opens until loopd resume, but %w", err)
	case err != nil:
		d.o.Log.Info("nothing to pause", "why", err)
		done = "paused: no window opens until loopd resume"
	}
	return done, nil
}

// resume lets windows open again, the one that should be open now included. One
// whose loop goes on at this command is open.
func (d *Daemon) resume(ctx context.Context) (string, error) {
	held := !d.state().Held.IsZero()
	heard, err := d.apply(ctx, loop.Resumed{})
	nothing := errors.Is(err, errNobody) || errors.Is(err, loop.ErrNotPaused)
	if err != nil && !(held && nothing) {
		return "", err
	}
	defer d.wake()
	if err := d.remember(func(m *State) {
		m.Held, m.Why = time.Time{}, ""
		if !heard {
			*m = State{}
		}
	}); err != nil {
		return "", fmt.Errorf("going on, but a restart would forget it: %w", err)
	}
	return "going on", nil
}

// errNobody says that there is no campaign a command could be for.
var errNobody = errors.New("no campaign is under way")

// apply records a payload in the campaign under way, and reports whether a loop that
// runs it did.
func (d *Daemon) apply(ctx context.Context, p loop.Payload) (heard bool, err error) {
	for {
		opens := d.opens()
		if err := d.tell(ctx, p); !errors.Is(err, errShut) {
			return true, err
		}
		select {
		case d.inUse <- struct{}{}:
			some, err := d.o.Apply(ctx, p)
			<-d.inUse
			if err == nil && !some {
				err = errNobody
			}
			return false, err
		case <-opens: // a loop can hear it by now
		case <-ctx.Done():
			return false, fmt.Errorf("the campaign is in use: %w", ctx.Err())
		}
	}
}

// wake has the windows computed again.
func (d *Daemon) wake() {
	select {
	case d.wakeup <- struct{}{}:
	default:
	}
}
