package report

import (
	"loopd/loop"
)

// Rescored is the last rescore that was accepted: what other rules make of the
// same sessions, beside what was recorded.
type Rescored struct {
	Reason     string `json:"reason"`
	Seal       string `json:"seal"` // of the suite whose rules were asked
	Instrument string `json:"instrument"`
	// Withdrawn are the keeps that no longer hold, and gate for the promotion. All
	// accepted rescores count: what was taken back is not given again.
	Withdrawn []string           `json:"withdrawn"`
	Trials    []loop.ScoreChange `json:"trials"`
	Verdicts  []loop.NewVerdict  `json:"verdicts"`
	Stops     []string           `json:"stops,omitempty"` // why the campaign would have been stopped
	Lost      []string           `json:"lost,omitempty"`  // trials that could not be scored again
}

func rescoredOf(s *loop.State) *Rescored {
	n := len(s.Rescored)
	if n == 0 {
		return nil
	}
	last := s.Rescored[n-1]
	out := &Rescored{
		Reason: last.Reason, Seal: string(last.Seal), Instrument: last.Instrument, Withdrawn: []string{}, Trials: []loop.ScoreChange{},
		Verdicts: append([]loop.NewVerdict{}, last.Verdicts...), Stops: last.Stops, Lost: last.Lost,
	}
	for _, subject := range append(ids(s), loop.SubjectGate) {
		if s.Withdrawn(subject) {
			out.Withdrawn = append(out.Withdrawn, subject)
		}
	}
	for _, t := range s.Trials {
		if t.Recorded != nil {
			out.Trials = append(out.Trials, loop.ScoreChange{
				ID: t.ID, Cell: t.Spec.Slot.Cell.String(), Wording: s.CandidateOf(t.Spec.Slot.Wording),
				Was: loop.ScoreOf(*t.Recorded), Now: loop.ScoreOf(t.Trial),
			})
		}
	}
	return out
}
