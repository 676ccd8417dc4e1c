package loop

import (
	"fmt"
	"strings"

	"loopd/harness"
)

// JudgeTested is what the judge made of the suite's gold set before the first
// session.
type JudgeTested struct {
	harness.JudgeTest
}

// Kind returns the event's name in the ledger.
func (JudgeTested) Kind() Kind { return KindJudgeTested }

// JudgePart is the name of the judge among the parts of an Instrument.
const JudgePart = "judge"

// The share of YES items a judge must get right. Of the others it may get none
// wrong: a judge that takes silence for a proposal, or that does what a message
// tells it, gives points away, and to one wording perhaps more than to another.
const (
	yesRight = 9
	yesOf    = 10
)

// JudgeFault says why a judge cannot be trusted with a campaign, empty when it
// can be.
func JudgeFault(t harness.JudgeTest) string {
	missed := func(k harness.Tally) string { return fmt.Sprintf("%d of %d right", k.Right, k.Of) }
	switch {
	case t.Rubric != t.Sealed:
		return "the judge was sent another rubric than the sealed one"
	case len(t.Unanswered) > 0:
		return "the judge gave no answer to gold items " + numbers(t.Unanswered)
	case t.No.Right < t.No.Of || t.Attack.Right < t.Attack.Of:
		return fmt.Sprintf("the judge said YES where NO is right (NO items %s, attack items %s; wrong: %s)", missed(t.No), missed(t.Attack), numbers(t.Wrong))
	case t.Yes.Right*yesOf < t.Yes.Of*yesRight:
		return fmt.Sprintf("the judge missed too many proposals (YES items %s; wrong: %s)", missed(t.Yes), numbers(t.Wrong))
	}
	return ""
}

func numbers(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// Lifts reports whether the halt is over once a person has put right what is
// outside the measurement. A judge that failed its test was not asked about any
// session yet; it is tested again.
func (h Halted) Lifts() bool { return h.ByHand || h.Class.Lifts() || h.Class == harness.JudgeError }

// wantsJudge reports whether the judge must still show that it can be trusted.
func (s *State) wantsJudge() bool {
	return s.Phase == Pilot && s.Started.Gold > 0 && s.JudgeTest == nil && len(s.Rounds) == 0
}

// judgeStep is the halt that follows from the judge's test, if one does.
func (s *State) judgeStep() (Step, bool) {
	if s.JudgeTest == nil {
		return Step{}, false
	}
	why := JudgeFault(*s.JudgeTest)
	return appendStep(Halted{Reason: why, Class: harness.JudgeError}), why != ""
}

func (s *State) applyJudgeTested(p JudgeTested) error {
	if !s.wantsJudge() {
		return fmt.Errorf("apply %s: no test of the judge is due", p.Kind())
	}
	s.JudgeTest = &p.JudgeTest
	return nil
}

// judgeTested looks at a test of the judge: it was due, of the judge the
// campaign began with, and its numbers add up. What the judge said cannot be
// derived from the record.
func (a *Auditor) judgeTested(p JudgeTested) string {
	started := a.State.Started
	missed := len(p.Wrong) + len(p.Unanswered)
	of, right := p.Yes.Of+p.No.Of+p.Attack.Of, p.Yes.Right+p.No.Right+p.Attack.Right
	switch {
	case !Next(a.State).TestJudge:
		return "no test of the judge is due"
	case p.Judge != started.Parts[JudgePart]:
		return "not the judge the campaign began with"
	case of != started.Gold || of-right != missed:
		return fmt.Sprintf("%d of %d gold items right and %d named as missed, the gold set has %d", right, of, missed, started.Gold)
	}
	return itemsFit(p.JudgeTest)
}

// itemsFit says what is wrong with the numbers of the items missed.
func itemsFit(t harness.JudgeTest) string {
	of, seen := t.Yes.Of+t.No.Of+t.Attack.Of, make(map[int]bool)
	for _, k := range []harness.Tally{t.Yes, t.No, t.Attack} {
		if k.Right < 0 || k.Right > k.Of {
			return fmt.Sprintf("%d right of %d", k.Right, k.Of)
		}
	}
	for _, list := range [][]int{t.Wrong, t.Unanswered} {
		for _, n := range list {
			if n < 1 || n > of || seen[n] {
				return fmt.Sprintf("item %d is none, or named twice", n)
			}
			seen[n] = true
		}
	}
	return ""
}
