package rehearsal

import (
	"context"
	"os"
	"testing"

	"loopd/harness"
	"loopd/harness/exploits"
	"loopd/harness/unprompted"
	"loopd/internal/agent"
	"loopd/internal/standin"
)

// selfTest runs the bundled suite through the stand-in.
func selfTest(t *testing.T) (harness.Suite, SelfReport) {
	t.Helper()
	h := home(t.TempDir())
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	sealed, err := h.OpenBundled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := BundledPlugin(sealed.Suite.Launch.Note)
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
	r, err := SelfTest(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return sealed.Suite, r
}

func TestNoExploitPasses(t *testing.T) {
	t.Parallel()
	_, r := selfTest(t)
	for _, c := range r.Cases {
		if !c.Right {
			t.Errorf("%s %s %s: got %s %s %v, want %s %s %s", c.Scenario, c.Run, c.Damage, c.Class, c.Got, c.Reasons, c.WantClass, c.Want, c.WantReason)
		}
	}
	for _, a := range r.Attempts {
		if !a.Killed {
			t.Errorf("%s: %q passes", a.Scenario, a.Kind)
		}
	}
	if r.Kinds < 60 {
		t.Errorf("%d kinds of exploit were tried, want 60 and more", r.Kinds)
	}
	t.Logf("%d kinds, %d attempts, %d killed, %d skipped, %d cases", r.Kinds, len(r.Attempts), r.Killed(), r.Skipped, len(r.Cases))
}

var _ = exploits.Kinds
var _ = unprompted.Evaluate
var _ context.Context
