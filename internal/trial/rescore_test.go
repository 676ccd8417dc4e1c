package trial_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// again scores a kept attempt by the bench's own suite.
func (b *bench) again(suite harness.Suite, judge trial.Judge, t harness.Trial) (harness.Trial, error) {
	b.t.Helper()
	r, err := trial.NewRescorer(trial.RescoreOptions{Suite: suite, Store: b.o.Store, Judge: judge})
	testenv.Must(b.t, err)
	return r.Rescore(b.t.Context(), t)
}

// Scored again by the same rules, every session comes out to the byte as it did.
func TestRescore_SameRules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.o.Judge = &judge{answers: []string{"NO"}}
	runs := b.bothWays()
	for i, f := range []fake.Fault{fake.FaultOverloaded, fake.FaultTerminate, fake.FaultServerError} {
		runs = append(runs, direction{spec: b.spec("R1", "sonnet", i+1, play{fault: f})})
	}
	classes := make(map[harness.Class]int)
	judged := 0
	for _, got := range b.sideBySide(b.executor(), runs, 4) {
		again, err := b.again(b.o.Suite, nil, got)
		if err != nil {
			t.Fatalf("%s: %v", got.Spec.Slot.Cell, err)
		}
		testenv.Same(t, fmt.Sprint(got.Spec.Slot.Cell), got, again)
		if !trial.Scorable(got) {
			t.Errorf("%s %s left a stream and counts as if not", got.Spec.Slot.Cell, got.Class)
		}
		classes[got.Class]++
		if got.Result.JudgedBy == "judge" {
			judged++
		}
	}
	if classes[harness.Valid] < 20 || len(classes) < 3 || judged == 0 {
		t.Errorf("%v and %d judged: too little was tried", classes, judged)
	}
}

