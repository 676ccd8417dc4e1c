package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/loop"
)

// limits are what a user allows a campaign: exactly one is set.
type limits struct {
	sessions int
	until    string  // a time of day, such as 06:30
	cost     float64 // in USD at list price
}

func (l *limits) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&l.sessions, "sessions", 0, "budget of a new campaign, in sessions")
	f.StringVar(&l.until, "until", "", "budget: the sessions that fit until this time of day, such as 06:30")
	f.Float64Var(&l.cost, "cost", 0, "budget: the sessions that cost so many USD at list price")
}

// assumedSeconds stands for the length of a session where none was measured
// and none is configured. It is on the long side: a campaign that is done early
// harms nobody.
const assumedSeconds = 120

// allowance is a budget in sessions and how it came about.
type allowance struct {
	Sessions int       `json:"sessions"`
	Deadline time.Time `json:"deadline,omitzero"`
	Why      string    `json:"why,omitempty"`
}

// allow turns what the user allows into a number of sessions. The gate's reserve
// is a share of it, so it must be known before the first session.
func (l limits) allow(cfg config.Config, pace loop.Pace, parallel int, now time.Time) (allowance, error) {
	if n := count(l.sessions != 0, l.until != "", l.cost != 0); n > 1 {
		return allowance{}, hint.Usagef(runHint, "--sessions, --until and --cost exclude each other")
	}
	switch {
	case l.sessions < 0:
		return allowance{}, hint.Usagef(runHint, "--sessions %d: below 1", l.sessions)
	case l.sessions > 0:
		return allowance{Sessions: l.sessions}, nil
	case l.until != "":
		return untilTime(l.until, secondsOf(cfg, pace), parallel, now)
	case l.cost != 0:
		return forCost(l.cost, usdOf(cfg, pace), "run")
	}
	return allowance{Sessions: cfg.Sessions}, nil
}

func count(set ...bool) (n int) {
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}

// figure is a number with where it is from.
type figure struct {
	value float64
	from  string
}

func secondsOf(cfg config.Config, pace loop.Pace) figure {
	switch {
	case pace.Seconds > 0:
		return figure{pace.Seconds, fmt.Sprintf("measured over %d sessions", pace.Sessions)}
	case cfg.SessionSeconds > 0:
		return figure{float64(cfg.SessionSeconds), "as configured"}
	}
	return figure{assumedSeconds, "assumed; set session_seconds"}
}

func usdOf(cfg config.Config, pace loop.Pace) figure {
	switch {
	case pace.USD > 0:
		return figure{pace.USD, fmt.Sprintf("measured over %d sessions", pace.Sessions)}
	case cfg.SessionUSD > 0:
		return figure{cfg.SessionUSD, "as configured"}
	}
	return figure{0, "unknown"}
}

// untilTime is how many sessions fit until the next time the clock shows this.
func untilTime(text string, each figure, parallel int, now time.Time) (allowance, error) {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return allowance{}, hint.Usagef("loopd run --until 06:30", "--until %q: not a time of day such as 06:30", text)
	}
	deadline := timeOfDay(now, at)
	n := int(deadline.Sub(now).Seconds() / each.value * float64(parallel))
	why := fmt.Sprintf("%d sessions of %.0f s (%s), %d side by side, until %s", n, each.value, each.from, parallel, deadline.Format("Mon 15:04"))
	return allowance{Sessions: n, Deadline: deadline, Why: why}, nil
}

func forCost(usd float64, each figure, verb string) (allowance, error) {
	if !(usd > 0) || math.IsInf(usd, 1) {
		return allowance{}, hint.Usagef("loopd "+verb+" --cost 40", "--cost %v: not an amount in USD", usd)
	}
	if each.value <= 0 {
		return allowance{}, hint.Usagef(fmt.Sprintf("LOOPD_SESSION_USD=0.15 loopd %s --cost %g", verb, usd), "--cost: what a session costs is not known: none was measured, and session_usd is not set")
	}
	n := int(usd / each.value)
	return allowance{Sessions: n, Why: fmt.Sprintf("%d sessions of %.3f USD (%s)", n, each.value, each.from)}, nil
}
