package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// No input from outside stops the comparisons or makes them say something: they answer with a number and a doubt.
func TestWildComparisons(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1)}))
	count := rapid.Custom(func(t *rapid.T) Count {
		small := rapid.OneOf(rapid.IntRange(-1, 12), rapid.Int())
		return Count{Pass: small.Draw(t, "pass"), N: small.Draw(t, "n")}
	})
	rapid.Check(t, func(t *rapid.T) {
		n, c := func() float64 { return number.Draw(t, "number") }, func() Count { return count.Draw(t, "count") }
		pairs := []Pair{{A: c(), B: c()}, {A: c(), B: c()}}
		m := CMH(pairs)
		for _, p := range []float64{m.P, m.Greater, m.CorrectedP,
			CompareInvalid(c(), c()).P, CompareWindows([][]Count{{c(), c()}, {c(), c()}}).P} {
			if !(p >= 0 && p <= 1) {
				t.Errorf("got p %v", p)
			}
		}
		if math.IsNaN(KL(n(), n())) {
			t.Error("an information that is no number")
		}
		for _, x := range boundOf(LowerBound([]float64{n(), n()}, []float64{n(), n()}, []float64{n(), n()}, n())) {
			if !(x >= 0 && !math.IsInf(x, 1)) {
				t.Errorf("got bound %v", x)
			}
		}
		if shares, warnings := Shares([]float64{n(), n()}); shares == nil && len(warnings) == 0 {
			t.Error("refused weights without a word")
		}
		if level := ELOND(SpendEarly, n(), c().Pass, c().N, c().N); !(level >= 0 && level <= 1) {
			t.Errorf("got level %v", level)
		}
		DefaultSentinel().Step(Cusum{Up: n(), Down: n()}, true, c())
	})
}

func boundOf(b Bound) []float64 { return []float64{b.TwoArms, b.EqualShares, b.BaseKnown} }

// A candidate about which nothing can be known is not kept: no reps, one cell, certain cells, nothing valid.
func TestPoorInputsKeepNothing(t *testing.T) {
	t.Parallel()
	sure, never := Count{Pass: 5, N: 5}, Count{N: 5}
	for name, cells := range map[string][]Cell{
		"no reps":       {{Weight: 1}, {Weight: 1}},
		"one cell":      {{Weight: 1}},
		"certain cells": {{Weight: 1, Cand: sure, Base: sure, Full: sure}, {Weight: 1, Cand: never, Base: never, Full: never}},
	} {
		bets, logE := PlaceBets(cells, Default()), 0.0
		for range 50 {
			seen := make([]Seen, len(cells))
			logE += bets.LogFactor(seen)
		}
		if Reached(logE, 1.0001) || len(bets.Warnings) > 0 {
			t.Errorf("%s, nothing valid: got evidence %v, warnings %q", name, logE, bets.Warnings)
		}
	}
	// Two arms that always pass the same way gain nothing however long they run.
	logE := 0.0
	for n := range 40 {
		seen := Count{Pass: n, N: n}
		cells := []Cell{{Weight: 1, Cand: seen, Base: seen, Full: seen}}
		logE += PlaceBets(cells, Default()).LogFactor([]Seen{{Cand: []bool{true}, Base: []bool{true}}})
		if Reached(logE, 5) {
			t.Fatalf("both arms always pass: got evidence %v after %d rounds", logE, n)
		}
	}
}
