package stats

import "math"

// sameProbability is how far two probabilities may differ and still count as equally extreme; exact tests
// compare sums that only rounding keeps apart.
const sameProbability = 1 + 1e-7

// FisherTwoSided returns the exact two-sided p-value for equal rates: the chance, both margins given, of a table
// no more probable than the one seen. Counts that make no sense give 1.
func FisherTwoSided(a, b Count) float64 {
	if !a.valid() || !b.valid() || a.N == 0 || b.N == 0 {
		return 1
	}
	low, chance := split(a, b)
	seen, sum := chance[a.Pass-low], 0.0
	for _, p := range chance {
		if p <= seen*sameProbability {
			sum += p
		}
	}
	return min(1, sum)
}

// split returns how probable each number of passes in a is when the passes of both are dealt out blindly; the
// first entry stands for low passes.
func split(a, b Count) (low int, chance []float64) {
	both := a.Add(b)
	low = max(0, both.Pass-b.N)
	high := min(both.Pass, a.N)
	chance = make([]float64, 0, high-low+1)
	all := logChoose(both.N, both.Pass)
	for x := low; x <= high; x++ {
		chance = append(chance, math.Exp(logChoose(a.N, x)+logChoose(b.N, both.Pass-x)-all))
	}
	return low, chance
}

func logChoose(n, k int) float64 {
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}

func logFactorial(n int) float64 {
	l, _ := math.Lgamma(float64(n) + 1)
	return l
}

// Pair is one cell of an A/A run: the same bytes under two labels.
type Pair struct {
	A Count `json:"a"`
	B Count `json:"b"`
}

// AA is what an A/A run says about the instrument. It detects a broken arm, not a subtle bias.
type AA struct {
	// P is the exact two-sided permutation p-value of the difference in passes.
	P float64 `json:"p"`
	// Difference is the mean pass rate of A minus that of B over the cells.
	Difference float64 `json:"difference"`
	// Smallest is the least imbalance that would have been noticed at the level asked for, in passes of A above
	// what blind labels lead to expect; Noticeable is false where no outcome would have been.
	Smallest   float64 `json:"smallest"`
	Noticeable bool    `json:"noticeable"`
	// Warnings says why nothing could be compared; P is then 1.
	Warnings []string `json:"warnings,omitempty"`
}

// maxPairTrials bounds an A/A run: the exact distribution takes time in the square of its trials.
const maxPairTrials = 10_000

// PermutationAA compares two labels of the same bytes. Within each cell every way to deal the outcomes to the
// labels is equally probable, whatever the cell's rate, so the test needs no model.
func PermutationAA(pairs []Pair, level float64) AA {
	if w := pairDoubts(pairs); w != "" {
		return AA{P: 1, Warnings: []string{w}}
	}
	expected, passes, low, chance := dealt(pairs)
	out := AA{P: min(1, tail(chance, low, expected, math.Abs(float64(passes)-expected)))}
	out.Smallest, out.Noticeable = smallest(chance, low, expected, level)
	for _, c := range pairs {
		a, _ := c.A.Rate()
		b, _ := c.B.Rate()
		out.Difference += (a - b) / float64(len(pairs))
	}
	return out
}

func pairDoubts(pairs []Pair) string {
	trials := 0
	for _, c := range pairs {
		if !c.A.valid() || !c.B.valid() || c.A.N == 0 || c.B.N == 0 {
			return "a cell lacks valid trials under one label"
		}
		trials += c.A.N + c.B.N
		if trials > maxPairTrials {
			return "too many trials for an exact test"
		}
	}
	if trials == 0 {
		return "no cells to compare"
	}
	return ""
}

// dealt returns the expected and the seen number of passes under label A and the distribution of that number,
// cell by cell convolved; the first entry of chance stands for low passes.
func dealt(pairs []Pair) (expected float64, passes, low int, chance []float64) {
	chance = []float64{1}
	for _, c := range pairs {
		least, cell := split(c.A, c.B)
		both := c.A.Add(c.B)
		expected += float64(both.Pass) * float64(c.A.N) / float64(both.N)
		passes += c.A.Pass
		low += least
		chance = convolve(chance, cell)
	}
	return expected, passes, low, chance
}

func convolve(x, y []float64) []float64 {
	out := make([]float64, len(x)+len(y)-1)
	for i, a := range x {
		for j, b := range y {
			out[i+j] += a * b
		}
	}
	return out
}

// tail is the chance to be at least as far from expected as distance.
func tail(chance []float64, low int, expected, distance float64) float64 {
	sum := 0.0
	for i, p := range chance {
		if math.Abs(float64(low+i)-expected) >= distance-1e-9 {
			sum += p
		}
	}
	return sum
}

// smallest finds the least distance from expected whose p-value is under the level. Distances away from the
// nearest are tried outwards on both sides; the tail only shrinks with distance.
func smallest(chance []float64, low int, expected, level float64) (distance float64, ok bool) {
	for i := range chance {
		d := math.Abs(float64(low+i) - expected)
		if (!ok || d < distance) && tail(chance, low, expected, d) < level {
			distance, ok = d, true
		}
	}
	return distance, ok
}
