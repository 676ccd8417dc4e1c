package rehearsal

import (
	"context"
	"os"
	"slices"
	"testing"

	"loopd/harness"
	"loopd/harness/exploits"
	"loopd/internal/agent"
	"loopd/internal/standin"
)

// fabricateBundled runs the bundled suite through the stand-in.
func fabricateBundled(t *testing.T) fabricated {
	t.Helper()
	h := home(t.TempDir())
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	sealed, err := h.OpenBundled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := BundledPlugin(sealed.Suite)
	if err != nil {
		t.Fatal(err)
	}
	o := SelfTestOptions{
		Suite: sealed.Suite, Wording: w, Parallel: 2,
		Binary: agent.Binary{Path: "/proc/self/exe", Version: standin.CLIVersion, SHA256: "standin"},
	}
	if os.Geteuid() == 0 {
		o.UID = nobody
	}
	f, err := fabricate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestExploits sends every exploit through the rules as they are, and through
// rules with one of them loosened: then some must get through, or the exploits
// show nothing.
func TestExploits(t *testing.T) {
	t.Parallel()
	f := fabricateBundled(t)
	r, err := f.attack(t.Context(), scorerOf(f.suite), 2)
	if err != nil {
		t.Fatal(err)
	}
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
	if r.Kinds < 60 || r.Kinds > len(exploits.Kinds()) {
		t.Errorf("%d of %d kinds of exploit were tried, want 60 and more", r.Kinds, len(exploits.Kinds()))
	}
	if r.Skipped == 0 || len(r.Attempts)+r.Skipped != len(exploits.Kinds())*len(f.grounds) {
		t.Errorf("%d attempts and %d skipped of %d kinds and %d scenarios", len(r.Attempts), r.Skipped, len(exploits.Kinds()), len(f.grounds))
	}
	damage := make(map[string]bool)
	for _, c := range r.Cases {
		damage[c.Damage] = true
	}
	if len(damage) < 20 {
		t.Errorf("%d kinds of damage were done, want 20 and more", len(damage))
	}
	loosened(t, f)
}

// loosened attacks three scenarios of different kinds: one that wants a record
// cited, one that wants a new one, and one in which none matters.
func loosened(t *testing.T, f fabricated) {
	t.Helper()
	kept := map[string]bool{"R2": true, "W1": true, "N1": true}
	f.grounds = slices.DeleteFunc(slices.Clone(f.grounds), func(g exploits.Ground) bool { return !kept[g.Scenario.ID] })
	if len(f.grounds) != len(kept) {
		t.Fatalf("%d of %d scenarios", len(f.grounds), len(kept))
	}
	for name, loosen := range map[string]func(*harness.Suite, *exploits.Run){
		"any number of ids may be cited":      func(s *harness.Suite, _ *exploits.Run) { s.Checker.Citation.MaxLive = 0 },
		"any program consults":                func(s *harness.Suite, _ *exploits.Run) { s.Checker.Consult = []harness.Assertion{{Command: "*"}} },
		"nothing is known of what was served": func(_ *harness.Suite, r *exploits.Run) { r.External.Served = nil },
		"any note will do":                    func(_ *harness.Suite, r *exploits.Run) { r.Want.NoteText = "" },
		"any old file is a new record":        func(_ *harness.Suite, r *exploits.Run) { r.Start = harness.Tree{} },
	} {
		r, err := f.attack(t.Context(), func(ctx context.Context, s harness.Suite, run exploits.Run) (harness.Class, harness.Result, error) {
			loosen(&s, &run)
			return scorerOf(s)(ctx, s, run)
		}, 2)
		if err != nil {
			t.Fatal(err)
		}
		if passes := len(r.Attempts) - r.Killed(); passes == 0 {
			t.Errorf("%s: no exploit passes", name)
		}
	}
}
