package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Spending is how the error allowed to a whole night is laid out over its keeps.
type Spending string

// The ways to spend.
const (
	// SpendEvenly gives each of a known number of candidates the same share.
	SpendEvenly Spending = "even"
	// SpendEarly gives candidate j a share in proportion to 1/j^1.6: it never runs out, and early candidates get more.
	SpendEarly Spending = "early"
)

// spendEarlyPower is the exponent of SpendEarly.
const spendEarlyPower = 1.6

// Share returns the part of the error that candidate j (counted from 1) gets when at most so many are looked at.
// The shares of all candidates sum to at most 1. Where there is nothing to give the share is 0.
func (s Spending) Share(j, most int) float64 {
	switch {
	case j < 1:
		return 0
	case s == SpendEvenly && j <= most:
		return 1 / float64(most)
	case s == SpendEarly:
		return math.Pow(float64(j), -spendEarlyPower) / mathext.Zeta(spendEarlyPower, 1)
	}
	return 0
}

// ELOND returns the level at which candidate j (counted from 1) is kept after kept of those before it were: its share
// of alpha, times one more than the keeps so far. Kept is then a claim about each keep: the expected part of false
// ones among them is at most alpha, however the evidence of one candidate depends on that of another, which a
// pooled control makes it do. The candidate's place and its share are fixed before its first trial.
func ELOND(s Spending, alpha float64, j, most, kept int) float64 {
	if !isLevel(alpha) || kept < 0 || kept >= j {
		return 0
	}
	return min(1, mul(mul(alpha, s.Share(j, most)), float64(kept)+1))
}
