package loop

import (
	"fmt"

	"loopd/candidates"
	"loopd/harness"
	"loopd/stats"
)

// Step is what comes next. Exactly one of its parts is set.
type Step struct {
	// Append are events that follow from the state alone. Sealed says that the
	// seal must be verified first, because one of them is a verdict.
	Append []Payload
	Sealed bool
	// Run are sessions wanted; their trials may be recorded in any order.
	Run []harness.Spec
	// Prepare is a candidate to lint and commit on top of the champion.
	Prepare *candidates.Candidate
	// Idle: nothing can be done until a person or a clock acts.
	Idle bool
}

// Next says what follows from the state. It never changes it.
func Next(s *State) Step {
	switch {
	case s.Ended != nil || s.Halted != nil || s.Paused != nil || s.Started.Campaign == "":
		return Step{Idle: true}
	case s.stop != nil:
		return stopStep(s.stop)
	}
	if s.leaked != nil {
		return appendStep(Halted{Reason: fmt.Sprintf("%s passed axis b, which cannot be: the checker or the fixture gives the answer away (trial %s)", s.leaked.Spec.Slot.Cell, s.leaked.ID)})
	}
	if why := instrumentBroken(s); why != "" {
		return appendStep(Halted{Reason: why})
	}
	if r := s.round(); r != nil {
		return nextInRound(s, *r)
	}
	switch s.Phase {
	case Pilot:
		return appendStep(Planned{planPilot(s)})
	case Search:
		return nextInSearch(s)
	case Gate:
		return nextAtGate(s)
	}
	return Step{Idle: true}
}

func appendStep(p ...Payload) Step { return Step{Append: p} }

func verdictStep(p Payload) Step { return Step{Append: []Payload{p}, Sealed: true} }

func stopStep(t *harness.Trial) Step {
	reason := string(t.Class)
	if t.Why != "" {
		reason += ": " + t.Why
	}
	if t.Class == harness.DriftedSeal {
		// Verified once more, so that the halt names every path with both digests.
		return verdictStep(Halted{Reason: reason})
	}
	if t.Class.Fate() == harness.FatePause {
		return appendStep(Paused{Reason: reason})
	}
	return appendStep(Halted{Reason: reason})
}

func nextInRound(s *State, r Round) Step {
	if c := s.Contest; c != nil && undelivered(s, c) {
		return verdictStep(decided(c, Decision{Verdict: Broken, Reason: ByDelivery}))
	}
	open := s.unresolved(r)
	if len(open) == 0 {
		return appendStep(closing(s, r))
	}
	var specs []harness.Spec
	for _, sl := range open {
		specs = append(specs, harness.Spec{
			Campaign: s.Started.Campaign, Slot: sl, Attempt: s.recorded(sl) + 1,
		})
	}
	return Step{Run: specs}
}

// recorded counts the trials a slot has had, paused ones included, so that
// every attempt has an id of its own.
func (s *State) recorded(sl harness.Slot) int {
	n := 0
	for _, t := range s.Trials {
		if t.Spec.Slot == sl {
			n++
		}
	}
	return n
}

func nextInSearch(s *State) Step {
	if s.nothingMeasured() {
		return verdictStep(Ended{Outcome: NothingMeasured, Why: "not one session of the pilot was valid"})
	}
	if c := s.Contest; c != nil {
		return nextInContest(s, c)
	}
	if s.topUpDue {
		return s.affordable(planTopUp(s), func() Step { return toGate(s) })
	}
	waiting := s.Waiting()
	if len(waiting) == 0 || s.searchLeft() < len(s.Started.Objective) {
		return toGate(s) // a candidate that cannot get one round stays in the queue
	}
	return Step{Prepare: &waiting[0]}
}

func nextInContest(s *State, c *Contest) Step {
	d := Decide(s, c)
	outOfBudget := func() Step {
		return verdictStep(decided(c, Decision{Verdict: Inconclusive, Reason: ByBudget}))
	}
	switch {
	case d.Verdict != "":
		return verdictStep(decided(c, d))
	case len(d.Guards) > 0:
		return s.affordable(planGuard(s, c, d.Guards), outOfBudget)
	}
	r := planBet(s, c)
	if len(r.Bets.Warnings) > 0 {
		return verdictStep(decided(c, Decision{Verdict: Inconclusive, Reason: ByNothing, Note: r.Bets.Warnings[0]}))
	}
	return s.affordable(r, outOfBudget)
}

func decided(c *Contest, d Decision) Decided {
	return Decided{
		Candidate: c.Subject, Verdict: d.Verdict, Reason: d.Reason, Note: d.Note, EValue: c.eValue(), Sessions: c.Sessions,
	}
}

// affordable plans the round if the search budget covers it.
func (s *State) affordable(r Round, otherwise func() Step) Step {
	if len(r.Slots) > s.searchLeft() {
		return otherwise()
	}
	return appendStep(Planned{r})
}

// toGate ends the search: without a kept candidate there is nothing to
// confirm, otherwise the gate's first round is planned.
func toGate(s *State) Step {
	if len(s.Kept) == 0 {
		return verdictStep(Ended{Outcome: NoChange, Why: "no candidate was kept"})
	}
	return s.planGate(s.gateContest())
}

func nextAtGate(s *State) Step {
	c := s.Contest
	if stats.Reached(c.LogE, s.Started.Settings.PromoteAt) {
		return verdictStep(Ended{Outcome: Promoted, Why: "the gate's evidence was reached", EValue: c.eValue()})
	}
	return s.planGate(c)
}

// planGate plans a gate round while the whole budget covers it; what the
// search left over is the gate's too.
func (s *State) planGate(c *Contest) Step {
	r := planBet(s, c)
	if len(r.Bets.Warnings) > 0 {
		return verdictStep(Ended{Outcome: Unconfirmed, Why: r.Bets.Warnings[0], EValue: c.eValue()})
	}
	if s.Sessions()+len(r.Slots) > s.Started.Settings.Budget {
		return verdictStep(Ended{Outcome: Unconfirmed, Why: "the budget ended before the gate's evidence was reached", EValue: c.eValue()})
	}
	return appendStep(Planned{r})
}

// nothingMeasured says whether the pilot left not one valid trial.
func (s *State) nothingMeasured() bool {
	n := 0
	for i, p := range s.startPilot {
		n += p.N + len(s.Bank.Pool[i])
	}
	return n == 0 && len(s.Kept) == 0
}
