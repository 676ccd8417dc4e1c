package campaign

import (
	"context"
	"errors"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/loop"
)

// Proposer says whom a campaign asks when its queue is empty.
type Proposer struct {
	Name string // for the record
	// Open makes the model for one ask.
	Open        func(ctx context.Context, s *loop.State) (propose.Model, error)
	DeleteShare float64 // of the asks that are for a deletion, in [0,1]
	PerWindow   int     // the most asks of a window; 0 for no bound
}

// Proposing asks a proposer for a loop. A brief is written for each ask, and what
// comes back gets an id and targets as a person's candidate does.
func (c *Campaign) Proposing(p Proposer) loop.Proposing {
	return loop.Proposing{PerWindow: p.PerWindow, Ask: func(ctx context.Context, s *loop.State, n int) (loop.Proposal, error) {
		return c.ask(ctx, s, n, p)
	}}
}

func (c *Campaign) ask(ctx context.Context, s *loop.State, n int, p Proposer) (loop.Proposal, error) {
	began := c.Now()
	b, err := c.Brief(ctx, s, n, propose.AskOf(n, p.DeleteShare))
	if err != nil {
		return loop.Proposal{}, err
	}
	model, err := p.Open(ctx, s)
	if err != nil {
		return loop.Proposal{}, err
	}
	out := loop.Proposal{Proposed: loop.Proposed{N: n, Model: p.Name, Ask: b.Ask}}
	list, err := model.Propose(ctx, b)
	out.Proposed.Seconds = c.Now().Sub(began).Seconds()
	if spent, ok := model.(propose.Spender); ok {
		out.Proposed.Tokens, out.Proposed.CostUSD = spent.Spent()
	}
	if err == nil {
		out.Candidates, err = c.number(s, list)
	}
	if r, ok := errors.AsType[*propose.Refusal](err); ok {
		c.Log.Warn("proposer brought nothing", "ask", n, "refusal", string(r.Why), "why", r.Detail)
		out.Proposed.Refusal, out.Proposed.Why = r.Why, r.Detail
		return out, nil
	}
	return out, err
}

// number gives candidates their ids and targets. What looks like a secret is not
// taken: the ledger, commits and reports keep what they are given.
func (c *Campaign) number(s *loop.State, list []candidates.Candidate) ([]candidates.Candidate, error) {
	var out []candidates.Candidate
	for _, cand := range list {
		if noSecret(cand) != nil || cand.Validate() != nil {
			continue
		}
		cand, err := c.aim(s, cand)
		if err != nil {
			return nil, err
		}
		cand.ID = c.nextID(len(out))
		out = append(out, cand)
	}
	if len(out) == 0 {
		return nil, &propose.Refusal{Why: propose.Garbage, Detail: "what it brought cannot be kept: it holds what looks like a secret"}
	}
	return out, nil
}

// PracticeCells are the cells of a suite that a proposer may be shown.
func PracticeCells(suite harness.Suite, graphs map[string]harness.Tree, pick func(harness.Cell) bool) []harness.Cell {
	cells, _ := suite.Runnable(harness.Practice, graphs)
	var out []harness.Cell
	for _, c := range cells {
		if pick == nil || pick(c) {
			out = append(out, c)
		}
	}
	return out
}
