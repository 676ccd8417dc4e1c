package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loopd/harness"
	"loopd/internal/governor"
	"loopd/loop"
)

// TestALimitThatOutlastsTheWindow has an account's limit lift in 20 hours, at the
// end of a night of which 2 are left: the night ends there and then, and the limit
// stays on record for whoever goes on.
func TestALimitThatOutlastsTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for name, c := range map[string]struct {
			deadline time.Time
			lifts    time.Duration
			waits    bool
		}{
			"after the window":  {began.Add(2 * time.Hour), 20 * time.Hour, false},
			"within the window": {began.Add(200 * time.Hour), time.Minute, true},
			"no window":         {time.Time{}, time.Minute, true},
		} {
			var talk bytes.Buffer
			n := &night{allowed: allowance{Deadline: c.deadline}}
			paused := loop.Paused{Reason: "usage_limit", Class: harness.UsageLimit, Until: time.Now().Add(c.lifts)}
			s := &loop.State{Paused: &paused, ChangedAt: time.Now()}
			due, start := governor.Due(s.ChangedAt, paused.Until), time.Now()
			waited := n.waitOut(t.Context(), env{stderr: &talk}, nil, s)
			switch took := time.Since(start); {
			case waited != c.waits:
				t.Errorf("%s: waited %v, want %v: %s", name, waited, c.waits, talk.String())
			case !c.waits && (took > 0 || !strings.Contains(talk.String(), "after the time given is over")):
				t.Errorf("%s: took %v and said %q, want an end at once", name, took, talk.String())
			case c.waits && time.Now().Before(due):
				t.Errorf("%s: went on after %v, before the limit lifted", name, took)
			}
		}
	})
}
