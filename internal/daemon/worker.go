package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/campaign"
	"loopd/loop"
)

// Worker works on one campaign for as long as it may. Requests, Status, Wait and
// Say may be nil.
type Worker struct {
	Campaign *campaign.Campaign
	Gate     *admission.Gate
	// Loop is what drives the campaign; its Drain and Asks are set here.
	Loop loop.Loop
	// End is when nothing more is started; zero for never.
	End time.Time
	// NoWait returns at a limit instead of waiting until it lifts.
	NoWait   bool
	Requests <-chan loop.Request
	Status   *Status
	// Wait waits a pause out; nil for the gate.
	Wait func(ctx context.Context, stop <-chan struct{}, p loop.Paused, due time.Time) bool
	// Say is told that a pause is waited out, and until when; zero for when the disk
	// has space or the machine AC power.
	Say func(until time.Time)
}

// Run goes on until the campaign ends, halts, needs the user, or its time is
// over: then it is paused until its next window. The first two are in the state.
func (s *Worker) Run(ctx context.Context, drain <-chan struct{}) error {
	over, release := s.closing(drain)
	defer release()
	err := s.work(ctx, over)
	if errors.Is(err, loop.ErrDrained) && s.past() {
		return s.Campaign.Pause(ctx, loop.Paused{Reason: WindowOver})
	}
	return err
}

// WindowOver is the reason of the pause between two windows.
const WindowOver = "window: the time given is over"

func (s *Worker) past() bool { return !s.End.IsZero() && !s.Gate.Clock().Now().Before(s.End) }

// closing is a channel that closes when drain does, or at the end of its time.
func (s *Worker) closing(drain <-chan struct{}) (<-chan struct{}, func()) {
	drained := false
	select {
	case <-drain:
		drained = true // at once: nothing is to be started
	default:
	}
	if drained || s.End.IsZero() {
		return drain, func() {}
	}
	end, forget := s.Gate.Clock().Deadline(s.End)
	out, release := either(drain, end)
	return out, func() { forget(); release() }
}

func (s *Worker) work(ctx context.Context, drain <-chan struct{}) error {
	for {
		st := s.Campaign.Current()
		if st.Halted != nil {
			return nil
		}
		if p := st.Paused; p != nil {
			if !p.Lifts() || s.NoWait && (p.Battery || p.Class == harness.Disk || p.Until.After(s.Gate.Clock().Now())) {
				return nil
			}
			if lifted, err := s.waitOut(ctx, drain, st); err != nil || !lifted {
				return errors.Join(err, ctx.Err())
			}
			s.Gate.Governor().Wake()
		}
		s.show(Running, "", s.End)
		l := s.Loop
		l.Drain, l.Requests = drain, s.Requests
		if err := s.Campaign.Run(ctx, l); err != nil {
			return err
		}
		if p := s.Campaign.Current().Paused; p == nil || !p.Lifts() || s.NoWait {
			return nil
		}
	}
}

func (s *Worker) show(p Phase, why string, until time.Time) {
	if s.Status != nil {
		s.Status.Show(p, why, until)
	}
}

// waitOut waits until a pause lifts by itself or by a command, records that, and
// reports whether it did. Requests are answered meanwhile.
func (s *Worker) waitOut(ctx context.Context, drain <-chan struct{}, st *loop.State) (bool, error) {
	p := *st.Paused
	due, wait := s.Gate.Due(st.ChangedAt, p), s.Wait
	if wait == nil {
		wait = s.Gate.Wait
	}
	if s.Say != nil {
		s.Say(due)
	}
	if !s.End.IsZero() && due.After(s.End) {
		return false, nil // this night ends here; the pause stays for who goes on
	}
	s.show(Waiting, p.Reason, due)
	stop := make(chan struct{})
	result := make(chan bool, 1)
	go func() { result <- wait(ctx, stop, p, due) }()
	broken := false
	breakOff := sync.OnceFunc(func() { broken = true; close(stop) })
	for {
		select {
		case lifted := <-result:
			if st.Paused == nil && st.Halted == nil {
				return true, nil // the user resumed it
			}
			if !lifted || broken {
				return false, nil
			}
			return true, s.Campaign.Wake(ctx)
		case <-drain:
			breakOff()
			drain = nil
		case a := <-s.Requests:
			if a.Payload == nil {
				a.Done <- nil
				continue
			}
			err := s.Campaign.Grant(ctx, a.Payload)
			a.Done <- err
			if err == nil && (st.Paused == nil || st.Halted != nil || !st.Paused.Lifts()) {
				breakOff()
			}
		}
	}
}

// Stopped is why the work on a campaign ended, in words.
func Stopped(st *loop.State) string {
	switch {
	case st == nil:
		return ""
	case st.Ended != nil:
		return fmt.Sprintf("ended: %s", st.Ended.Outcome)
	case st.Halted != nil:
		return "halted: " + st.Halted.Reason
	case st.Paused != nil:
		return "paused: " + st.Paused.Reason
	}
	return "stopped"
}
