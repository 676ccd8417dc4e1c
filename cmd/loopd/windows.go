package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/daemon"
	"loopd/internal/hint"
)

// serveHint is a command that opens windows.
const serveHint = `loopd serve --start "30 22 * * *" --until 06:30 --sessions 400`

// windowsOf reads when windows open and end.
func windowsOf(cfg config.Config) (daemon.Windows, error) {
	zone, err := cfg.Zone()
	if err != nil {
		return daemon.Windows{}, hint.Usagef("loopd config", "%w", err)
	}
	until, err := time.Parse("15:04", cfg.ServeUntil)
	if err != nil {
		return daemon.Windows{}, hint.Usagef(serveHint, "--until %q: not a time of day such as 06:30", cfg.ServeUntil)
	}
	w := daemon.Windows{End: func(start time.Time) time.Time { return app.TimeOfDay(start.In(zone), until) }}
	for _, spec := range cfg.Starts() {
		s, err := parseStart(spec, zone)
		if err != nil {
			return w, hint.Usagef(serveHint, "start of a window %q: %w", spec, err)
		}
		w.Starts = append(w.Starts, s)
	}
	return w, nil
}

// parseStart reads a cron spec of five fields. One that never comes is refused.
func parseStart(spec string, zone *time.Location) (daemon.Schedule, error) {
	switch {
	case strings.Contains(spec, "TZ="):
		return nil, fmt.Errorf("name the time zone as serve.zone")
	case strings.HasPrefix(spec, "@every"):
		return nil, fmt.Errorf("windows begin at times of day, such as 30 22 * * *")
	}
	s, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, err
	}
	out := wallSchedule{s, zone}
	if out.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("this time never comes")
	}
	return out, nil
}

// wallSchedule comes by what a clock on the wall shows. cron leaves a time out on
// the day the clocks skip it, and comes twice where they show it twice; this comes
// once on both: late by what was skipped, and at the first of the two.
type wallSchedule struct {
	spec cron.Schedule
	zone *time.Location
}

// slack is by how much the wall's clock can ever be moved.
const slack = 26 * time.Hour

// Next is the first start after that moment, zero for never.
func (w wallSchedule) Next(after time.Time) time.Time {
	local := after.In(w.zone)
	shown := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
	for at := w.spec.Next(shown.Add(-slack)); !at.IsZero(); at = w.spec.Next(at) {
		if real := w.moment(at); real.After(after) {
			return real
		}
	}
	return time.Time{}
}

// moment is when the wall's clock first shows that time, or would have.
func (w wallSchedule) moment(shown time.Time) time.Time {
	at := func(hour int) time.Time {
		return time.Date(shown.Year(), shown.Month(), shown.Day(), hour, shown.Minute(), 0, 0, w.zone)
	}
	real := at(shown.Hour())
	if real.Hour() != shown.Hour() && real.Before(at(shown.Hour()+1)) {
		return at(shown.Hour() + 1) // skipped: an hour later on the wall
	}
	for _, back := range []time.Duration{time.Hour, time.Hour / 2} {
		if first := real.Add(-back); first.Hour() == real.Hour() && first.Minute() == real.Minute() {
			return first // shown twice
		}
	}
	return real
}

// guarded runs the work of windows one at a time and outlives a panic in one. The
// order of the two matters: with recovery outside, one panic would hold the place
// of the running job for ever.
func guarded(log *slog.Logger) func(work func()) {
	chain := cron.NewChain(cron.SkipIfStillRunning(cronLog{log}), cron.Recover(cronLog{log}))
	var work func()
	job := chain.Then(cron.FuncJob(func() { work() }))
	return func(w func()) {
		work = w
		job.Run()
	}
}

// cronLog writes what cron says to the log.
type cronLog struct{ log *slog.Logger }

// Info logs routine messages.
func (l cronLog) Info(msg string, pairs ...any) { l.log.Info("cron: "+msg, pairs...) }

// Error logs what went wrong, a panic with its trace.
func (l cronLog) Error(err error, msg string, pairs ...any) {
	l.log.Error("cron: "+msg, append([]any{"error", err}, pairs...)...)
}
