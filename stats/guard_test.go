package stats

import (
	"math/rand/v2"
	"testing"
)

func TestHarmProb(t *testing.T) {
	t.Parallel()
	near(t, "3/6 beside 9/10", HarmProb(Count{3, 6}, Count{9, 10}, .4), .4342, 5e-5)
	near(t, "0/4 beside 10/10", HarmProb(Count{0, 4}, Count{10, 10}, .4), .9879, 5e-5)
	near(t, "5/6 beside 5/6", HarmProb(Count{5, 6}, Count{5, 6}, .4), .0280, 5e-5)
	near(t, "a sharp posterior", HarmProb(Count{100_000, 500_000}, Count{400_000, 500_000}, .4), 1, 1e-9)
	near(t, "a negative count", HarmProb(Count{-1, 4}, Count{4, 4}, .4), 1, 0)
}

func TestGuardStep(t *testing.T) {
	t.Parallel()
	collapse := CollapseGuard()
	for _, c := range []struct {
		name       string
		guard      Guard
		cand, base Count
		extra      int
		want       GuardAction
	}{
		{"as good as before", collapse, Count{5, 6}, Count{5, 6}, 0, GuardClear},
		{"one failure is asked about", collapse, Count{0, 1}, Count{9, 10}, 0, GuardAsk},
		{"a champion seen too little is asked too", collapse, Count{0, 1}, Count{3, 5}, 0, GuardAskBoth},
		{"no veto before four reps", collapse, Count{0, 3}, Count{20, 20}, 2, GuardAsk},
		{"a collapse", collapse, Count{0, 4}, Count{10, 10}, 3, GuardVeto},
		{"doubt at the end above .40", collapse, Count{3, 6}, Count{9, 10}, 8, GuardVeto},
		{"the same doubt one rep earlier", collapse, Count{3, 6}, Count{9, 10}, 7, GuardAsk},
		{"doubt at the end below .40", collapse, Count{5, 8}, Count{9, 10}, 8, GuardClear},
		{"nothing known at the end", collapse, Count{}, Count{9, 10}, 8, GuardVeto},
		{"a count out of range", collapse, Count{3, 2}, Count{9, 10}, 0, GuardVeto},
		{"one detour is asked about", OverTriggerGuard(), Count{0, 1}, Count{2, 2}, 0, GuardAsk},
		{"two detours", OverTriggerGuard(), Count{0, 2}, Count{6, 6}, 0, GuardVeto},
	} {
		if got, h := c.guard.Step(c.cand, c.base, c.extra); got != c.want {
			t.Errorf("%s: got %s at %.3f, want %s", c.name, got, h, c.want)
		}
	}
}

// Six champion reps and three of the candidate to begin with: three negative scenarios in a tier.
func TestOverTriggerGuardRates(t *testing.T) {
	t.Parallel()
	const runs = 1500
	random := rand.New(rand.NewPCG(11, 7))
	for _, c := range []struct{ rate, low, high float64 }{{.95, 0, .02}, {.5, .80, 1}, {.2, .98, 1}} {
		vetoes, reps := 0, 0
		for range runs {
			base, cand := draws(random, .95, 6), draws(random, c.rate, 3)
			action := GuardAsk
			for extra := 0; action == GuardAsk; extra++ {
				if action, _ = OverTriggerGuard().Step(cand, base, extra); action == GuardAsk {
					cand = cand.Add(draws(random, c.rate, 1))
				}
			}
			reps += cand.N
			if action == GuardVeto {
				vetoes++
			}
		}
		share := float64(vetoes) / runs
		t.Logf("pass rate %.2f: veto %.3f, %.1f reps", c.rate, share, float64(reps)/runs)
		if share < c.low || share > c.high {
			t.Errorf("pass rate %.2f: got veto %.3f, want %.2f to %.2f", c.rate, share, c.low, c.high)
		}
	}
}

func draws(random *rand.Rand, rate float64, n int) Count {
	c := Count{N: n}
	for range n {
		if random.Float64() < rate {
			c.Pass++
		}
	}
	return c
}
