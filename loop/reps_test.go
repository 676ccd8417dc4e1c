package loop

import (
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// TestRepsFollowWhatThePilotAndTheRoundsShow: nobody fixes the reps of a
// candidate beforehand. They begin after the pilot and end with the evidence.
func TestRepsFollowWhatThePilotAndTheRoundsShow(t *testing.T) { // req 69
	t.Parallel()
	harmful, null := 0, 0
	counts := make(map[int]bool)
	for seed := range uint64(12) {
		w := newWorld(seed + 400)
		s := w.begin(t, 900, candidate(w, "c001", lifted(-.5)), candidate(w, "c002", lifted(0)))
		testenv.Must(t, w.loop(s).Run(t.Context()))
		pilot, took, began := make(map[harness.Cell]int), make(map[string]int), false
		for _, r := range s.Trials {
			began = began || r.Subject == "c001"
			if began {
				took[string(r.Subject)]++
			} else if r.Trial.Class == harness.Valid {
				pilot[r.Trial.Spec.Slot.Cell]++
			}
		}
		for _, cell := range s.Started.Objective {
			if want := s.Started.Settings.PilotReps + s.Started.Settings.PoolReps; pilot[cell] < want {
				t.Errorf("seed %d: %s had %d reps in the pilot, want %d before a candidate", seed, cell, pilot[cell], want)
			}
		}
		counts[took["c001"]], counts[took["c002"]] = true, true
		harmful, null = harmful+took["c001"], null+took["c002"]
	}
	if harmful == 0 || harmful*3 > null*2 {
		t.Errorf("a harmful wording took %d sessions, one that changes nothing %d: want far fewer", harmful, null)
	}
	if len(counts) < 4 {
		t.Errorf("24 comparisons took only %d different numbers of sessions", len(counts))
	}
}
