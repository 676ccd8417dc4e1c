package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Ask is what a person wants of a campaign that runs: to pause, to halt, to end
// its search. It is recorded by the goroutine that owns the state, and Done is
// told once. A nil Payload only asks whether that goroutine still lives.
type Ask struct {
	Payload Payload
	Done    chan<- error // with room for one
}

// What keeps a person's word from being recorded though nothing is wrong.
var (
	ErrNotPaused   = errors.New("nothing is paused or halted")
	ErrNotUnderWay = errors.New("not under way")
)

// Grants says why a person's word cannot be recorded now; nil when it can.
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

// hear does what was asked since it was last called.
func (l *Loop) hear(ctx context.Context) {
	for {
		select {
		case a := <-l.Asks:
			a.Done <- l.grant(ctx, a)
		default:
			return
		}
	}
}

// attend does what takes long and changes no state. Drain ends its ctx, and so does
// a word of a person that may be recorded, which is returned: it is to be answered
// when what the work brought has been recorded.
func (l *Loop) attend(ctx context.Context, work func(ctx context.Context)) *Ask {
	ctx, cancel := context.WithCancel(ctx)
	var word *Ask
	var listening sync.WaitGroup
	listening.Go(func() {
		defer cancel()
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.Drain:
				return
			case a := <-l.Asks:
				var err error
				if a.Payload != nil {
					if err = l.State.Grants(a.Payload); err == nil {
						word = &a
						return
					}
				}
				a.Done <- err
			}
		}
	})
	defer cancel()
	work(ctx)
	cancel()
	listening.Wait()
	return word
}

// answer does what ended the work under way; nil is nothing.
func (l *Loop) answer(ctx context.Context, word *Ask) {
	if word != nil {
		word.Done <- l.grant(ctx, *word)
	}
}

// grant records what was asked where the state allows it.
func (l *Loop) grant(ctx context.Context, a Ask) error {
	if a.Payload == nil {
		return nil
	}
	if err := l.State.Grants(a.Payload); err != nil {
		return err
	}
	return l.record(context.WithoutCancel(ctx), a.Payload)
}
