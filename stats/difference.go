package stats

import "math"

// Newcombe returns the interval for the difference a - b of two rates that combines their two score intervals
// (the hybrid score method). Swapping the arguments negates it.
func Newcombe(a, b Count, level float64) Interval {
	pa, okA := a.Rate()
	pb, okB := b.Rate()
	if !okA || !okB || !isLevel(level) {
		return Interval{Low: -1, High: 1}
	}
	wa, wb, d := Wilson(a, level), Wilson(b, level), pa-pb
	return Interval{
		Low:  max(-1, d-math.Hypot(pa-wa.Low, wb.High-pb)),
		High: min(1, d+math.Hypot(wa.High-pa, pb-wb.Low)),
	}
}

// MeanDifference returns the weighted mean over the cells of candidate rate minus full champion rate, as
// counted and without shrinking, and false where a weighted cell has no rep in one arm. At a keep it is biased
// upward, because the keep was taken when it was high; only the fresh reps of a gate give an estimate to publish.
func MeanDifference(cells []Cell) (float64, bool) {
	k, ok := multipliers(cells)
	if !ok {
		return 0, false
	}
	sum := 0.0
	for i, c := range cells {
		if k[i] == 0 {
			continue
		}
		q, okQ := c.Cand.Rate()
		p, okP := c.Full.Rate()
		if !okQ || !okP {
			return 0, false
		}
		sum += mul(k[i], q-p)
	}
	return sum / float64(len(cells)), true
}
