package stats

import "math"

// Stratified is the Cochran-Mantel-Haenszel comparison of two arms over cells whose rates differ. It asks whether
// the odds of a pass are the same in both arms of every cell, which is a stronger null than "the mean does not
// rise", so it is here for comparison with other rules and keeps nothing.
type Stratified struct {
	// Z is how far the passes of A are above what equal arms lead to expect, in standard deviations, without
	// continuity correction and with the variance of dealing without replacement. Swapping the arms negates it.
	Z float64 `json:"z"`
	// Greater is the one-sided p-value of Z for A being better.
	Greater float64 `json:"greater"`
	// ChiSquare is the square of Z and P its two-sided p-value.
	ChiSquare float64 `json:"chi_square"`
	P         float64 `json:"p"`
	// Corrected and CorrectedP are the same with the continuity correction.
	Corrected  float64 `json:"corrected"`
	CorrectedP float64 `json:"corrected_p"`
	// OddsRatio is the common odds ratio of A to B; OddsKnown is false where it would be a division by zero.
	OddsRatio float64 `json:"odds_ratio"`
	OddsKnown bool    `json:"odds_known"`
	// Warnings says why nothing could be compared; the p-values are then 1.
	Warnings []string `json:"warnings,omitempty"`
}

// CMH compares the two arms over the strata. A stratum in which one arm has no rep, or in which everything passed
// or nothing did, carries no information and is skipped.
func CMH(strata []Pair) Stratified {
	var above, spread, forA, forB float64
	for _, c := range strata {
		if !c.A.valid() || !c.B.valid() {
			return incomparable("a count is out of range")
		}
		if !informative(c) {
			continue
		}
		a, b := float64(c.A.N), float64(c.B.N)
		n, pass := a+b, float64(c.A.Pass+c.B.Pass)
		above += float64(c.A.Pass) - pass*a/n
		spread += a * b * pass * (n - pass) / (n * n * (n - 1))
		forA += float64(c.A.Pass) * float64(c.B.N-c.B.Pass) / n
		forB += float64(c.B.Pass) * float64(c.A.N-c.A.Pass) / n
	}
	if !(spread > 0) {
		return incomparable("no stratum carries information")
	}
	out := Stratified{Z: above / math.Sqrt(spread), OddsKnown: forB > 0}
	out.ChiSquare, out.P = out.Z*out.Z, twoSided(out.Z)
	out.Greater = math.Erfc(out.Z/math.Sqrt2) / 2
	corrected := max(0, math.Abs(above)-.5) / math.Sqrt(spread)
	out.Corrected, out.CorrectedP = corrected*corrected, twoSided(corrected)
	if out.OddsKnown {
		out.OddsRatio = forA / forB
	}
	return out
}

func incomparable(why string) Stratified {
	return Stratified{Greater: 1, P: 1, CorrectedP: 1, Warnings: []string{why}}
}

// informative reports whether the labels of a valid stratum could have fallen in more than one way.
func informative(c Pair) bool {
	pass, n := c.A.Pass+c.B.Pass, c.A.N+c.B.N
	return c.A.N > 0 && c.B.N > 0 && pass > 0 && pass < n
}

func twoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }
