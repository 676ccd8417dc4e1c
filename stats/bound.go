package stats

import "math"

// KL returns how much one outcome of a cell with rate p says on average against the rate q, in nats. It is
// infinite where q rules out what p allows, and 0 where an argument is no rate: then nothing is said.
func KL(p, q float64) float64 {
	if !within(p, 0, 1) || !within(q, 0, 1) {
		return 0
	}
	if q == 0 || q == 1 {
		if p == q {
			return 0
		}
		return math.Inf(1)
	}
	sum := 0.0
	if p > 0 {
		sum += p * logRatio(p, q, p-q)
	}
	if p < 1 {
		sum += (1 - p) * logRatio(1-p, 1-q, q-p)
	}
	return max(0, sum)
}

// logRatio is the logarithm of a/b. The difference is given because that of the two rounded rates of failing would
// hide how close they are.
func logRatio(a, b, difference float64) float64 {
	if math.Abs(difference) < b/2 {
		return math.Log1p(difference / b)
	}
	return math.Log(a / b)
}

// Bound holds the least numbers of sessions per nat that any procedure needs to tell the true rates from every pair
// of arms on the boundary. Times KL(1-beta, alpha) each is a floor for the mean number of sessions of a procedure
// with those error rates, whatever it does; a measured mean is judged by its ratio to that floor.
type Bound struct {
	// TwoArms lets the procedure share its sessions among the cells of both arms as is best for these very rates.
	TwoArms float64 `json:"two_arms"`
	// EqualShares gives every weighted cell of both arms the same share.
	EqualShares float64 `json:"equal_shares"`
	// BaseKnown takes the champion's rates as known and free; 0 means that no candidate would be on the boundary.
	BaseKnown float64 `json:"base_known"`
	// Warnings says why there is no bound; the numbers are then 0.
	Warnings []string `json:"warnings,omitempty"`
}

// LowerBound computes the bound for a champion and a candidate of known rates. Boundary is the weighted mean rise that
// has to be told from the true one: 0 for a candidate that raises the mean, the rise hoped for where there is none.
//
// The best allocation needs no search. Sessions enter linearly and the boundary is convex, so what the best
// allocation gains against the worst confusable arms is what the arms farthest from the truth cost when they
// are moved equally far, each measured in nats.
func LowerBound(base, cand, weights []float64, boundary float64) Bound {
	t, why := newTruth(base, cand, weights, boundary)
	if why != "" {
		return Bound{Warnings: []string{why}}
	}
	return Bound{TwoArms: 1 / t.farthest(true), EqualShares: 1 / t.equal(), BaseKnown: 1 / t.farthest(false)}
}

// leastGap is the least rise worth a bound: with less no campaign ends, and rounding would show.
const leastGap = 1e-4

// truth is a champion and a candidate whose weighted rise is gap above the boundary. Where it really is below,
// passes and failures have changed places.
type truth struct {
	p, q, w []float64
	gap     float64
}

func newTruth(base, cand, weights []float64, boundary float64) (truth, string) {
	w, _ := Shares(weights)
	if w == nil || len(base) != len(w) || len(cand) != len(w) {
		return truth{}, "the weights of the cells are no shares"
	}
	t := truth{w: w}
	for i := range w {
		if !within(base[i], 0, 1) || !within(cand[i], 0, 1) {
			return truth{}, "a rate is not between 0 and 1"
		}
		t.gap += w[i] * (cand[i] - base[i])
		t.p, t.q = append(t.p, base[i]), append(t.q, cand[i])
	}
	t.gap -= boundary
	if !within(boundary, -.99, .99) || math.Abs(t.gap) < leastGap {
		return truth{}, "the boundary is out of range or hardly differs from the true rise"
	}
	if t.gap < 0 {
		t.gap = -t.gap
		for i := range w {
			t.p[i], t.q[i] = 1-t.p[i], 1-t.q[i]
		}
	}
	return t, ""
}

// farthest is the least distance in nats to which every arm has to be moved to bring the rise down to the
// boundary: the candidate's rates down and, if both arms may move, the champion's up.
func (t truth) farthest(both bool) float64 {
	return root(func(nats float64) float64 {
		moved := 0.0
		for i, w := range t.w {
			moved += w * (t.q[i] - lowered(t.q[i], nats))
			if both {
				moved += w * (1 - t.p[i] - lowered(1-t.p[i], nats))
			}
		}
		return moved - t.gap
	})
}

// lowered is the rate below p that is the given distance away from it.
func lowered(p, nats float64) float64 {
	low, high := 0.0, p
	for range 60 {
		if mid := (low + high) / 2; KL(p, mid) > nats {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// equal is the least mean distance over all weighted cells of both arms. At the least, every rate has moved by a
// common multiplier times its weight and its own new variance, which is a quadratic equation.
func (t truth) equal() float64 {
	moved := func(multiplier float64) (sum, nats float64) {
		arms := 0.0
		for i, w := range t.w {
			if w == 0 {
				continue
			}
			for _, x := range []float64{t.q[i], 1 - t.p[i]} {
				l := multiplier * w
				y := 2 * x / (1 + l + math.Sqrt((1-l)*(1-l)+4*l*(1-x)))
				sum, nats, arms = sum+w*(x-y), nats+KL(x, y), arms+1
			}
		}
		return sum, nats / arms
	}
	_, nats := moved(root(func(multiplier float64) float64 {
		sum, _ := moved(multiplier)
		return sum - t.gap
	}))
	return nats
}

// root is where a rising function passes zero, and infinite where it never does.
func root(f func(float64) float64) float64 {
	low, high := 0.0, 1e-3
	for f(high) < 0 {
		if low, high = high, 2*high; high > 1e9 {
			return math.Inf(1)
		}
	}
	for range 60 {
		if mid := (low + high) / 2; f(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
