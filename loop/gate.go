package loop

import (
	"loopd/stats"
)

// toGate ends the search: without a kept candidate there is nothing to
// confirm, otherwise the gate's first round is planned.
func toGate(s *State) Step {
	if len(s.Kept) == 0 {
		return verdictStep(Ended{Outcome: NoChange, Why: "no candidate was kept"})
	}
	return s.planGate(s.gateComparison())
}

// nextAtGate goes on until the evidence is reached, then looks at the cells it
// does not rest on, then runs the reserve scenarios.
func nextAtGate(s *State) Step {
	c := s.Comparison
	if !stats.Reached(c.LogE, s.Started.Settings.PromoteAt) {
		return s.planGate(c)
	}
	if why := lopsided(s, c); why != "" {
		return unconfirmed(c, why)
	}
	d := gateGuard(s, c)
	if d.Verdict != "" {
		return verdictStep(Ended{Outcome: Unconfirmed, Why: d.Note, EValue: c.eValue()})
	}
	if len(d.Guards) > 0 {
		return s.withinBudget(planGuard(s, c, d.Guards), func() Step {
			return unconfirmed(c, "the budget ended before the cells outside the gate were cleared")
		})
	}
	if r := planTransfer(s); !s.transfered && len(r.Slots) > 0 && s.Sessions()+len(r.Slots) <= s.Budget() {
		return appendStep(Planned{r})
	}
	return promote(c)
}

func promote(c *Comparison) Step {
	return verdictStep(Ended{Outcome: Promoted, Why: "the gate's evidence was reached", EValue: c.eValue()})
}

// unconfirmed leaves the gate open: with more sessions its evidence goes on.
func unconfirmed(c *Comparison, why string) Step {
	return verdictStep(Ended{Outcome: Unconfirmed, Why: why, EValue: c.eValue(), Open: true})
}

// planGate plans a gate round while the whole budget covers it; what the
// search left over is the gate's too.
func (s *State) planGate(c *Comparison) Step {
	r := planBet(s, c)
	if len(r.Bets.Warnings) > 0 {
		return verdictStep(Ended{Outcome: Unconfirmed, Why: r.Bets.Warnings[0], EValue: c.eValue()})
	}
	return s.withinBudget(r, func() Step {
		return unconfirmed(c, "the budget ended before the gate's evidence was reached")
	})
}

// withinBudget plans a round of the gate if the budget covers it beside the
// reserve scenarios.
func (s *State) withinBudget(r Round, otherwise func() Step) Step {
	transfer := 2 * len(s.Started.Reserve) * s.Started.Settings.TransferReps
	if s.Sessions()+len(r.Slots)+transfer > s.Budget() {
		return otherwise()
	}
	return appendStep(Planned{r})
}

// gateGuard looks for a collapse in the cells the gate does not bet on.
func gateGuard(s *State, c *Comparison) Decision {
	asks, fall := c.stage().GuardGate(stats.HarmProb)
	if fall != nil {
		d := s.fell(fall)
		d.Note = "not confirmed: " + d.Note
		return d
	}
	return Decision{Guards: s.guardSlots(c, asks, make(map[string]int))}
}

// GateOpen reports whether the campaign ended at a gate whose evidence may still
// grow. One that was scored again by other rules does not go on under its own,
// and one that a person vetoed not at all.
func (s *State) GateOpen() bool {
	return s.Ended != nil && s.Ended.Outcome == Unconfirmed && s.Ended.Open && len(s.Kept) > 0 && len(s.Rescored) == 0 && s.Vetoed == nil
}
