package loop

import (
	"fmt"
	"slices"
	"time"

	"loopd/harness"
	"loopd/stats"
)

// Apply adds one event to the state. An event that cannot follow is an error
// and leaves the state as it was: the ledger it came from is not one of ours.
func (s *State) Apply(e Event) error {
	if s.Started.Campaign == "" {
		if _, ok := e.Payload.(Started); !ok {
			return fmt.Errorf("apply %s: the campaign has not started", e.Payload.Kind())
		}
	}
	if err := s.apply(e); err != nil {
		return err
	}
	if s.StartedAt.IsZero() {
		s.StartedAt = e.Time
	}
	s.ChangedAt = e.Time
	return nil
}

func (s *State) apply(e Event) error {
	switch p := e.Payload.(type) {
	case Started:
		return s.applyStarted(p)
	case Queued:
		s.Progress = append(s.Progress, &Progress{Candidate: p.Candidate})
	case Committed:
		return s.applyCommitted(p)
	case Planned:
		return s.applyPlanned(p)
	case Recorded:
		return s.applyRecorded(p)
	case Closed:
		return s.applyClosed(p)
	case Decided:
		return s.applyDecided(p, e.Time)
	case Paused:
		s.Paused = &p
		if s.stop != nil && severity(s.stop.Class) == severityPause {
			s.stop = nil // a halt that is due outlives the end of a window
		}
	case Resumed:
		if s.Halted != nil && !s.Halted.Lifts() {
			return fmt.Errorf("apply %s: the halt does not lift: %s", p.Kind(), s.Halted.Reason)
		}
		if s.Halted != nil && s.Halted.Class == harness.JudgeError {
			s.JudgeTest = nil // and so tested again
		}
		s.Paused, s.Halted = nil, nil
		s.lifted++
		s.silent = 0
	case Halted:
		s.Halted, s.stop = &p, nil
	case JudgeTested:
		return s.applyJudgeTested(p)
	case Proposed:
		return s.applyProposed(p)
	case Unparked:
		return s.applyUnparked(p)
	case Finished:
		s.finished = true
	case Extended:
		return s.applyExtended(p)
	case Rescored:
		return s.applyRescored(p)
	case Vetoed:
		return s.applyVetoed(p)
	case Adopted:
		return s.applyAdopted(p)
	case Ended:
		s.Ended, s.EndedAt, s.Phase = &p, e.Time, Done
		s.Comparison, s.open = nil, false
	}
	return nil
}

func (s *State) applyStarted(p Started) error {
	if s.Started.Campaign != "" {
		return fmt.Errorf("apply %s: %s is under way", p.Kind(), s.Started.Campaign)
	}
	s.Started, s.Phase, s.Champion = p, Pilot, p.Start
	s.Baseline = newBaseline(len(p.Objective), len(p.Guards))
	return nil
}

func newBaseline(objective, guards int) Baseline {
	return Baseline{
		Pilot: make([]stats.Count, objective), Pool: make([][]bool, objective), Guard: make([][]bool, guards),
	}
}

func (s *State) applyCommitted(p Committed) error {
	if p.Candidate == SubjectAA {
		s.AAArm, s.AAArmRef = p.Commit, p.Ref
		return nil
	}
	prog := s.Find(p.Candidate)
	if prog == nil || prog.Decided != nil || s.Comparison != nil {
		return fmt.Errorf("apply %s: %s cannot be tried now", p.Kind(), p.Candidate)
	}
	prog.Commit, prog.Ref, prog.Parent = p.Commit, p.Ref, p.Parent
	if _, taken := s.owners[p.Commit]; !taken {
		s.owners[p.Commit] = p.Candidate
	}
	s.Comparison = s.newComparison(p.Candidate, p.Commit, s.Champion, targetWeights(s.Started.Objective, prog.Candidate.Targets), s.Baseline)
	if prog.Candidate.Simplify {
		s.Comparison.D0 = -s.Started.Settings.Simplify
	}
	prog.Comparison = s.Comparison
	return nil
}

// applyUnparked goes on with a comparison where it was left.
func (s *State) applyUnparked(p Unparked) error {
	prog := s.Find(p.Candidate)
	if prog == nil || !s.resumable(prog) || s.Comparison != nil {
		return fmt.Errorf("apply %s: %s cannot be gone on with", p.Kind(), p.Candidate)
	}
	prog.Decided = nil
	s.Comparison = prog.Comparison
	s.Comparison.Began, s.Comparison.Share = s.Comparison.Sessions, s.Started.Settings.Search().Share(s.Sessions(), s.decided())
	s.Comparison.GuardBase = slices.Clone(s.Baseline.Guard)
	s.Comparison.Stale = s.Comparison.Stale || s.Baseline.Watch.Alarm
	return nil
}

// applyExtended takes up a gate again whose budget had ended. Its evidence goes
// on: wording, instrument and weights are the same.
func (s *State) applyExtended(p Extended) error {
	if !s.GateOpen() || p.Sessions <= 0 {
		return fmt.Errorf("apply %s: no gate is waiting for more sessions", p.Kind())
	}
	if s.GateComparison == nil { // not one round was within the budget
		s.GateComparison = s.gateComparison()
	}
	s.Ended, s.Phase, s.Comparison = nil, Gate, s.GateComparison
	s.extra += p.Sessions
	return nil
}

