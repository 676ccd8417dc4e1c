package stats

import "math"

// Look is what a candidate's evidence calls for after a round.
type Look string

// The answers of a look.
const (
	// LookGoOn asks for another round.
	LookGoOn Look = "go_on"
	// LookEligible means the evidence suffices for a keep; the guards come next.
	LookEligible Look = "eligible"
	// LookFutile stops a candidate that is unlikely to bring anything worth its cost.
	LookFutile Look = "futile"
	// LookHarm is a futile stop where the candidate very probably makes things worse.
	LookHarm Look = "harm"
	// LookSpent means the candidate used up its sessions undecided.
	LookSpent Look = "spent"
)

// Rules says when a look ends a decision.
type Rules struct {
	// Threshold is 1/alpha: 5 inside a window, 20 at the gate.
	Threshold float64 `json:"threshold"`
	// Eta is the chance of a worthwhile gain below which a candidate is stopped. The gate has 0: it is never futile.
	Eta float64 `json:"eta"`
	// Cap is how many sessions the decision may cost.
	Cap int `json:"cap"`
	// MinReps is how many reps the candidate has before it may be stopped for futility. Where few cells are weighted a
	// round brings few, and the first failure in a single cell says less than the plain posterior makes of it.
	MinReps int `json:"min_reps"`
}

// Progress is how far a decision has come.
type Progress struct {
	// LogE is the log of the evidence, the sum of all round factors so far.
	LogE float64 `json:"log_e"`
	// Rounds counts completed rounds, Sessions all sessions of this decision in both arms.
	Rounds   int `json:"rounds"`
	Sessions int `json:"sessions"`
	// Reps counts the candidate's reps in weighted cells.
	Reps int `json:"reps"`
	// Assessment is on the full counts after the last completed round.
	Assessment Assessment `json:"assessment"`
}

// Look decides after a completed round. Before the first there is nothing to look at, and futility would stop
// candidates that have not been tried.
func (r Rules) Look(p Progress) Look {
	if p.Rounds < 1 {
		return LookGoOn
	}
	if Reached(p.LogE, r.Threshold) {
		return LookEligible
	}
	stop, harm := p.Assessment.Stop(r.Eta)
	if p.Reps < r.MinReps {
		stop, harm = false, false
	}
	switch {
	case harm:
		return LookHarm
	case stop:
		return LookFutile
	case p.Sessions >= r.Cap:
		return LookSpent
	}
	return LookGoOn
}

// ConcurrentRules are those of the stage in which both arms are fresh: little evidence is enough, because the pooled
// champion has been beaten before, and few sessions are given to it.
func ConcurrentRules() Rules { return Rules{Threshold: 2, Eta: .15, Cap: 120} }

// MinReps returns how many reps futility waits for when so many cells are weighted: four in each of the first, and
// with two or more what the first round brings anyway.
func MinReps(weighted int) int { return min(6, 4*weighted) }

// Reached reports whether evidence has come to a threshold. A threshold of 1 or less is where evidence begins
// and is never reached; neither is anything that is not a number.
func Reached(logE, threshold float64) bool {
	return threshold > 1 && !math.IsInf(threshold, 1) && logE >= math.Log(threshold)
}
