package loop

import (
	"fmt"

	"loopd/candidates"
	"loopd/harness"
)

// Step is what comes next. Exactly one of its parts is set, beside Propose.
type Step struct {
	// Append are events that follow from the state alone. Sealed says that the
	// seal must be verified first, because one of them is a verdict.
	Append []Payload
	Sealed bool
	// Run are sessions wanted; their trials may be recorded in any order.
	Run []harness.Spec
	// Prepare is a candidate to lint and commit on top of the champion.
	Prepare *candidates.Candidate
	// CommitAA asks for the start's bytes on a candidate branch.
	CommitAA bool
	// TestJudge asks for the judge's answers to the gold set.
	TestJudge bool
	// Propose: nothing waits, so that a proposer may be asked before the step is
	// taken; the step is what follows where nobody is.
	Propose bool
	// Idle: nothing can be done until a person or a clock acts.
	Idle bool
}

// Next says what follows from the state. It never changes it.
func Next(s *State) Step {
	switch {
	case s.Ended != nil || s.Halted != nil || s.Paused != nil || s.Started.Campaign == "":
		return Step{Idle: true}
	case s.leaked != nil:
		// Before any stop: a halt that lifts must not hide one that does not.
		return appendStep(Halted{Reason: fmt.Sprintf("%s passed axis b, which cannot be: the checker or the fixture gives the answer away (trial %s)", s.leaked.Spec.Slot.Cell, s.leaked.ID)})
	case s.stop != nil:
		return stopStep(s.stop)
	}
	if step, halt := s.judgeStep(); halt {
		return step
	}
	if why := instrumentBroken(s); why != "" {
		return appendStep(Halted{Reason: why})
	}
	return follow(s)
}

// follow says what comes next where nothing stops the campaign.
func follow(s *State) Step {
	if r := s.round(); r != nil {
		return nextInRound(s, *r)
	}
	switch s.Phase {
	case Pilot:
		if s.wantsJudge() {
			return Step{TestJudge: true}
		}
		if s.wantsAA() {
			return Step{CommitAA: true}
		}
		return appendStep(Planned{planPilot(s)})
	case Search:
		return nextInSearch(s)
	case Gate:
		return nextAtGate(s)
	case Transfer:
		return promote(s.Comparison)
	}
	return Step{Idle: true}
}

// wantsAA reports whether the A/A pilot still lacks its second label. One rep a
// cell cannot be split between two.
func (s *State) wantsAA() bool {
	return s.AAArm == "" && s.Started.Settings.PilotReps+s.Started.Settings.PoolReps > 1
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
		return verdictStep(Halted{Reason: reason, Class: t.Class})
	}
	if t.Class.Fate() == harness.FatePause {
		return appendStep(Paused{Reason: reason, Class: t.Class, Until: t.Lifts})
	}
	return appendStep(Halted{Reason: reason, Class: t.Class})
}

func nextInRound(s *State, r Round) Step {
	if c := s.Comparison; c != nil && undelivered(s, c) {
		return verdictStep(decided(c, Decision{Verdict: Broken, Reason: ByDelivery}))
	}
	if c := s.Comparison; c != nil && overspent(s, c) {
		return verdictStep(decided(c, tooDear(s)))
	}
	open := s.unresolved(r)
	if len(open) == 0 {
		return appendStep(closing(s, r))
	}
	var specs []harness.Spec
	for _, sl := range open {
		specs = append(specs, harness.Spec{
			Campaign: s.Started.Campaign, Slot: sl, Attempt: s.slotOf(sl).recorded + 1,
		})
	}
	return Step{Run: specs}
}

func nextInSearch(s *State) Step {
	if s.nothingMeasured() {
		return verdictStep(Ended{Outcome: NothingMeasured, Why: "not one session of the pilot was valid"})
	}
	if s.AA != nil && s.AA.P < aaLevel {
		return appendStep(Halted{Reason: fmt.Sprintf("the same wording behaves differently under two labels (A/A p = %.2g): what measures is broken", s.AA.P)})
	}
	c := s.Comparison
	switch {
	case s.finished && c != nil:
		return verdictStep(decided(c, Decision{Verdict: Inconclusive, Reason: ByFinish}))
	case s.finished:
		return toGate(s)
	case c != nil:
		return nextInComparison(s, c)
	case s.topUpDue:
		return s.affordable(planTopUp(s), func() Step { return toGate(s) })
	case s.searchLeft() < len(s.Started.Objective):
		return toGate(s) // a candidate that cannot get one round stays in the queue
	}
	// Beyond the candidates its error rate is shared among certified keeps none.
	if waiting := s.Waiting(); len(waiting) > 0 && s.keepable() {
		return Step{Prepare: &waiting[0]}
	}
	step := toGate(s)
	if id := s.parked(); id != "" {
		step = appendStep(Unparked{id})
	}
	step.Propose = s.mayPropose()
	return step
}

// parked names the undecided candidate with the most evidence, empty without one.
func (s *State) parked() string {
	best := ""
	for _, p := range s.Progress {
		if s.resumable(p) && (best == "" || p.Comparison.LogE > s.Find(best).Comparison.LogE) {
			best = p.Candidate.ID
		}
	}
	return best
}

// resumable reports whether a candidate's evidence may be gone on with: it was left
// only for its share of the budget, and the champion it is against still stands.
func (s *State) resumable(p *Progress) bool {
	return p.Decided != nil && p.Decided.Reason == ByLimit && p.Comparison != nil && p.Comparison.Against == s.Champion
}

func nextInComparison(s *State, c *Comparison) Step {
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
	if s.Started.Settings.Profile == Scout {
		return s.affordable(planScreen(s, c), outOfBudget)
	}
	r := planBet(s, c)
	if len(r.Bets.Warnings) > 0 {
		return verdictStep(decided(c, Decision{Verdict: Inconclusive, Reason: ByNothing, Note: r.Bets.Warnings[0]}))
	}
	return s.affordable(r, outOfBudget)
}

func decided(c *Comparison, d Decision) Decided {
	return Decided{
		Candidate: c.Subject, Verdict: d.Verdict, Reason: d.Reason, Note: d.Note, EValue: c.eValue(), Sessions: c.Sessions,
		ConcurrentE: c.concurrentE(),
	}
}

// affordable plans the round if the search budget covers it.
func (s *State) affordable(r Round, otherwise func() Step) Step {
	if len(r.Slots) > s.searchLeft() {
		return otherwise()
	}
	return appendStep(Planned{r})
}

// nothingMeasured reports whether the pilot left not one valid trial.
func (s *State) nothingMeasured() bool {
	n := 0
	for i, p := range s.startPilot {
		n += p.N + len(s.Baseline.Pool[i])
	}
	return n == 0 && len(s.Kept) == 0
}
