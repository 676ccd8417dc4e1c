package stats

import "math"

// WaldBounds returns the two values of the log likelihood ratio at which a sequential probability ratio test ends:
// at upper for the alternative, at lower for the null. Alpha is the chance of the first under the null, beta of
// the second under the alternative, both up to overshoot. It is false where the two are no error rates a test can have.
func WaldBounds(alpha, beta float64) (lower, upper float64, ok bool) {
	if !(alpha > 0 && beta > 0 && alpha+beta < 1) {
		return 0, 0, false
	}
	return math.Log(beta / (1 - alpha)), math.Log((1 - beta) / alpha), true
}
