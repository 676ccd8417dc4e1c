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
	// and closes it. It hears asks meanwhile, and says why it ended.
	Work func(ctx context.Context, w Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error)
	// Apply does what a person says to the campaign under way while no window is
	// open. It is false where there is none.
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
	wakeup chan struct{} // the memory has changed: the windows are to be looked at again
	mu     sync.Mutex
	mem    State
	hands  chan struct{} // has a value while the campaign is in somebody's hands
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
	return &Daemon{Handler: NewHandler(o.Status), o: o, wakeup: make(chan struct{}, 1), mem: m, hands: make(chan struct{}, 1)}, nil
}

// memory is what is remembered now.
func (d *Daemon) state() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mem
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
			d.rest(ctx)
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

// rest waits until something has changed.
func (d *Daemon) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-d.o.Drain:
	case <-d.wakeup:
	}
}

func (d *Daemon) stopping(ctx context.Context) bool {
	select {
	case <-d.o.Drain:
		return true
	default:
		return ctx.Err() != nil
	}
}

// wait returns at that time, or early when something has changed, and says
// whether it was the time.
func (d *Daemon) wait(ctx context.Context, at time.Time) bool {
	stop, done := make(chan struct{}), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-d.o.Drain:
			close(stop)
		case <-d.wakeup:
			close(stop)
		case <-done:
		}
	}()
	return d.o.Clock.Wait(ctx, stop, at)
}

// busyAgain is how long is waited where another loopd holds the state directory.
const busyAgain = time.Minute

// window remembers that it is opened, and works in it. What goes wrong ends the
// window and not the daemon: the next one may find it mended.
func (d *Daemon) window(ctx context.Context, w Window) error {
	if err := d.note(func(m *State) { m.LastStart, m.Open = w.Start, true }); err != nil {
		return err
	}
	d.o.Status.InWindow(&w)
	defer d.o.Status.InWindow(nil)
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
	d.hands <- struct{}{} // a hand that has the ledger open gives it back first
	defer func() { <-d.hands }()
	d.o.Guard(func() {
		d.o.Status.Show(Opening, "", w.End)
		asks, shut := d.Open()
		defer shut()
		// Who paused until now was told that nothing opens; later words are heard.
		if m := d.state(); !m.Held.IsZero() {
			why, err = m.Why, nil
			return
		}
		why, err = d.o.Work(ctx, w, d.o.Drain, asks)
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
	d.o.Status.Stopped(why)
}

// remember changes the memory. The error is that it would not outlive a restart.
func (d *Daemon) remember(change func(*State)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.mem)
	return d.mem.write(d.o.Dir)
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

// Do does what a person says, also between two windows.
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
	_, err = d.say(ctx, p)
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
	heard, err := d.say(ctx, p)
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
// whose loop goes on at this word is open.
func (d *Daemon) resume(ctx context.Context) (string, error) {
	held := !d.state().Held.IsZero()
	heard, err := d.say(ctx, loop.Resumed{})
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

// errNobody says that there is no campaign a word could be for.
var errNobody = errors.New("no campaign is under way")

// say tells the campaign under way, and whether a loop that runs it heard it.
func (d *Daemon) say(ctx context.Context, p loop.Payload) (heard bool, err error) {
	for {
		opens := d.opens()
		if err := d.tell(ctx, p); !errors.Is(err, errShut) {
			return true, err
		}
		select {
		case d.hands <- struct{}{}:
			some, err := d.byHand(ctx, p)
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

// byHand does it without a loop, and gives the campaign out of hand.
func (d *Daemon) byHand(ctx context.Context, p loop.Payload) (bool, error) {
	defer func() { <-d.hands }()
	return d.o.Apply(ctx, p)
}

// wake has the windows looked at again.
func (d *Daemon) wake() {
	select {
	case d.wakeup <- struct{}{}:
	default:
	}
}
