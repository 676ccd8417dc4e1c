package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/atomicfile"
	"loopd/internal/daemon"
	"loopd/internal/fake"
	"loopd/loop"
)

// NightBegins is the time a rehearsed night's clock starts at: in Berlin the
// evening before the clocks are set forward, so that half past two does not come.
func NightBegins() time.Time { return time.Date(2026, time.March, 28, 19, 0, 0, 0, time.UTC) }

// The faults of a night, after the first window has opened.
const (
	busyAfter  = 30 * time.Minute // the service answers 529
	busyFor    = 20 * time.Minute
	limitAfter = 2 * time.Hour // one session meets the account's limit, which lifts in an hour
	hangAfter  = 4 * time.Hour // one session never answers
	// crashAfter is how many trials have been recorded when loopd is killed.
	crashAfter = 60
	// hangWithin is when a session without an answer is given up; by the sealed
	// clocks a rehearsal would wait for minutes.
	hangWithin = 20 * time.Second
)

// NightOptions say how to run a night.
type NightOptions struct {
	Options
	Windows daemon.Windows
	// Session is by how much a session moves the clock.
	Session time.Duration
	Guard   func(work func())
}

// Phase is how far a night has come, kept over a crash.
type Phase struct {
	Now     time.Time   `json:"now"`
	Windows []time.Time `json:"windows"` // starts of those opened, the same again after a crash
	Limited bool        `json:"limited"` // the session that meets the limit was started
	Hung    bool        `json:"hung"`
	Crashed bool        `json:"crashed"`
}

// night is a rehearsal under way that is worked on in windows, by a clock that
// sessions and waits move.
type night struct {
	NightOptions
	clock *admission.Moved
	board *daemon.Status
	log   *slog.Logger
	drain chan struct{}
	out   Result

	mu    sync.Mutex
	phase Phase
}

const phaseName = "night.json"

// RunNight runs or continues a night until its campaign has ended. It kills its
// own process once, where that is planted; run again, it goes on.
func RunNight(ctx context.Context, o NightOptions) (Result, []NightFault, error) {
	began := time.Now()
	if err := o.begin(ctx); err != nil {
		return Result{}, nil, err
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return Result{}, nil, err
	}
	n := &night{NightOptions: o, drain: make(chan struct{}), log: o.Log}
	if err := n.restore(); err != nil {
		return Result{}, nil, err
	}
	n.clock = admission.NewMoved(n.phase.Now, n.moved)
	n.board = daemon.NewStatus("serve", n.clock, nil)
	if err := home(o.Dir).Make(); err != nil {
		return Result{}, nil, err
	}
	d, err := daemon.New(daemon.Options{
		Dir: home(o.Dir).Dir, Clock: n.clock, Windows: o.Windows, Work: n.work, Guard: o.Guard, Status: n.board, Drain: n.drain, Log: n.log,
		Apply:  func(context.Context, loop.Payload) (bool, error) { return false, nil },
		Notify: func(kind, why string) { n.log.Error(kind, "why", why); n.stop() },
	})
	if err != nil {
		return Result{}, nil, err
	}
	socket, err := daemon.Serve(home(o.Dir).Dir, d)
	if err != nil {
		return Result{}, nil, err
	}
	err = errors.Join(d.Run(ctx), socket.Close())
	if err == nil && n.out.Agent == "" {
		err = errors.New("the night ended without its campaign; see serve.log")
	}
	if err != nil {
		return Result{}, nil, err
	}
	n.out.WallSeconds = round(time.Since(began).Seconds(), 2)
	faults, err := n.faults(ctx)
	return n.out, faults, err
}

func (n *night) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.drain:
	default:
		close(n.drain)
	}
}

// restore reads how far the night had come.
func (n *night) restore() error {
	n.phase = Phase{Now: NightBegins()}
	data, err := os.ReadFile(filepath.Join(n.Dir, phaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n.phase)
	}
	if err != nil {
		return fmt.Errorf("continue the night: %w", err)
	}
	return nil
}

// change changes what is kept and keeps it.
func (n *night) change(f func(*Phase)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.phase)
	data, err := json.Marshal(n.phase)
	if err == nil {
		err = atomicfile.WriteFile(filepath.Join(n.Dir, phaseName), data, 0o600)
	}
	if err != nil {
		n.log.Error("keep the night's clock", "error", err)
	}
}

func (n *night) moved(to time.Time) { n.change(func(p *Phase) { p.Now = to }) }

// work is one window of the night.
func (n *night) work(ctx context.Context, w daemon.Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error) {
	n.change(func(p *Phase) { p.Windows = append(p.Windows, w.Start) })
	sealed, err := openSuite(ctx, n.Dir, n.Suite)
	if err != nil {
		return "", err
	}
	o := n.Options
	o.Drain, o.Resume = drain, true
	r := &run{Options: o, sealed: sealed, night: n}
	r.sealed.Suite.Launch.Clocks.Idle = hangWithin
	if err := r.open(ctx); err != nil {
		return "", err
	}
	defer r.close()
	observe := func(s *loop.State, e loop.Event) {
		r.observe(s, e)
		n.crash(s)
	}
	watch := app.Watch{Asks: asks, Status: n.board, Observe: observe, Around: func(e loop.Executor) loop.Executor { return paced{n, e} }}
	if err := r.work(ctx, watch, w.End); err != nil && !errors.Is(err, loop.ErrDrained) {
		return "", err
	}
	s := r.Campaign.Current()
	if s.Ended != nil || s.Halted != nil {
		n.out, err = r.result(ctx, 0)
		n.stop()
	}
	return daemon.Stopped(s), err
}

// paced moves the clock on by every session.
type paced struct {
	n *night
	e loop.Executor
}

// Run runs the session and moves the clock.
func (p paced) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t, err := p.e.Run(ctx, spec)
	p.n.clock.Advance(p.n.Session)
	return t, err
}

// crash kills this process once, as the kernel does when memory is short.
func (n *night) crash(s *loop.State) {
	n.mu.Lock()
	due := !n.phase.Crashed && s.Sessions() >= crashAfter
	n.mu.Unlock()
	if due {
		n.change(func(p *Phase) { p.Crashed = true })
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// injected is what happens to a session that starts now.
func (n *night) injected() fake.Fault {
	now := n.clock.Now()
	n.mu.Lock()
	p := n.phase
	n.mu.Unlock()
	if len(p.Windows) == 0 {
		return fake.FaultNone
	}
	since := now.Sub(p.Windows[0])
	switch {
	case since >= busyAfter && since < busyAfter+busyFor:
		return fake.FaultUnavailable
	case since >= limitAfter && !p.Limited:
		n.change(func(p *Phase) { p.Limited = true })
		return fake.FaultAllowance
	case since >= hangAfter && !p.Hung:
		n.change(func(p *Phase) { p.Hung = true })
		return fake.FaultHang
	}
	return fake.FaultNone
}
