package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAssessByHand(t *testing.T) {
	t.Parallel()
	// p^ = 5.5/11 = .5 in both; q^ = 3.25/4.5 and 1.25/4.5; the mean is their mean less .5, which is 0.
	a := Assess([]Cell{
		{Cand: Count{3, 4}, Base: Count{1, 2}, Full: Count{5, 10}, Weight: .5},
		{Cand: Count{1, 4}, Base: Count{1, 2}, Full: Count{5, 10}, Weight: .5},
	}, Default())
	q := 3.25 / 4.5
	own := 4 / 4.5
	sd := math.Sqrt(2*(q*(1-q)/5.5+own*own*.25/12)) / 2
	near(t, "mean", a.Mean, 0, 1e-15)
	near(t, "sd", a.SD, sd, 1e-15)
	near(t, "p gain", a.PGain, .5*math.Erfc(.04/sd/math.Sqrt2), 1e-14)
	near(t, "p harm", a.PHarm, .5, 1e-14)
}

func TestAssessUsesTheFullCount(t *testing.T) {
	t.Parallel()
	cell := Cell{Cand: Count{5, 10}, Base: Count{2, 2}, Full: Count{2, 10}, Weight: 1}
	if a := Assess([]Cell{cell}, Default()); a.Mean < .2 {
		t.Errorf("got mean %v, want a rise over 2/10", a.Mean)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		budget, candidates int
		eta                float64
		limit              int
	}{
		{1000, 50, .4, 120},
		{1000, 60, .5, 100},
		{1500, 20, .4 * math.Pow(20.0/75, 1.5), 450},
		{4000, 1, .04, 500},
		{0, 10, .5, 100},
		{-5, 0, .5, 100},
		{400, 0, .04, 500},
	} {
		eta, limit := Limits(c.budget, c.candidates)
		near(t, "eta", eta, c.eta, 1e-12)
		if limit != c.limit {
			t.Errorf("%d sessions for %d candidates: got limit %d, want %d", c.budget, c.candidates, limit, c.limit)
		}
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	rules := Rules{Threshold: 5, Eta: .3, Cap: 100}
	open := Assessment{PGain: .9}
	for _, c := range []struct {
		name string
		p    Progress
		want Look
	}{
		{"nothing before a round", Progress{LogE: 9, Sessions: 500}, LookGoOn},
		{"evidence", Progress{LogE: math.Log(5), Rounds: 1, Assessment: open}, LookEligible},
		{"evidence before futility", Progress{LogE: 2, Rounds: 1, Sessions: 100}, LookEligible},
		{"not quite", Progress{LogE: math.Log(4.99), Rounds: 1, Assessment: open}, LookGoOn},
		{"futile", Progress{Rounds: 1, Assessment: Assessment{PGain: .29, PHarm: .97}}, LookFutile},
		{"harm", Progress{Rounds: 1, Assessment: Assessment{PGain: .01, PHarm: .975}}, LookHarm},
		{"spent", Progress{Rounds: 4, Sessions: 100, Assessment: open}, LookSpent},
		{"no number", Progress{LogE: math.NaN(), Rounds: 1, Assessment: open}, LookGoOn},
	} {
		if got := rules.Look(c.p); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if Reached(9, 1) || Reached(9, math.NaN()) || Reached(math.Inf(1), math.Inf(1)) {
		t.Error("reached a threshold that is none")
	}
	gate := Rules{Threshold: 20, Cap: 100}
	if got := gate.Look(Progress{Rounds: 1, Assessment: Assessment{PHarm: 1}}); got != LookGoOn {
		t.Errorf("the gate: got %s, want it to go on", got)
	}
}

// Nothing from outside may stop the night: any counts, weights and constants give an answer.
func TestWildInputs(t *testing.T) {
	t.Parallel()
	count := rapid.Custom(func(t *rapid.T) Count {
		small := rapid.OneOf(rapid.IntRange(-1, 12), rapid.Int())
		return Count{Pass: small.Draw(t, "pass"), N: small.Draw(t, "n")}
	})
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1)}))
	rapid.Check(t, func(t *rapid.T) {
		cfg := Default()
		if rapid.Bool().Draw(t, "odd constants") {
			n := func() float64 { return number.Draw(t, "constant") }
			cfg = Config{R: n(), Floor: n(), KQ: n(), PriorMean: n(), PriorSD: n(), MinShift: n(), BetCap: n(), D0: n(), MinGain: n()}
		}
		cells := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Cell {
			return Cell{Cand: count.Draw(t, "cand"), Base: count.Draw(t, "base"), Full: count.Draw(t, "full"),
				Weight: number.Draw(t, "weight"), PoolLeft: rapid.Int().Draw(t, "pool")}
		}), 0, 4).Draw(t, "cells")
		bets := PlaceBets(cells, cfg)
		if math.IsNaN(bets.Lambda) || len(bets.Warnings) > 0 != (bets.Lambda == 0) {
			t.Errorf("got lambda %v with warnings %q", bets.Lambda, bets.Warnings)
		}
		seen := []Seen{{Cand: []bool{true}, Base: []bool{false, true}}, {Base: []bool{true}}}
		if f := bets.LogFactor(seen); math.IsNaN(f) || math.IsInf(f, 0) {
			t.Errorf("got log factor %v", f)
		}
		Assess(cells, cfg).Stop(number.Draw(t, "eta"))
		for _, c := range cells {
			CollapseGuard().Step(c.Cand, c.Full, c.PoolLeft)
			Guard{Margin: number.Draw(t, "margin")}.Step(c.Cand, c.Full, 0)
			Wilson(c.Cand, number.Draw(t, "level"))
			ClopperPearson(c.Cand, number.Draw(t, "level"))
			Newcombe(c.Cand, c.Base, number.Draw(t, "level"))
			FisherTwoSided(c.Cand, c.Base)
			PermutationAA([]Pair{{A: c.Cand, B: c.Base}}, number.Draw(t, "level"))
		}
		MeanDifference(cells)
		Waterfill([]float64{number.Draw(t, "sigma"), number.Draw(t, "sigma")}, number.Draw(t, "total"), number.Draw(t, "floor"))
	})
}
