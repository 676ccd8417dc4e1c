package app

import (
	"fmt"
	"math"
	"time"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/loop"
)

// Limits are what a user allows a campaign: exactly one is set.
type Limits struct {
	Sessions int
	Until    string  // a time of day, such as 06:30
	Cost     float64 // in USD at list price
}

// assumedSeconds stands for the length of a session where none was measured
// and none is configured. It is on the long side: a campaign that is done early
// harms nobody.
const assumedSeconds = 120

// Allowance is a budget in sessions and how it came about.
type Allowance struct {
	Sessions int       `json:"sessions"`
	Deadline time.Time `json:"deadline,omitzero"`
	Why      string    `json:"why,omitempty"`
}

// Allow turns what the user allows into a number of sessions. The gate's reserve
// is a share of it, so it must be known before the first session.
func (l Limits) Allow(cfg config.Config, pace loop.Pace, parallel int, now time.Time) (Allowance, error) {
	if n := CountSet(l.Sessions != 0, l.Until != "", l.Cost != 0); n > 1 {
		return Allowance{}, hint.Usagef(RunHint, "--sessions, --until and --cost exclude each other")
	}
	switch {
	case l.Sessions < 0:
		return Allowance{}, hint.Usagef(RunHint, "--sessions %d: below 1", l.Sessions)
	case l.Sessions > 0:
		return Allowance{Sessions: l.Sessions}, nil
	case l.Until != "":
		return untilTime(l.Until, SecondsOf(cfg, pace), parallel, now)
	case l.Cost != 0:
		return ForCost(l.Cost, USDOf(cfg, pace), "run")
	}
	return Allowance{Sessions: cfg.Sessions}, nil
}

// CountSet is how many are set.
func CountSet(set ...bool) (n int) {
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}

// Figure is a number with where it is from.
type Figure struct {
	Value float64
	From  string
}

// SecondsOf is how long a session takes.
func SecondsOf(cfg config.Config, pace loop.Pace) Figure {
	switch {
	case pace.Seconds > 0:
		return Figure{pace.Seconds, fmt.Sprintf("measured over %d sessions", pace.Sessions)}
	case cfg.SessionSeconds > 0:
		return Figure{float64(cfg.SessionSeconds), "as configured"}
	}
	return Figure{assumedSeconds, "assumed; set session_seconds"}
}

// USDOf is what a session costs, in US dollars; 0 for unknown.
func USDOf(cfg config.Config, pace loop.Pace) Figure {
	switch {
	case pace.USD > 0:
		return Figure{pace.USD, fmt.Sprintf("measured over %d sessions", pace.Sessions)}
	case cfg.SessionUSD > 0:
		return Figure{cfg.SessionUSD, "as configured"}
	}
	return Figure{0, "unknown"}
}

// untilTime is how many sessions fit until the next time the clock shows this.
func untilTime(text string, each Figure, parallel int, now time.Time) (Allowance, error) {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return Allowance{}, hint.Usagef("loopd run --until 06:30", "--until %q: not a time of day such as 06:30", text)
	}
	deadline := TimeOfDay(now, at)
	n := int(deadline.Sub(now).Seconds() / each.Value * float64(parallel))
	why := fmt.Sprintf("%d sessions of %.0f s (%s), %d side by side, until %s", n, each.Value, each.From, parallel, deadline.Format("Mon 15:04"))
	return Allowance{Sessions: n, Deadline: deadline, Why: why}, nil
}

// ForCost is how many sessions an amount buys; verb is the command that was given it.
func ForCost(usd float64, each Figure, verb string) (Allowance, error) {
	if !(usd > 0) || math.IsInf(usd, 1) {
		return Allowance{}, hint.Usagef("loopd "+verb+" --cost 40", "--cost %v: not an amount in USD", usd)
	}
	if each.Value <= 0 {
		return Allowance{}, hint.Usagef(fmt.Sprintf("LOOPD_SESSION_USD=0.15 loopd %s --cost %g", verb, usd), "--cost: what a session costs is not known: none was measured, and session_usd is not set")
	}
	n := int(usd / each.Value)
	return Allowance{Sessions: n, Why: fmt.Sprintf("%d sessions of %.3f USD (%s)", n, each.Value, each.From)}, nil
}

// TimeOfDay is the next moment after that one at which the clock of its zone shows
// this time of day.
func TimeOfDay(after, clock time.Time) time.Time {
	at := time.Date(after.Year(), after.Month(), after.Day(), clock.Hour(), clock.Minute(), 0, 0, after.Location())
	if !at.After(after) {
		at = time.Date(after.Year(), after.Month(), after.Day()+1, clock.Hour(), clock.Minute(), 0, 0, after.Location())
	}
	return at
}
