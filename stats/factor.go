package stats

import "math"

// Seen is what one cell of a round showed, as far as it was valid. An arm whose coin said no, or whose slot
// stayed invalid, is empty and leaves the evidence as it was.
type Seen struct {
	Cand []bool `json:"cand,omitempty"`
	Base []bool `json:"base,omitempty"`
}

// LogFactor returns the log of what the round multiplies the evidence by, summed in cell order, candidate
// first. Cells beyond the shorter of bets and seen count nothing.
func (b Bets) LogFactor(seen []Seen) float64 {
	sum := 0.0
	for i, c := range b.Cells {
		if i >= len(seen) {
			break
		}
		bet := mul(b.Lambda, c.K)
		sum += logArm(seen[i].Cand, bet, c.Pi, c.U)
		sum += logArm(seen[i].Base, -bet, c.A, c.V)
	}
	return sum
}

// logArm is one arm's part. Reps of a cell that is sampled for sure share its bet. Where a coin decides, one rep
// carries the whole bet and further ones are not bet on: a shared bet averages only to what the proof allows
// when the number of reps was known beforehand.
func logArm(outcomes []bool, bet, rate, center float64) float64 {
	if bet == 0 || rate <= 0 {
		return 0
	}
	if rate < 1 && len(outcomes) > 1 {
		outcomes = outcomes[:1]
	}
	part, sum := bet/mul(rate, float64(len(outcomes))), 0.0
	for _, pass := range outcomes {
		value := 0.0
		if pass {
			value = 1
		}
		sum += log1p(mul(part, value-center))
	}
	return sum
}

// log1p is the logarithm of 1+x, within a few units of the last place, from operations that round the same everywhere.
// The library's own may be compiled with fused products and then differs in its last bit between processors,
// which would make evidence recorded on one machine look tampered with on another.
func log1p(x float64) float64 {
	if !(x > -1 && x <= math.MaxFloat64) {
		return math.Log1p(x)
	}
	// log(1+x) is twice the inverse hyperbolic tangent of x/(2+x); far from 0 the power of two is taken out first.
	t, power := x/(2+x), 0
	if x < -.33 || x > .5 {
		var m float64
		if m, power = math.Frexp(1 + x); m < math.Sqrt2/2 {
			m, power = mul(m, 2), power-1
		}
		t = (m - 1) / (m + 1)
	}
	series := 0.0
	for j := 23.0; j >= 1; j -= 2 {
		series = mul(series, mul(t, t)) + 1/j
	}
	return mul(2*t, series) + mul(float64(power), math.Ln2)
}
