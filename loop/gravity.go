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
