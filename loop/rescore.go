package loop

import (
	"fmt"
	"strings"

	"loopd/harness"
)

// ScoreChange is one trial that comes to something else, for people to read.
type ScoreChange struct {
	ID      string `json:"id"`
	Cell    string `json:"cell"`
	Wording string `json:"wording"` // start or a candidate id
	Was     Score  `json:"was"`
	Now     Score  `json:"now"`
}

// Score is what a trial counts as.
type Score struct {
	Class   harness.Class   `json:"class"`
	Outcome harness.Outcome `json:"outcome"`
	Reasons []string        `json:"reasons,omitempty"`
}

// String prints a score the way people read it: the outcome with its reasons,
// or the class of what is no evidence.
func (s Score) String() string {
	switch {
	case s.Class != harness.Valid:
		return string(s.Class)
	case len(s.Reasons) > 0:
		return fmt.Sprintf("%s (%s)", s.Outcome, strings.Join(s.Reasons, ", "))
	}
	return string(s.Outcome)
}

// ScoreOf returns what a trial counts as.
func ScoreOf(t harness.Trial) Score {
	return Score{t.Class, t.Result.Outcome, t.Result.Reasons()}
}

// Changes is what other scores of the recorded sessions lead to.
type Changes struct {
	Trials   []ScoreChange `json:"trials"`
	Verdicts []NewVerdict  `json:"verdicts"`
	// Stops says why the campaign would have been stopped, once for each cause.
	Stops []string `json:"stops"`
	// Scores are the trials that differ, as an event keeps them.
	Scores []NewScore `json:"-"`
	// State is the campaign as it was recorded.
	State *State `json:"-"`
}

// Any reports whether anything differs.
func (c Changes) Any() bool { return len(c.Trials)+len(c.Verdicts)+len(c.Stops) > 0 }

// Rescore replays a campaign's events with other scores in place of recorded
// ones, by trial id; a trial that is not among them stands as recorded. Rounds,
// bets and coins stay as they were fixed before their sessions. What each round
// added is derived afresh, and at each decision what the rules would now say is
// compared with what was recorded. The replay then goes on along the recorded
// course: no other sessions exist.
func Rescore(events []Event, now map[string]harness.Trial) (Changes, error) {
	r := &replay{
		now: now, state: NewState(), early: make(map[string]early), stops: make(map[string]bool),
		out: Changes{Trials: []ScoreChange{}, Verdicts: []NewVerdict{}, Stops: []string{}, State: NewState()},
	}
	for i, e := range events {
		if err := r.out.State.Apply(e); err != nil {
			return r.out, fmt.Errorf("score again: event %d of the campaign: %w", i+1, err)
		}
		if err := r.event(e); err != nil {
			return r.out, fmt.Errorf("score again: event %d of the campaign: %w", i+1, err)
		}
	}
	return r.out, nil
}

// replay follows the recorded course with other scores.
type replay struct {
	now   map[string]harness.Trial
	state *State
	early map[string]early // the first ruling before the recorded one, by subject
	stops map[string]bool
	out   Changes
}

type early struct {
	ruling Ruling
	round  int
}

func (r *replay) event(e Event) error {
	switch p := e.Payload.(type) {
	case Recorded:
		return r.recorded(e, p)
	case Planned:
		r.lookAhead()
		r.concluded(p.Round)
		e.Payload = r.fitting(p)
	case Closed:
		r.resolve()
		r.lookAhead()
		e.Payload = closing(r.state, *r.state.round())
	case Decided:
		if p.Reason != ByLint {
			r.compare(p.Candidate, rulingOf(p))
		}
	case Ended:
		if !p.ByHand {
			r.compare(SubjectGate, rulingOf(p))
		}
	case Rescored, Vetoed, Adopted:
		return nil // of the record, which this looks at from the beginning
	}
	return r.state.Apply(e)
}

// recorded takes a trial in with its new score.
func (r *replay) recorded(e Event, p Recorded) error {
	t, again := r.now[p.Trial.ID]
	if !again {
		t = p.Trial
	} else if t = Distinct(r.state.sessions, t); !SameScore(p.Trial, t) {
		r.out.Trials = append(r.out.Trials, ScoreChange{
			ID: t.ID, Cell: t.Spec.Slot.Cell.String(), Wording: r.state.CandidateOf(t.Spec.Slot.Wording), Was: ScoreOf(p.Trial), Now: ScoreOf(t),
		})
		r.out.Scores = append(r.out.Scores, NewScore{t.ID, t.Class, t.Why, t.Result})
	}
	if r.state.slotOf(t.Spec.Slot).resolved {
		r.surplus(t)
		return nil
	}
	return r.state.Apply(Event{Time: e.Time, Payload: Recorded{t}})
}

