package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/loop"
)

func TestAllow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 22, 0, 0, 0, time.UTC)
	measured := loop.Pace{Sessions: 50, Seconds: 90, USD: .25}
	for name, c := range map[string]struct {
		limits limits
		cfg    config.Config
		pace   loop.Pace
		want   int
		why    string
	}{
		"sessions":           {limits{sessions: 7}, config.Config{Sessions: 400}, measured, 7, ""},
		"the setting":        {limits{}, config.Config{Sessions: 400}, measured, 400, ""},
		"nothing":            {limits{}, config.Config{}, measured, 0, ""},
		"until, measured":    {limits{until: "06:30"}, config.Config{SessionSeconds: 60}, measured, 680, "measured over 50 sessions"},
		"until, configured":  {limits{until: "06:30"}, config.Config{SessionSeconds: 60}, loop.Pace{}, 1020, "as configured"},
		"until, assumed":     {limits{until: "23:00"}, config.Config{}, loop.Pace{}, 60, "assumed; set session_seconds"},
		"cost":               {limits{cost: 10}, config.Config{}, measured, 40, "measured"},
		"cost, configured":   {limits{cost: 10}, config.Config{SessionUSD: .5}, loop.Pace{}, 20, "as configured"},
		"less than a minute": {limits{until: "22:00"}, config.Config{SessionSeconds: 86400}, loop.Pace{}, 2, "until Thu 22:00"},
	} {
		got, err := c.limits.allow(c.cfg, c.pace, 2, now)
		if err != nil || got.Sessions != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: got %+v, %v, want %d sessions, %q", name, got, err, c.want, c.why)
		}
		if c.limits.until != "" && !got.Deadline.After(now) {
			t.Errorf("%s: over at the wrong moment: %v", name, got.Deadline)
		}
	}
}

func TestAllowRefuses(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]limits{
		"two": {sessions: 1, cost: 2}, "below": {sessions: -1}, "no time": {until: "25:00"}, "no amount": {cost: -3},
		"not a number": {cost: math.NaN()}, "unknown price": {cost: 3}, "infinite": {cost: math.Inf(1)},
	} {
		if got, err := l.allow(config.Config{}, loop.Pace{}, 2, time.Unix(0, 0)); err == nil || hint.ExitOf(err) != hint.Usage || hint.Of(err) == "" {
			t.Errorf("%s: got %+v, %v, want a refusal with a hint", name, got, err)
		}
	}
}
