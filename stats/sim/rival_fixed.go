package sim

import "loopd/stats"

// Call is what a rule says.
type Call string

// The calls.
const (
	Keep Call = "keep"
	Drop Call = "drop"
	GoOn Call = "go_on"
)

// Greedy keeps whatever passed more often in total, by however little. A is the candidate, B the champion's record.
func Greedy(cells []stats.Pair) Call {
	rise := 0
	for _, c := range cells {
		rise += c.A.Pass - c.B.Pass
	}
	if rise > 0 {
		return Keep
	}
	return Drop
}

// oneSided05 is the normal quantile of a one-sided test at .05.
const oneSided05 = 1.6449

// CMH keeps at a one-sided .05 of the stratified test for a common difference, without correction for continuity.
// It is told how many reps to take beforehand and looks once.
func CMH(cells []stats.Pair) Call {
	if stats.CMH(cells).Z > oneSided05 {
		return Keep
	}
	return Drop
}

// bayesKeep is the posterior probability of a rise at which the rule keeps.
const bayesKeep = .95

// Posterior keeps once a rise is probable enough on everything known, however often one has looked.
func Posterior(a stats.Assessment) Call {
	if len(a.Warnings) == 0 && 1-a.PHarm > bayesKeep {
		return Keep
	}
	return GoOn
}
