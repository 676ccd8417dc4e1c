package loop

import "loopd/harness"

// How grave a class is that stops the campaign. Of several trials side by side
// the gravest decides, in whatever order they end.
const (
	gravityPause = iota + 1
	gravityLifts
	gravityHalt
)

func gravity(c harness.Class) int {
	switch {
	case c.Lifts():
		return gravityLifts
	case c.Fate() == harness.FateHalt:
		return gravityHalt
	case c.Fate() == harness.FatePause:
		return gravityPause
	}
	return 0
}

// FromOutside says whether a class is of a limit or of the user's account: it is
// charged to no slot and counted for no arm, and so says nothing of a wording.
func FromOutside(c harness.Class) bool {
	g := gravity(c)
	return g == gravityPause || g == gravityLifts
}

// weigh keeps the gravest trial that stops the campaign.
func (s *State) weigh(t harness.Trial) {
	if g := gravity(t.Class); g > 0 && (s.stop == nil || g > gravity(s.stop.Class)) {
		s.stop = &t
	}
}

// silentAtMost is how many sessions in a row may print nothing, as an agent
// does that has lost its login and does not say so.
const silentAtMost = 4

// silence counts the sessions in a row that printed nothing, and says whether
// that is one too many for chance.
func (s *State) silence(t harness.Trial) bool {
	if t.Class != harness.NoOutput {
		s.silent = 0
		return false
	}
	s.silent++
	return s.silent > silentAtMost
}
