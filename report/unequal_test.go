package report

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/loop"
)

// TestLimitsAreNoUnequalArms: what came of a limit or of the account is in no
// share of invalid sessions; what may be the wording's is.
func TestLimitsAreNoUnequalArms(t *testing.T) {
	t.Parallel()
	for _, class := range harness.Classes()[1:] {
		st := newStory(t)
		st.begin()
		st.compare("c001")
		s := st.state
		s.Trials = nil
		for wording, invalid := range map[string]int{startWording: 0, keptWording: 4} {
			for i := range 10 {
				tr := harness.Trial{Class: harness.Valid}
				tr.Spec.Slot.Wording = wording
				if i < invalid {
					tr.Class = class
				}
				s.Trials = append(s.Trials, loop.Run{Trial: tr})
			}
		}
		got := unequalArms(s)
		if loop.FromOutside(class) && got != "" || !loop.FromOutside(class) && !strings.Contains(got, "c001 4/10") {
			t.Errorf("%s: got %q", class, got)
		}
	}
}

// TestLimitsAreInTheTableOfInvalidTrials: left out of the warning, they are shown
// all the same.
func TestLimitsAreInTheTableOfInvalidTrials(t *testing.T) {
	t.Parallel()
	st := newStory(t)
	st.begin()
	tr := harness.Trial{Class: harness.RateLimit}
	tr.Spec.Slot.Wording = startWording
	st.state.Trials = append(st.state.Trials, loop.Run{Trial: tr})
	for _, row := range invalidOf(st.state) {
		if row.Class == harness.RateLimit {
			return
		}
	}
	t.Error("the rate limit is not in the table")
}
