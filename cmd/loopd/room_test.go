package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/loop"
)

// tally is an executor that counts what it is given.
type tally struct{ ran int }

func (c *tally) Run(context.Context, harness.Spec) (harness.Trial, error) {
	c.ran++
	return harness.Trial{}, nil
}

func TestWithoutRoomNothingIsStarted(t *testing.T) {
	t.Parallel()
	free, inner := uint64(2<<30), &tally{}
	r := roomy{floor: 2 << 30, dirs: []string{t.TempDir() + "/not/there/yet"}, free: func(string) (uint64, error) { return free, nil }, e: inner}
	if _, err := r.Run(t.Context(), harness.Spec{}); err != nil || inner.ran != 1 {
		t.Fatalf("with just enough room: got %v, %d run", err, inner.ran)
	}
	free--
	_, err := r.Run(t.Context(), harness.Spec{})
	hold, ok := errors.AsType[*loop.HoldError](err)
	if !ok || inner.ran != 1 || hold.Paused.Class != harness.Disk || !hold.Paused.Lifts() {
		t.Errorf("with less: got %v, %d run; want a pause of the class disk that lifts", err, inner.ran)
	}
	if ok && !strings.Contains(hold.Paused.Reason, "disk_floor is 2GiB") {
		t.Errorf("reason: got %q", hold.Paused.Reason)
	}
	for name, r := range map[string]roomy{
		"no limit":    {dirs: r.dirs, free: r.free, e: inner},
		"cannot tell": {floor: 2 << 30, dirs: r.dirs, free: func(string) (uint64, error) { return 0, errors.New("no such call") }, e: inner},
	} {
		if _, err := r.Run(t.Context(), harness.Spec{}); err != nil {
			t.Errorf("%s: got %v, want it to run", name, err)
		}
	}
}

func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, "0d": 0} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("%s: got %v and %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "d", "-1d", "a month", "1e9d", "NaNd"} {
		if got, err := parseAge(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	if got := sizeText(3 << 29); got != "1.5 GiB" {
		t.Errorf("got %s, want 1.5 GiB", got)
	}
}
