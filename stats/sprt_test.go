package stats

import (
	"math"
	"testing"
)

func TestWaldBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		alpha, beta, lower, upper float64
	}{
		{"19 equal", .05, .05, -2.94443897917, 2.94443897917},
		{"19 unequal", .05, .20, -1.55814461805, 2.77258872224},
	} {
		lower, upper, ok := WaldBounds(c.alpha, c.beta)
		near(t, c.name+" lower", lower, c.lower, 1e-11)
		near(t, c.name+" upper", upper, c.upper, 1e-11)
		if !ok {
			t.Errorf("%s: refused", c.name)
		}
	}
	for _, c := range [][2]float64{{0, .1}, {.1, 0}, {.5, .5}, {math.NaN(), .1}, {.1, math.Inf(1)}} {
		if lower, upper, ok := WaldBounds(c[0], c[1]); ok || lower != 0 || upper != 0 {
			t.Errorf("error rates %v: got %v and %v, want none", c, lower, upper)
		}
	}
}
