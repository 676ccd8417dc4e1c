package sim

import "loopd/stats"

// harmKey is what the chance of a fall depends on.
type harmKey struct{ cand, base stats.Count }

// harmProb looks the chance up or computes it; the same few counts come again and again.
func (e *engine) harmProb(cand, base stats.Count, margin float64) float64 {
	key := harmKey{cand, base}
	p, ok := e.harm[key]
	if !ok {
		p = stats.HarmProb(cand, base, margin)
		e.harm[key] = p
	}
	return p
}

// asks is how many reps of either arm a guard wants in each cell.
type asks struct{ own, base []int }

func newAsks(n int) asks { return asks{make([]int, n), make([]int, n)} }

func (a asks) sessions() int {
	sum := 0
	for i := range a.own {
		sum += a.own[i] + a.base[i]
	}
	return sum
}

// unbetReps is how many reps a cell outside the declared ones gets before it may be cleared.
const unbetReps = 2

// guard looks for a collapsed cell in a candidate that has the evidence for a keep. It returns the reps it wants, or
// how the decision ends.
func (e *engine) guard(c *comparison) (asks, Ending) {
	if !c.guarded {
		return asks{}, Kept
	}
	a := newAsks(len(c.cells))
	for i, cell := range c.cells {
		if cell.Weight == 0 && cell.Cand.N < unbetReps && c.extra[i] < unbetReps {
			a.own[i] = unbetReps - c.extra[i]
			continue
		}
		if e.guardCell(c, i, a) == stats.GuardVeto {
			return asks{}, Vetoed
		}
	}
	if a.sessions() == 0 {
		return a, Kept
	}
	return a, ""
}

func (e *engine) guardCell(c *comparison, i int, a asks) stats.GuardAction {
	g, cell := stats.CollapseGuard(), c.cells[i]
	action := g.At(e.harmProb(cell.Cand, cell.Full, g.Margin), cell.Cand, cell.Full, c.extra[i])
	switch action {
	case stats.GuardAsk:
		a.own[i] = 1
	case stats.GuardAskBoth:
		a.own[i], a.base[i] = 1, 1
	}
	return action
}

// runGuards plays the reps the guards asked for; they are counted and never bet.
func (e *engine) runGuards(c *comparison, a asks) {
	for i := range a.own {
		c.extra[i] += a.own[i]
		c.cells[i].Cand = c.cells[i].Cand.Add(e.outcomes(c.own[i], a.own[i]))
		if a.base[i] > 0 {
			c.addFresh(i, e.outcomes(c.against[i], a.base[i]))
		}
	}
	c.sessions += a.sessions()
}
