package app

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

func question(budget int, p loop.Profile) Question {
	q := Question{Settings: loop.DefaultSettings(budget).Under(p), Guards: 4, Controls: 2, Reserve: 4, From: "assumed", Runs: 100}
	small := []float64{.02, .02, .02, .05, .10, .05}
	large := []float64{.85, .90, .15, .20, .90, .80}
	for i, id := range []string{"W1", "W2", "W3", "R1", "R2", "R3"} {
		q.Cells = append(q.Cells, harness.Cell{Scenario: id, Tier: "haiku"}, harness.Cell{Scenario: id, Tier: "sonnet"})
		q.Rates = append(q.Rates, small[i], large[i])
	}
	return q
}

func plan(t *testing.T, q Question) Plan {
	t.Helper()
	p, err := Forecast(t.Context(), q)
	testenv.Must(t, err)
	return p
}

func TestPlanAddsUp(t *testing.T) {
	t.Parallel()
	p := plan(t, question(1200, loop.Fast))
	if !p.Reachable || p.Pilot != 12*6+4*2+2*2 || p.Gate != 240 || p.Transfer != 16 || p.Search != 1200-240-84 {
		t.Errorf("got %+v", p)
	}
	if p.Smallest <= 84 || p.Smallest >= 1200 {
		t.Errorf("smallest budget %d, want one between the pilot and 1200", p.Smallest)
	}
	if p.Candidates < 10 || p.Candidates > 60 {
		t.Errorf("about %v candidates, want 10 to 60", p.Candidates)
	}
	byName := make(map[string]Detect)
	for _, d := range p.Detects {
		byName[d.What] = d
		if d.Found > d.Kept+1e-9 || d.Found < 0 || d.Sessions <= 0 {
			t.Errorf("%+v makes no sense", d)
		}
	}
	large, small, null := byName["+.20 on the grid"], byName["+.08 on the grid"], byName["no effect"]
	if large.Found < .6 || large.Found < small.Found || null.Kept > .12 || null.Confirmed > .05 {
		t.Errorf("large %+v, small %+v, null %+v", large, small, null)
	}
}

func TestSmallPlansAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range loop.Profiles() {
		q := question(20, p)
		got := plan(t, q)
		if got.Reachable || got.Smallest <= 20 || len(got.Detects) != 0 {
			t.Errorf("%s with 20 sessions: got %+v, want a refusal with the smallest budget", p, got)
		}
		q.Settings.Budget = got.Smallest
		if !plan(t, q).Reachable {
			t.Errorf("%s: the smallest budget %d is refused", p, got.Smallest)
		}
		if q.Settings.Budget = got.Smallest - 1; plan(t, q).Reachable {
			t.Errorf("%s: %d would do as well", p, got.Smallest-1)
		}
	}
}

func TestMoreFindsMore(t *testing.T) {
	t.Parallel()
	few, many := plan(t, question(400, loop.Fast)), plan(t, question(3000, loop.Fast))
	if few.Detects[0].Found > many.Detects[0].Found || few.Candidates > many.Candidates {
		t.Errorf("400 sessions find %+v with %v candidates, 3000 find %+v with %v", few.Detects[0], few.Candidates, many.Detects[0], many.Candidates)
	}
}

func TestSameQuestionSameAnswer(t *testing.T) {
	t.Parallel()
	a, _ := json.Marshal(plan(t, question(700, loop.Scout)))
	b, _ := json.Marshal(plan(t, question(700, loop.Scout)))
	if string(a) != string(b) {
		t.Errorf("got %s, then %s", a, b)
	}
}

func TestOddQuestions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Question){
		"no cells":     func(q *Question) { q.Cells, q.Rates = nil, nil },
		"a rate short": func(q *Question) { q.Rates = q.Rates[1:] },
		"not a rate":   func(q *Question) { q.Rates[0] = math.NaN() },
		"never played": func(q *Question) { q.Runs = 0 },
	} {
		q := question(400, loop.Fast)
		change(&q)
		if p, err := Forecast(t.Context(), q); err == nil || !strings.HasPrefix(err.Error(), "plan: ") {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
	one := question(400, loop.Fast)
	one.Cells, one.Rates = one.Cells[:1], []float64{0}
	plan(t, one)
	ends := question(400, loop.Fast)
	for i := range ends.Rates {
		ends.Rates[i] = float64(i % 2)
	}
	plan(t, ends)
}