// surplus takes in an attempt whose slot has its rep already: it was run because
// an earlier one was taken for invalid. It was paid for and counts as no rep.
func (r *replay) surplus(t harness.Trial) {
	s, round := r.state, r.state.round()
	s.Trials = append(s.Trials, Run{Trial: t, Subject: round.Subject, Purpose: round.Purpose, Window: s.lifted + 1})
	s.slotOf(t.Spec.Slot).recorded++
	s.countAttempt(t)
	if s.Comparison != nil && round.Purpose.compares() {
		s.Comparison.Sessions++
	}
}

// resolve closes the slots of the open round as they are: a slot whose valid
// trial is none any more stays without.
func (r *replay) resolve() {
	for _, sl := range r.state.round().Slots {
		r.state.slotOf(sl).resolved = true
	}
}

// fitting takes back reveals of pooled reps that are no reps any more.
func (r *replay) fitting(p Planned) Planned {
	c := r.state.Comparison
	if c == nil || p.Round.Purpose != ForBet || len(p.Round.Reveals) != len(c.Pool) {
		return p
	}
	reveals := make([]int, len(p.Round.Reveals))
	for i, k := range p.Round.Reveals {
		reveals[i] = min(k, len(c.Pool[i])-c.Revealed[i])
	}
	p.Round.Reveals = reveals
	return p
}

// lookAhead notes a decision that the rules would take where the record goes on.
func (r *replay) lookAhead() {
	subject, ruling := r.ruling()
	if _, noted := r.early[subject]; subject == "" || noted {
		return
	}
	round := len(r.state.Rounds)
	if r.state.round() == nil {
		round++
	}
	r.early[subject] = early{ruling, round}
}

// concluded looks at a gate that was over when the reserve scenarios were
// planned: afterwards nothing but the promotion is left to say.
func (r *replay) concluded(next Round) {
	if _, noted := r.early[SubjectGate]; noted || next.Purpose != ForTransfer {
		return
	}
	for _, p := range follow(r.state).Append {
		if own, ok := p.(Planned); ok && own.Round.Purpose != ForTransfer {
			r.early[SubjectGate] = early{Ruling{EValue: r.evidence(), Why: wouldGoOn}, next.N}
		}
	}
}

// wouldGoOn is why there is no verdict where the record has one.
const wouldGoOn = "not decided: the rules would have gone on"

// compare sets what the rules say beside what was recorded.
func (r *replay) compare(subject string, was Ruling) {
	found, now := r.ruling()
	round := 0
	switch first, noted := r.early[subject]; {
	case noted:
		now, round = first.ruling, first.round
	case found != subject:
		now = Ruling{EValue: r.evidence(), Why: wouldGoOn}
		if found != "" {
			now.Why = "not decided: the campaign would have ended"
		}
		if r.halts() {
			now.Why = "not decided: the campaign would have been halted"
		}
	}
	delete(r.early, subject)
	if !sameRuling(was, now) {
		r.out.Verdicts = append(r.out.Verdicts, NewVerdict{subject, was, now, round})
	}
}

// ruling is what the rules decide now, and about what; no subject where they
// would go on. A stop that the record does not have is noted and passed over.
func (r *replay) ruling() (string, Ruling) {
	s := r.state
	if s.stop != nil {
		r.stop(fmt.Sprintf("trial %s: %s", s.stop.ID, s.stop.Class))
		s.stop = nil
	}
	if s.leaked != nil {
		r.stop(fmt.Sprintf("trial %s: %s passed axis b, which cannot be", s.leaked.ID, s.leaked.Spec.Slot.Cell))
		s.leaked = nil
	}
	if instrumentBroken(s) != "" {
		r.stop("the champion's plugin or hook did not arrive often enough to measure with it")
	}
	for _, p := range follow(s).Append {
		switch p := p.(type) {
		case Decided:
			return p.Candidate, rulingOf(p)
		case Ended:
			return SubjectGate, rulingOf(p)
		case Halted:
			r.stop(p.Reason)
		}
	}
	return "", Ruling{}
}

// halts reports whether the rules would halt here.
func (r *replay) halts() bool {
	for _, p := range follow(r.state).Append {
		if _, ok := p.(Halted); ok {
			return true
		}
	}
	return false
}

func (r *replay) stop(why string) {
	if !r.stops[why] {
		r.stops[why] = true
		r.out.Stops = append(r.out.Stops, why)
	}
}

// evidence is that of the comparison under way.
func (r *replay) evidence() *float64 {
	if r.state.Comparison == nil {
		return nil
	}
	return r.state.Comparison.eValue()
}

func rulingOf(p Payload) Ruling {
	switch p := p.(type) {
	case Decided:
		return Ruling{Verdict: p.Verdict, Reason: p.Reason, EValue: p.EValue}
	case Ended:
		return Ruling{Outcome: p.Outcome, EValue: p.EValue}
	}
	return Ruling{}
}
