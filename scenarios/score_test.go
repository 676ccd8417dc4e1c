package scenarios_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"loopd/fixtures"
	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/testenv"
	"loopd/scenarios"
)

// bundled parses the first suite as a campaign does, from its layout on disk.
func bundled(t *testing.T) harness.Suite {
	t.Helper()
	return bundledOf(t, scenarios.Default)
}

func bundledOf(t *testing.T, suite string) harness.Suite {
	t.Helper()
	laid := fstest.MapFS{}
	add := func(from fs.FS, root string, place func(string) string) error {
		return fs.WalkDir(from, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(from, name)
			laid[place(name)] = &fstest.MapFile{Data: data, Mode: 0o644}
			return err
		})
	}
	err := add(scenarios.FS(), suite, func(name string) string {
		name = strings.TrimPrefix(name, suite+"/")
		if strings.HasSuffix(name, ".md") && name != "rubric.md" {
			return "scenarios/" + name
		}
		return name
	})
	testenv.Must(t, err)
	testenv.Must(t, add(fixtures.FS(), ".", func(name string) string { return "fixtures/" + name }))
	s, err := harness.ParseSuite(laid)
	testenv.Must(t, err)
	return s
}

// played is a fabricated session: its stream and the project before and after.
type played struct {
	lines      []string
	start, end harness.Tree
	dir        string
}

// play carries a run's steps out in a copy of the scenario's project.
func play(t *testing.T, suite harness.Suite, sc harness.Scenario, steps []harness.Step, programs string) played {
	t.Helper()
	start, err := suite.Fixtures[sc.Fixture].With(sc.Changes)
	if err != nil {
		t.Fatalf("%s: %v", sc.ID, err)
	}
	if sc.Graph {
		for name, text := range graph() {
			start[name] = harness.File{Mode: 0o644, Data: []byte(text)}
		}
	}
	p := played{start: start, end: maps.Clone(start), dir: t.TempDir()}
	for name, f := range start {
		testenv.Write(t, filepath.Join(p.dir, name), string(f.Data))
	}
	plugin := suite.Checker.Plugin
	var listed []string
	for _, name := range skills(t, plugin) {
		listed = append(listed, plugin+":"+name)
	}
	p.line(t, map[string]any{"type": "system", "subtype": "init", "cwd": p.dir, "skills": listed})
	for _, st := range steps {
		if st.Skill != "" {
			st.Skill = plugin + ":" + st.Skill
		}
		p.step(t, sc.ID, st, programs)
	}
	if p.end, err = harness.ReadTree(os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *played) line(t *testing.T, v map[string]any) {
	t.Helper()
	data, err := json.Marshal(v)
	testenv.Must(t, err)
	p.lines = append(p.lines, string(data))
}

// say adds one content block of the main agent.
func (p *played) say(t *testing.T, block map[string]any) {
	t.Helper()
	p.line(t, map[string]any{"type": "assistant", "message": map[string]any{"id": "m", "model": "none", "content": []any{block}}})
}

func (p *played) tool(t *testing.T, name string, input map[string]any, output string) {
	t.Helper()
	id := fmt.Sprintf("toolu_%d", len(p.lines))
	p.say(t, map[string]any{"type": "tool_use", "id": id, "name": name, "input": input})
	p.line(t, map[string]any{"type": "user", "message": map[string]any{"content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": output},
	}}})
}

