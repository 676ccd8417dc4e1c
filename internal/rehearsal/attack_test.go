package rehearsal

import (
	"context"
	"os"
	"slices"
	"testing"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// fabricateBundled runs a bundled suite through the stand-in.
func fabricateBundled(t *testing.T, suite string) fabricated {
	t.Helper()
	h := home(t.TempDir())
	testenv.Must(t, h.Make())
	sealed, err := h.OpenBundledSuite(t.Context(), suite)
	testenv.Must(t, err)
	w, err := BundledPlugin(sealed.Suite)
	testenv.Must(t, err)
	o := SelfTestOptions{
		Suite: sealed.Suite, Wording: w, Parallel: 2,
		Binary: agent.Binary{Path: "/proc/self/exe", Version: fake.AgentVersion, SHA256: "standin"},
	}
	if os.Geteuid() == 0 {
		o.Isolation.UID = nobody
	}
	f, err := fabricate(t.Context(), o)
	testenv.Must(t, err)
	return f
}

// TestExploits sends every exploit through the rules as they are, and through
// rules with one of them loosened: then some must get through, or the exploits
// show nothing.
func TestExploits(t *testing.T) {
	t.Parallel()
	damages := map[string]int{"os-adr": 20, "nine-skills": 6} // without records and note fewer fit
	for _, name := range suiteNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fabricateBundled(t, name)
			attacked(t, f, damages[name])
			loosened(t, name, f)
		})
	}
}

// attacked wants every exploit killed and every damage seen for what it is.
func attacked(t *testing.T, f fabricated, fewest int) {
	t.Helper()
	r, err := f.attack(t.Context(), scorerOf(f.suite), 2)
	testenv.Must(t, err)
	for _, c := range r.Cases {
		if !c.Right {
			t.Errorf("%s %s %s: got %s %s %v, want %s %s %s", c.Scenario, c.Run, c.Damage, c.Class, c.Got, c.Reasons, c.WantClass, c.Want, c.WantReason)
		}
	}
	for _, a := range r.Attempts {
		if a.Class == harness.StalePlugin && a.Kind != "launched: another plugin of our name" {
			t.Errorf("%s of %s dies of another attempt's fault", a.Kind, a.Scenario)
		}
		if !a.Killed {
			t.Errorf("%s: %q passes", a.Scenario, a.Kind)
		}
	}
	if r.Kinds < 60 || r.Kinds > len(fake.ExploitNames()) {
		t.Errorf("%d of %d kinds of exploit were tried, want 60 and more", r.Kinds, len(fake.ExploitNames()))
	}
	if r.Skipped == 0 || len(r.Attempts)+r.Skipped != len(fake.ExploitNames())*len(f.grounds) {
		t.Errorf("%d attempts and %d skipped of %d kinds and %d scenarios", len(r.Attempts), r.Skipped, len(fake.ExploitNames()), len(f.grounds))
	}
	damage := make(map[string]bool)
	for _, c := range r.Cases {
		damage[c.Damage] = true
	}
	if len(damage)-1 < fewest || fewest == 0 { // the undamaged are among them
		t.Errorf("%d kinds of damage were done, want %d and more", len(damage)-1, fewest)
	}
}

// loosening takes one rule away, in the suite or in what is known of a run.
type loosening func(s *harness.Suite, run *fake.Fabricated)

// loosenings are by suite; each is tried on scenarios of different kinds.
func loosenings(suite string) (scenarios []string, by map[string]loosening) {
	by = map[string]loosening{
		"nothing is known of what was served": func(_ *harness.Suite, r *fake.Fabricated) { r.External.Served = nil },
	}
	if suite == "nine-skills" {
		yes := true
		by["any skill is the right one"] = func(_ *harness.Suite, r *fake.Fabricated) {
			if r.Scenario.Role != harness.Guard {
				r.Scenario.Expect.A = []harness.Assertion{{Consults: &yes}}
			}
		}
		by["no skill is a detour"] = func(s *harness.Suite, _ *fake.Fabricated) { s.Checker.Consult = []harness.Assertion{{Command: "none"}} }
		return []string{"O1", "D1", "N1"}, by
	}
	by["any number of ids may be cited"] = func(s *harness.Suite, _ *fake.Fabricated) { s.Checker.Citation.MaxLive = 0 }
	by["any program consults"] = func(s *harness.Suite, _ *fake.Fabricated) { s.Checker.Consult = []harness.Assertion{{Command: "*"}} }
	by["any note will do"] = func(_ *harness.Suite, r *fake.Fabricated) { r.Want.NoteText = "" }
	by["any old file is a new record"] = func(_ *harness.Suite, r *fake.Fabricated) { r.Start = harness.Tree{} }
	return []string{"R2", "W1", "N1"}, by
}

// loosened attacks some scenarios by rules with one taken away.
func loosened(t *testing.T, suite string, f fabricated) {
	t.Helper()
	kept, by := loosenings(suite)
	f.grounds = slices.DeleteFunc(slices.Clone(f.grounds), func(g fake.Pair) bool { return !slices.Contains(kept, g.Scenario.ID) })
	if len(f.grounds) != len(kept) {
		t.Fatalf("%d of %d scenarios", len(f.grounds), len(kept))
	}
	for name, loosen := range by {
		r, err := f.attack(t.Context(), func(ctx context.Context, s harness.Suite, run fake.Fabricated) (harness.Class, harness.Result, error) {
			loosen(&s, &run)
			return scorerOf(s)(ctx, s, run)
		}, 2)
		testenv.Must(t, err)
		if passes := len(r.Attempts) - r.Killed(); passes == 0 {
			t.Errorf("%s: no exploit passes", name)
		}
	}
}
