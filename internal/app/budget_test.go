package app

import (
	"math"
	"strings"
	"testing"
	"time"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/loop"
)

func TestLimits_Allow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 22, 0, 0, 0, time.UTC)
	measured := loop.Pace{Sessions: 50, Seconds: 90, USD: .25}
	for name, c := range map[string]struct {
		limits Limits
		cfg    config.Config
		pace   loop.Pace
		want   int
		why    string
	}{
		"sessions":           {Limits{Sessions: 7}, config.Config{Sessions: 400}, measured, 7, ""},
		"the setting":        {Limits{}, config.Config{Sessions: 400}, measured, 400, ""},
		"nothing":            {Limits{}, config.Config{}, measured, 0, ""},
		"until, measured":    {Limits{Until: "06:30"}, config.Config{SessionSeconds: 60}, measured, 680, "measured over 50 sessions"},
		"until, configured":  {Limits{Until: "06:30"}, config.Config{SessionSeconds: 60}, loop.Pace{}, 1020, "as configured"},
		"until, assumed":     {Limits{Until: "23:00"}, config.Config{}, loop.Pace{}, 60, "assumed; set session_seconds"},
		"cost":               {Limits{Cost: 10}, config.Config{}, measured, 40, "measured"},
		"cost, configured":   {Limits{Cost: 10}, config.Config{SessionUSD: .5}, loop.Pace{}, 20, "as configured"},
		"less than a minute": {Limits{Until: "22:00"}, config.Config{SessionSeconds: 86400}, loop.Pace{}, 2, "until Thu 22:00"},
	} {
		got, err := c.limits.Allow(c.cfg, c.pace, 2, now)
		if err != nil || got.Sessions != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: got %+v, %v, want %d sessions, %q", name, got, err, c.want, c.why)
		}
		if c.limits.Until != "" && !got.Deadline.After(now) {
			t.Errorf("%s: over at the wrong moment: %v", name, got.Deadline)
		}
	}
}

func TestLimits_AllowRefuses(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Limits{
		"two": {Sessions: 1, Cost: 2}, "below": {Sessions: -1}, "no time": {Until: "25:00"}, "no amount": {Cost: -3},
		"not a number": {Cost: math.NaN()}, "unknown price": {Cost: 3}, "infinite": {Cost: math.Inf(1)},
	} {
		if got, err := l.Allow(config.Config{}, loop.Pace{}, 2, time.Unix(0, 0)); err == nil || hint.ExitOf(err) != hint.Usage || hint.Of(err) == "" {
			t.Errorf("%s: got %+v, %v, want a refusal with a hint", name, got, err)
		}
	}
}
