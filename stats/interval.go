package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a closed range.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// everything is the answer where the data say nothing about a rate.
func everything() Interval { return Interval{Low: 0, High: 1} }

// Wilson returns the score interval for a rate, without continuity correction. It is the interval to display:
// on average it covers at the stated level, and it never leaves [0, 1].
func Wilson(c Count, level float64) Interval {
	p, ok := c.Rate()
	if !ok || !isLevel(level) {
		return everything()
	}
	n, z := float64(c.N), normalQuantile((1+level)/2)
	zz := z * z
	center := (p + zz/(2*n)) / (1 + zz/n)
	half := z * math.Sqrt(p*(1-p)/n+zz/(4*n*n)) / (1 + zz/n)
	iv := Interval{Low: max(0, center-half), High: min(1, center+half)}
	// Rounding would leave a stray 1e-18 where the limit is exact.
	if c.Pass == 0 {
		iv.Low = 0
	}
	if c.Pass == c.N {
		iv.High = 1
	}
	return iv
}

// ClopperPearson returns the exact interval for a rate. It is the interval to use where a bound is claimed:
// it covers with at least the stated level at every rate, at the price of being wide.
func ClopperPearson(c Count, level float64) Interval {
	if _, ok := c.Rate(); !ok || !isLevel(level) {
		return everything()
	}
	iv, tail := everything(), (1-level)/2
	pass, fail := float64(c.Pass), float64(c.N-c.Pass)
	if c.Pass > 0 {
		iv.Low = betaQuantile(tail, pass, fail+1)
	}
	if c.Pass < c.N {
		iv.High = betaQuantile(1-tail, pass+1, fail)
	}
	return iv
}

func isLevel(level float64) bool { return level > 0 && level < 1 }

func jeffreysShape(c Count) (a, b float64) {
	return float64(c.Pass) + .5, float64(c.N-c.Pass) + .5
}

func normalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

func normalCDF(x float64) float64 { return distuv.UnitNormal.CDF(x) }

func betaQuantile(p, a, b float64) float64 { return mathext.InvRegIncBeta(a, b, p) }
