package daemon

import (
	"time"
)

// Schedule gives the next start after a moment, zero for never.
type Schedule interface {
	Next(after time.Time) time.Time
}

// Windows are the stretches of time in which a campaign may run.
type Windows struct {
	Starts []Schedule
	// End is when the window that begins then ends.
	End func(start time.Time) time.Time
}

// overdue bounds how long ago a window may have begun that is still opened: the
// machine slept, or loopd was started within it.
const overdue = 24 * time.Hour

// Next is the window to open after the one that began at last: one that should
// be open now, else the next to begin. Of several that should be open the newest
// counts. The second result is false when none will ever begin.
func (w Windows) Next(now, last time.Time) (Window, bool) {
	from := now.Add(-overdue)
	// A start far ahead was noted by a clock that was wrong.
	if last.After(from) && last.Before(now.Add(overdue)) {
		from = last
	}
	var open, next Window
	for _, s := range w.Starts {
		for at := s.Next(from); !at.IsZero(); at = s.Next(at) {
			found := Window{Start: at, End: w.End(at)}
			if at.After(now) {
				if next.Start.IsZero() || at.Before(next.Start) {
					next = found
				}
				break
			}
			if found.End.After(now) && at.After(open.Start) {
				open = found
			}
		}
	}
	if !open.Start.IsZero() {
		return open, true
	}
	return next, !next.Start.IsZero()
}