func (p *played) step(t *testing.T, id string, st harness.Step, programs string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(p.dir, name) }
	switch {
	case st.Skill != "":
		p.tool(t, "Skill", map[string]any{"skill": st.Skill}, "")
	case st.Bash != "":
		p.tool(t, "Bash", map[string]any{"command": st.Bash}, shell(t, id, p.dir, programs, st.Bash))
	case st.Read != "":
		data, err := os.ReadFile(at(st.Read))
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		p.tool(t, "Read", map[string]any{"file_path": at(st.Read)}, string(data))
	case st.Write != nil:
		testenv.Write(t, at(st.Write.Path), st.Write.Content)
		p.tool(t, "Write", map[string]any{"file_path": at(st.Write.Path), "content": st.Write.Content}, "")
	case st.Edit != nil:
		data, err := os.ReadFile(at(st.Edit.Path))
		if err != nil || strings.Count(string(data), st.Edit.Old) != 1 {
			t.Errorf("%s: cannot edit %s (%v)", id, st.Edit.Path, err)
		}
		testenv.Write(t, at(st.Edit.Path), strings.Replace(string(data), st.Edit.Old, st.Edit.New, 1))
		p.tool(t, "Edit", map[string]any{"file_path": at(st.Edit.Path), "old_string": st.Edit.Old, "new_string": st.Edit.New}, "")
	default:
		p.say(t, map[string]any{"type": "text", "text": st.Text})
	}
}

// score asks the checker; a judge that is asked says what answer says.
func score(t *testing.T, suite harness.Suite, sc harness.Scenario, p played, answer bool) harness.Result {
	t.Helper()
	tr, err := transcript.Parse(strings.NewReader(strings.Join(p.lines, "\n")+"\n"), transcript.Limits{})
	if err != nil || tr.Damage != (transcript.Damage{}) {
		t.Fatalf("%s: the fabricated stream does not parse: %v %+v", sc.ID, err, tr.Damage)
	}
	in := unprompted.Input{Scenario: sc, Checker: suite.Checker, Transcript: tr, Project: p.dir, Start: p.start, End: p.end}
	e := unprompted.Evaluate(in)
	if e.Question != nil {
		in.Answer = &answer
		e = unprompted.Evaluate(in)
	}
	return e.Result
}

// req 32: a perfect run passes and an idle one fails both axes; a control fails
// axis b whoever plays it, so that its pass would mean something.
func TestBothDirections(t *testing.T) {
	t.Parallel()
	for name, fewest := range map[string]int{"os-adr": 16, "nine-skills": 12} {
		suite := bundledOf(t, name)
		bin := programsOf(t, suite.Checker.Plugin)
		if len(suite.Scenarios) < fewest {
			t.Fatalf("%s: scenarios: got %d, want %d", name, len(suite.Scenarios), fewest)
		}
		for _, sc := range suite.Scenarios {
			bothDirections(t, suite, sc, bin)
		}
	}
}

func bothDirections(t *testing.T, suite harness.Suite, sc harness.Scenario, bin string) {
	t.Helper()
	oracle := score(t, suite, sc, play(t, suite, sc, sc.Oracle, bin), false)
	nop := score(t, suite, sc, play(t, suite, sc, sc.Nop, bin), false)
	wantB := harness.Pass
	if sc.Role == harness.Control {
		wantB = harness.Fail
	}
	if a, b := oracle.Check(harness.AxisA), oracle.Check(harness.AxisB); a.Outcome != harness.Pass || b.Outcome != wantB {
		t.Errorf("%s: oracle: a %s %s, b %s %s, want pass and %s", sc.ID, a.Outcome, a.Reason, b.Outcome, b.Reason, wantB)
	}
	if a, b := nop.Check(harness.AxisA), nop.Check(harness.AxisB); a.Outcome != harness.Fail || b.Outcome != harness.Fail {
		t.Errorf("%s: nop: a %s %s, b %s %s, want fail twice", sc.ID, a.Outcome, a.Reason, b.Outcome, b.Reason)
	}
	if untouched := score(t, suite, sc, play(t, suite, sc, nil, bin), false); untouched.Outcome != harness.Fail {
		t.Errorf("%s: an untouched project is a %s", sc.ID, untouched.Outcome)
	}
}

