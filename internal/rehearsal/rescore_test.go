package rehearsal

import (
	"context"
	"slices"
	"testing"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/loop"
)

// again scores a rehearsal's sessions by its own rules, and by rules that want
// what nobody says.
func again(h campaign.Home) (same, other campaign.Rescoring, err error) {
	suite, err := campaign.LoadSuite(h.Suite())
	if err != nil {
		return same, other, err
	}
	if same, err = campaign.Rescore(context.Background(), campaign.RescoreOptions{Home: h, Suite: suite}); err != nil {
		return same, other, err
	}
	suite.Suite.Scenarios = slices.Clone(suite.Suite.Scenarios)
	for i := range suite.Suite.Scenarios {
		sc := &suite.Suite.Scenarios[i]
		if sc.Role == harness.Objective {
			sc.Expect.B = append(slices.Clone(sc.Expect.B), harness.Assertion{Says: []string{"what nobody says"}})
		}
	}
	other, err = campaign.Rescore(context.Background(), campaign.RescoreOptions{Home: h, Suite: suite})
	return same, other, err
}

// A whole rehearsal, faults included, comes out the same by its own rules, but for
// the session that spent too much, whose record stands. By a
// rule that nothing passes every keep is gone and the gate has other evidence.
func TestRescoreOfARehearsal(t *testing.T) {
	t.Parallel()
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	if r := w.same; r.Any() || r.Differs() || len(r.Lost) > 0 || r.Scored+r.NoStream != w.result.Sessions || r.NoStream != 1 || r.Instrument != r.Recorded || r.Campaign != w.state.Started.Campaign {
		t.Errorf("by its own rules: %d of %d sessions, want all but one, instrument %.8s of %.8s: %+v", r.Scored, w.result.Sessions, r.Instrument, r.Recorded, r.Changes)
	}
	r := w.other
	passed := 0
	for _, tr := range w.state.Trials {
		if tr.Passed() && slices.Contains(w.state.Started.Objective, tr.Spec.Slot.Cell) {
			passed++
		}
	}
	if !r.Differs() || len(r.Trials) < passed || passed == 0 {
		t.Errorf("by a rule that nothing passes: %d trials differ, want %d at least", len(r.Trials), passed)
	}
	for _, id := range append(slices.Clone(w.state.Kept), loop.SubjectGate) {
		i := slices.IndexFunc(r.Verdicts, func(v loop.NewVerdict) bool { return v.Subject == id })
		if i < 0 || id != loop.SubjectGate && !r.Verdicts[i].Flips() {
			t.Errorf("%s: got %+v, want another verdict, or other evidence at the gate", id, r.Verdicts)
		}
	}
}
