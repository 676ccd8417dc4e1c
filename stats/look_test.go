package stats

import "testing"

// One failure in a single cell is no reason to stop; with a grid's first round it may be.
func TestFutilityWaitsForReps(t *testing.T) {
	t.Parallel()
	hopeless := Assessment{PGain: .01, PHarm: .99}
	for _, c := range []struct {
		cells, reps int
		want        Look
	}{{1, 3, LookGoOn}, {1, 4, LookHarm}, {2, 5, LookGoOn}, {2, 6, LookHarm}, {14, 5, LookGoOn}, {14, 6, LookHarm}} {
		r := Rules{Threshold: 5, Eta: .3, Cap: 100, MinReps: MinReps(c.cells)}
		if got := r.Look(Progress{Rounds: 1, Sessions: 10, Reps: c.reps, Assessment: hopeless}); got != c.want {
			t.Errorf("%d cells, %d reps: got %s, want %s", c.cells, c.reps, got, c.want)
		}
	}
	if got := (Rules{Threshold: 5, Eta: .3, Cap: 10, MinReps: 6}).Look(Progress{Rounds: 1, Sessions: 10, Assessment: hopeless}); got != LookSpent {
		t.Errorf("too few reps and nothing left: got %s, want spent", got)
	}
}
