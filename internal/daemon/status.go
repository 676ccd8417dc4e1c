package daemon

import (
	"context"
	"maps"
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

// NewStatus makes the status of the process that runs a verb. Once drain closes it
// shows that the process stops; nil never does.
func NewStatus(verb string, c admission.Clock, drain <-chan struct{}) *Status {
	return &Status{
		clock: c, drain: drain, sessions: make(map[string]running),
		live: Live{PID: os.Getpid(), Verb: verb, Since: c.Now().UTC(), Phase: Opening},
	}
}

// Set changes what is shown.
func (b *Status) Set(change func(*Live)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.live)
}

// Show replaces what is done and why, and the next wake-up, zero for none.
func (b *Status) Show(p Phase, why string, until time.Time) {
	b.Set(func(l *Live) { l.Phase, l.Why, l.Until = p, why, until })
}

// Live is what is shown. The time of a session's last line is that of the file the
// lines are written to.
func (b *Status) Live() Live {
	b.mu.Lock()
	out, list := b.live, slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	select {
	case <-b.drain:
		out.Phase, out.Why, out.Until = Stopping, "", time.Time{}
	default:
	}
	out.Now, out.Sessions = b.clock.Now().UTC(), []Session{}
	for _, r := range list {
		if info, err := os.Stat(r.lines); err == nil && info.Size() > 0 {
			r.shown.LastEvent = info.ModTime().UTC()
		}
		out.Sessions = append(out.Sessions, r.shown)
	}
	slices.SortFunc(out.Sessions, func(a, b Session) int { return a.Since.Compare(b.Since) })
	return out
}

// Watch shows every session of an executor while it runs. Attempts are kept in
// store.
func (b *Status) Watch(store string, e loop.Executor) loop.Executor { return watched{b, store, e} }

type watched struct {
	status   *Status
	store    string
	executor loop.Executor
}

// Run runs the session and shows it.
func (w watched) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	id := spec.TrialID()
	w.status.Set(func(*Live) {
		w.status.sessions[id] = running{
			shown: Session{Cell: spec.Slot.Cell.String(), Rep: spec.Slot.Rep, Attempt: spec.Attempt, Since: time.Now().UTC()},
			lines: filepath.Join(w.store, id, trial.TranscriptFile),
		}
	})
	defer w.status.Set(func(*Live) { delete(w.status.sessions, id) })
	return w.executor.Run(ctx, spec)
}
