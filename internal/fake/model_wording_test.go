package fake_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/internal/fake"
)

var (
	r1 = harness.Cell{Scenario: "R1", Tier: "small"}
	r2 = harness.Cell{Scenario: "R2", Tier: "small"}
	n1 = harness.Cell{Scenario: "N1", Tier: "small"}
)

func TestRate(t *testing.T) {
	t.Parallel()
	w := fake.Wording{
		Base:      map[harness.Cell]float64{r1: 0.2, r2: 0.5, n1: 0.9},
		Objective: []harness.Cell{r1, r2},
		Effects: []fake.Effect{
			{Phrase: "look  first", Lift: 0.5},
			{Phrase: "never mind", Lift: -0.5},
			{Phrase: "only here", Lift: 0.25, Cells: []harness.Cell{r2}},
			{Phrase: "", Lift: 1},
		},
	}
	for name, c := range map[string]struct {
		cell harness.Cell
		text string
		want float64
	}{
		"no phrase":            {r1, "nothing of note", 0.2},
		"lift":                 {r1, "please look first", 0.6},
		"folded white space":   {r1, "please look\n\t first", 0.6},
		"harm":                 {r1, "never mind", 0.1},
		"in order":             {r1, "never mind, look first", 0.3},
		"guard is not touched": {n1, "look first, never mind", 0.9},
		"one cell":             {r2, "only here", 0.625},
		"other cell":           {r1, "only here", 0.2},
		"part of a phrase":     {r1, "look", 0.2},
		"unknown cell":         {harness.Cell{Scenario: "X"}, "look first", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := w.Rate(c.cell, c.text); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestRateIsAProbability(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := fake.Wording{Base: map[harness.Cell]float64{r1: rapid.Float64Range(0, 1).Draw(t, "base")}}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			w.Effects = append(w.Effects, fake.Effect{Phrase: "x", Lift: rapid.Float64Range(-2, 2).Draw(t, "lift")})
		}
		if p := w.Rate(r1, "x"); p < 0 || p > 1 || math.IsNaN(p) {
			t.Fatalf("got %v", p)
		}
	})
}
