package loop

// invalidRound says what makes a round impossible at this point. A record from outside
// may hold anything, and what is applied must not break what reads the state.
func (s *State) invalidRound(r Round) string {
	c := s.Comparison
	switch {
	case r.Purpose == ForPilot:
		return unless(s.Phase == Pilot && c == nil, "the pilot is over")
	case r.Purpose == ForTopUp:
		return unless(s.topUpDue && c == nil, "no fresh reps are due")
	case r.Purpose == ForTransfer:
		return unless(s.Phase == Gate && c != nil && !s.transfered, "the gate is not over")
	case !r.Purpose.compares():
		return "its purpose is unknown"
	case c == nil && r.Subject == SubjectGate && r.Purpose == ForBet && s.Phase == Search && len(s.Kept) > 0:
		c = s.gateComparison()
	case c == nil || c.Subject != r.Subject:
		return "nothing of the kind is under way"
	}
	return unless(r.Purpose != ForBet || fits(r, c), "its bets are not those of this grid")
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// fits reports whether a round's bets and reveals are of the comparison's cells.
func fits(r Round, c *Comparison) bool {
	n := len(c.Pool)
	if r.Bets == nil || len(r.Bets.Cells) != n || len(r.Reveals) != n {
		return false
	}
	for i, k := range r.Reveals {
		if k < 0 || k > len(c.Pool[i])-c.Revealed[i] {
			return false
		}
	}
	return true
}
