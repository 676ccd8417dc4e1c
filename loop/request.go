package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Request is what the user asks of a campaign that runs: to pause, to halt, to end
// its search. The goroutine that owns the state records it, and Done is told once.
// A nil Payload only asks whether that goroutine still lives.
type Request struct {
	Payload Payload
	Done    chan<- error // with room for one
}

// The reasons for which a request is not recorded although nothing is wrong.
var (
	ErrNotPaused   = errors.New("nothing is paused or halted")
	ErrNotUnderWay = errors.New("not under way")
)

// Grants says why a request cannot be recorded now; nil when it can.
func (s *State) Grants(p Payload) error {
	switch p.(type) {
	case Paused, Halted:
		if s.Ended != nil || s.Halted != nil {
			return fmt.Errorf("campaign %s is %w", s.Started.Campaign, ErrNotUnderWay)
		}
	case Resumed:
		switch {
		case s.Ended != nil || s.Paused == nil && s.Halted == nil:
			return ErrNotPaused
		case s.Halted != nil && !s.Halted.Lifts():
			return fmt.Errorf("the halt does not lift: %s", s.Halted.Reason)
		}
	case Finished:
		if s.Ended != nil || s.Halted != nil || s.Phase != Pilot && s.Phase != Search {
			return fmt.Errorf("campaign %s has no search to end", s.Started.Campaign)
		}
	default:
		return fmt.Errorf("nobody may ask for %s", p.Kind())
	}
	return nil
}

// takeRequests grants the requests made since it was last called.
func (l *Loop) takeRequests(ctx context.Context) {
	for {
		select {
		case r := <-l.Requests:
			r.Done <- l.grant(ctx, r)
		default:
			return
		}
	}
}

// interruptible does work that takes long and changes no state. Drain ends its ctx,
// and so does a request that can be recorded. That request is returned: it is to be
// granted after the result of the work has been recorded.
func (l *Loop) interruptible(ctx context.Context, work func(ctx context.Context)) *Request {
	ctx, cancel := context.WithCancel(ctx)
	var due *Request
	var listening sync.WaitGroup
	listening.Go(func() {
		defer cancel()
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.Drain:
				return
			case r := <-l.Requests:
				var err error
				if r.Payload != nil {
					if err = l.State.Grants(r.Payload); err == nil {
						due = &r
						return
					}
				}
				r.Done <- err
			}
		}
	})
	defer cancel()
	work(ctx)
	cancel()
	listening.Wait()
	return due
}

// grantDue grants the request that interrupted the work; nil is none.
func (l *Loop) grantDue(ctx context.Context, r *Request) {
	if r != nil {
		r.Done <- l.grant(ctx, *r)
	}
}

// grant records a request where the state allows it.
func (l *Loop) grant(ctx context.Context, r Request) error {
	if r.Payload == nil {
		return nil
	}
	if err := l.State.Grants(r.Payload); err != nil {
		return err
	}
	return l.record(context.WithoutCancel(ctx), r.Payload)
}
