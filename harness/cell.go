package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Role says what a scenario is for. Only objective scenarios enter the metric.
type Role string

// The roles a scenario may have.
const (
	Objective Role = "objective"
	Guard     Role = "guard"
	Control   Role = "control"
	Reserve   Role = "reserve"
	Practice  Role = "practice"
)

// Arm tells the two wordings of a comparison apart. No checker ever sees it.
type Arm string

// The two arms of a comparison.
const (
	ArmChampion  Arm = "champion"
	ArmCandidate Arm = "candidate"
)

// Cell is one scenario on one tier.
type Cell struct {
	Scenario string `json:"scenario"`
	Tier     string `json:"tier"`
}

// String returns the cell as people write it, "R2/haiku".
func (c Cell) String() string { return c.Scenario + "/" + c.Tier }

// Slot is one place in the grid that wants exactly one valid trial: the rep-th
// repetition of a cell under one wording. Rep counts from 1 over the campaign.
type Slot struct {
	Wording string `json:"wording"` // commit of the wording, full hash
	Cell    Cell   `json:"cell"`
	Rep     int    `json:"rep"`
}

// Key names the slot uniquely within a campaign.
func (s Slot) Key() string { return fmt.Sprintf("%s %s %d", s.Wording, s.Cell, s.Rep) }

// Spec is what to run: one attempt at one slot.
type Spec struct {
	Campaign string `json:"campaign"`
	Slot     Slot   `json:"slot"`
	Attempt  int    `json:"attempt"` // counts from 1
}

// TrialID derives the stable id of the trial a spec leads to: 16 hex digits.
// Delivering the same trial twice is therefore noticed.
func (s Spec) TrialID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", s.Campaign, s.Slot.Key(), s.Attempt))
	return hex.EncodeToString(sum[:8])
}
