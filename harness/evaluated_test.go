package harness

import (
	"slices"
	"testing"
)

func TestSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checks []Outcome
		want   Outcome
		failed []string
	}{
		"nothing asked":       {nil, NotRun, nil},
		"nothing to look at":  {[]Outcome{NotRun}, NotRun, nil},
		"one passed":          {[]Outcome{NotRun, Pass}, Pass, nil},
		"one failed":          {[]Outcome{Pass, Fail, NotRun}, Fail, []string{"b"}},
		"invalid is not fail": {[]Outcome{Invalid, Fail}, Invalid, []string{"b"}},
		"nor pass":            {[]Outcome{Pass, Invalid}, Invalid, nil},
	} {
		var e Evaluated
		for i, o := range c.checks {
			e.Checks = append(e.Checks, Check{Name: string(rune('a' + i)), Outcome: o})
		}
		e.Settle()
		if e.Outcome != c.want || !slices.Equal(e.Failed, c.failed) || e.Failed == nil {
			t.Errorf("%s: got %s with %q failed, want %s with %q", name, e.Outcome, e.Failed, c.want, c.failed)
		}
	}
}