func (s *State) applyPlanned(p Planned) error {
	if s.open || p.Round.N != len(s.Rounds)+1 {
		return fmt.Errorf("apply %s: round %d cannot follow", p.Kind(), p.Round.N)
	}
	if why := s.invalidRound(p.Round); why != "" {
		return fmt.Errorf("apply %s: round %d: %s", p.Kind(), p.Round.N, why)
	}
	if p.Round.Subject == SubjectGate && s.Comparison == nil {
		s.Phase = Gate
		s.Comparison = s.gateComparison()
		s.GateComparison = s.Comparison
	}
	if p.Round.Subject == SubjectTransfer {
		s.Phase = Transfer
	}
	for _, sl := range p.Round.Slots {
		key := s.repKey(sl.Wording, sl.Cell)
		s.reps[key] = max(s.reps[key], sl.Rep)
	}
	s.Rounds, s.open = append(s.Rounds, p.Round), true
	s.countGuardAsks(p.Round)
	return nil
}

// countGuardAsks charges the reps of a guard round when it is planned, so that
// a cell whose reps keep coming back invalid still comes to an end.
func (s *State) countGuardAsks(r Round) {
	if r.Purpose != ForGuard {
		return
	}
	for _, sl := range r.Slots {
		if sl.Wording != s.Comparison.Wording {
			continue
		}
		switch i := slices.Index(s.Started.Objective, sl.Cell); {
		case i >= 0:
			s.Comparison.Extra[i]++
		case slices.Contains(s.Started.Controls, sl.Cell):
			s.Comparison.Controlled = true
		default:
			s.Comparison.Detours[sl.Cell.Tier]++
		}
	}
}

func (s *State) applyRecorded(p Recorded) error {
	t := p.Trial
	r := s.round()
	if r == nil || !slices.Contains(r.Slots, t.Spec.Slot) {
		return fmt.Errorf("apply %s: trial %s belongs to no open slot", p.Kind(), t.ID)
	}
	sl := s.slotOf(t.Spec.Slot)
	if sl.resolved {
		return fmt.Errorf("apply %s: slot of trial %s is counted already", p.Kind(), t.ID)
	}
	if t.Spec.Campaign != s.Started.Campaign || t.Spec.Attempt != sl.recorded+1 {
		return fmt.Errorf("apply %s: trial %s is attempt %d of campaign %s, attempt %d of %s is due", p.Kind(), t.ID, t.Spec.Attempt, t.Spec.Campaign, sl.recorded+1, s.Started.Campaign)
	}
	if t.Result.Kind != harness.Unprompted {
		return fmt.Errorf("apply %s: trial %s has a result of kind %q, and a campaign holds results of kind %q only", p.Kind(), t.ID, t.Result.Kind, harness.Unprompted)
	}
	s.Trials = append(s.Trials, Run{Trial: t, Subject: r.Subject, Purpose: r.Purpose, Window: s.lifted + 1})
	sl.recorded++
	// Not one answer passed: where nothing listens a night would be used up in minutes.
	if s.Started.Settings.SpareUnreached && t.Class == harness.Connection && len(t.Served) == 0 {
		s.unreached++
	}
	if t.Session != "" {
		s.sessions[t.Session] = t.ID
	}
	s.countAttempt(t)
	fate := t.Class.Fate()
	s.weigh(t)
	if s.silence(t) {
		s.weigh(harness.Trial{
			ID: t.ID, Class: harness.Auth,
			Why: fmt.Sprintf("%d sessions in a row printed nothing, as an agent does that nobody is logged in to", s.silent),
		})
	}
	if s.impossible(t) {
		s.leaked = &t
	}
	if fate != harness.FatePause && !t.Class.Lifts() {
		sl.attempts++
	}
	sl.valid = t.Class == harness.Valid
	sl.pass = t.Passed()
	sl.noDetour = sl.valid && t.Result.Check(harness.AxisA).Outcome == harness.Pass
	sl.resolved = sl.valid || sl.attempts > s.Started.Settings.Retries
	if s.Comparison != nil && r.Purpose.compares() {
		s.Comparison.Sessions++
	}
	return nil
}

func (s *State) countAttempt(t harness.Trial) {
	if FromOutside(t.Class) {
		return
	}
	tr := s.triesOf(t.Spec.Slot.Wording)
	tr.all++
	if t.Class != harness.Valid {
		tr.invalid++
	}
	if t.Class.BlamesWording() {
		tr.undelivered++
		if tr.all <= earlyAttempts {
			tr.undeliveredEarly++
		}
	}
}

