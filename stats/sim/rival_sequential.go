package sim

import (
	"math"

	"loopd/stats"
)

// SPRT is a sequential test of a rise of D1 against one of D0, with Wald's bounds for the two error rates.
type SPRT struct {
	D0, D1      float64
	Alpha, Beta float64
	// MaxBlocks ends it undecided.
	MaxBlocks int
}

// Stratified returns the test with the rates the simulator compares with.
func Stratified() SPRT { return SPRT{D0: 0, D1: .08, Alpha: .05, Beta: .20, MaxBlocks: 40} }

// AsFishtest returns the test with equal error rates, to be run on the variance of blocks.
func AsFishtest() SPRT { return SPRT{D0: 0, D1: .08, Alpha: .05, Beta: .05, MaxBlocks: 40} }

// Call compares a log likelihood ratio after so many blocks with the bounds.
func (t SPRT) Call(llr float64, blocks int) Call {
	lower, upper, ok := stats.WaldBounds(t.Alpha, t.Beta)
	switch {
	case !ok || math.IsNaN(llr):
		return Drop
	case llr >= upper:
		return Keep
	case llr <= lower || blocks >= t.MaxBlocks:
		return Drop
	}
	return GoOn
}

// LLR is the generalised log likelihood ratio of n blocks with a mean and a variance of one block, in its usual
// normal approximation.
func (t SPRT) LLR(n int, mean, variance float64) float64 {
	if !(variance > 0) {
		return 0
	}
	return float64(n) * (t.D1 - t.D0) * (2*mean - t.D0 - t.D1) / (2 * variance)
}

// ByStrata returns the mean difference of a block of one pair a cell, and its variance put together from the cells'
// rates. Every cell has had the same number of pairs.
func ByStrata(cells []stats.Pair) (mean, variance float64) {
	n := float64(len(cells))
	for _, c := range cells {
		x, y := near(c.A), near(c.B)
		mean += (float64(c.A.Pass) - float64(c.B.Pass)) / float64(max(1, c.A.N)) / n
		variance += (x*(1-x) + y*(1-y)) / (n * n)
	}
	return mean, variance
}

// near is a rate kept off 0 and 1.
func near(c stats.Count) float64 { return (float64(c.Pass) + .5) / (float64(c.N) + 1) }

// Blocks accumulates whole blocks, for the variance between them.
type Blocks struct {
	N          int
	total, sqr float64
}

// Add counts a block by its mean difference.
func (b *Blocks) Add(difference float64) {
	b.N++
	b.total += difference
	b.sqr += difference * difference
}

// Moments returns mean and variance of a block, false before there are two.
func (b Blocks) Moments() (mean, variance float64, ok bool) {
	if b.N < 2 {
		return 0, 0, false
	}
	n := float64(b.N)
	mean = b.total / n
	return mean, max(0, b.sqr-n*mean*mean) / (n - 1), true
}
