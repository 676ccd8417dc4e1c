package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"loopd/loop"
)

// Handler passes commands to the loop that runs, and answers what became of them.
// It is the Service of a single run; a Daemon has one as well.
type Handler struct {
	Status *Status

	requests chan loop.Request
	mu       sync.Mutex
	shut     chan struct{} // closed when nobody answers requests any more; nil before anybody does
	next     chan struct{} // closed when somebody answers them the next time
}

var _ Service = (*Handler)(nil)

// NewHandler makes the handler of a process with that status.
func NewHandler(b *Status) *Handler {
	return &Handler{Status: b, requests: make(chan loop.Request), next: make(chan struct{})}
}

// Open notes that somebody answers requests from now on, until shut is called.
func (d *Handler) Open() (requests <-chan loop.Request, shut func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	over := make(chan struct{})
	d.shut = over
	close(d.next)
	d.next = make(chan struct{})
	return d.requests, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.shut = nil
		close(over)
	}
}

// opens is closed when somebody answers requests the next time.
func (d *Handler) opens() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// errShut says that no loop runs that could take a command.
var errShut = errors.New("no campaign is running")

// tell has the loop that runs record a payload; errShut where none runs.
func (d *Handler) tell(ctx context.Context, p loop.Payload) error {
	d.mu.Lock()
	shut := d.shut
	d.mu.Unlock()
	if shut == nil {
		return errShut
	}
	told := make(chan error, 1)
	select {
	case d.requests <- loop.Request{Payload: p, Done: told}:
		return answered(told, shut)
	case <-shut:
		return errShut
	case <-ctx.Done():
		return fmt.Errorf("the loop does not answer: %w", ctx.Err())
	}
}

// answered waits for the answer to what a loop has heard. One that ends without
// giving it may have recorded it or not.
func answered(told <-chan error, shut <-chan struct{}) error {
	select {
	case err := <-told:
		return err
	case <-shut:
	}
	select {
	case err := <-told:
		return err
	default:
		return errors.New("the loop ended before it answered")
	}
}

// Live is what the status shows.
func (d *Handler) Live() Live { return d.Status.Live() }

// Do carries a command out in the campaign that runs.
func (d *Handler) Do(ctx context.Context, w Command, reason string) (string, error) {
	if w == Look {
		return d.look(), nil
	}
	p, done, err := payloadOf(w, reason)
	if err != nil {
		return "", err
	}
	return done, d.tell(ctx, p)
}

// payloadOf is what a command puts into the ledger, and what is answered once it is
// there.
func payloadOf(w Command, reason string) (loop.Payload, string, error) {
	switch w {
	case Pause:
		return loop.Paused{Reason: byHand("paused by hand", reason), ByHand: true}, "paused: running sessions end, and nothing starts until loopd resume", nil
	case Resume:
		return loop.Resumed{}, "going on", nil
	case Halt:
		return loop.Halted{Reason: byHand("halted by hand", reason), ByHand: true}, "halted: running sessions are ended; loopd resume goes on", nil
	case Finish:
		return loop.Finished{}, "the search ends; its gate is next", nil
	}
	return nil, "", fmt.Errorf("loopd has no command %q", w)
}

func byHand(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// look says when a candidate that waits in the queue is taken.
func (d *Handler) look() string {
	l := d.Live()
	switch {
	case l.Phase == Running || l.Phase == Waiting:
		return "the loopd that runs takes it after the candidate under way"
	case !l.Until.IsZero():
		return "the loopd that runs takes it in its next window, " + l.Until.Local().Format("Mon 15:04")
	}
	return "the loopd that runs takes it in its next window"
}

// Alive reports whether the loop that runs still answers; true where none runs.
func (d *Handler) Alive(ctx context.Context) bool {
	err := d.tell(ctx, nil)
	return err == nil || errors.Is(err, errShut)
}
