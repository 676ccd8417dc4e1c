package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/loop"
)

// TestWorker_LimitOutlastsTheWindow has an account's limit lift in 20 hours, at the
// end of a night of which 2 are left: the night ends there and then, and the limit
// stays on record for whoever goes on.
func TestWorker_LimitOutlastsTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for name, c := range map[string]struct {
			end   time.Time
			lifts time.Duration
			waits bool
		}{
			"after the window":  {began.Add(2 * time.Hour), 20 * time.Hour, false},
			"within the window": {began.Add(200 * time.Hour), time.Minute, true},
			"no window":         {time.Time{}, time.Minute, true},
		} {
			said := 0
			shift := &Worker{Gate: admission.NewGate(admission.Options{}), End: c.end, Say: func(time.Time) { said++ }}
			paused := loop.Paused{Reason: "usage_limit", Class: harness.UsageLimit, Until: time.Now().Add(c.lifts)}
			s := &loop.State{Paused: &paused, ChangedAt: time.Now()}
			due, start := admission.Due(s.ChangedAt, paused.Until), time.Now()
			if c.waits {
				if !shift.Gate.Wait(t.Context(), nil, paused, due) || time.Now().Before(due) {
					t.Errorf("%s: went on after %v, before the limit lifted", name, time.Since(start))
				}
				continue
			}
			lifted, err := shift.waitOut(t.Context(), nil, s)
			if err != nil || lifted || time.Since(start) > 0 || said != 1 || s.Paused == nil {
				t.Errorf("%s: lifted %v after %v (said %d times), %v; want an end at once, said once", name, lifted, time.Since(start), said, err)
			}
		}
	})
}
