package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/testenv"
)

// goldTest is a test of ten items of each kind that a judge passed.
func goldTest() harness.JudgeTest {
	full := harness.Tally{Right: 10, Of: 10}
	return harness.JudgeTest{Judge: "model", Rubric: "r", Sealed: "r", Yes: full, No: full, Attack: full}
}

func TestJudgeFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*harness.JudgeTest)
		want   string // a piece of the reason, empty for none
	}{
		"all right":           {func(*harness.JudgeTest) {}, ""},
		"one YES item missed": {func(j *harness.JudgeTest) { j.Yes.Right, j.Wrong = 9, []int{4} }, ""},
		"two YES items missed": {func(j *harness.JudgeTest) { j.Yes.Right, j.Wrong = 8, []int{4, 7} },
			"missed too many proposals (YES items 8 of 10 right; wrong: 4, 7)"},
		"one of five missed":   {func(j *harness.JudgeTest) { j.Yes, j.Wrong = harness.Tally{Right: 4, Of: 5}, []int{1} }, "missed too many"},
		"two of twenty missed": {func(j *harness.JudgeTest) { j.Yes, j.Wrong = harness.Tally{Right: 18, Of: 20}, []int{1, 2} }, ""},
		"a YES to a NO item":   {func(j *harness.JudgeTest) { j.No.Right, j.Wrong = 9, []int{12} }, "NO items 9 of 10 right, attack items 10 of 10 right; wrong: 12"},
		"a YES to an attack":   {func(j *harness.JudgeTest) { j.Attack.Right, j.Wrong = 9, []int{30} }, "attack items 9 of 10 right; wrong: 30"},
		"no answer":            {func(j *harness.JudgeTest) { j.Yes.Right, j.Unanswered = 9, []int{3} }, "no answer to gold items 3"},
		"no answer to one and wrong on another": {func(j *harness.JudgeTest) { j.Yes.Right, j.No.Right, j.Unanswered, j.Wrong = 9, 9, []int{3}, []int{11} },
			"no answer to gold items 3"},
		"another rubric": {func(j *harness.JudgeTest) { j.Rubric = "path of the rubric" }, "another rubric than the sealed one"},
		"no rubric":      {func(j *harness.JudgeTest) { j.Rubric = "" }, "another rubric"},
	} {
		j := goldTest()
		c.change(&j)
		got := JudgeFault(j)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// beginJudged starts a campaign whose judge is tested on thirty items.
func (w *world) beginJudged(t *testing.T) (*State, *Loop) {
	t.Helper()
	s := NewState()
	l := w.loop(s)
	set := DefaultSettings(400)
	set.Seed, set.MaxCandidates = w.seed, 1
	err := l.record(t.Context(), Started{
		Campaign: "t", Start: "w-start", Objective: cellsOf("R1", "R2", "R3", "W1"), Guards: cellsOf("N1"), Settings: set,
		Judged: []string{"W1"}, Gold: 30, Parts: map[string]string{JudgePart: "model"},
	}, Queued{candidate(w, "c001", lifted(.3))})
	testenv.Must(t, err)
	return s, l
}

// answering is a judge with these results, one a test.
func answering(tests ...harness.JudgeTest) func(context.Context) (harness.JudgeTest, error) {
	return func(context.Context) (harness.JudgeTest, error) {
		if len(tests) == 0 {
			return harness.JudgeTest{}, errors.New("asked once too often")
		}
		next := tests[0]
		tests = tests[1:]
		return next, nil
	}
}

func TestTheJudgeIsTestedBeforeTheFirstSession(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	s, l := w.beginJudged(t)
	l.TestJudge = answering(goldTest())
	if err := l.Run(t.Context()); err != nil || s.Ended == nil {
		t.Fatalf("got %v, ended %v", err, s.Ended)
	}
	kinds := make([]Kind, len(w.events))
	for i, e := range w.events {
		kinds[i] = e.Payload.Kind()
	}
	if kinds[2] != KindJudgeTested || slices.Index(kinds[3:], KindJudgeTested) >= 0 {
		t.Errorf("got %v…, want one test, and before anything else", kinds[:5])
	}
	if a, err := audit(t, w.events); err != nil || len(a.Wrong) > 0 {
		t.Errorf("audit: got %v, %v", a.Wrong, err)
	}
	if account(w.replay(t)) != account(s) {
		t.Error("replayed, the campaign is another")
	}
}

// A judge that failed halts before any session; resume lifts that and tests it
// again, however often, and after a crash between test and halt too.
func TestAJudgeThatFailsHaltsAndIsTestedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	_, l := w.beginJudged(t)
	bad := goldTest()
	bad.Attack.Right, bad.Wrong = 9, []int{21}
	l.TestJudge = answering(bad, bad, goldTest())
	w.stopAt = 3
	if err := l.Run(t.Context()); !errors.Is(err, errCrash) {
		t.Fatalf("got %v, want a crash before the halt is recorded", err)
	}
	w.stopAt = 0
	s := w.replay(t)
	l.State = s
	for range 2 {
		if err := l.Run(t.Context()); err != nil || s.Halted == nil || !s.Halted.Lifts() || s.Sessions() != 0 {
			t.Fatalf("got %v, halted %+v after %d sessions, want a halt that lifts, before any", err, s.Halted, s.Sessions())
		}
		if err := l.record(t.Context(), Resumed{}); err != nil || s.JudgeTest != nil {
			t.Fatalf("resume: got %v, test %+v, want another test", err, s.JudgeTest)
		}
	}
	if err := l.Run(t.Context()); err != nil || s.Ended == nil {
		t.Fatalf("got %v, want the campaign to go on with a judge that is right", err)
	}
	if a, err := audit(t, w.events); err != nil || len(a.Wrong) > 0 {
		t.Errorf("audit: got %v, %v", a.Wrong, err)
	}
}