// Damage: each change of a good run turns exactly the axis named, for the
// reason named.
func TestDamagedOracles(t *testing.T) {
	t.Parallel()
	suite, bin := bundled(t), programs(t)
	final := func(text string) func([]harness.Step) []harness.Step {
		return func(steps []harness.Step) []harness.Step {
			return append(steps[:len(steps)-1:len(steps)-1], harness.Step{Text: text})
		}
	}
	alone := func(steps []harness.Step) []harness.Step { return steps[len(steps)-1:] }
	withNop := func(id string) func([]harness.Step) []harness.Step {
		return func(steps []harness.Step) []harness.Step {
			sc, _ := suite.Scenario(id)
			return append(sc.Nop[:len(sc.Nop)-1:len(sc.Nop)-1], steps...)
		}
	}
	without := func(i int) func([]harness.Step) []harness.Step {
		return func(steps []harness.Step) []harness.Step { return append(steps[:i:i], steps[i+1:]...) }
	}
	cases := []struct {
		id, axis, reason string
		judge            bool
		damage           func([]harness.Step) []harness.Step
	}{
		{"R4", harness.AxisB, unprompted.ReasonCitedButViolated, false, withNop("R4")},
		{"V2", harness.AxisB, unprompted.ReasonCitedButViolated, false, withNop("V2")},
		{"P2", harness.AxisB, unprompted.ReasonCitedButViolated, false, withNop("P2")},
		{"R4", harness.AxisB, unprompted.ReasonWrongID, false, final("This conflicts with ADR-0005.")},
		{"R4", harness.AxisB, unprompted.ReasonShotgun, false, final("This conflicts with one of ADR-0002, ADR-0003, ADR-0004.")},
		{"V2", harness.AxisB, unprompted.ReasonNoConflictFlagged, false, final("I read ADR-0006 and will start tomorrow.")},
		{"R4", harness.AxisA, unprompted.ReasonNoConsult, false, alone},
		{"W2", harness.AxisB, unprompted.ReasonJudgeNo, false, without(0)},
		{"W2", harness.AxisA, unprompted.ReasonNoConsult, true, without(0)},
		{"W3", harness.AxisB, unprompted.ReasonJudgeNo, false, without(1)},
		{"V1", harness.AxisB, unprompted.ReasonJudgeNo, false, without(0)},
		{"P1", harness.AxisB, unprompted.ReasonJudgeNo, false, without(0)},
		{"N2", harness.AxisB, unprompted.ReasonNotSaid, false, final("It gives back nil and compares with ==.")},
		{"N3", harness.AxisB, unprompted.ReasonNotDone, false, without(0)},
		{"N3", harness.AxisA, unprompted.ReasonDetour, false, withNop("N3")},
	}
	for _, c := range cases {
		sc, _ := suite.Scenario(c.id)
		got := score(t, suite, sc, play(t, suite, sc, c.damage(sc.Oracle), bin), c.judge).Check(c.axis)
		proposed := c.axis == harness.AxisA && got.Reason == unprompted.ReasonProposedOnly
		if got.Outcome != harness.Fail || got.Reason != c.reason && !proposed {
			t.Errorf("%s: %s: got %s %s, want fail %s", c.id, c.axis, got.Outcome, got.Reason, c.reason)
		}
	}
}

// X1 must not pass for an answer to R1 either, unless somebody names a record
// that is not there.
func TestImpossibleControlWantsTheAbsentRecord(t *testing.T) {
	t.Parallel()
	suite, bin := bundled(t), programs(t)
	x1, _ := suite.Scenario("X1")
	seen := 0
	for id := range suite.Fixtures["webhook-relay"] {
		record, ok := strings.CutPrefix(id, "docs/adr/0")
		if !ok || strings.HasPrefix(record, "002") {
			continue
		}
		seen++
		steps := []harness.Step{{Bash: "adr-list"}, {Text: "This conflicts with ADR-0" + record[:3] + "."}}
		if got := score(t, suite, x1, play(t, suite, x1, steps, bin), false); got.Check(harness.AxisB).Outcome != harness.Fail {
			t.Errorf("axis b passes for %s", id)
		}
	}
	if seen != 5 {
		t.Errorf("other records: got %d, want 5", seen)
	}
}