func TestRescore_Damaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.one("R2", play{})
	dir := filepath.Join(b.o.Store, good.ID)
	flip := func(name string) func(*harness.Trial, *harness.Suite) error {
		return func(*harness.Trial, *harness.Suite) error {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
	}
	without := func(name string) func(*harness.Trial, *harness.Suite) error {
		return func(*harness.Trial, *harness.Suite) error { return os.RemoveAll(filepath.Join(dir, name)) }
	}
	kept := b.kept(good.ID)
	for _, c := range []struct {
		name   string
		damage func(*harness.Trial, *harness.Suite) error
		want   string
	}{
		{"nothing", func(*harness.Trial, *harness.Suite) error { return nil }, ""},
		{"a flipped byte in the stream", flip(trial.TranscriptFile), "transcript.jsonl is not the one that was recorded"},
		{"one in the changes", flip(trial.ChangesFile), "changes.json is not the one that was recorded"},
		{"one in the launch", flip(trial.LaunchFile), "launch.json is not the one that was recorded"},
		{"no stream", without(trial.TranscriptFile), "transcript.jsonl: no such file or directory"},
		{"no changes", without(trial.ChangesFile), "changes.json: no such file or directory"},
		{"no launch", without(trial.LaunchFile), "launch.json: no such file or directory"},
		{"no folder", without(""), "transcript.jsonl: no such file or directory"},
		{"an older record", func(t *harness.Trial, _ *harness.Suite) error { t.Launch = ""; return nil }, "launch.json was not kept: the session is of an older loopd"},
		{"another fixture", func(_ *harness.Trial, s *harness.Suite) error {
			changed, err := s.Fixtures["webhook-relay"].With([]harness.Change{{Remove: "Gemfile"}})
			s.Fixtures = map[string]harness.Tree{"webhook-relay": changed, "webhook-relay-records": s.Fixtures["webhook-relay-records"]}
			return err
		}, "the session started from another project than the suite has"},
		{"a suite without it", func(_ *harness.Trial, s *harness.Suite) error { s.Scenarios = s.Scenarios[:1]; return nil }, "the suite has no scenario R2"},
	} {
		testenv.Must(t, os.MkdirAll(dir, 0o700))
		for name, data := range kept {
			testenv.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
		one, suite := good, b.o.Suite
		testenv.Must(t, c.damage(&one, &suite))
		_, err := b.again(suite, nil, one)
		lost, ok := errors.AsType[*trial.UnscorableError](err)
		if c.want == "" && err != nil || c.want != "" && (!ok || lost.Why != c.want || lost.ID != good.ID) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A changed rule changes the score of a session that was run before it.
func TestRescore_OtherRules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.one("R2", play{})
	b.wantScored(good, harness.Pass)
	with := func(change func(*harness.Suite, *harness.Scenario)) harness.Suite {
		s := b.o.Suite
		s.Scenarios = slices.Clone(s.Scenarios)
		i := slices.IndexFunc(s.Scenarios, func(sc harness.Scenario) bool { return sc.ID == "R2" })
		change(&s, &s.Scenarios[i])
		return s
	}
	for name, c := range map[string]struct {
		suite   harness.Suite
		class   harness.Class
		outcome harness.Outcome
	}{
		"nothing is consulting":     {with(func(s *harness.Suite, _ *harness.Scenario) { s.Checker.Consult = nil }), harness.Valid, harness.Fail},
		"another plugin":            {with(func(s *harness.Suite, _ *harness.Scenario) { s.Checker.Plugin = "other" }), harness.PluginNotLoaded, harness.Invalid},
		"the hook should be silent": {with(func(_ *harness.Suite, sc *harness.Scenario) { sc.Hook = harness.HookSilent }), harness.HookNotDelivered, harness.Invalid},
		"the session read the rubric": {with(func(s *harness.Suite, sc *harness.Scenario) {
			s.Rubric = string(s.Fixtures[sc.Fixture][readBy(t, *sc)].Data)
		}), harness.Contaminated, harness.Invalid},
	} {
		got, err := b.again(c.suite, nil, good)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Class != c.class || got.Result.Outcome != c.outcome {
			t.Errorf("%s: got %s %s (%s), want %s %s", name, got.Class, got.Result.Outcome, got.Why, c.class, c.outcome)
		}
		if got.ID != good.ID || got.Usage != good.Usage || got.Transcript != good.Transcript {
			t.Errorf("%s: more than the score changed", name)
		}
	}
}

// readBy is a file that the perfect run of a scenario reads.
func readBy(t *testing.T, sc harness.Scenario) string {
	t.Helper()
	for _, step := range sc.Oracle {
		if step.Read != "" {
			return step.Read
		}
	}
	t.Fatalf("the perfect run of %s reads nothing", sc.ID)
	return ""
}

// An answer counts for the question it was given to and no other.
func TestRescore_AnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.o.Judge = &judge{answers: []string{"YES"}}
	asked := play{steps: []harness.Step{{Bash: "adr-find storage"}, {Text: "Shall I record an ADR for this choice?"}}}
	good := b.one("W1", asked)
	if good.Class != harness.Valid || good.Result.JudgedBy != "judge" {
		t.Fatalf("got %s (%s), judged by %q", good.Class, good.Why, good.Result.JudgedBy)
	}
	var k trial.Kept
	if err := json.Unmarshal(b.kept(good.ID)[trial.LaunchFile], &k); err != nil || k.Judged == nil || k.Judged.Yes == nil || !*k.Judged.Yes {
		t.Fatalf("kept %+v, %v; want the answer", k.Judged, err)
	}
	if got, err := b.again(b.o.Suite, nil, good); err != nil || got.Result.Outcome != good.Result.Outcome {
		t.Errorf("the same question: got %s, %v", got.Result.Outcome, err)
	}
	other := b.o.Suite
	other.Rubric += "\nBe strict.\n"
	got, err := b.again(other, nil, good)
	if err != nil || got.Class != harness.JudgeError || !strings.HasPrefix(got.Why, "unanswered: ") || got.Result.Outcome != harness.Invalid {
		t.Errorf("another rubric: got %s (%s), %v", got.Class, got.Why, err)
	}
	got, err = b.again(other, &judge{answers: []string{"NO"}}, good)
	if err != nil || got.Class != harness.Valid || got.Result.Outcome != harness.Fail {
		t.Errorf("asked anew: got %s %s, %v", got.Class, got.Result.Outcome, err)
	}
}
