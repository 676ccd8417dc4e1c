package main

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// starts lists what a spec gives within a stretch of time, by the wall's clock.
func starts(t *testing.T, spec, zone string, from, to time.Time) []string {
	t.Helper()
	where, err := time.LoadLocation(zone)
	testenv.Must(t, err)
	s, err := parseStart(spec, where)
	testenv.Must(t, err)
	var out []string
	for at := s.Next(from); at.Before(to); at = s.Next(at) {
		out = append(out, at.In(where).Format("02 15:04 MST"))
	}
	return out
}

// TestOneStartADay: on the days when the clocks are moved a window begins once,
// also one whose time is skipped or comes twice.
func TestOneStartADay(t *testing.T) {
	t.Parallel()
	day := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 12, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		spec, zone string
		from       time.Time
		want       []string
	}{
		"New York, skipped":      {"30 2 * * *", "America/New_York", day(3, 6), []string{"07 02:30 EST", "08 03:30 EDT", "09 02:30 EDT"}},
		"New York, twice":        {"30 1 * * *", "America/New_York", day(10, 30), []string{"31 01:30 EDT", "01 01:30 EDT", "02 01:30 EST"}},
		"Berlin, skipped":        {"30 2 * * *", "Europe/Berlin", day(3, 27), []string{"28 02:30 CET", "29 03:30 CEST", "30 02:30 CEST"}},
		"Berlin, twice":          {"30 2 * * *", "Europe/Berlin", day(10, 23), []string{"24 02:30 CEST", "25 02:30 CEST", "26 02:30 CET"}},
		"half an hour, skipped":  {"15 2 * * *", "Australia/Lord_Howe", day(10, 2), []string{"03 02:15 +1030", "04 02:45 +11", "05 02:15 +11"}},
		"the evening before":     {"30 22 * * *", "Europe/Berlin", day(3, 27), []string{"27 22:30 CET", "28 22:30 CET", "29 22:30 CEST"}},
		"a zone without changes": {"0 3 * * *", "UTC", day(3, 27), []string{"28 03:00 UTC", "29 03:00 UTC", "30 03:00 UTC"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := starts(t, c.spec, c.zone, c.from, c.from.Add(72*time.Hour)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestNoSkippedHour: a spec of every hour loses and doubles nothing but the hour
// that the wall does not show, and the one that it shows twice.
func TestNoSkippedHour(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	if got := starts(t, "0 * * * *", "Europe/Berlin", from, from.Add(24*time.Hour)); len(got) != 23 {
		t.Errorf("%d starts, want 23: %v", len(got), got)
	}
	from = time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)
	if got := starts(t, "0 * * * *", "Europe/Berlin", from, from.Add(24*time.Hour)); len(got) != 22 && len(got) != 23 {
		t.Errorf("%d starts: %v", len(got), got)
	}
}

// TestStartsRefused: what never comes or is no time of day is refused when it is
// read.
func TestStartsRefused(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"0 2 30 2 *": "never comes", "TZ=": "serve.zone", "CRON_TZ=UTC 0 2 * * *": "serve.zone", "@every 0s": "times of day", "30 22 * *": "expected exactly 5 fields", "61 22 * * *": "61", "at night": "expected exactly 5 fields",
	} {
		cfg := config.Default()
		cfg.ServeStart = "30 22 * * *; " + spec
		_, err := windowsOf(cfg)
		if err == nil || !strings.Contains(err.Error(), want) || hint.ExitOf(err) != hint.Usage || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want a refusal with %q", spec, err, want)
		}
	}
}

// TestWindowEnds: a window ends at the next time the wall shows its end.
func TestWindowEnds(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.ServeStart, cfg.ServeZone = "30 22 * * *", "Europe/Berlin"
	w, err := windowsOf(cfg)
	testenv.Must(t, err)
	got, ok := w.Next(time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), time.Time{})
	if long := got.End.Sub(got.Start); !ok || long != 7*time.Hour {
		t.Errorf("the night of the change lasts %v, want 7h", long)
	}
}

// TestGuardOutlivesAPanic: the window after one that panicked runs.
func TestGuardOutlivesAPanic(t *testing.T) {
	t.Parallel()
	guard, ran := guarded(slog.New(slog.DiscardHandler)), 0
	for i := range 3 {
		guard(func() {
			ran++
			if i == 0 {
				panic("a bug")
			}
		})
	}
	if ran != 3 {
		t.Errorf("%d of 3 ran", ran)
	}
}
