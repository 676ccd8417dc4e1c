package sim

import (
	"math"

	"loopd/stats"
)

// safePrior is how many passes and how many fails each arm is thought to have had before.
const safePrior = .18

// SafeTable is the e-value of a 2x2 table fed in blocks of one outcome an arm. It speaks against equal rates, in
// either direction, and a product over cells against "no cell differs": a candidate that trades one cell for another
// is found to differ, which is not to be better.
type SafeTable struct {
	a, b stats.Count
	LogE float64
}

// Add bets on one block and counts it.
func (s *SafeTable) Add(a, b bool) {
	pa, pb := expected(s.a), expected(s.b)
	both := (pa + pb) / 2
	s.LogE += math.Log(chance(pa, a)/chance(both, a)) + math.Log(chance(pb, b)/chance(both, b))
	s.a, s.b = s.a.Add(stats.Tally([]bool{a})), s.b.Add(stats.Tally([]bool{b}))
}

func expected(c stats.Count) float64 {
	return (float64(c.Pass) + safePrior) / (float64(c.N) + 2*safePrior)
}

func chance(rate float64, pass bool) float64 {
	if pass {
		return rate
	}
	return 1 - rate
}
