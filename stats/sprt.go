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

// BernoulliASN returns how many outcomes such a test of the pass rate p0 against p1 takes on average when the
// rate is p0 and when it is p1, overshoot left out. It is false where the two rates cannot be told apart by a
// ratio: they are equal, or one of them is 0 or 1.
func BernoulliASN(p0, p1, alpha, beta float64) (under0, under1 float64, ok bool) {
	lower, upper, ok := WaldBounds(alpha, beta)
	if !ok || !(p0 > 0 && p0 < 1 && p1 > 0 && p1 < 1) || p0 == p1 {
		return 0, 0, false
	}
	under0 = -(alpha*upper + (1-alpha)*lower) / KL(p0, p1)
	under1 = ((1-beta)*upper + beta*lower) / KL(p1, p0)
	return under0, under1, true
}
