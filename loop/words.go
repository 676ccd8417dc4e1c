package loop

import (
	"errors"
	"fmt"

	"loopd/harness"
	"loopd/stats"
)

// Verdict is what became of a candidate.
type Verdict string

// The verdicts.
const (
	Keep         Verdict = "keep"
	Reject       Verdict = "reject"
	Inconclusive Verdict = "inconclusive"
	Broken       Verdict = "broken"
)

// Reason says which rule led to a verdict.
type Reason string

// The reasons of a reject, an inconclusive and a broken.
const (
	ByLint        Reason = "lint"
	ByFutility    Reason = "futile"
	ByHarm        Reason = "harm"
	ByVeto        Reason = "veto"
	ByLimit       Reason = "limit"        // this candidate's own share of the budget is spent
	ByBudget      Reason = "budget"       // the search budget is spent
	ByDelivery    Reason = "delivery"     // its plugin or hook did not arrive
	ByInvalidRate Reason = "invalid_rate" // its trials were invalid more often than the champion's
	ByNothing     Reason = "nothing"      // not one valid trial
)

// Outcome is how a campaign ended.
type Outcome string

// The outcomes of a campaign.
const (
	Promoted        Outcome = "promoted"
	Unconfirmed     Outcome = "unconfirmed"
	NoChange        Outcome = "no_change"
	NothingMeasured Outcome = "nothing_measured"
)

// Phase is where a campaign stands.
type Phase string

// The phases of a campaign.
const (
	Preflight Phase = "preflight"
	Pilot     Phase = "pilot"
	Search    Phase = "search"
	Gate      Phase = "gate"
	Done      Phase = "done"
)

// Purpose says what a round's sessions are for.
type Purpose string

// The purposes of a round.
const (
	ForPilot Purpose = "pilot"
	ForBet   Purpose = "bet"
	ForGuard Purpose = "guard"
	ForTopUp Purpose = "top_up"
)

// The subjects of rounds that are about no candidate.
const (
	SubjectStart = "start"
	SubjectGate  = "gate"
)

// Round is a set of slots planned together. Nothing of a round is looked at
// before all of it is there.
type Round struct {
	N       int            `json:"n"`       // counts from 1 over the campaign
	Subject string         `json:"subject"` // a candidate id, start or gate
	Purpose Purpose        `json:"purpose"`
	Slots   []harness.Slot `json:"slots"` // in the order they are run
	// Bets are set when the purpose is bet; Reveals says for each objective
	// cell how many pooled champion reps are revealed.
	Bets    *stats.Bets `json:"bets,omitempty"`
	Reveals []int       `json:"reveals,omitempty"`
}

// Settings are the numbers of the decision procedure, fixed for a campaign.
type Settings struct {
	Seed          uint64       `json:"seed"`
	Budget        int          `json:"budget"`     // sessions, all attempts counted
	GateShare     float64      `json:"gate_share"` // part of the budget kept for the gate
	PilotReps     int          `json:"pilot_reps"` // per objective cell
	PoolReps      int          `json:"pool_reps"`
	GuardReps     int          `json:"guard_reps"`   // champion's, per guard cell
	ControlReps   int          `json:"control_reps"` // per control cell, in the pilot and before a keep
	TopUpReps     int          `json:"top_up_reps"`
	KeepAt        float64      `json:"keep_at"`    // E of a provisional keep
	PromoteAt     float64      `json:"promote_at"` // E of the gate
	MaxCandidates int          `json:"max_candidates"`
	Retries       int          `json:"retries"` // per slot, beyond the first attempt
	Bets          stats.Config `json:"bets"`
}

// DefaultSettings returns the measured defaults for a budget in sessions.
func DefaultSettings(budget int) Settings {
	return Settings{
		Seed: 1, Budget: budget, GateShare: .2, PilotReps: 2, PoolReps: 4, GuardReps: 2, ControlReps: 2, TopUpReps: 2,
		KeepAt: 5, PromoteAt: 20, MaxCandidates: 60, Retries: 2, Bets: stats.Default(),
	}
}

// Validate reports every setting that makes no sense.
func (s Settings) Validate(objective int) error {
	var errs []error
	pilot := objective * (s.PilotReps + s.PoolReps)
	if s.Budget <= pilot {
		errs = append(errs, fmt.Errorf("budget: %d sessions do not reach beyond the pilot of %d", s.Budget, pilot))
	}
	if s.GateShare < 0 || s.GateShare >= 1 {
		errs = append(errs, fmt.Errorf("gate_share: %v is not within [0,1)", s.GateShare))
	}
	if s.PilotReps < 1 || s.PoolReps < 0 || s.Retries < 0 || s.MaxCandidates < 1 {
		errs = append(errs, errors.New("pilot_reps, pool_reps, retries, max_candidates: too small"))
	}
	if s.KeepAt <= 1 || s.PromoteAt <= 1 {
		errs = append(errs, errors.New("keep_at, promote_at: evidence starts at 1"))
	}
	return errors.Join(errs...)
}

// gateReserve is how many sessions of the budget the search may not touch.
func (s Settings) gateReserve() int { return int(s.GateShare * float64(s.Budget)) }
