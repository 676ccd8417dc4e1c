package stats

// maxCount bounds a believable count. A campaign has thousands of sessions at most, so a larger number is
// damage, and refusing it here keeps every loop over a count short.
const maxCount = 1_000_000

// Count is how many of N valid trials passed. Invalid trials are in neither number.
type Count struct {
	Pass int `json:"pass"`
	N    int `json:"n"`
}

// Tally counts outcomes; their order does not matter.
func Tally(outcomes []bool) Count {
	c := Count{N: len(outcomes)}
	for _, pass := range outcomes {
		if pass {
			c.Pass++
		}
	}
	return c
}

// Add returns the two counts taken together.
func (c Count) Add(other Count) Count {
	return Count{Pass: c.Pass + other.Pass, N: c.N + other.N}
}

// Rate returns Pass/N, and false where there is nothing to divide by or the count makes no sense.
func (c Count) Rate() (rate float64, ok bool) {
	if !c.valid() || c.N == 0 {
		return 0, false
	}
	return float64(c.Pass) / float64(c.N), true
}

func (c Count) valid() bool {
	return c.Pass >= 0 && c.Pass <= c.N && c.N <= maxCount
}

// contains reports whether other can be a part of c.
func (c Count) contains(other Count) bool {
	return c.Pass >= other.Pass && c.N-c.Pass >= other.N-other.Pass
}
