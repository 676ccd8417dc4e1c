package stats

import (
	"math"
	"testing"
)

// Worked out by hand. At alpha .2 with 60 candidates the first keep needs 60/.2 = 300. The power sequence sums to
// 2.285766 before scaling, so at alpha .05 its first keep needs 2.285766/.05 = 45.71532, and its fourth
// candidate after two keeps 2.285766*4^1.6/(.05*3) = 140.04.
func TestELOND(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		spend         Spending
		alpha         float64
		j, most, kept int
		needs         float64
		tolerance     float64
	}{
		{"the first of sixty", SpendEvenly, .2, 1, 60, 0, 300, 1e-9},
		{"the ninth after two keeps", SpendEvenly, .2, 9, 60, 2, 100, 1e-9},
		{"the first without an end", SpendEarly, .05, 1, 0, 0, 45.71532, 1e-4},
		{"the fourth after two keeps", SpendEarly, .05, 4, 0, 2, 140.04, .01},
	} {
		level := ELOND(c.spend, c.alpha, c.j, c.most, c.kept)
		near(t, c.name, 1/level, c.needs, c.tolerance)
		if !Reached(math.Log(c.needs*1.001), 1/level) || Reached(math.Log(c.needs*.999), 1/level) {
			t.Errorf("%s: not kept from E %v on", c.name, c.needs)
		}
	}
	near(t, "the constant of 34", SpendEarly.Share(1, 0), .4374901658, 5e-11)
}

func TestELONDRefuses(t *testing.T) {
	t.Parallel()
	for name, level := range map[string]float64{
		"beyond the night": ELOND(SpendEvenly, .2, 61, 60, 0), "before the first": ELOND(SpendEarly, .2, 0, 60, 0),
		"no alpha": ELOND(SpendEarly, math.NaN(), 1, 60, 0), "all of it": ELOND(SpendEarly, 1, 1, 60, 0),
		"an unknown way": ELOND("late", .2, 1, 60, 0), "more keeps than candidates": ELOND(SpendEarly, .2, 3, 60, 3),
		"a negative number": ELOND(SpendEarly, .2, 3, 60, -1),
	} {
		if level != 0 || Reached(1e6, 1/level) {
			t.Errorf("%s: got level %v, want 0 and no keep", name, level)
		}
	}
}

func TestSharesOfErrorSumToOne(t *testing.T) {
	t.Parallel()
	even, early := 0.0, 0.0
	for j := range 100_000 {
		even += SpendEvenly.Share(j, 60)
		early += SpendEarly.Share(j, 0)
	}
	near(t, "even", even, 1, 1e-12)
	// What is left after n is n^-.6/(.6*2.2858).
	near(t, "early", early, 1-.4375/.6*math.Pow(100_000, -.6), 1e-5)
}
