package sim

import (
	"math"

	"loopd/stats"
)

func exp(x float64) float64 { return math.Exp(x) }

func hypot(a, b float64) float64 { return math.Hypot(a, b) }

// gateReps is how many fresh reps each arm gets in a cell the gate does not bet on before it may be cleared.
const gateReps = 3

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
		if c.cells[i].Weight = 0; declared {
			c.cells[i].Weight = 1
		}
	}
	return c
}

// confirm bets until the evidence is there, then looks at the cells it does not rest on.
func (e *engine) confirm(c *comparison, left int, at float64) bool {
	for !stats.Reached(c.logE, at) {
		cost, ok := e.round(c, left)
		if !ok {
			return false
		}
		left -= cost
	}
	for c.guarded {
		a, end := e.guardUnbet(c)
		if end != "" {
			return end == Kept
		}
		if left -= a.sessions(); left < 0 {
			return false
		}
		e.runGuards(c, a)
	}
	return true
}

// guardUnbet looks for a collapse in the cells the gate does not bet on.
func (e *engine) guardUnbet(c *comparison) (asks, Ending) {
	a := newAsks(len(c.cells))
	for i, cell := range c.cells {
		switch {
		case cell.Weight > 0:
		case c.extra[i] < gateReps:
			a.own[i], a.base[i] = gateReps-c.extra[i], gateReps-c.extra[i]
		case e.guardCell(c, i, a) == stats.GuardVeto:
			return asks{}, Vetoed
		}
	}
	if a.sessions() == 0 {
		return a, Kept
	}
	return a, ""
}

// screen is the profile scout: one rep a cell, and a candidate that passes more often than the champion's record is
// kept if the guards let it.
func (e *engine) screen(c *comparison, left int) Ending {
	cost := 0
	for _, cell := range c.cells {
		if cell.Weight > 0 {
			cost++
		}
	}
	if cost > left {
		return Broke
	}
	for i := range c.cells {
		if c.cells[i].Weight > 0 {
			c.cells[i].Cand = c.cells[i].Cand.Add(e.outcome(c.own[i]))
		}
	}
	c.rounds, c.sessions = c.rounds+1, c.sessions+cost
	for {
		if rise, ok := stats.MeanDifference(measured(c.cells)); !ok || rise <= 0 {
			return Futile
		}
		a, end := e.guard(c)
		if end != "" {
			return end
		}
		if c.sessions+a.sessions() > left {
			return Broke
		}
		e.runGuards(c, a)
	}
}

// measured leaves out cells in which one arm has no rep.
func measured(cells []stats.Cell) []stats.Cell {
	var out []stats.Cell
	for _, c := range cells {
		if c.Cand.N > 0 && c.Full.N > 0 {
			out = append(out, c)
		}
	}
	return out
}
