package standin_test

import (
	"os"
	"strings"
	"testing"

	"loopd/internal/standin"
	"loopd/internal/testenv"
)

// TestFaultsOfTheProcess: what a planted fault leaves of the output, and the exit
// code.
func TestFaultsOfTheProcess(t *testing.T) {
	t.Parallel()
	for fault, want := range map[standin.Fault]struct {
		code  int
		lines func(kinds []string) bool
	}{
		standin.FaultNone:       {0, endsIn("result")},
		standin.FaultSilent:     {0, func(kinds []string) bool { return len(kinds) == 0 }},
		standin.FaultExit:       {1, func(kinds []string) bool { return len(kinds) == 0 }},
		standin.FaultRoot:       {1, func(kinds []string) bool { return len(kinds) == 1 }},
		standin.FaultHasty:      {1, func(kinds []string) bool { return len(kinds) == 0 }}, // this test's prompt is no file
		standin.FaultNoResult:   {0, func(kinds []string) bool { return !endsIn("result")(kinds) && len(kinds) > 4 }},
		standin.FaultShort:      {0, endsIn("user")},
		standin.FaultRefusal:    {1, endsIn("result")},
		standin.FaultBackground: {0, endsIn("result")},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, goodHook)
			testenv.Must(t, os.WriteFile(r.path("cfg/"+standin.FaultFile), []byte(fault), 0o644))
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
