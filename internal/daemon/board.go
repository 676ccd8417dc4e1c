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
	"loopd/internal/control"
	"loopd/internal/trial"
	"loopd/loop"
)

// Board shows what a loopd that runs is doing. It is safe for concurrent use.
type Board struct {
	clock admission.Clock
	drain <-chan struct{}

	mu       sync.Mutex
	live     control.Live
	sessions map[string]running // by trial id
}

type running struct {
	shown control.Session
	lines string // the file its lines are written to
}

// NewBoard makes the board of the process that runs a verb. Once drain closes it
// shows that the process stops; nil never does.
func NewBoard(verb string, c admission.Clock, drain <-chan struct{}) *Board {
	return &Board{
		clock: c, drain: drain, sessions: make(map[string]running),
		live: control.Live{PID: os.Getpid(), Verb: verb, Since: c.Now().UTC(), Phase: control.Opening},
	}
}

// Show replaces what is done and why, and the next wake-up, zero for none.
func (b *Board) Show(p control.Phase, why string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Phase, b.live.Why, b.live.Until = p, why, until
}

// InWindow says which window is open; nil for none.
func (b *Board) InWindow(w *control.Window) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Window = w
}

// Pages says where pages are served.
func (b *Board) Pages(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Pages = url
}

// Stopped says why the work of the last window ended.
func (b *Board) Stopped(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Stopped = why
}

// Live is what the board shows. When a session printed its last line is read from
// the file the lines are written to.
func (b *Board) Live() control.Live {
	b.mu.Lock()
	out := b.live
	list := make([]running, 0, len(b.sessions))
	for _, r := range b.sessions {
		list = append(list, r)
	}
	b.mu.Unlock()
	select {
	case <-b.drain:
		out.Phase, out.Why, out.Until = control.Stopping, "", time.Time{}
	default:
	}
	out.Now = b.clock.Now().UTC()
	out.Sessions = make([]control.Session, 0, len(list))
	for _, r := range list {
		if info, err := os.Stat(r.lines); err == nil && info.Size() > 0 {
			r.shown.LastEvent = info.ModTime().UTC()
		}
		out.Sessions = append(out.Sessions, r.shown)
	}
	slices.SortFunc(out.Sessions, func(a, b control.Session) int { return a.Since.Compare(b.Since) })
	return out
}

// Seen notes every session of an executor on the board while it runs. Store is
// where attempts are kept.
func (b *Board) Seen(store string, e loop.Executor) loop.Executor { return seen{b, store, e} }

type seen struct {
	b     *Board
	store string
	e     loop.Executor
}

// Run runs the session, seen on the board.
func (s seen) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	id := spec.TrialID()
	s.b.mu.Lock()
	s.b.sessions[id] = running{
		shown: control.Session{Cell: spec.Slot.Cell.String(), Rep: spec.Slot.Rep, Attempt: spec.Attempt, Since: time.Now().UTC()},
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
