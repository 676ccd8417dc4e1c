package admission

import "time"

// unknownReset is how long a pause without an end lasts until it is tried again.
const unknownReset = 15 * time.Minute

// Due is when a pause that began at that time is to be tried again.
func Due(began, until time.Time) time.Time {
	if until.IsZero() {
		return began.Add(unknownReset)
	}
	return until.Add(time.Second) // resets are given in whole seconds
}
