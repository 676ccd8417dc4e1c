package rival

import "math"

// Outcomes counts results by score: with five entries, game pairs worth 0 to 2 points by halves; with three, games.
type Outcomes []int

// eloPerT is how many points of normalised Elo one standard deviation of a game is.
var eloPerT = 800 / math.Ln10

// atom is a value and how often it comes.
type atom struct{ value, share float64 }

// atoms turns counts into a distribution on [0,1]. A score never seen is given a sliver, because the likelihood ratio
// is about what could be seen.
func (o Outcomes) atoms() (total float64, out []atom) {
	for i, n := range o {
		x := max(float64(n), 1e-3)
		total += x
		out = append(out, atom{float64(i) / float64(len(o)-1), x})
	}
	for i := range out {
		out[i].share /= total
	}
	return total, out
}

func moments(a []atom) (mean, variance float64) {
	for _, x := range a {
		mean += x.share * x.value
	}
	for _, x := range a {
		variance += x.share * (x.value - mean) * (x.value - mean)
	}
	return mean, variance
}

// score is the expected score at a difference in logistic Elo.
func score(elo float64) float64 { return 1 / (1 + math.Pow(10, -elo/400)) }

// LogisticLLR returns the generalised log likelihood ratio of two differences in logistic Elo.
func LogisticLLR(elo0, elo1 float64, o Outcomes) float64 {
	n, a := o.atoms()
	return n * ratio(a, withMean(a, score(elo0)), withMean(a, score(elo1)))
}

// ApproximateLLR is LogisticLLR in its normal approximation.
func ApproximateLLR(elo0, elo1 float64, o Outcomes) float64 {
	n, a := o.atoms()
	mean, variance := moments(a)
	s0, s1 := score(elo0), score(elo1)
	return n * (s1 - s0) * (2*mean - s0 - s1) / (2 * variance)
}

// NormalizedLLR returns the generalised log likelihood ratio of two differences in normalised Elo, which count in
// standard deviations, so that the length of a test does not depend on how noisy a game is.
func NormalizedLLR(nelo0, nelo1 float64, o Outcomes) float64 {
	n, a := o.atoms()
	t0, t1 := nelo0/eloPerT, nelo1/eloPerT
	if len(o) == 5 {
		t0, t1 = t0*math.Sqrt2, t1*math.Sqrt2
	}
	return n * ratio(a, withT(a, t0), withT(a, t1))
}

func ratio(a, under0, under1 []atom) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i].share * math.Log(under1[i].share/under0[i].share)
	}
	return sum
}

// withMean returns the most likely distribution with a given mean.
func withMean(a []atom, mean float64) []atom {
	return tilted(a, func(x atom) float64 { return x.value - mean })
}

// tilted returns the most likely distribution under which the constraint is zero on average.
func tilted(a []atom, constraint func(atom) float64) []atom {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range a {
		low, high = min(low, constraint(x)), max(high, constraint(x))
	}
	x := multiplier(a, constraint, -1/high, -1/low)
	out := make([]atom, len(a))
	for i, p := range a {
		out[i] = atom{p.value, p.share / (1 + x*constraint(p))}
	}
	return out
}

// multiplier solves for the Lagrange multiplier by halving: the sum falls from one end to the other.
func multiplier(a []atom, constraint func(atom) float64, low, high float64) float64 {
	for range 200 {
		x, sum := (low+high)/2, 0.0
		for _, p := range a {
			c := constraint(p)
			sum += p.share * c / (1 + x*c)
		}
		if sum > 0 {
			low = x
		} else {
			high = x
		}
	}
	return (low + high) / 2
}

// withT returns the most likely distribution whose mean lies t standard deviations above one half. The constraint is
// not linear, so it is solved by repeated linear ones.
func withT(a []atom, t float64) []atom {
	current := make([]atom, len(a))
	for i, x := range a {
		current[i] = atom{x.value, 1 / float64(len(a))}
	}
	for range 30 {
		mean, variance := moments(current)
		sd := math.Sqrt(variance)
		current = tilted(a, func(x atom) float64 {
			d := (mean - x.value) / sd
			return x.value - .5 - t*sd*(1+d*d)/2
		})
	}
	return current
}
