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

// sessions counts the reps that guards ask for.
func sessions(asks []stats.Ask) int {
	sum := 0
	for _, a := range asks {
		sum += a.Cand + a.Base
	}
	return sum
}

// guard looks for a collapsed cell in a candidate that has the evidence for a keep. It returns the reps it wants, or
// how the decision ends.
func (e *engine) guard(c *comparison) ([]stats.Ask, Ending) {
	if !c.guarded {
		return nil, Kept
	}
	asks, fall := c.Guard(e.harmProb)
	switch {
	case fall != nil:
		return nil, Vetoed
	case sessions(asks) == 0:
		return nil, Kept
	}
	return asks, ""
}

// runGuards plays the reps the guards asked for; they are counted and never bet.
func (e *engine) runGuards(c *comparison, asks []stats.Ask) {
	for i, a := range asks {
		c.Extra[i] += a.Cand
		c.Cells[i].Cand = c.Cells[i].Cand.Add(e.outcomes(c.own[i], a.Cand))
		if a.Base > 0 {
			c.addFresh(i, e.outcomes(c.against[i], a.Base))
		}
	}
	c.sessions += sessions(asks)
}
