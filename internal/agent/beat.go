package agent

import (
	"fmt"
	"io"
	"sync"
	"time"

	"loopd/harness"
)

// beat passes stdout on and remembers what the clocks need to know of it.
type beat struct {
	to   io.Writer
	keys keyScan
	wake chan struct{} // has one value after something that moves a deadline nearer

	mu    sync.Mutex
	vigil vigil
	err   error
}

func newBeat(clocks harness.Clocks, begun time.Time, to io.Writer) *beat {
	return &beat{to: to, wake: make(chan struct{}, 1), vigil: vigil{Clocks: clocks, begun: begun, lastByte: begun}}
}

// Write passes output on first, then looks at it.
func (b *beat) Write(p []byte) (int, error) {
	n, err := b.to.Write(p)
	now := time.Now()
	b.mu.Lock()
	b.vigil.lastByte = now
	b.mu.Unlock()
	b.keys.feed(p, func(line lineKind) {
		b.mu.Lock()
		b.vigil.line(line, now)
		b.mu.Unlock()
		b.poke()
	})
	return n, err
}

func (b *beat) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *beat) fail(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = fmt.Errorf("write output: %w", err)
	}
	b.mu.Unlock()
	b.poke()
}

func (b *beat) writeError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *beat) hasResult() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.vigil.result.IsZero()
}

func (b *beat) judge(now, activity time.Time) (ending, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.vigil.judge(now, activity)
}

// lineKind is what a line of the stream means to the clocks.
type lineKind string

const (
	lineInit   lineKind = "init"
	lineResult lineKind = "result"
)

// vigil is the clocks' view of a session: a value, so that what they decide is
// a function of times.
type vigil struct {
	harness.Clocks
	begun    time.Time
	lastByte time.Time
	init     bool
	result   time.Time // of the last result with no init after it
}

func (v *vigil) line(kind lineKind, at time.Time) {
	switch kind {
	case lineInit:
		// A job in the background can wake the session after its result.
		v.init, v.result = true, time.Time{}
	case lineResult:
		v.result = at
	}
}

// ending says whether and why a session is to be ended.
type ending struct {
	over      bool
	cause     harness.Class
	limitTime bool
}

// judge applies the clocks: what is to be done now, and when to ask again if
// nothing happens before.
func (v vigil) judge(now, activity time.Time) (ending, time.Time) {
	if !v.result.IsZero() && v.Grace > 0 {
		end := v.result.Add(v.Grace)
		return ending{over: !now.Before(end)}, end
	}
	total := v.begun.Add(v.Total)
	next := total
	if !v.init && v.Startup > 0 {
		start := v.begun.Add(v.Startup)
		if !now.Before(start) {
			return ending{over: true, cause: harness.StartupHang}, now
		}
		next = earlier(next, start)
	}
	if v.Idle > 0 {
		idle := later(v.lastByte, activity).Add(v.Idle)
		if !now.Before(idle) {
			return ending{over: true, cause: harness.Hang}, now
		}
		next = earlier(next, idle)
	}
	// The idle clock has not run out, so the session was at work to the end.
	return ending{over: !now.Before(total), limitTime: !now.Before(total)}, next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
