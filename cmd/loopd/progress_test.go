package main

import (
	"strings"
	"testing"

	"loopd/loop"
)

// TestProgressWithoutASize: a terminal that does not say its size gets a line a
// round, and a pipe nothing.
func TestProgressWithoutASize(t *testing.T) {
	t.Parallel()
	s := loop.NewState()
	s.Started.Settings.Budget = 40
	planned := loop.Event{Payload: loop.Planned{Round: loop.Round{Purpose: loop.ForPilot, Subject: loop.SubjectStart}}}
	var talk strings.Builder
	p := &progress{plain: &talk}
	p.observe(s, planned)
	p.observe(s, loop.Event{Payload: loop.Recorded{}})
	p.close()
	if got, want := talk.String(), "loopd: pilot start, 0 of at most 40 sessions\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	talk.Reset()
	p = newProgress(env{stderr: &talk}, 40)
	p.observe(s, planned)
	p.observe(s, loop.Event{Payload: loop.Recorded{}})
	p.close()
	if talk.Len() > 0 {
		t.Errorf("a pipe got %q", talk.String())
	}
}
