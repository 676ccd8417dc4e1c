package main

import (
	"context"
	"fmt"
	"slices"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/loop"
)

// queue counts the candidates that wait, and those of them that are weighed on
// cells of their own.
type queue struct{ waiting, targeted int }

// queueOf looks at the spool, and at what the newest campaign has not decided.
func queueOf(home campaign.Home, suite harness.Suite, objective []harness.Cell, states []*loop.State) (queue, error) {
	var all []candidates.Candidate
	if len(states) > 0 {
		for _, p := range states[len(states)-1].Progress {
			if p.Decided == nil {
				all = append(all, p.Candidate)
			}
		}
	}
	spooled, err := home.Spooled()
	if err != nil {
		return queue{}, err
	}
	for _, f := range spooled {
		if f.Err == nil {
			if len(f.Candidate.Targets) == 0 {
				f.Candidate.Targets, _ = campaign.Targets(suite, objective, f.Candidate.Edits)
			}
			all = append(all, f.Candidate)
		}
	}
	q := queue{waiting: len(all)}
	for _, c := range all {
		if len(c.Targets) > 0 && !slices.Contains(c.Targets, candidates.AllCells) {
			q.targeted++
		}
	}
	return q, nil
}

// fewOutlook is the outlook on fewer than fewSessions: looking once at each
// candidate, unless some say where to look and the budget decides something by
// looking there properly.
func (p planner) fewOutlook(ctx context.Context, sessions int) (outlook, error) {
	why := "fewer than 1,000, no targets declared"
	if p.queue.targeted > 0 {
		have := fmt.Sprintf("%d of %d waiting candidates with targets", p.queue.targeted, p.queue.waiting)
		out, err := p.outlook(ctx, sessions, loop.Fast)
		if err != nil || out.Reachable {
			out.Chosen = have
			return out, err
		}
		why = have + ", but too few sessions for fast"
	}
	out, err := p.outlook(ctx, sessions, loop.Scout)
	out.Chosen = why
	return out, err
}
