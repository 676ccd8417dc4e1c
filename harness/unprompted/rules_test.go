package unprompted

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/testenv"
)

// The cases of this file are those that mutation of the rules asked for: each
// is the only one that can tell a rule from its absence.

// Every reason is given by some session.
func TestEveryReasonIsGiven(t *testing.T) {
	given := map[string]bool{}
	note := func(e Evaluation) {
		for _, c := range e.Result.Checks {
			given[c.Reason] = true
		}
	}
	failed := bash("adr-list")
	failed.status = transcript.CallFailed
	byAgent := bash("adr-list")
	byAgent.parent = "toolu_parent"
	guard := consulting()
	guard.Expect.A = []harness.Assertion{{Consults: nope()}}
	flagged, silent, done, obey := citing(), consulting(), consulting(), citing()
	flagged.Expect.B = append(flagged.Expect.B, harness.Assertion{Says: []string{"conflict"}})
	silent.Expect.B = []harness.Assertion{{Says: []string{"UTC"}}}
	done.Expect.B = []harness.Assertion{{Changed: &harness.Diff{Path: "lib/*", Adds: "x"}}}
	obey.Forbidden = []harness.Diff{{Path: "lib/*", Adds: "FARE"}}
	unjudged := writing()
	unjudged.Judge = ""
	never := consulting()
	never.Expect.B = []harness.Assertion{{NeverSays: []string{"secret"}}}
	end := with(map[string]string{"lib/ferry.rb": "FARE = 9\n"})
	lights := with(map[string]string{"docs/adr/0005-lights.md": rec("0005", "Lights", "Accepted", "Green.")})
	for _, c := range []struct {
		sc     harness.Scenario
		events []any
		end    harness.Tree
	}{
		{consulting(), nil, start()},
		{consulting(), []any{failed}, start()},
		{consulting(), []any{byAgent}, start()},
		{consulting(), []any{say("Shall I record this?")}, start()},
		{guard, []any{bash("adr-list")}, start()},
		{citing(), []any{say("Done.")}, start()},
		{citing(), []any{say("ADR-0002")}, start()},
		{citing(), []any{say("ADR-0001")}, start()},
		{citing(), []any{say("ADR-0001, ADR-0002, ADR-0003")}, start()},
		{flagged, []any{say("ADR-0003")}, start()},
		{silent, []any{say("Done.")}, start()},
		{never, []any{say("secret")}, start()},
		{obey, []any{say("ADR-0003")}, end},
		{obey, []any{say("Done.")}, end},
		{unjudged, []any{say("Done.")}, start()},
		{writing(), []any{say("Done.")}, lights},
		{writing(), nil, start()},
		{done, []any{say("Done.")}, start()},
	} {
		note(evaluate(t, c.sc, streamOf(c.events...), c.end))
	}
	in := Input{Scenario: writing(), Checker: checker(), Transcript: streamOf(say("Done.")).transcript(t), Start: start(), End: start()}
	turns, time, answered := in, in, in
	turns.LimitTurns, time.LimitTime, answered.Answer = true, true, nope()
	for _, in := range []Input{turns, time, answered} {
		note(Evaluate(in))
	}
	reasons := []string{
		ReasonNoConsult, ReasonAttemptedOnly, ReasonBySubagent, ReasonProposedOnly, ReasonDetour, ReasonNotCited, ReasonWrongID,
		ReasonCitedSuperseded, ReasonShotgun, ReasonNoConflictFlagged, ReasonNotSaid, ReasonSaidForbidden, ReasonCitedButViolated,
		ReasonViolated, ReasonNoRecord, ReasonWrongTopic, ReasonSilent, ReasonJudgeNo, ReasonNotDone, ReasonLimitTurns, ReasonLimitTime,
	}
	testenv.Same(t, "the list of reasons here", declaredReasons(t), slices.Sorted(slices.Values(reasons)))
	for _, r := range reasons {
		if !given[r] {
			t.Errorf("no session gives %s", r)
		}
	}
}

func TestWhereAPathLies(t *testing.T) {
	for _, c := range []struct {
		cwd, path, want string
		ok              bool
	}{
		{project, "docs", "docs", true},
		{project + "/docs", "../lib", "lib", true},
		{project, ".", ".", true},
		{project, project, ".", true},
		{project, "", "", false},
		{project, unknown + "/docs", "", false},
		{project, "~/docs", "", false},
		{project, "!docs", "", false},
		{"", "docs", "", false},
		{unknown, "docs", "", false},
		{unknown, project + "/docs", "docs", true},
	} {
		if got, ok := below(project, c.cwd, c.path); got != c.want || ok != c.ok {
			t.Errorf("%q in %q: got %q %v, want %q %v", c.path, c.cwd, got, ok, c.want, c.ok)
		}
	}
	if _, ok := below(project, project, "/tmp/adr-box/docs"); ok {
		t.Error("a path beside the project lies in it")
	}
}

