package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/trial"
	"loopd/loop"
)

// Status shows what a loopd that runs is doing. It is safe for concurrent use.
type Status struct {
	clock admission.Clock
	drain <-chan struct{}

	mu       sync.Mutex
	live     Live
	sessions map[string]running // by trial id
}

type running struct {
	shown Session
	lines string // the file its lines are written to
}

// NewStatus makes the board of the process that runs a verb. Once drain closes it
// shows that the process stops; nil never does.
func NewStatus(verb string, c admission.Clock, drain <-chan struct{}) *Status {
	return &Status{
		clock: c, drain: drain, sessions: make(map[string]running),
		live: Live{PID: os.Getpid(), Verb: verb, Since: c.Now().UTC(), Phase: Opening},
	}
}

// Show replaces what is done and why, and the next wake-up, zero for none.
func (b *Status) Show(p Phase, why string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Phase, b.live.Why, b.live.Until = p, why, until
}

// InWindow says which window is open; nil for none.
func (b *Status) InWindow(w *Window) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Window = w
}

// Pages says where pages are served.
func (b *Status) Pages(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Pages = url
}

// Stopped says why the work of the last window ended.
func (b *Status) Stopped(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Stopped = why
}

// Live is what the board shows. When a session printed its last line is read from
// the file the lines are written to.
func (b *Status) Live() Live {
	b.mu.Lock()
	out := b.live
	list := make([]running, 0, len(b.sessions))
	for _, r := range b.sessions {
		list = append(list, r)
	}
	b.mu.Unlock()
	select {
	case <-b.drain:
		out.Phase, out.Why, out.Until = Stopping, "", time.Time{}
	default:
	}
	out.Now = b.clock.Now().UTC()
	out.Sessions = make([]Session, 0, len(list))
	for _, r := range list {
		if info, err := os.Stat(r.lines); err == nil && info.Size() > 0 {
			r.shown.LastEvent = info.ModTime().UTC()
		}
		out.Sessions = append(out.Sessions, r.shown)
	}
	slices.SortFunc(out.Sessions, func(a, b Session) int { return a.Since.Compare(b.Since) })
	return out
}

// Seen notes every session of an executor on the board while it runs. Store is
// where attempts are kept.
func (b *Status) Seen(store string, e loop.Executor) loop.Executor { return seen{b, store, e} }

type seen struct {
	b     *Status
	store string
	e     loop.Executor
}

// Run runs the session, seen on the board.
func (s seen) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	id := spec.TrialID()
	s.b.mu.Lock()
	s.b.sessions[id] = running{
		shown: Session{Cell: spec.Slot.Cell.String(), Rep: spec.Slot.Rep, Attempt: spec.Attempt, Since: time.Now().UTC()},
		lines: filepath.Join(s.store, id, trial.TranscriptFile),
	}
	s.b.mu.Unlock()
	defer func() {
		s.b.mu.Lock()
		delete(s.b.sessions, id)
		s.b.mu.Unlock()
	}()
	return s.e.Run(ctx, spec)
}
