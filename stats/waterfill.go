package stats

// Waterfill shares a total among cells in proportion to sigma, none above 1: while a share would reach 1, the
// first such cell is fixed at 1 and the rest is shared again. Only then is every share raised to the floor, so
// the sum may exceed the total. A cell whose sigma is not above zero gets nothing, not even the floor.
//
// With sigma the standard deviation of a cell's outcome this is the allocation that makes the mean over the
// cells most precise for a given number of sessions.
func Waterfill(sigma []float64, total, floor float64) []float64 {
	share := make([]float64, len(sigma))
	fill(share, sigma, total, floor)
	return share
}

// fixedHere is up to how many cells the marks of the fixed ones need no allocation.
const fixedHere = 32

// fill is Waterfill into shares that are all zero.
func fill(share, sigma []float64, total, floor float64) {
	var few [fixedHere]bool
	fixed := few[:]
	if len(sigma) > fixedHere {
		fixed = make([]bool, len(sigma))
	}
	for {
		i := firstFull(sigma, fixed, total, share)
		if i < 0 {
			break
		}
		share[i], fixed[i] = 1, true
		total--
	}
	for i := range share {
		if sigma[i] > 0 {
			share[i] = min(1, max(floor, share[i]))
		}
	}
}

// firstFull writes the proportional shares of the cells not yet fixed and returns the first that reaches 1, or -1.
func firstFull(sigma []float64, fixed []bool, total float64, share []float64) int {
	sum := 0.0
	for i, s := range sigma {
		if s > 0 && !fixed[i] {
			sum += s
		}
	}
	full := -1
	for i, s := range sigma {
		if !(s > 0) || fixed[i] {
			continue
		}
		share[i] = max(0, mul(total, s)/sum)
		if full < 0 && share[i] >= 1 {
			full = i
		}
	}
	return full
}
