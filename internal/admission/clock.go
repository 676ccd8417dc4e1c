package admission

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and waits. Times carry no monotonic reading: the timers of
// a machine that slept stood still while its clock went on, so no timer is longer
// than a minute, and what is due is told by the clock, never by a timer alone.
type Clock interface {
	// Now is the time.
	Now() time.Time
	// Wait returns at that time, when stop is closed or has a value, or when ctx
	// ends, and says whether it was the time.
	Wait(ctx context.Context, stop <-chan struct{}, at time.Time) bool
}

// Alarm is a clock that also says when a time has come.
type Alarm interface {
	Clock
	// Deadline returns a channel that closes at that time, and what releases it.
	Deadline(at time.Time) (<-chan struct{}, func())
}

// longestTimer bounds a timer.
const longestTimer = time.Minute

// Wall is the clock on the wall.
type Wall struct{}

var _ Alarm = Wall{}

// Now is the time on the wall.
func (Wall) Now() time.Time { return time.Now().Round(0) }

// Wait waits by the clock on the wall.
func (w Wall) Wait(ctx context.Context, stop <-chan struct{}, at time.Time) bool {
	for {
		left := at.Sub(w.Now())
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, longestTimer))
		select {
		case <-timer.C:
		case <-stop:
			timer.Stop()
			return false
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// Deadline watches the clock on the wall.
func (w Wall) Deadline(at time.Time) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		if w.Wait(ctx, nil, at) {
			close(out)
		}
	})
	return out, func() { cancel(); watching.Wait() }
}

// Moved is a clock that stands still until it is moved: by what is waited for,
// which it goes on to at once, and by Advance. It is safe for concurrent use.
type Moved struct {
	mu        sync.Mutex
	now       time.Time
	deadlines map[*deadline]bool
	observe   func(time.Time)
}

type deadline struct {
	at  time.Time
	out chan struct{}
}

var _ Alarm = (*Moved)(nil)

// NewMoved starts a clock at that time. Observe, which may be nil, is told of
// every move.
func NewMoved(at time.Time, observe func(time.Time)) *Moved {
	return &Moved{now: at.Round(0), deadlines: make(map[*deadline]bool), observe: observe}
}

// Now is the time it stands at.
func (m *Moved) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock on.
func (m *Moved) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.move(m.now.Add(d))
}

// Wait moves the clock to that time, by way of the deadlines before it: whatever
// one of them stops is stopped there.
func (m *Moved) Wait(ctx context.Context, stop <-chan struct{}, at time.Time) bool {
	for {
		select {
		case <-stop:
			return false
		case <-ctx.Done():
			return false
		default:
		}
		m.mu.Lock()
		if !at.After(m.now) {
			m.mu.Unlock()
			return true
		}
		m.move(m.next(at))
		m.mu.Unlock()
	}
}

// next is the first deadline before that time, or the time itself.
func (m *Moved) next(at time.Time) time.Time {
	for d := range m.deadlines {
		if d.at.After(m.now) && d.at.Before(at) {
			at = d.at
		}
	}
	return at
}

func (m *Moved) move(to time.Time) {
	m.now = to
	for d := range m.deadlines {
		if !d.at.After(to) {
			close(d.out)
			delete(m.deadlines, d)
		}
	}
	if m.observe != nil {
		m.observe(to)
	}
}

// Deadline closes its channel when the clock has come there.
func (m *Moved) Deadline(at time.Time) (<-chan struct{}, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := &deadline{at: at, out: make(chan struct{})}
	if at.After(m.now) {
		m.deadlines[d] = true
	} else {
		close(d.out)
	}
	return d.out, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.deadlines, d)
	}
}
