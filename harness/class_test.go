package harness

import "testing"

func TestEveryClassHasOneFate(t *testing.T) {
	seen := make(map[Class]bool)
	for _, c := range Classes() {
		if seen[c] {
			t.Errorf("%s is listed twice", c)
		}
		seen[c] = true
		if (c.Fate() == FateCount) != (c == Valid) {
			t.Errorf("%s has the fate %s: only valid counts", c, c.Fate())
		}
		if c.Lifts() && c.Fate() != FateHalt {
			t.Errorf("%s lifts and does not halt", c)
		}
	}
	for class, want := range map[Class]Fate{RateLimit: FatePause, UsageLimit: FatePause, Disk: FatePause, Auth: FateHalt, DriftedSeal: FateHalt, Overloaded: FateRetry, Hang: FateRetry} {
		if got := class.Fate(); got != want {
			t.Errorf("%s: fate %s, want %s", class, got, want)
		}
	}
}

func TestTrialIDsDiffer(t *testing.T) {
	a := Spec{Campaign: "c", Slot: Slot{Wording: "w", Cell: Cell{"R1", "haiku"}, Rep: 1}, Attempt: 1}
	ids := map[string]string{a.TrialID(): "base"}
	for name, b := range map[string]Spec{
		"campaign": {Campaign: "d", Slot: a.Slot, Attempt: 1}, "attempt": {Campaign: "c", Slot: a.Slot, Attempt: 2},
		"rep":  {Campaign: "c", Slot: Slot{Wording: "w", Cell: a.Slot.Cell, Rep: 2}, Attempt: 1},
		"cell": {Campaign: "c", Slot: Slot{Wording: "w", Cell: Cell{"R1", "sonnet"}, Rep: 1}, Attempt: 1},
	} {
		if other, ok := ids[b.TrialID()]; ok {
			t.Errorf("another %s gives the id of %s", name, other)
		}
		ids[b.TrialID()] = name
	}
	if again := a.TrialID(); len(again) != 16 || ids[again] != "base" {
		t.Errorf("id %q is not a stable 16 digits", a.TrialID())
	}
}
