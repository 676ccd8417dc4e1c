package loop

import (
	"fmt"
	"slices"

	"loopd/frozen"
	"loopd/harness"
)

// Rescored says that a person took over what other rules make of the sessions of
// a campaign that has ended. It can take a keep or a promotion back and grants
// neither: the promise was about the procedure that ran.
type Rescored struct {
	Reason string `json:"reason"`
	// Instrument and Parts are of what scored again; nothing was launched, so that
	// agent and credential are the campaign's own.
	Instrument string            `json:"instrument"`
	Parts      map[string]string `json:"parts,omitempty"`
	Seal       frozen.Digest     `json:"seal"` // of the suite whose rules were asked
	// Trials are those that differ from the record; Lost those that could not be
	// scored again and stand as recorded.
	Trials   []NewScore   `json:"trials"`
	Lost     []string     `json:"lost,omitempty"`
	Verdicts []NewVerdict `json:"verdicts"`
	Stops    []string     `json:"stops,omitempty"` // why the campaign would have been stopped
}

// NewScore is what a trial comes to under other rules.
type NewScore struct {
	ID     string         `json:"id"`
	Class  harness.Class  `json:"class"`
	Why    string         `json:"why,omitempty"`
	Result harness.Result `json:"result"`
}

// Ruling is a verdict on a candidate, or the end of the campaign.
type Ruling struct {
	Verdict Verdict  `json:"verdict,omitempty"`
	Outcome Outcome  `json:"outcome,omitempty"` // of the campaign, where it is about that
	Reason  Reason   `json:"reason,omitempty"`
	EValue  *float64 `json:"e_value"`
	// Why says in words why there is no verdict.
	Why string `json:"why,omitempty"`
}

// String prints a ruling the way people read it.
func (r Ruling) String() string {
	switch {
	case r.Why != "":
		return r.Why
	case r.Reason != "":
		return fmt.Sprintf("%s (%s)", r.Verdict, r.Reason)
	}
	return string(r.Verdict) + string(r.Outcome)
}

// NewVerdict is one decision that differs, or rests on other evidence.
type NewVerdict struct {
	Subject string `json:"subject"` // a candidate, or gate for the end
	Was     Ruling `json:"was"`     // as recorded
	Now     Ruling `json:"now"`     // by the rules that scored again
	// Round is the round before which the rules would have decided, 0 where it is
	// the recorded moment.
	Round int `json:"round,omitempty"`
}

// Flips reports whether the decision itself differs, not its evidence alone.
func (v NewVerdict) Flips() bool {
	return v.Was.Verdict != v.Now.Verdict || v.Was.Outcome != v.Now.Outcome || v.Was.Reason != v.Now.Reason
}

// Same reports whether two are the same decision on the same evidence.
func (v NewVerdict) Same(w NewVerdict) bool {
	return v.Subject == w.Subject && v.Round == w.Round && sameRuling(v.Was, w.Was) && sameRuling(v.Now, w.Now)
}

// withdraws reports whether a keep or a promotion no longer holds.
func (v NewVerdict) withdraws() bool {
	kept := func(r Ruling) bool { return r.Verdict == Keep || r.Verdict == Shortlisted || r.Outcome == Promoted }
	return kept(v.Was) && !kept(v.Now)
}

// Kind returns the event's name in the ledger.
func (Rescored) Kind() Kind { return KindRescored }

// Withdrawn reports whether a rescore that was accepted took back the keep of a
// candidate, or the promotion where the subject is gate. What was taken back is
// not given again.
func (s *State) Withdrawn(subject string) bool {
	return slices.ContainsFunc(s.Rescored, func(r Rescored) bool {
		return slices.ContainsFunc(r.Verdicts, func(v NewVerdict) bool { return v.Subject == subject && v.withdraws() })
	})
}

// applyRescored lays the new results over the recorded trials, which keep what
// was recorded beside. Nothing that was decided changes.
func (s *State) applyRescored(p Rescored) error {
	if why := s.invalidRescore(p); why != "" {
		return fmt.Errorf("apply %s: %s", p.Kind(), why)
	}
	for i := range s.Trials {
		if old := s.Trials[i].Recorded; old != nil {
			s.Trials[i].Trial, s.Trials[i].Recorded = *old, nil // each rescore is of the whole campaign
		}
	}
	for _, n := range p.Trials {
		run := &s.Trials[s.runOf(n.ID)]
		old := run.Trial
		run.Recorded = &old
		run.Class, run.Why, run.Result = n.Class, n.Why, n.Result
	}
	s.Rescored = append(s.Rescored, p)
	return nil
}

// invalidRescore says what makes a rescore impossible at this point.
func (s *State) invalidRescore(p Rescored) string {
	switch {
	case s.Ended == nil:
		return "the campaign has not ended"
	case p.Reason == "":
		return "no reason is given"
	}
	known, seen := make(map[string]bool, len(s.Trials)), make(map[string]bool)
	for _, t := range s.Trials {
		known[t.ID] = true
	}
	ids := slices.Clone(p.Lost)
	for _, n := range p.Trials {
		ids = append(ids, n.ID)
	}
	for _, id := range ids {
		switch {
		case !known[id]:
			return "no trial " + id + " is recorded"
		case seen[id]:
			return "trial " + id + " is there twice"
		}
		seen[id] = true
	}
	for _, v := range p.Verdicts {
		if v.Subject != SubjectGate && s.Find(v.Subject) == nil {
			return "no candidate " + v.Subject + " is recorded"
		}
	}
	return ""
}

func (s *State) runOf(id string) int {
	return slices.IndexFunc(s.Trials, func(r Run) bool { return r.ID == id })
}

// rescored looks at a rescore that was accepted: what it says was recorded must
// have been, and what it says differs must differ.
func (a *Auditor) rescored(p Rescored) string {
	for _, n := range p.Trials {
		i := a.State.runOf(n.ID)
		if i < 0 {
			continue // it cannot be applied, which says so
		}
		old := a.State.Trials[i].Trial
		if rec := a.State.Trials[i].Recorded; rec != nil {
			old = *rec
		}
		if SameScore(old, n.Over(old)) {
			return "trial " + n.ID + " does not differ from the record"
		}
	}
	for _, v := range p.Verdicts {
		if !slices.ContainsFunc(a.rulings[v.Subject], func(r Ruling) bool { return sameRuling(r, v.Was) }) {
			return fmt.Sprintf("what it says was recorded of %s was not", v.Subject)
		}
	}
	return ""
}

// Over returns the trial with the new score.
func (n NewScore) Over(t harness.Trial) harness.Trial {
	t.Class, t.Why, t.Result = n.Class, n.Why, n.Result
	return t
}

// SameScore reports whether two trials of one spec count the same for the same
// reasons: class, outcome, every check with its reason, and who judged. The
// lines a check rests on and the words beside a class may differ.
func SameScore(a, b harness.Trial) bool {
	return a.Class == b.Class && a.Result.Outcome == b.Result.Outcome && a.Result.JudgedBy == b.Result.JudgedBy &&
		slices.EqualFunc(a.Result.Checks, b.Result.Checks, func(x, y harness.Check) bool {
			return x.Name == y.Name && x.Outcome == y.Outcome && x.Reason == y.Reason
		})
}

func sameRuling(a, b Ruling) bool {
	return a.Verdict == b.Verdict && a.Outcome == b.Outcome && a.Reason == b.Reason && sameE(a.EValue, b.EValue)
}

func sameE(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
