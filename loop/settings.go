package loop

import (
	"errors"
	"fmt"
	"slices"

	"loopd/stats"
)

// Profile names a rule for keeping candidates in the search.
type Profile = stats.Profile

// The profiles.
const (
	Fast      = stats.Fast
	Strict    = stats.Strict
	Certified = stats.Certified
	Scout     = stats.Scout
)

// Profiles lists them, the default first.
func Profiles() []Profile { return stats.Profiles() }

// Settings are the numbers of the decision procedure, fixed for a campaign.
type Settings struct {
	Profile       Profile `json:"profile"`
	Seed          uint64  `json:"seed"`
	Budget        int     `json:"budget"`     // sessions, all attempts counted; see SpareUnreached
	GateShare     float64 `json:"gate_share"` // part of the budget kept for the gate
	PilotReps     int     `json:"pilot_reps"` // per objective cell
	PoolReps      int     `json:"pool_reps"`
	GuardReps     int     `json:"guard_reps"`   // champion's, per guard cell
	ControlReps   int     `json:"control_reps"` // per control cell, in the pilot and before a keep
	TopUpReps     int     `json:"top_up_reps"`
	TransferReps  int     `json:"transfer_reps"` // per reserve cell and wording, after the gate
	KeepAt        float64 `json:"keep_at"`       // E of a provisional keep
	PromoteAt     float64 `json:"promote_at"`    // E of the gate
	MaxCandidates int     `json:"max_candidates"`
	Retries       int     `json:"retries"` // per slot, beyond the first attempt
	// KeepFDR bounds the share of false keeps under the profile certified.
	KeepFDR float64 `json:"keep_fdr,omitempty"`
	// Sentinels is the share of cells a round that get a fresh champion rep to
	// watch for drift; 0 watches nothing.
	Sentinels float64 `json:"sentinels,omitempty"`
	// SpendCandidate is what the sessions under one candidate's wording may cost,
	// in USD at list price; 0 for no limit.
	SpendCandidate float64 `json:"spend_candidate_usd,omitempty"`
	// SpareUnreached: a session that never reached the service is not charged to the
	// budget. Campaigns of before have it not, and are counted as they were run.
	SpareUnreached bool `json:"spare_unreached,omitempty"`
	// Simplify is how much the pass rate may fall for a candidate that declares
	// it only shortens the wording.
	Simplify float64      `json:"simplify"`
	Bets     stats.Config `json:"bets"`
}

// DefaultSettings returns the measured defaults of the profile fast for a
// budget in sessions.
func DefaultSettings(budget int) Settings {
	return Settings{
		Profile: Fast, Seed: 1, Budget: budget, GateShare: .2, PilotReps: 2, PoolReps: 4, GuardReps: 2, ControlReps: 2, TopUpReps: 2,
		TransferReps: 2, KeepAt: 5, PromoteAt: 20, MaxCandidates: 60, Retries: 2, SpareUnreached: true, Simplify: .03, Bets: stats.Default(),
	}
}

// Under returns the settings changed to what a profile needs.
func (s Settings) Under(p Profile) Settings {
	s.Profile = p
	switch p {
	case Certified:
		s.KeepFDR = .2
	case Scout:
		s.GateShare, s.PilotReps, s.PoolReps, s.TopUpReps = .3, 1, 0, 0
	}
	return s
}

// Validate reports every setting that makes no sense for a grid of so many
// objective cells.
func (s Settings) Validate(objective int) error {
	var errs []error
	if !slices.Contains(Profiles(), s.Profile) {
		errs = append(errs, fmt.Errorf("profile: %q is not one of fast, strict, certified, scout", s.Profile))
	}
	pilot := objective * (s.PilotReps + s.PoolReps)
	if s.Budget <= pilot {
		errs = append(errs, fmt.Errorf("budget: %d sessions do not reach beyond the pilot of %d", s.Budget, pilot))
	}
	if !(s.GateShare >= 0 && s.GateShare < 1) || !(s.Sentinels >= 0 && s.Sentinels < 1) {
		errs = append(errs, fmt.Errorf("gate_share, sentinels: %v, %v: not within [0,1)", s.GateShare, s.Sentinels))
	}
	if s.PilotReps < 1 || s.PoolReps < 0 || s.GuardReps < 0 || s.ControlReps < 0 || s.TopUpReps < 0 || s.Retries < 0 || s.MaxCandidates < 1 || s.TransferReps < 0 {
		errs = append(errs, errors.New("pilot_reps, pool_reps, guard_reps, control_reps, top_up_reps, retries, max_candidates, transfer_reps: too small"))
	}
	if !(s.KeepAt > 1) || !(s.PromoteAt > 1) {
		errs = append(errs, errors.New("keep_at, promote_at: evidence starts at 1"))
	}
	if s.Profile == Certified && !(s.KeepFDR > 0 && s.KeepFDR < 1) {
		errs = append(errs, fmt.Errorf("keep_fdr: %v is not within (0,1)", s.KeepFDR))
	}
	return errors.Join(errs...)
}

// Search are the numbers that decide over the whole campaign.
func (s Settings) Search() stats.Search {
	return stats.Search{Profile: s.Profile, Budget: s.Budget, GateShare: s.GateShare, KeepAt: s.KeepAt, KeepFDR: s.KeepFDR, MaxCandidates: s.MaxCandidates}
}
