package main

import (
	"testing"
	"time"
)

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
}