func (s *State) applyClosed(p Closed) error {
	r := s.round()
	if r == nil || r.N != p.Round || len(s.unresolved(*r)) > 0 {
		return fmt.Errorf("apply %s: round %d is not complete", p.Kind(), p.Round)
	}
	if r.Purpose == ForBet && len(p.Seen) != len(s.Started.Objective) {
		return fmt.Errorf("apply %s: round %d shows %d cells, the grid has %d", p.Kind(), p.Round, len(p.Seen), len(s.Started.Objective))
	}
	s.open = false
	switch r.Purpose {
	case ForPilot:
		s.AA = p.AA
		s.closePilot(*r)
	case ForTransfer:
		s.transfered = true
	case ForTopUp:
		s.closeTopUp(*r)
	default:
		s.Comparison.close(s, *r, p)
	}
	return nil
}

func (s *State) closePilot(r Round) {
	for i, cell := range s.Started.Objective {
		seen := s.outcomes(r, s.Champion, cell)
		n := min(s.Started.Settings.PilotReps, len(seen))
		s.Baseline.Pilot[i] = stats.Tally(seen[:n])
		s.Baseline.Pool[i] = slices.Clone(seen[n:])
	}
	for i, cell := range s.Started.Guards {
		s.Baseline.Guard[i] = s.detours(r, s.Champion, cell)
	}
	s.startPilot = slices.Clone(s.Baseline.Pilot)
	s.Phase = Search
}

func (s *State) closeTopUp(r Round) {
	for i, cell := range s.Started.Objective {
		s.Baseline.Pool[i] = append(s.Baseline.Pool[i], s.outcomes(r, s.Champion, cell)...)
	}
	s.topUpDue = false
}

func (s *State) applyDecided(p Decided, at time.Time) error {
	prog := s.Find(p.Candidate)
	if prog == nil || prog.Decided != nil {
		return fmt.Errorf("apply %s: %s has no verdict to come", p.Kind(), p.Candidate)
	}
	prog.Decided, prog.DecidedAt = &p, at
	c := s.Comparison
	if c == nil || c.Subject != p.Candidate {
		return nil
	}
	s.Comparison, s.open = nil, false
	if p.Verdict == Keep || p.Verdict == Shortlisted {
		s.moveChampion(c)
		return nil
	}
	// What was run fresh for this candidate is the champion's all the same.
	for i := range c.Fresh {
		s.Baseline.Pool[i] = append(s.Baseline.Pool[i], c.Fresh[i][c.Credited[i]:]...)
		c.Credited[i] = len(c.Fresh[i])
	}
	s.Baseline.Guard = c.GuardBase
	return nil
}

// moveChampion makes the candidate the champion. Its own outcomes, shuffled,
// become pilot and pool; the selection they carry is upward and so works
// against the next keep, never for it.
func (s *State) moveChampion(c *Comparison) {
	s.Champion = c.Wording
	s.Kept = append(s.Kept, c.Subject)
	s.Baseline = newBaseline(len(s.Started.Objective), len(s.Started.Guards))
	rng := newRand(s.Started.Settings.Seed, "keep", c.Subject)
	for i, own := range c.Own {
		own = slices.Clone(own)
		rng.Shuffle(len(own), func(a, b int) { own[a], own[b] = own[b], own[a] })
		n := s.Started.Settings.Search().PilotOf(len(own))
		s.Baseline.Pilot[i], s.Baseline.Pool[i] = stats.Tally(own[:n]), own[n:]
	}
	for i, own := range c.GuardOwn {
		s.Baseline.Guard[i] = slices.Clone(own)
	}
	s.topUpDue = s.Started.Settings.TopUpReps > 0
}

// outcomes lists the valid outcomes of one wording and cell in a round, in rep
// order so that the order sessions ended in does not matter.
func (s *State) outcomes(r Round, wording string, cell harness.Cell) []bool {
	return s.collect(r, wording, cell, func(sl *slot) bool { return sl.pass })
}

func (s *State) detours(r Round, wording string, cell harness.Cell) []bool {
	return s.collect(r, wording, cell, func(sl *slot) bool { return sl.noDetour })
}

func (s *State) collect(r Round, wording string, cell harness.Cell, value func(*slot) bool) []bool {
	var reps []harness.Slot
	for _, sl := range r.Slots {
		if s.canonical(sl.Wording) == s.canonical(wording) && sl.Cell == cell {
			reps = append(reps, sl)
		}
	}
	slices.SortFunc(reps, func(a, b harness.Slot) int { return a.Rep - b.Rep })
	var out []bool
	for _, sl := range reps {
		if rec := s.slotOf(sl); rec.valid {
			out = append(out, value(rec))
		}
	}
	return out
}

// impossible reports whether a trial did what cannot be done: the checker or the
// fixture gives the answer away, and nothing measured with them counts.
func (s *State) impossible(t harness.Trial) bool {
	return t.Class == harness.Valid && slices.Contains(s.Started.Impossible, t.Spec.Slot.Cell) &&
		t.Result.Check(harness.AxisB).Outcome == harness.Pass
}

// unresolved lists the slots of a round that still want an attempt.
func (s *State) unresolved(r Round) []harness.Slot {
	var out []harness.Slot
	for _, sl := range r.Slots {
		if !s.slotOf(sl).resolved {
			out = append(out, sl)
		}
	}
	return out
}
