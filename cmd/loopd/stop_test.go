package main

import (
	"errors"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/loop"
)

// TestNothingMeasuredIsNoSuccess: a campaign of which every session came to
// nothing fails; it does not report that no change was better.
func TestNothingMeasuredIsNoSuccess(t *testing.T) {
	t.Parallel()
	ended := func(o loop.Outcome) *loop.State {
		return &loop.State{Ended: &loop.Ended{Outcome: o, Why: "every session was invalid"}}
	}
	coded, ok := errors.AsType[*codedError](stop(ended(loop.NothingMeasured)))
	if !ok || coded.code != exitFailed || !strings.Contains(coded.Error(), "nothing measured: every session was invalid") {
		t.Errorf("got %v, want exit %d", coded, exitFailed)
	}
	for _, o := range []loop.Outcome{loop.NoChange, loop.Unconfirmed, loop.Promoted} {
		if err := stop(ended(o)); err != nil {
			t.Errorf("%s: got %v, want success", o, err)
		}
	}
	for _, class := range []harness.Class{harness.RateLimit, harness.Disk} {
		coded, ok := errors.AsType[*codedError](stop(&loop.State{Paused: &loop.Paused{Reason: string(class), Class: class}}))
		if !ok || coded.code != exitPaused {
			t.Errorf("%s: got %v, want exit %d", class, coded, exitPaused)
		}
	}
}
