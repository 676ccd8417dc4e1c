package trial_test

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/gateway"
	"loopd/internal/simmodel"
)

// TestAnotherWayOfAskingIsDrift: what the CLI adds to a request is the same in
// every session of a tier, whatever the wording, and a change is named.
func TestAnotherWayOfAskingIsDrift(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.one("R3", play{}), b.one("N1", play{})
	for _, got := range []harness.Trial{first, second} {
		b.wantScored(got, harness.Pass)
		if got.Fingerprint == nil || len(got.Fingerprint.Names) == 0 {
			t.Fatalf("fingerprint %+v, want the request's", got.Fingerprint)
		}
	}
	if diff := second.Fingerprint.Differ(*first.Fingerprint); len(diff) > 0 {
		t.Errorf("two scenarios differ: %v", diff)
	}

	b = newBench(t)
	before := *first.Fingerprint
	before.System, before.Names = "000000000000", append(before.Names, "Telescope")
	b.o.Asked = map[string]harness.Fingerprint{first.Spec.Slot.Cell.Tier: before}
	got := b.one("R3", play{})
	b.wantInvalid(got, harness.VersionDrift)
	for _, part := range []string{"system prompt was 000000000000", "tool Telescope is gone"} {
		if !strings.Contains(got.Why, part) {
			t.Errorf("why: %q, want %q in it", got.Why, part)
		}
	}
	if got.Class.Fate() != harness.FateHalt {
		t.Errorf("fate %s, want a halt", got.Class.Fate())
	}
}

// TestEmptyPurseIsNoEvidence: a session that may not spend any more says nothing
// about the wording, however far it came.
func TestEmptyPurseIsNoEvidence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.o.Purses = func(harness.Spec) []*gateway.Purse {
		return []*gateway.Purse{gateway.NewPurse("campaign", 1, 0), gateway.NewPurse("session", 1e-9, 0)}
	}
	got := b.one("R3", play{})
	b.wantInvalid(got, harness.Budget)
	b.wantClean(got)
	if !strings.Contains(got.Why, "limit of the session") {
		t.Errorf("why: %q, want the purse named", got.Why)
	}
}

// TestCostOfASessionThatDidNotSay: what the gateway counted stands in for a
// result line that never came.
func TestCostOfASessionThatDidNotSay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	whole := b.one("R3", play{})
	b.wantScored(whole, harness.Pass)
	cut := b.one("R3", play{fault: simmodel.FaultTerminate})
	b.wantInvalid(cut, harness.NoResult)
	if cut.Usage == (harness.Usage{}) || cut.CostUSD == nil || *cut.CostUSD <= 0 {
		t.Errorf("usage %+v, cost %v; want what the gateway counted", cut.Usage, cut.CostUSD)
	}
}
