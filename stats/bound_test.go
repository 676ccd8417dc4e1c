package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestKL(t *testing.T) {
	t.Parallel()
	near(t, "31 kl(.95, .05)", KL(.95, .05), 2.649995081, 5e-10)
	near(t, "31 kl(.8, .05)", KL(.8, .05), 1.906442, 5e-7)
	near(t, "kl(0, .3)", KL(0, .3), -math.Log(.7), 1e-15)
	near(t, "kl(1, .3)", KL(1, .3), -math.Log(.3), 1e-15)
	near(t, "a rate next to 0", KL(1e-17, .5), math.Ln2, 1e-12)
	near(t, "rates next to each other", KL(.3, .3+1e-7)/(1e-14/2/.21), 1, 1e-5)
	for _, c := range [][2]float64{{0, 0}, {1, 1}, {.4, .4}, {math.NaN(), .5}, {.5, math.NaN()}, {2, .5}, {.5, -1}} {
		near(t, "nothing said", KL(c[0], c[1]), 0, 0)
	}
	if !math.IsInf(KL(.1, 0), 1) || !math.IsInf(KL(.1, 1), 1) {
		t.Error("a rate that rules out what happens: want infinity")
	}
}

func even(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// The rises are broad shifts on the logit scale.
func TestLowerBound(t *testing.T) {
	t.Parallel()
	p := seedGrid()
	for _, c := range []struct {
		name                   string
		delta, boundary        float64
		twoArms, equal, single float64
		tolerance              float64
	}{
		{"31 null against .08", 0, .08, 90.87, 106.97, 27.38, .005},
		{"31 a rise of .08", .08, 0, 100.3, 109.6, 24.0, .05},
		{"31 a rise of .20", .20, 0, 19.7, 21.4, 5.4, .05},
	} {
		got := LowerBound(p, lifted(p, c.delta), even(14), c.boundary)
		near(t, c.name+", two arms", got.TwoArms, c.twoArms, c.tolerance)
		near(t, c.name+", equal shares", got.EqualShares, c.equal, c.tolerance)
		near(t, c.name+", base known", got.BaseKnown, c.single, c.tolerance)
		if len(got.Warnings) > 0 {
			t.Errorf("%s: got warnings %q", c.name, got.Warnings)
		}
	}
}

// Where rates are near one half and the rise is small, outcomes are as good as normal and the bound has a closed form.
func TestLowerBoundOfSmallRises(t *testing.T) {
	t.Parallel()
	p, q := []float64{.5, .4}, []float64{.504, .404}
	sds := 2*.5 + 2*math.Sqrt(.24)
	got := LowerBound(p, q, []float64{1, 1}, 0)
	near(t, "two arms", got.TwoArms/(2*sds*sds/(.008*.008)), 1, .01)
	near(t, "base known", got.BaseKnown*4/got.TwoArms, 1, .01)
}

func TestLowerBoundProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "cells")
		rate := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1}))
		p := rapid.SliceOfN(rate, n, n).Draw(t, "p")
		q := rapid.SliceOfN(rate, n, n).Draw(t, "q")
		w := rapid.SliceOfN(rapid.Float64Range(.1, 1), n, n).Draw(t, "w")
		d := rapid.Float64Range(-.5, .5).Draw(t, "boundary")
		there, back := LowerBound(p, q, w, d), LowerBound(q, p, w, -d)
		if len(there.Warnings) > 0 {
			t.Skip("through the truth")
		}
		near(t, "the arms swapped", there.TwoArms/back.TwoArms, 1, 1e-6)
		near(t, "the arms swapped, equal shares", there.EqualShares/back.EqualShares, 1, 1e-6)
		if !(there.TwoArms > 0) || there.EqualShares < there.TwoArms*(1-1e-6) || there.BaseKnown > there.TwoArms*(1+1e-6) {
			t.Errorf("got %+v, want base known at most two arms at most equal shares", there)
		}
	})
}

func TestLowerBoundRefuses(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]Bound{
		"no cells":           LowerBound(nil, nil, nil, .1),
		"a missing rate":     LowerBound([]float64{.1}, nil, []float64{1}, .1),
		"no number":          LowerBound([]float64{math.NaN()}, []float64{.1}, []float64{1}, .1),
		"no weight":          LowerBound([]float64{.1}, []float64{.1}, []float64{0}, .1),
		"a boundary of one":  LowerBound([]float64{.1}, []float64{.1}, []float64{1}, 1),
		"through the truth":  LowerBound([]float64{.1}, []float64{.3}, []float64{1}, .2),
		"a boundary of none": LowerBound([]float64{.1}, []float64{.3}, []float64{1}, math.NaN()),
	} {
		if len(got.Warnings) != 1 || got.TwoArms != 0 || got.EqualShares != 0 || got.BaseKnown != 0 {
			t.Errorf("%s: got %+v, want a warning and nothing else", name, got)
		}
	}
	if got := LowerBound([]float64{0}, []float64{.5}, []float64{1}, -.2); got.BaseKnown != 0 || !(got.TwoArms > 0) {
		t.Errorf("no candidate on the boundary: got %+v, want 0 for the base known", got)
	}
}
