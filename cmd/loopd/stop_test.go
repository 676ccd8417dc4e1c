package main

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/hint"
	"loopd/loop"
)

// TestNothingMeasuredIsNoSuccess: a campaign of which every session came to
// nothing fails; it does not report that no change was better.
func TestNothingMeasuredIsNoSuccess(t *testing.T) {
	t.Parallel()
	ended := func(o loop.Outcome) *loop.State {
		return &loop.State{Ended: &loop.Ended{Outcome: o, Why: "every session was invalid"}}
	}
	err := stop(ended(loop.NothingMeasured))
	if err == nil || hint.ExitOf(err) != hint.Failed || !strings.Contains(err.Error(), "nothing measured: every session was invalid") {
		t.Errorf("got %v, want exit %d", err, hint.Failed)
	}
	for _, o := range []loop.Outcome{loop.NoChange, loop.Unconfirmed, loop.Promoted} {
		if err := stop(ended(o)); err != nil {
			t.Errorf("%s: got %v, want success", o, err)
		}
	}
	for _, class := range []harness.Class{harness.RateLimit, harness.Disk} {
		err := stop(&loop.State{Paused: &loop.Paused{Reason: string(class), Class: class}})
		if hint.ExitOf(err) != hint.Paused {
			t.Errorf("%s: got %v, want exit %d", class, err, hint.Paused)
		}
	}
}
