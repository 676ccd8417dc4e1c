package stats

import "math"

// MeanInterval returns the weighted mean over cells of the difference A - B, as counted, with an interval that
// combines the score intervals of all the rates by squaring and adding. It is false where a weighted cell lacks a
// rep in one arm or the weights are no shares: then nothing is known about the mean.
//
// The interval is for a number of reps fixed beforehand. Where a rule stopped at a favourable moment, the difference is
// a little high.
func MeanInterval(cells []Pair, weights []float64, level float64) (difference float64, iv Interval, ok bool) {
	sum := 0.0
	for _, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return 0, Interval{Low: -1, High: 1}, false
		}
		sum += w
	}
	if len(weights) != len(cells) || !(sum > 0) || !isLevel(level) {
		return 0, Interval{Low: -1, High: 1}, false
	}
	low, high := 0.0, 0.0
	for i, c := range cells {
		if weights[i] == 0 {
			continue
		}
		a, okA := c.A.Rate()
		b, okB := c.B.Rate()
		if !okA || !okB {
			return 0, Interval{Low: -1, High: 1}, false
		}
		w, one := weights[i]/sum, Newcombe(c.A, c.B, level)
		difference += w * (a - b)
		low, high = math.Hypot(low, w*(a-b-one.Low)), math.Hypot(high, w*(one.High-a+b))
	}
	return difference, Interval{Low: max(-1, difference-low), High: min(1, difference+high)}, true
}
