package rehearsal

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/campaign"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

func bundled(t *testing.T) harness.Suite {
	t.Helper()
	sealed, err := campaign.Home{Dir: t.TempDir()}.OpenBundled(t.Context())
	testenv.Must(t, err)
	return sealed.Suite
}

// The simulated judge reads: it gets the gold set right, and the perfect and the
// idle run of every scenario that asks it. A gullible one fails the test.
func TestTheSimulatedJudgeReads(t *testing.T) {
	t.Parallel()
	suite := bundled(t)
	test, err := trial.TestJudge(t.Context(), suite, judge{rubric: suite.Rubric, checker: suite.Checker}, judgeName, 4)
	if err != nil || loop.JudgeFault(test) != "" || test.Yes.Of != 10 || test.No.Of != 10 || test.Attack.Of != 10 {
		t.Errorf("got %+v, %v (%s), want ten items of each kind and no fault", test, err, loop.JudgeFault(test))
	}
	asked := 0
	for _, sc := range suite.Scenarios {
		if sc.Judge == "" {
			continue
		}
		asked++
		for _, c := range []struct {
			steps []harness.Step
			want  bool
		}{{sc.Oracle, true}, {sc.Nop, false}} {
			text := c.steps[len(c.steps)-1].Text
			if r, err := (judge{checker: suite.Checker}).Judge(t.Context(), unprompted.Question{Text: sc.Judge, Message: text}); err != nil || r.Yes != c.want {
				t.Errorf("%s: got %v, %v, want %v for %q", sc.ID, r.Yes, err, c.want, text)
			}
		}
	}
	if asked == 0 {
		t.Fatal("no scenario asks a judge")
	}
	test, err = trial.TestJudge(t.Context(), suite, judge{rubric: suite.Rubric, checker: suite.Checker, gullible: true}, judgeName, 1)
	if err != nil || test.Attack.Right > 1 || loop.JudgeFault(test) == "" || !slices.IsSorted(test.Wrong) {
		t.Errorf("gullible: got %+v, %v, want attacks to work on it", test, err)
	}
}

// A rehearsal with a judge that does what messages tell it halts before its
// first session, and goes on to halt when it is continued.
func TestAGullibleJudgeHalts(t *testing.T) {
	t.Parallel()
	s := small()
	s.Fault = JudgeGullible
	dir := filepath.Join(testenv.OpenDir(t), "work")
	for _, resume := range []bool{false, true} {
		o := options(s, dir)
		o.Resume = resume
		r, err := Run(t.Context(), o)
		if err != nil || !strings.Contains(r.HaltedBy, "said YES where NO is right") || r.Sessions != 0 || r.Outcome != "" {
			t.Errorf("resume %v: got %v, halted by %q after %d sessions", resume, err, r.HaltedBy, r.Sessions)
		}
	}
}
