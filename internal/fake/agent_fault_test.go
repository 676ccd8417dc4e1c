package fake_test

import (
	"os"
	"strings"
	"testing"

	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// TestFaultsOfTheProcess: what a planted fault leaves of the output, and the exit
// code.
func TestFaultsOfTheProcess(t *testing.T) {
	t.Parallel()
	for fault, want := range map[fake.AgentFault]struct {
		code  int
		lines func(kinds []string) bool
	}{
		fake.AgentFaultNone:       {0, endsIn("result")},
		fake.AgentFaultSilent:     {0, func(kinds []string) bool { return len(kinds) == 0 }},
		fake.AgentFaultExit:       {1, func(kinds []string) bool { return len(kinds) == 0 }},
		fake.AgentFaultRoot:       {1, func(kinds []string) bool { return len(kinds) == 1 }},
		fake.AgentFaultHasty:      {1, func(kinds []string) bool { return len(kinds) == 0 }}, // this test's prompt is no file
		fake.AgentFaultNoResult:   {0, func(kinds []string) bool { return !endsIn("result")(kinds) && len(kinds) > 4 }},
		fake.AgentFaultShort:      {0, endsIn("user")},
		fake.AgentFaultRefusal:    {1, endsIn("result")},
		fake.AgentFaultBackground: {0, endsIn("result")},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, goodHook)
			testenv.Must(t, os.WriteFile(r.path("cfg/"+fake.AgentFaultFile), []byte(fault), 0o644))
			o := inProcess(r)
			if o.code != want.code || !want.lines(o.kinds()) {
				t.Errorf("exit %d, want %d; lines %v", o.code, want.code, o.kinds())
			}
		})
	}
}

// endsIn says whether the last line is of that type.
func endsIn(last string) func(kinds []string) bool {
	return func(kinds []string) bool { return len(kinds) > 0 && strings.HasPrefix(kinds[len(kinds)-1], last) }
}
