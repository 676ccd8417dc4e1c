package rehearsal

import (
	"path/filepath"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

// What wins some cells by doing the same in every session loses by what it does
// elsewhere: naming every record fails the questions about one, and a record that
// nobody asked for is a detour where nothing is to be decided.
func TestGamingIsNotKept(t *testing.T) {
	testenv.NightlyOnly(t, "two whole rehearsals")
	t.Parallel()
	ends := map[Kind]loop.Reason{Shotgun: loop.ByFutility, AlwaysWrite: loop.ByVeto}
	for kind, reason := range map[Kind]string{Shotgun: "shotgun", AlwaysWrite: "detour"} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := Setup{Seed: 5, Agent: StandIn, Profile: loop.Fast, Kinds: []Kind{kind}, Sessions: 120, Scenarios: []string{"W3", "R2", "N1"}}
			o := options(s, filepath.Join(testenv.OpenDir(t), "work"))
			told := 0
			o.Observe = func(s *loop.State, e loop.Event) {
				p, ok := e.Payload.(loop.Recorded)
				if ok && p.Trial.Class == harness.Valid && s.CandidateOf(p.Trial.Spec.Slot.Wording) == "c001" && strings.Contains(strings.Join(p.Trial.Result.Reasons(), " "), reason) {
					told++
				}
			}
			r, err := Run(t.Context(), o)
			testenv.Must(t, err)
			if len(r.Candidates) != 1 || r.Candidates[0].Reason != ends[kind] || r.Mismatches != 0 || r.Outcome != loop.NoChange || told == 0 {
				t.Errorf("got %+v, outcome %q, %d mismatches, %d sessions that fail for %s", r.Candidates, r.Outcome, r.Mismatches, told, reason)
			}
		})
	}
}

// What games the metric is planted where it is named, and nowhere else.
func TestKindsArePlantedByName(t *testing.T) {
	t.Parallel()
	for _, name := range suiteNames(t) {
		suite := suiteOf(t, name)
		p, err := ReadPlanting(suite, AlwaysWrite, Shotgun)
		if err != nil || len(p.Sown) != 2 {
			t.Errorf("%s: got %d candidates, %v, want two", name, len(p.Sown), err)
		}
		if _, err := ReadPlanting(suite, Duplicate); err == nil || !strings.Contains(err.Error(), "can stand alone") {
			t.Errorf("%s: nothing to repeat: got %v", name, err)
		}
	}
}
