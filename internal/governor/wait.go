package governor

import (
	"context"
	"time"
)

// unknownReset is how long a pause without an end lasts until it is tried again.
const unknownReset = 15 * time.Minute

// longestTimer bounds a timer: a machine that slept has a clock on the wall that
// went on while its timers stood still.
const longestTimer = time.Minute

// Due is when a pause that began at that time is to be tried again.
func Due(began, until time.Time) time.Time {
	if until.IsZero() {
		return began.Add(unknownReset)
	}
	return until.Add(time.Second) // resets are given in whole seconds
}

// WaitUntil returns at that time by the clock on the wall, when stop is closed, or
// when ctx ends, and says whether it was the time.
func WaitUntil(ctx context.Context, stop <-chan struct{}, at time.Time) bool {
	for {
		left := at.Sub(time.Now().Round(0)) // without the monotonic reading
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
