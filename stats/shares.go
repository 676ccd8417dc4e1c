package stats

import (
	"fmt"
	"math"
	"slices"
)

// Shares turns the weights a user has written into shares that sum to 1. Weights that sum to something else are
// taken in proportion, with a warning; weights that are no shares at all (one negative, infinite or no number,
// or none above zero) give nil and a warning.
func Shares(weights []float64) (shares []float64, warnings []string) {
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, []string{fmt.Sprintf("weight %d: %v is neither zero nor a positive number", i, w)}
		}
	}
	if len(weights) == 0 || slices.Max(weights) == 0 {
		return nil, []string{"no weight is above zero"}
	}
	// Scaled to the largest, no sum of finite weights overflows.
	top, sum := slices.Max(weights), 0.0
	for _, w := range weights {
		sum += w / top
	}
	shares = make([]float64, len(weights))
	for i, w := range weights {
		shares[i] = w / top / sum
	}
	if total := mul(top, sum); math.Abs(total-1) > 1e-9 {
		warnings = []string{fmt.Sprintf("the weights sum to %.6g, not 1; they are taken in proportion", total)}
	}
	return shares, warnings
}
