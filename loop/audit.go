package loop

import (
	"bytes"
	"encoding/json"
	"fmt"

	"loopd/harness"
)

// Audit is what came of deriving a campaign's record a second time.
type Audit struct {
	Campaign string `json:"campaign"`
	Trials   int    `json:"trials"`
	Rounds   int    `json:"rounds"`   // planned, with their bets and coins
	Closed   int    `json:"closed"`   // with what they added to the evidence
	Verdicts int    `json:"verdicts"` // of candidates, and the end
	// ByHand counts what a person or a proposer did or a check outside the record
	// decided, such as a lint or the end by a new seal.
	ByHand int `json:"by_hand"`
	// Wrong lists the events that do not follow from the ones before.
	Wrong []string `json:"wrong"`
}

// Auditor derives a campaign's record a second time, event by event: every bet,
// coin, e-value and verdict follows from the events before it, or is named as
// wrong. That a bet was recorded before its sessions is part of it: a trial
// whose slot no round has planned cannot be applied.
type Auditor struct {
	State *State
	Audit Audit
	// rulings are what was recorded, by subject.
	rulings map[string][]Ruling
}

// NewAuditor begins before the first event of a campaign.
func NewAuditor() *Auditor {
	return &Auditor{State: NewState(), Audit: Audit{Wrong: []string{}}, rulings: make(map[string][]Ruling)}
}

// Event compares one recorded event with what follows from the ones before it,
// then applies it. name says which event it is in a finding. The error is of an
// event that cannot follow at all.
func (a *Auditor) Event(name string, e Event) error {
	if why := a.compare(e.Payload); why != "" {
		a.Audit.Wrong = append(a.Audit.Wrong, fmt.Sprintf("%s (%s): %s", name, e.Payload.Kind(), why))
	}
	if err := a.State.Apply(e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.Audit.Campaign, a.Audit.Trials = a.State.Started.Campaign, len(a.State.Trials)
	return nil
}

// compare counts the event and says what is wrong with it, if anything.
func (a *Auditor) compare(p Payload) string {
	switch p := p.(type) {
	case Planned:
		a.Audit.Rounds++
		return a.derived(p)
	case Closed:
		a.Audit.Closed++
		return a.derived(p)
	case Unparked:
		return a.derived(p)
	case Committed:
		return a.committed(p)
	case Decided:
		a.rulings[p.Candidate] = append(a.rulings[p.Candidate], rulingOf(p))
		if p.Reason == ByLint {
			a.Audit.ByHand++
			return a.linted(p)
		}
		a.Audit.Verdicts++
		return a.derived(p)
	case Rescored:
		a.Audit.ByHand++
		return a.rescored(p)
	case Ended:
		a.rulings[SubjectGate] = append(a.rulings[SubjectGate], rulingOf(p))
		if p.ByHand {
			a.Audit.ByHand++
			return a.endedByHand(p)
		}
		a.Audit.Verdicts++
		return a.derived(p)
	case Finished, Extended, Vetoed, Adopted:
		a.Audit.ByHand++
	case Proposed:
		a.Audit.ByHand++
		return unless(Next(a.State).Propose, "no proposer was to be asked")
	case JudgeTested:
		return a.judgeTested(p)
	case Halted:
		if _, due := a.State.judgeStep(); due || p.Class == harness.JudgeError {
			return a.derived(p)
		}
	}
	return ""
}

// derived compares an event with the one that follows from the state.
func (a *Auditor) derived(p Payload) string {
	next := Next(a.State).Append
	if len(next) != 1 {
		return "nothing of the kind follows from the events before it"
	}
	want, err := json.Marshal(next[0])
	if err != nil {
		return err.Error()
	}
	got, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	if next[0].Kind() != p.Kind() {
		return fmt.Sprintf("%s follows from the events before it", next[0].Kind())
	}
	if !bytes.Equal(want, got) {
		return "differs from what follows from the events before it: " + firstDifference(want, got)
	}
	return ""
}

// committed looks at whose turn it was and what the wording was laid on.
func (a *Auditor) committed(p Committed) string {
	if p.Parent != a.State.Champion {
		return "not laid on the champion"
	}
	if p.Candidate == SubjectAA {
		if !Next(a.State).CommitAA {
			return "no A/A pilot is due"
		}
		return ""
	}
	return a.queued(p.Candidate)
}

// linted looks at a refusal by the lint: no session was run and nothing else can
// come of it.
func (a *Auditor) linted(p Decided) string {
	if p.Verdict != Reject || p.EValue != nil || p.ConcurrentE != nil || p.Sessions != 0 {
		return "a lint rejects, and before the first session"
	}
	return a.queued(p.Candidate)
}

// endedByHand looks at an end that a person brought about: it promotes nothing
// and claims no evidence.
func (a *Auditor) endedByHand(p Ended) string {
	want := NoChange
	if len(a.State.Kept) > 0 {
		want = Unconfirmed
	}
	if a.State.Ended != nil || p.Outcome != want || p.EValue != nil || p.Open {
		return fmt.Sprintf("an end by hand is %s and claims nothing", want)
	}
	return ""
}

func (a *Auditor) queued(id string) string {
	next := Next(a.State).Prepare
	if next == nil || next.ID != id {
		return "it was not this candidate's turn"
	}
	return ""
}

// firstDifference shows both texts around the first byte in which they differ.
func firstDifference(want, got []byte) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	around := func(text []byte) []byte { return text[max(0, min(i-20, len(text))):min(len(text), i+30)] }
	return fmt.Sprintf("want …%s…, recorded …%s…", around(want), around(got))
}
