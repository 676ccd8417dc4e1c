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
		st.contest("c001")
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