// A window that closes and opens again asks for no second test.
func TestAPauseTestsNoJudgeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	s, l := w.beginJudged(t)
	testenv.Must(t, l.record(t.Context(), JudgeTested{goldTest()}, Paused{Reason: "window"}, Resumed{}))
	if Next(s).TestJudge || !Next(s).CommitAA {
		t.Errorf("got %+v, want the A/A pilot", Next(s))
	}
}

func TestNobodyToAskIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	_, l := w.beginJudged(t)
	if err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "test the judge") {
		t.Errorf("got %v", err)
	}
}

func TestAuditFindsAForgedTestOfTheJudge(t *testing.T) {
	t.Parallel()
	bad := goldTest()
	bad.No.Right, bad.Wrong = 8, []int{11, 12}
	record := func(test harness.JudgeTest, more ...Payload) []Event {
		w := newWorld(7)
		_, l := w.beginJudged(t)
		for _, p := range append([]Payload{JudgeTested{test}}, more...) {
			testenv.Must(t, w.Append(t.Context(), Event{Time: l.Now(), Payload: p}))
		}
		return w.events
	}
	halt := Halted{Reason: JudgeFault(bad), Class: harness.JudgeError}
	twin, err := newWorld(7).CommitAA(t.Context(), "w-start")
	testenv.Must(t, err)
	if a, err := audit(t, record(bad, halt)); err != nil || len(a.Wrong) > 0 {
		t.Fatalf("untouched: got %v, %v", a.Wrong, err)
	}
	// forged changes the test, and the halt with it.
	forged := func(change func(*harness.JudgeTest)) []Event {
		x := bad
		x.Wrong = slices.Clone(bad.Wrong)
		change(&x)
		return record(x, Halted{Reason: JudgeFault(x), Class: harness.JudgeError})
	}
	for name, events := range map[string][]Event{
		"made to pass, the halt left":      record(goldTest(), halt),
		"the halt taken out":               record(bad, twin),
		"another reason":                   record(bad, Halted{Reason: "a cloud", Class: harness.JudgeError}),
		"a halt that does not lift":        record(bad, Halted{Reason: halt.Reason}),
		"another judge":                    forged(func(j *harness.JudgeTest) { j.Judge = "another" }),
		"an item left out":                 forged(func(j *harness.JudgeTest) { j.No = harness.Tally{Right: 8, Of: 9}; j.Wrong = []int{11} }),
		"a miss that is not named":         forged(func(j *harness.JudgeTest) { j.Wrong = []int{11} }),
		"an item that is none":             forged(func(j *harness.JudgeTest) { j.Wrong = []int{11, 31} }),
		"an item named twice":              forged(func(j *harness.JudgeTest) { j.Wrong = []int{11, 11} }),
		"more right than there are":        forged(func(j *harness.JudgeTest) { j.Yes.Right, j.No.Right = 12, 6 }),
		"a second test":                    record(goldTest(), JudgeTested{goldTest()}),
		"a halt by a judge that was right": record(goldTest(), halt),
	} {
		if a, err := audit(t, events); err == nil && len(a.Wrong) == 0 {
			t.Errorf("%s was not found", name)
		}
	}
}

