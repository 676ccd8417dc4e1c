package admission

import (
	"fmt"
	"sync"

	"loopd/harness"
	"loopd/internal/gateway"
	"loopd/loop"
)

// SpendLimits are limits in US dollars at list price; 0 for none.
type SpendLimits struct{ Session, Candidate, Campaign float64 }

// Any reports whether there is a limit at all.
func (l SpendLimits) Any() bool { return l != SpendLimits{} }

// Spending holds what the sessions of one campaign may spend. A nil one sets no
// limit. It is safe for concurrent use.
type Spending struct {
	limits   SpendLimits
	start    string              // the wording the campaign began with, which is no candidate
	campaign *gateway.SpendLimit // nil for no limit

	mu         sync.Mutex
	candidates map[string]*gateway.SpendLimit // by wording
}

// NewSpending takes up what a campaign has spent so far.
func NewSpending(l SpendLimits, s *loop.State) *Spending {
	out := &Spending{limits: l, start: s.Started.Start, candidates: make(map[string]*gateway.SpendLimit)}
	if l.Campaign > 0 {
		out.campaign = gateway.NewSpendLimit("campaign", l.Campaign, s.Spent())
	}
	return out
}

// Of lists the limits that one session is charged against.
func (s *Spending) Of(spec harness.Spec) []*gateway.SpendLimit {
	if s == nil {
		return nil
	}
	var out []*gateway.SpendLimit
	if s.limits.Session > 0 {
		out = append(out, gateway.NewSpendLimit("session", s.limits.Session, 0))
	}
	if wording := spec.Slot.Wording; s.limits.Candidate > 0 && wording != s.start {
		s.mu.Lock()
		if s.candidates[wording] == nil {
			s.candidates[wording] = gateway.NewSpendLimit("candidate", s.limits.Candidate, 0)
		}
		out = append(out, s.candidates[wording])
		s.mu.Unlock()
	}
	return append(out, s.Campaign()...)
}

// Campaign lists the limit of the whole campaign, for what is asked beside
// sessions; none where there is none.
func (s *Spending) Campaign() []*gateway.SpendLimit {
	if s == nil || s.campaign == nil {
		return nil
	}
	return []*gateway.SpendLimit{s.campaign}
}

// May returns a *loop.HoldError once the campaign's limit is reached.
func (s *Spending) May() error {
	if s == nil || s.campaign == nil || !s.campaign.Reached() {
		return nil
	}
	reason := fmt.Sprintf("spending: the campaign's limit of %g USD is reached", s.limits.Campaign)
	return &loop.HoldError{Paused: loop.Paused{Reason: reason}}
}
