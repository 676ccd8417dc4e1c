package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFisher(t *testing.T) {
	t.Parallel()
	near(t, "18 tea", FisherTwoSided(Count{3, 4}, Count{1, 4}), .485714285714, 1e-11)
	near(t, "18 5/8 against 0/8", FisherTwoSided(Count{5, 8}, Count{0, 8}), .025641025641, 1e-11)
	near(t, "no reps", FisherTwoSided(Count{}, Count{0, 8}), 1, 0)
}

// One cell with equal sides is Fisher's table, whose two-sided p both definitions agree on.
func TestPermutationOfOneCellIsFisher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 15).Draw(t, "n")
		p := Pair{A: Count{rapid.IntRange(0, n).Draw(t, "a"), n}, B: Count{rapid.IntRange(0, n).Draw(t, "b"), n}}
		got, want := PermutationAA([]Pair{p}, .001).P, FisherTwoSided(p.A, p.B)
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	})
}

func TestPermutationAgainstEveryDeal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var pairs []Pair
		for range rapid.IntRange(1, 3).Draw(t, "cells") {
			a, b := rapid.IntRange(1, 3).Draw(t, "na"), rapid.IntRange(1, 3).Draw(t, "nb")
			pairs = append(pairs, Pair{
				A: Count{rapid.IntRange(0, a).Draw(t, "a"), a}, B: Count{rapid.IntRange(0, b).Draw(t, "b"), b}})
		}
		seen, expected := 0.0, 0.0
		for _, p := range pairs {
			seen += float64(p.A.Pass)
			expected += float64(p.A.Pass+p.B.Pass) * float64(p.A.N) / float64(p.A.N+p.B.N)
		}
		far, deals := 0, 0
		everyDeal(pairs, 0, func(passes int) {
			deals++
			if math.Abs(float64(passes)-expected) >= math.Abs(seen-expected)-1e-9 {
				far++
			}
		})
		if got, want := PermutationAA(pairs, .001).P, float64(far)/float64(deals); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: got %v, want %v", pairs, got, want)
		}
	})
}

// everyDeal calls f with the passes under label A of every way to choose which trials carry that label.
func everyDeal(pairs []Pair, passes int, f func(passes int)) {
	if len(pairs) == 0 {
		f(passes)
		return
	}
	p := pairs[0]
	n, pass := p.A.N+p.B.N, p.A.Pass+p.B.Pass
	for mask := range 1 << n {
		chosen, passed := 0, 0
		for i := range n {
			if mask>>i&1 == 1 {
				chosen++
				if i < pass {
					passed++
				}
			}
		}
		if chosen == p.A.N {
			everyDeal(pairs[1:], passes+passed, f)
		}
	}
}

func TestSmallestNoticeable(t *testing.T) {
	t.Parallel()
	// Three reps under each label in one cell: even 3 against 0 has p = 2/20.
	one := PermutationAA([]Pair{{A: Count{3, 3}, B: Count{0, 3}}}, .001)
	near(t, "p", one.P, .1, 1e-12)
	near(t, "difference", one.Difference, 1, 0)
	if one.Noticeable {
		t.Errorf("one cell: got %v noticeable, want nothing", one.Smallest)
	}
	// In four cells the extreme is p = 2/20^4, and the next is (1+4*9) on either side of 20^4.
	pairs := []Pair{{Count{3, 3}, Count{0, 3}}, {Count{3, 3}, Count{0, 3}}, {Count{2, 3}, Count{1, 3}}, {Count{1, 3}, Count{2, 3}}}
	four := PermutationAA(pairs, .001)
	near(t, "smallest", four.Smallest, 5, 1e-12)
	near(t, "its p at 5 above", pAtFive(pairs), 74.0/160000, 1e-12)
	if !four.Noticeable {
		t.Error("four cells: nothing noticeable, want 5")
	}
}

func pAtFive(pairs []Pair) float64 {
	expected, _, low, chance := dealt(pairs)
	return tail(chance, low, expected, 5)
}

func TestPermutationRefuses(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string][]Pair{
		"nothing":       nil,
		"an empty side": {{A: Count{1, 2}}},
		"negative":      {{A: Count{-1, 2}, B: Count{1, 2}}},
		"too many":      {{A: Count{1, 9000}, B: Count{1, 9000}}},
	} {
		if got := PermutationAA(pairs, .001); got.P != 1 || len(got.Warnings) != 1 {
			t.Errorf("%s: got %+v, want p 1 and a warning", name, got)
		}
	}
}
