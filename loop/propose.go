package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"loopd/candidates"
	"loopd/candidates/propose"
)

// Proposed is one ask of a proposer and what it brought. The candidates follow
// it in the ledger, in the same write.
type Proposed struct {
	N     int         `json:"n"` // counts from 1 over the campaign
	Model string      `json:"model"`
	Ask   propose.Ask `json:"ask"`
	// Candidates are the ids of those queued; none where it was refused.
	Candidates []string    `json:"candidates,omitempty"`
	Refusal    propose.Why `json:"refusal,omitempty"`
	Why        string      `json:"why,omitempty"` // of the refusal, in our own words
	Seconds    float64     `json:"seconds,omitempty"`
	// Tokens and CostUSD are what the ask used, 0 and nil for unknown. It is no
	// session and charged to no budget.
	Tokens  int      `json:"tokens,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Kind returns the event's name in the ledger.
func (Proposed) Kind() Kind { return KindProposed }

// Proposal is what came of an ask: the record, and the candidates with their
// ids, none where it was refused.
type Proposal struct {
	Proposed   Proposed
	Candidates []candidates.Candidate
}

// Proposing says whom to ask when nothing waits.
type Proposing struct {
	// Ask is the ask of that number. The error is a *HoldError where a limit of
	// the account kept the proposer from answering.
	Ask func(ctx context.Context, s *State, n int) (Proposal, error)
	// PerWindow is how many asks one window may have; 0 for no bound.
	PerWindow int
}

// mostUnfruitful is how many asks in a row may bring nothing before nobody is
// asked again in the campaign.
const mostUnfruitful = 3

// mayPropose reports whether one candidate more could still be tried. Who answered
// three times without bringing anything that may be tried is not asked again.
func (s *State) mayPropose() bool {
	if !s.keepable() || len(s.Progress) >= s.Started.Settings.MaxCandidates {
		return false
	}
	barren := 0
	for _, p := range slices.Backward(s.Proposals) {
		if s.fruitful(p) {
			break
		}
		if p.Refusal != propose.Interrupted {
			barren++
		}
	}
	return barren < mostUnfruitful
}

// fruitful reports whether an ask brought a candidate that the lint let pass, or one
// it has not seen yet.
func (s *State) fruitful(p Proposed) bool {
	for _, id := range p.Candidates {
		if c := s.Find(id); c != nil && (c.Decided == nil || c.Decided.Reason != ByLint) {
			return true
		}
	}
	return false
}

// ProposalsLeft is how many candidates may still be proposed.
func (s *State) ProposalsLeft() int {
	return max(s.Started.Settings.MaxCandidates-len(s.Progress), 0)
}

// SearchLeft is how many sessions the search may still use.
func (s *State) SearchLeft() int { return max(s.searchLeft(), 0) }

func (s *State) applyProposed(p Proposed) error {
	if s.Phase != Search || s.Comparison != nil || p.N != len(s.Proposals)+1 {
		return fmt.Errorf("apply %s: ask %d cannot follow", p.Kind(), p.N)
	}
	if (p.Refusal == "") == (len(p.Candidates) == 0) {
		return fmt.Errorf("apply %s: ask %d has either candidates or a refusal", p.Kind(), p.N)
	}
	if s.asksWindow != s.lifted {
		s.asksWindow, s.asks = s.lifted, 0
	}
	if p.Refusal != propose.Interrupted {
		s.asks++
	}
	s.Proposals = append(s.Proposals, p)
	return nil
}

// asksInWindow counts the asks of the window under way that were not interrupted.
func (s *State) asksInWindow() int {
	if s.asksWindow != s.lifted {
		return 0
	}
	return s.asks
}

// asks reports whether a proposer is asked before a step is taken.
func (l *Loop) asks(step Step) bool {
	p := l.Proposing
	return step.Propose && p.Ask != nil && (p.PerWindow == 0 || l.State.asksInWindow() < p.PerWindow)
}

// propose asks and records what came, candidates and all, in one write. Drain or a request
// ends the call at once: it is recorded as interrupted, for what it
// used, and counts against nobody.
func (l *Loop) propose(ctx context.Context) error {
	if halted, err := l.haltOnDrift(ctx); err != nil || halted {
		return err
	}
	n := len(l.State.Proposals) + 1
	var p Proposal
	var err error
	request := l.interruptible(ctx, func(ctx context.Context) { p, err = l.Proposing.Ask(ctx, l.State, n) })
	err = l.proposed(ctx, n, p, err, request != nil || l.drained())
	l.grantDue(ctx, request)
	return err
}

// proposed records what came of an ask.
func (l *Loop) proposed(ctx context.Context, n int, p Proposal, err error, stopped bool) error {
	if hold, ok := errors.AsType[*HoldError](err); ok {
		return l.record(ctx, hold.Paused)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && stopped:
		p.Proposed.Refusal, p.Proposed.Why, p.Candidates = propose.Interrupted, "the loop was told to stop", nil
	case err != nil:
		return fmt.Errorf("ask proposer: %w", err)
	}
	p.Proposed.N, p.Proposed.Candidates = n, nil
	payloads := []Payload{nil}
	for _, c := range p.Candidates[:min(len(p.Candidates), l.State.ProposalsLeft())] {
		p.Proposed.Candidates = append(p.Proposed.Candidates, c.ID)
		payloads = append(payloads, Queued{c})
	}
	payloads[0] = p.Proposed
	return l.record(ctx, payloads...)
}
