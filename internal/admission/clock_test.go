package admission_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loopd/internal/admission"
)

// TestWallWaits: a wait ends at its time on the wall, at once when that is past,
// and early when it is stopped.
func TestWallWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, began := admission.Wall{}, time.Now()
		if !w.Wait(t.Context(), nil, began.Add(5*time.Hour)) || time.Since(began) != 5*time.Hour {
			t.Errorf("waited %v, want 5h", time.Since(began))
		}
		if !w.Wait(t.Context(), nil, began) || time.Since(began) != 5*time.Hour {
			t.Error("a time that is past was waited for")
		}
		stop := make(chan struct{})
		go func() { <-time.After(time.Hour); close(stop) }()
		if w.Wait(t.Context(), stop, time.Now().Add(9*time.Hour)) || time.Since(began) != 6*time.Hour {
			t.Errorf("stopped after %v, want after one hour", time.Since(began))
		}
	})
}

// TestWallDeadline: it closes at its time, and not once it is released.
func TestWallDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		over, release := admission.Wall{}.Deadline(began.Add(8 * time.Hour))
		<-over
		if time.Since(began) != 8*time.Hour {
			t.Errorf("closed after %v, want 8h", time.Since(began))
		}
		release()
		never, release := admission.Wall{}.Deadline(began.Add(9 * time.Hour))
		release()
		<-time.After(2 * time.Hour)
		select {
		case <-never:
			t.Error("a deadline that was released closed")
		default:
		}
	})
}

// TestMovedGoesOn: what is waited for comes at once, and every deadline on the
// way is met in its place.
func TestMovedGoesOn(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)
	var seen []time.Time
	m := admission.NewMoved(start, func(at time.Time) { seen = append(seen, at) })
	over, release := m.Deadline(start.Add(time.Hour))
	defer release()
	m.Advance(10 * time.Minute)
	select {
	case <-over:
		t.Fatal("the deadline closed before its time")
	default:
	}
	// The deadline stops the wait, at its own time.
	if m.Wait(t.Context(), over, start.Add(3*time.Hour)) || !m.Now().Equal(start.Add(time.Hour)) {
		t.Errorf("at %v after a wait that the deadline stops", m.Now())
	}
	if !m.Wait(t.Context(), nil, start.Add(5*time.Hour)) || !m.Now().Equal(start.Add(5*time.Hour)) || !m.Wait(t.Context(), nil, start) {
		t.Errorf("at %v, want five hours after the start", m.Now())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if m.Wait(ended, nil, start.Add(6*time.Hour)) || len(seen) != 3 {
		t.Errorf("moves %v, want three", seen)
	}
	if past, _ := m.Deadline(start); !closed(past) {
		t.Error("a deadline that is past is open")
	}
}

// TestMovedMeetsEveryDeadline on the way, the earliest first, whatever the order in
// which they were set; nobody needs to look on.
func TestMovedMeetsEveryDeadline(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)
	var seen []time.Duration
	m := admission.NewMoved(start, func(at time.Time) { seen = append(seen, at.Sub(start)) })
	for _, h := range []time.Duration{3, 1, 2, 5} {
		_, release := m.Deadline(start.Add(h * time.Hour))
		defer release()
	}
	if !m.Wait(t.Context(), nil, start.Add(4*time.Hour)) || !slices.Equal(seen, []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour}) {
		t.Errorf("went by way of %v", seen)
	}
	admission.NewMoved(start, nil).Advance(time.Hour)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
