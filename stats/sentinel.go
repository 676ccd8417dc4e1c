package stats

import "math"

// Sentinel holds the constants of the watch over the champion: fresh champion reps beside what its pool leads to
// expect. It is information-limited (a shift of .1 in the mean shows after 70 to 100 reps), so an alarm stops the use of the
// pool and nothing relies on there being none.
type Sentinel struct {
	// Theta is the shift watched for, on the logit scale, in both directions.
	Theta float64 `json:"theta"`
	// H is the evidence at which there is an alarm.
	H float64 `json:"h"`
}

// DefaultSentinel returns the constants whose rate of false alarms was measured.
func DefaultSentinel() Sentinel { return Sentinel{Theta: 1, H: 5} }

// Cusum is what the watch has gathered: evidence that the champion has become better (Up) or worse (Down).
type Cusum struct {
	Up   float64 `json:"up"`
	Down float64 `json:"down"`
	// Alarm stays once it has been raised.
	Alarm bool `json:"alarm"`
}

// Step adds one sentinel's outcome, beside the count its cell had before the watch began. A cell without a rep
// says nothing; a count that makes no sense is an alarm, because the pool it stands for is not to be trusted.
func (s Sentinel) Step(c Cusum, pass bool, reference Count) Cusum {
	if !reference.valid() || !within(s.Theta, 1e-3, 20) || !(s.H > 0) {
		c.Alarm = true
		return c
	}
	if reference.N == 0 {
		return c
	}
	p := shrunk(reference)
	c.Up = max(0, c.Up+surprise(pass, p, s.Theta))
	c.Down = max(0, c.Down+surprise(pass, p, -s.Theta))
	c.Alarm = c.Alarm || !(c.Up < s.H && c.Down < s.H)
	return c
}

// surprise is the log likelihood ratio of an outcome for a rate shifted by theta logits against the rate itself.
// A pass is exp(theta) times as probable and both outcomes are then scaled to sum to 1 again.
func surprise(pass bool, p, theta float64) float64 {
	scale := math.Log1p(mul(p, math.Expm1(theta)))
	if pass {
		return theta - scale
	}
	return -scale
}

// Homogeneity reports whether one wording has passed equally often in every window.
type Homogeneity struct {
	// P is exact and holds whatever the cells' rates and however many reps of each a window happened to have.
	P float64 `json:"p"`
	// Window is the one that differs most from the others taken together.
	Window int `json:"window"`
	// Warnings says why there was nothing to compare; P is then 1.
	Warnings []string `json:"warnings,omitempty"`
}

// CompareWindows compares the windows of a wording. Each row is a cell, each entry its count in that window.
//
// Every window is compared with all others by an exact permutation within the cells, and the smallest p-value is
// multiplied by the number of comparisons. A chi-square would be wrong here: a cell has one to three reps in a
// window, and windows sample the cells in different proportions.
func CompareWindows(cells [][]Count) Homogeneity {
	windows, why := windowsOf(cells)
	if why != "" {
		return Homogeneity{P: 1, Warnings: []string{why}}
	}
	out, compared := Homogeneity{P: 1}, 0
	for w := range windows {
		pairs := againstOthers(cells, w)
		if len(pairs) == 0 {
			continue
		}
		compared++
		expected, passes, low, chance := dealt(pairs)
		if p := tail(chance, low, expected, math.Abs(float64(passes)-expected)); p < out.P {
			out.P, out.Window = p, w
		}
	}
	if compared == 0 {
		return Homogeneity{P: 1, Warnings: []string{"no cell has outcomes of both kinds in more than one window"}}
	}
	// Of two windows each is all there is beside the other: that is one comparison.
	if compared == 2 {
		compared = 1
	}
	out.P = min(1, out.P*float64(compared))
	return out
}

func windowsOf(cells [][]Count) (windows int, why string) {
	trials := 0
	for i, row := range cells {
		if i > 0 && len(row) != windows {
			return 0, "the cells do not have the same windows"
		}
		windows = len(row)
		for _, c := range row {
			if !c.valid() {
				return 0, "a count is out of range"
			}
			if trials += c.N; trials > maxPairTrials {
				return 0, "too many trials for an exact test"
			}
		}
	}
	return windows, ""
}

// againstOthers pairs a window's counts with those of all other windows, cell by cell where that says anything.
func againstOthers(cells [][]Count, window int) []Pair {
	var pairs []Pair
	for _, row := range cells {
		pair := Pair{A: row[window]}
		for w, c := range row {
			if w != window {
				pair.B = pair.B.Add(c)
			}
		}
		if informative(pair) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}