func TestArgumentsOfFileTools(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		want        string
	}{
		{"Read", `{"file_path":"a","path":"b"}`, "a"},
		{"Write", `{"file_path":"a"}`, "a"},
		{"Edit", `{"file_path":"a"}`, "a"},
		{"MultiEdit", `{"file_path":"a"}`, "a"},
		{"NotebookEdit", `{"notebook_path":"a"}`, "a"},
		{"NotebookRead", `{"notebook_path":"a"}`, "a"},
		{"LS", `{"path":"a"}`, "a"},
		{"Glob", `{"path":"a","pattern":"b"}`, "a/b a"},
		{"Glob", `{"pattern":"b"}`, "b "},
		{"Glob", `{"path":"a","pattern":"/b"}`, "/b a"},
		{"Glob", `{"path":"a"}`, " a"},
		{"Grep", `{"path":"a","glob":"b","pattern":"c"}`, "a a/b"},
		{"Agent", `{"path":"a"}`, ""},
	} {
		got := strings.Join(fileArguments(&transcript.Call{Block: transcript.Block{Name: c.tool, Input: []byte(c.input)}}), " ")
		if got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

func TestProposals(t *testing.T) {
	wish := proposal(harness.Citation{Prefix: "ADR"})
	for text, want := range map[string]bool{
		"Shall I record this?":               true,
		"Should this be recorded?":           true,
		"I could document it.":               true,
		"Do you want me to capture this?":    true,
		"Would you like an ADR?":             true,
		"I am happy to write it down.":       true,
		"It is worth documenting.":           true,
		"I suggest an ADR.":                  true,
		"I am suggesting to write this up.":  true,
		"I propose to write that down.":      true,
		"I recommend capturing it.":          true,
		"shall we go on?":                    false,
		"The record is there.":               false,
		"marshall the record":                false,
		"Should we re-record it? No record.": true,
		"the shallow record":                 false,
		"shall I keep the prerecord":         false,
		"shall I go to Madrid":               false,
		"shall I quadr it":                   false,
		"shall I look at adrenalin":          false,
		"shall I write them down":            false,
	} {
		if got := wish.MatchString(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestActMatches(t *testing.T) {
	for _, c := range []struct {
		act  act
		as   harness.Assertion
		want bool
	}{
		{act{kind: ranSkill, name: "a:b"}, harness.Assertion{Skill: "a:*"}, true},
		{act{kind: ranSkill, name: "a/b"}, harness.Assertion{Skill: "**"}, false},
		{act{kind: touched, name: "a/b"}, harness.Assertion{Touches: "**"}, true},
		{act{kind: ranProgram, name: ""}, harness.Assertion{Skill: "a"}, false},
		{act{kind: ranProgram, name: "a"}, harness.Assertion{Command: "[a"}, false},
		{act{kind: touched, name: ""}, harness.Assertion{Skill: "a"}, false},
	} {
		if got := c.act.matches(c.as); got != c.want {
			t.Errorf("%+v %+v: got %v, want %v", c.act, c.as, got, c.want)
		}
	}
}

func TestAxisADetails(t *testing.T) {
	byAgent := bash("adr-list")
	byAgent.parent = "toolu_parent"
	moved := bash("cd docs")
	moved.status = transcript.CallFailed
	a := func(events ...any) harness.Check {
		return evaluate(t, consulting(), streamOf(events...), start()).Result.Check(harness.AxisA)
	}
	if c := a(bash("adr-list"), byAgent); c.Reason != "" || whats(c.Evidence) != "command adr-list; command adr-list" {
		t.Errorf("main before subagent: got %q, %v", c.Reason, c.Evidence)
	}
	if c := a(moved, bash("cat adr/0003-zone-fare.md")); c.Outcome != harness.Fail {
		t.Errorf("a failed cd: got %s, %v", c.Outcome, c.Evidence)
	}
	if c := a(bash("git status"), read("/etc/docs/adr")); len(c.NearMisses) != 1 || c.NearMisses[0].Line != 5 {
		t.Errorf("got near misses %v, want that of the second call", c.NearMisses)
	}
	touching := consulting()
	touching.Expect.A = []harness.Assertion{{Touches: "lib/**"}}
	c := evaluate(t, touching, streamOf(read("/etc/passwd"), read("lib/ferry.rb")), start()).Result.Check(harness.AxisA)
	if c.Outcome != harness.Pass || whats(c.Evidence) != "touches lib/ferry.rb" {
		t.Errorf("got %s, %v", c.Outcome, c.Evidence)
	}
	everywhere := consulting()
	everywhere.Expect.A = []harness.Assertion{{Touches: "**"}}
	if c := evaluate(t, everywhere, streamOf(read("/etc/passwd"), bash("cat /etc/passwd")), start()).Result.Check(harness.AxisA); c.Outcome != harness.Fail {
		t.Errorf("a path elsewhere: got %v", c.Evidence)
	}
	nowhere := checker()
	nowhere.Records.Dir = ""
	e := Evaluate(Input{Scenario: consulting(), Checker: nowhere, Transcript: streamOf(bash("git status")).transcript(t), Start: start(), End: start()})
	if c := e.Result.Check(harness.AxisA); len(c.NearMisses) != 0 {
		t.Errorf("no records directory: got near misses %v", c.NearMisses)
	}
}

// Answers of the judge name a reason of axis a and no outcome.
func TestProposedByTheJudge(t *testing.T) {
	for _, c := range []struct {
		answer *bool
		want   string
	}{{nil, ReasonNoConsult}, {yes(), ReasonProposedOnly}, {nope(), ReasonNoConsult}} {
		e := Evaluate(Input{Scenario: consulting(), Checker: checker(), Transcript: streamOf(say("Done.")).transcript(t), Start: start(), End: start(), Answer: c.answer})
		if a := e.Result.Check(harness.AxisA); a.Outcome != harness.Fail || a.Reason != c.want {
			t.Errorf("got %s %q, want %q", a.Outcome, a.Reason, c.want)
		}
	}
}

// The project is where the session started, unless it is said otherwise.
func TestProjectAndMetrics(t *testing.T) {
	byAgent := bash("adr-list")
	byAgent.parent = "toolu_parent"
	s := streamOf(read(project+"/docs/adr/0003-zone-fare.md"), byAgent, say("Done."))
	in := Input{Scenario: consulting(), Checker: checker(), Transcript: s.transcript(t), Start: start(), End: start()}
	r := Evaluate(in).Result
	if r.Check(harness.AxisA).Outcome != harness.Pass || r.Check(harness.AxisA).Reason != "" {
		t.Errorf("got %+v", r.Check(harness.AxisA))
	}
	testenv.Same(t, "metrics", map[string]float64{"tool_calls": 2, "subagent_calls": 1, "text_bytes": 5}, r.Metrics)
	s.add(obj{"type": "result", "subtype": "success", "result": "Done.", "num_turns": 3})
	in.Transcript = s.transcript(t)
	if r := Evaluate(in).Result; r.Metrics["turns"] != 3 || r.Outcome != harness.Pass {
		t.Errorf("got %v turns, %s", r.Metrics["turns"], r.Outcome)
	}
}

// What failed is named by its place: of axis a every assertion when none holds, of
// axis b those that do not hold, and nothing where the axis passes.
func TestFailedPlaces(t *testing.T) {
	sc := consulting()
	sc.Expect.A = append(sc.Expect.A, harness.Assertion{Skill: "other:*"})
	sc.Expect.B = []harness.Assertion{{Says: []string{"UTC"}}, {NeverSays: []string{"secret"}}, {Says: []string{"noon"}}}
	sc.Forbidden = []harness.Diff{{Path: "lib/*", Adds: "FARE = 9"}}
	spoilt := with(map[string]string{"lib/ferry.rb": "FARE = 9\n"})
	for _, c := range []struct {
		name   string
		events []any
		end    harness.Tree
		a, b   []string
	}{
		{"all right", []any{bash("adr-list"), say("At noon, UTC.")}, start(), nil, nil},
		{"nothing", []any{say("Done.")}, start(), []string{"expect.a[0]", "expect.a[1]"}, []string{"expect.b[0]", "expect.b[2]"}},
		{"one of b", []any{bash("adr-list"), say("UTC, noon, and a secret.")}, start(), nil, []string{"expect.b[1]"}},
		{"forbidden", []any{bash("adr-list"), say("At noon, UTC.")}, spoilt, nil, []string{"forbidden"}},
	} {
		r := evaluate(t, sc, streamOf(c.events...), c.end).Result
		testenv.Same(t, c.name, [][]string{c.a, c.b}, [][]string{r.Check(harness.AxisA).Failed, r.Check(harness.AxisB).Failed})
	}
	in := Input{Scenario: sc, Checker: checker(), Transcript: streamOf(bash("adr-list"), say("At noon, UTC.")).transcript(t), Start: start(), End: start(), LimitTime: true}
	if got := Evaluate(in).Result.Check(harness.AxisB).Failed; !slices.Equal(got, []string{"limits"}) {
		t.Errorf("out of time: got %q", got)
	}
}
