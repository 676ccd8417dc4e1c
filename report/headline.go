package report

import (
	"fmt"

	"loopd/loop"
)

// Headline is the one sentence on top, the verdict first: how a campaign ended, or
// how far it is.
func Headline(s *loop.State) string {
	switch {
	case s.Halted != nil:
		return "halted: " + s.Halted.Reason
	case s.Ended != nil:
		return endHeadline(s)
	case s.Paused != nil:
		return "paused: " + s.Paused.Reason
	default:
		return fmt.Sprintf("under way: %s, %d of %d sessions used", s.Phase, s.Sessions(), s.Budget())
	}
}

func endHeadline(s *loop.State) string {
	if s.Vetoed != nil {
		return fmt.Sprintf("vetoed by hand: %s (it was %s)", s.Vetoed.Reason, s.Ended.Outcome)
	}
	switch s.Ended.Outcome {
	case loop.Promoted:
		if s.Withdrawn(loop.SubjectGate) {
			return fmt.Sprintf("withdrawn: %s was promoted with E = %s at the gate, which does not hold by the rules it was scored again by", names(s.Kept), number(*s.Ended.EValue))
		}
		return fmt.Sprintf("promoted: %s, E = %s at the gate", names(s.Kept), number(*s.Ended.EValue))
	case loop.Unconfirmed:
		e := 1.0
		if s.Ended.EValue != nil {
			e = *s.Ended.EValue
		}
		return fmt.Sprintf("unconfirmed: %s kept, the gate reached E = %s of %s", names(s.Kept), number(e), number(s.Started.Settings.PromoteAt))
	case loop.NothingMeasured:
		return "nothing measured: " + s.Ended.Why
	default:
		return "no change: " + s.Ended.Why
	}
}
