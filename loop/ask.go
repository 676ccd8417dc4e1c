package loop

import (
	"context"
	"errors"
	"fmt"
)

// Ask is what a person wants of a campaign that runs: to pause, to halt, to end
// its search. It is recorded by the goroutine that owns the state, and Done is
// told once. A nil Payload only asks whether that goroutine still lives.
type Ask struct {
	Payload Payload
	Done    chan<- error // with room for one
}

// Grants says why a person's word cannot be recorded now; nil when it can.
func (s *State) Grants(p Payload) error {
	switch p.(type) {
	case Paused, Halted:
		if s.Ended != nil || s.Halted != nil {
			return fmt.Errorf("campaign %s is not under way", s.Started.Campaign)
		}
	case Resumed:
		switch {
		case s.Ended != nil || s.Paused == nil && s.Halted == nil:
			return errors.New("nothing is paused or halted")
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
