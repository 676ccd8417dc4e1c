package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// TestStartUp prints how long loopd takes from its start to the end of a verb
// that has nothing to do; a nightly run measures often enough for a median
// and wants less than .2 s.
func TestStartUp(t *testing.T) {
	tries, full := testenv.Count(1, 21), testenv.Nightly()
	self, err := os.Executable()
	testenv.Must(t, err)
	var took []time.Duration
	for range tries {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Args, cmd.Dir = []string{"loopd", "version"}, t.TempDir()
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median := took[tries/2]
	t.Logf("start-up %.0f ms, at most 200 ms", median.Seconds()*1000)
	if full && median > 200*time.Millisecond {
		t.Error("loopd starts slowly")
	}
}
