package loop

import "loopd/harness"

// The severity of a class that stops the campaign. Of several trials side by side
// the most severe decides, in whatever order they end.
const (
	severityPause = iota + 1
	severityLifts
	severityHalt
)

func severity(c harness.Class) int {
	switch {
	case c.Lifts():
		return severityLifts
	case c.Fate() == harness.FateHalt:
		return severityHalt
	case c.Fate() == harness.FatePause:
		return severityPause
	}
	return 0
}

// FromOutside reports whether a class is of a limit or of the user's account: it is
// charged to no slot and counted for no arm, and so says nothing of a wording.
func FromOutside(c harness.Class) bool {
	g := severity(c)
	return g == severityPause || g == severityLifts
}

// weigh keeps the most severe trial that stops the campaign.
func (s *State) weigh(t harness.Trial) {
	if g := severity(t.Class); g > 0 && (s.stop == nil || g > severity(s.stop.Class)) {
		s.stop = &t
	}
}

// silentAtMost is how many sessions in a row may print nothing, as an agent
// does that has lost its login and does not say so.
const silentAtMost = 4

// silence counts the sessions in a row that printed nothing, and reports whether
// that is one too many for chance.
func (s *State) silence(t harness.Trial) bool {
	if t.Class != harness.NoOutput {
		s.silent = 0
		return false
	}
	s.silent++
	return s.silent > silentAtMost
}
