package loop

import (
	"loopd/harness"
	"loopd/stats"
)

// What sessions are paid with, as the part CredentialPart of the Instrument says
// it. Where it is a subscription the list price of a session is not billed.
const (
	CredentialPart = "credential"
	PaidByKey      = "api-key"
	Subscription   = "oauth-token"
)

// Verdict is what became of a candidate.
type Verdict string

// The verdicts.
const (
	Keep         Verdict = "keep"
	Reject       Verdict = "reject"
	Inconclusive Verdict = "inconclusive"
	Broken       Verdict = "broken"
	// Shortlisted is a keep of the profile scout: it rests on one rep a cell and
	// is no evidence.
	Shortlisted Verdict = "shortlisted"
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
	ByFinish      Reason = "finish"       // a person ended the search
	ByDelivery    Reason = "delivery"     // its plugin or hook did not arrive
	ByInvalidRate Reason = "invalid_rate" // one arm's trials were invalid more often than the other's
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
	Transfer  Phase = "transfer"
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
	// ForScreen is one rep a cell of a candidate that nothing is bet on.
	ForScreen Purpose = "screen"
	// ForTransfer is both wordings on the reserve scenarios; it decides nothing.
	ForTransfer Purpose = "transfer"
)

// compares reports whether a round's sessions are charged to a comparison.
func (p Purpose) compares() bool { return p == ForBet || p == ForGuard || p == ForScreen }

// The subjects of rounds that are about no candidate.
const (
	SubjectStart = "start"
	SubjectGate  = "gate"
	// SubjectAA is the start's bytes on a candidate branch: the second label of
	// the A/A pilot.
	SubjectAA = "aa"
	// SubjectTransfer is the comparison on the reserve scenarios.
	SubjectTransfer = "transfer"
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