// A limit that keeps the judge from answering pauses, and the judge is tested
// when it has lifted.
func TestALimitedJudgePauses(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	s, l := w.beginJudged(t)
	until := l.Now().Add(time.Hour)
	l.TestJudge = func(context.Context) (harness.JudgeTest, error) {
		return harness.JudgeTest{}, &HoldError{Paused{Reason: "rate_limit", Class: harness.RateLimit, Until: until}}
	}
	if err := l.Run(t.Context()); err != nil || s.Paused == nil || !s.Paused.Lifts() || !s.Paused.Until.Equal(until) || s.JudgeTest != nil {
		t.Fatalf("got %v, paused %+v, test %+v, want a pause until %v", err, s.Paused, s.JudgeTest, until)
	}
	l.TestJudge = answering(goldTest())
	testenv.Must(t, l.record(t.Context(), Resumed{}))
	if err := l.Run(t.Context()); err != nil || s.Ended == nil {
		t.Fatalf("got %v, want the campaign to go on", err)
	}
	if a, err := audit(t, w.events); err != nil || len(a.Wrong) > 0 {
		t.Errorf("audit: got %v, %v", a.Wrong, err)
	}
}

// A word ends the test of a judge at once, and so does loopd when it stops. Nothing
// is recorded of it, and the judge is tested when the campaign goes on.
func TestAWordEndsTheTestOfAJudge(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	s, l := w.beginJudged(t)
	asks, told, drain := make(chan Request), make(chan error, 1), make(chan struct{})
	l.Requests = asks
	hangs := func(stop func()) func(context.Context) (harness.JudgeTest, error) {
		return func(ctx context.Context) (harness.JudgeTest, error) {
			stop()
			<-ctx.Done()
			return harness.JudgeTest{}, ctx.Err()
		}
	}
	l.TestJudge = hangs(func() { asks <- Request{Paused{Reason: "guests", ByHand: true}, told} })
	if err := errors.Join(l.Run(t.Context()), <-told); err != nil || s.Paused == nil || s.JudgeTest != nil {
		t.Fatalf("got %v, paused %+v, test %+v", err, s.Paused, s.JudgeTest)
	}
	testenv.Must(t, l.record(t.Context(), Resumed{}))
	l.Drain, l.TestJudge = drain, hangs(func() { close(drain) })
	if err := l.Run(t.Context()); !errors.Is(err, ErrDrained) {
		t.Fatalf("got %v, want %v", err, ErrDrained)
	}
	l.Drain, l.TestJudge = nil, answering(goldTest())
	if err := l.Run(t.Context()); err != nil || s.Ended == nil {
		t.Fatalf("got %v, want the campaign to go on", err)
	}
}
