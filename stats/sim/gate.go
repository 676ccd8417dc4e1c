package sim

import (
	"math"

	"loopd/stats"
)

func exp(x float64) float64 { return math.Exp(x) }

func hypot(a, b float64) float64 { return math.Hypot(a, b) }

// gate compares the champion with the start, both arms fresh, until the evidence or the budget is reached.
func (n *night) gate() {
	n.drift()
	c := n.gateComparison()
	left := n.plan.Budget - n.used
	n.promoted = n.e.confirm(c, left, n.plan.PromoteAt)
	n.used += c.sessions
	n.gateUsed = c.sessions
}

// gateComparison carries over the start's pilot alone, as a guess for the bets, and weights the cells the kept candidates
// declared, or all where one declared none.
func (n *night) gateComparison() *comparison {
	b := baseline{n.startPilot, make([]stats.Count, len(n.startPilot))}
	c := newComparison(n.champion.Rates, n.first.Rates, undeclared, b)
	c.guarded = n.plan.Guard
	if n.anywhere {
		return c
	}
	for i, declared := range n.targets {
		if c.Cells[i].Weight = 0; declared {
			c.Cells[i].Weight = 1
		}
	}
	return c
}

// confirm bets until the evidence is there, then looks at the cells it does not rest on.
func (e *engine) confirm(c *comparison, left int, at float64) bool {
	for !stats.Reached(c.LogE, at) {
		cost, ok := e.round(c, left)
		if !ok {
			return false
		}
		left -= cost
	}
	for c.guarded {
		a, fall := c.GuardGate(e.harmProb)
		if fall != nil {
			return false
		}
		n := sessions(a)
		if n == 0 {
			return true
		}
		if left -= n; left < 0 {
			return false
		}
		e.runGuards(c, a)
	}
	return true
}

// screen is the profile scout: one rep a cell, and a candidate that passes more often than the champion's record is
// kept if the guards let it.
func (e *engine) screen(c *comparison, left int) Ending {
	cost := 0
	for _, cell := range c.Cells {
		if cell.Weight > 0 {
			cost++
		}
	}
	if cost > left {
		return Broke
	}
	for i := range c.Cells {
		if c.Cells[i].Weight > 0 {
			c.Cells[i].Cand = c.Cells[i].Cand.Add(e.outcome(c.own[i]))
		}
	}
	c.Rounds, c.sessions = c.Rounds+1, c.sessions+cost
	for {
		if rise, ok := c.Rise(); !ok || rise <= 0 {
			return Futile
		}
		a, end := e.guard(c)
		if end != "" {
			return end
		}
		if c.sessions+sessions(a) > left {
			return Broke
		}
		e.runGuards(c, a)
	}
}
