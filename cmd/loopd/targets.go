package main

import (
	"context"
	"fmt"

	"loopd/internal/campaign"
)

// aimLine says which cells a candidate will be weighed on where it declares
// none. Where plugin or suite are not known yet it says nothing: what counts is
// recorded when the campaign takes the candidate in.
func (o addOptions) aimLine(ctx context.Context, e env, d campaign.Dropped) string {
	if len(o.targets) > 0 || o.state != "" {
		return ""
	}
	c, err := d.Candidate()
	if err != nil {
		return ""
	}
	p, err := newPlanner(ctx, e)
	if err != nil {
		return ""
	}
	targets, from := campaign.Targets(p.suite, p.grid.Objective, c.Edits)
	if len(targets) == 0 {
		return ""
	}
	return fmt.Sprintf("to be weighed on %d of the %d cells, those of %s;\n--target all asks for every cell\n", len(targets), len(p.grid.Objective), from)
}
