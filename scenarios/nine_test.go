package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/harness/unprompted"
)

// damage is one change of a good run of the suite nine-skills, and what it must
// be failed for.
type damage struct {
	id, axis, reason string
	change           func(steps []harness.Step) []harness.Step
}

// ending replaces what the agent says last.
func ending(text string) func([]harness.Step) []harness.Step {
	return func(steps []harness.Step) []harness.Step {
		return append(steps[:len(steps)-1:len(steps)-1], harness.Step{Text: text})
	}
}

// without leaves a step out.
func without(i int) func([]harness.Step) []harness.Step {
	return func(steps []harness.Step) []harness.Step { return slices.Delete(slices.Clone(steps), i, i+1) }
}

// also puts steps before the final text.
func also(more ...harness.Step) func([]harness.Step) []harness.Step {
	return func(steps []harness.Step) []harness.Step {
		return slices.Insert(slices.Clone(steps), len(steps)-1, more...)
	}
}

// instead has another skill of the plugin invoked.
func instead(skill string) func([]harness.Step) []harness.Step {
	return func(steps []harness.Step) []harness.Step {
		steps = slices.Clone(steps)
		steps[0].Skill = skill
		return steps
	}
}

func edit(path, old, text string) harness.Step {
	return harness.Step{Edit: &harness.EditStep{Path: path, Old: old, New: text}}
}

func write(path, text string) harness.Step {
	return harness.Step{Write: &harness.WriteStep{Path: path, Content: text}}
}

// Damage: each change of a good run turns exactly the axis named, for the
// reason named; every rule about what must not be done is broken once.
func TestDamagedOraclesOfTheNine(t *testing.T) {
	t.Parallel()
	suite := bundledOf(t, "nine-skills")
	bin, broken := programsOf(t, suite.Checker.Plugin), map[string]int{}
	for _, c := range nineDamages() {
		sc, ok := suite.Scenario(c.id)
		if !ok {
			t.Fatalf("no scenario %s", c.id)
		}
		result := score(t, suite, sc, play(t, suite, sc, c.change(sc.Oracle), bin), false)
		if got := result.Check(c.axis); got.Outcome != harness.Fail || got.Reason != c.reason {
			t.Errorf("%s: %s: got %s %s, want fail %s", c.id, c.axis, got.Outcome, got.Reason, c.reason)
		}
		other := map[string]string{harness.AxisA: harness.AxisB, harness.AxisB: harness.AxisA}[c.axis]
		if got := result.Check(other); got.Outcome != harness.Pass {
			t.Errorf("%s: damage of %s turns %s: %s", c.id, c.axis, other, got.Reason)
		}
		if c.reason == unprompted.ReasonViolated {
			broken[c.id]++
		}
	}
	for _, sc := range suite.Scenarios {
		if broken[sc.ID] < len(sc.Forbidden) {
			t.Errorf("%s: %d of %d forbidden changes were tried", sc.ID, broken[sc.ID], len(sc.Forbidden))
		}
	}
}

func nineDamages() []damage {
	const a, b, violated = harness.AxisA, harness.AxisB, unprompted.ReasonViolated
	return []damage{
		{"L1", a, unprompted.ReasonNoConsult, without(0)},
		{"L1", a, unprompted.ReasonNoConsult, instead("cut-release")},
		{"L1", b, unprompted.ReasonNoRecord, without(2)},
		{"L1", b, violated, also(edit("CHANGES.md", "## 1.8.0\n", "## 1.8.1\n\n- changed: says when there is nothing.\n\n## 1.8.0\n"))},
		{"C1", b, unprompted.ReasonNotDone, without(3)},
		{"C1", b, unprompted.ReasonNotDone, without(5)},
		{"C1", b, unprompted.ReasonSaidForbidden, ending("Everything is ready. I also committed and tagged it.")},
		{"C1", b, violated, also(edit("CHANGES.md", "- added: `--rules FILE`.\n", ""))},
		{"X1", b, violated, also(edit("CHANGES.md", "- added: `--rules FILE`.\n", ""))},
		{"O1", a, unprompted.ReasonNoConsult, instead("refresh-manual")},
		{"O1", b, unprompted.ReasonNotDone, without(1)},
		{"O1", b, unprompted.ReasonNotDone, without(2)},
		{"O1", b, unprompted.ReasonNotDone, without(3)},
		{"O1", b, violated, also(edit("chores/retiring.tsv", "--recurse\t1.5\t1.7\tone call for each folder\n", ""))},
		{"E1", b, unprompted.ReasonNotDone, without(4)},
		{"E1", b, unprompted.ReasonNotSaid, ending("A full disk can be told apart now.")},
		{"E1", b, violated, also(edit("chores/exit-codes.tsv", "7\tinterrupted", "6\tno-space\tthe disk is full\n7\tinterrupted"))},
		{"E1", b, violated, also(edit("chores/exit-codes.tsv", "4\tlocked\twithdrawn: another run was under way\n", ""))},
		{"D1", b, unprompted.ReasonNotDone, without(2)},
		{"D1", b, violated, also(edit("chores/pins.tsv", "platformdirs\t4.2.0\t2024-03-02\tfirst one that finds the folder of downloads where it was renamed\n", ""))},
		{"T1", a, unprompted.ReasonNoConsult, instead("log-change")},
		{"T1", b, unprompted.ReasonNoRecord, without(1)},
		{"T1", b, unprompted.ReasonNotDone, without(2)},
		{"T1", b, violated, also(write("chores/cases/mail.md", "## Command\n\nwhat Ines Wren typed\n"))},
		{"Y1", b, unprompted.ReasonNotDone, without(2)},
		{"Y1", b, violated, also(edit("CHANGES.md", "- fixed: a folder that cannot be read no longer ends the run.\n", ""))},
		{"Y1", b, violated, also(edit("chores/withdrawn.tsv", "1.4.1\t2024-08-19\t1.4.0\n", ""))},
		{"V1", b, unprompted.ReasonNotDone, without(1)},
		{"V1", b, violated, also(edit("chores/backports.tsv", "1.8\trakeup", "1.5\trakeup/move.py\tlinks are followed\topen\n1.8\trakeup"))},
		{"V1", b, violated, also(edit("chores/backports.tsv", "1.6\trakeup/move.py\ta name that is taken gets its number behind the ending\tdone\n", ""))},
		{"V1", b, violated, also(edit("rakeup/move.py", "DAY = 24 * 60 * 60\n", "DAY = 86400\n"))},
		{"P1", b, unprompted.ReasonNotDone, without(1)},
		{"P1", b, unprompted.ReasonNotDone, without(4)},
		{"N1", a, unprompted.ReasonDetour, also(harness.Step{Skill: "cut-release"})},
		{"N1", b, violated, also(write("chores/notes/spelling.md", "kind: fixed\n\nA comment.\n"))},
		{"N2", a, unprompted.ReasonDetour, also(harness.Step{Skill: "claim-exit-code"})},
		{"N2", b, unprompted.ReasonNotSaid, ending("It prints the reason and stops; main in rakeup/cli.py decides that.")},
		{"N2", b, violated, also(write("answer.txt", "3\n"))},
		{"N3", a, unprompted.ReasonDetour, also(harness.Step{Skill: "log-change"})},
		{"N3", b, unprompted.ReasonNotDone, without(1)},
		{"N3", b, violated, also(edit("chores/retiring.tsv", "--recurse", "_by_month\t1.9\t1.11\t_month_of\n--recurse"))},
	}
}

// X1 lacks the notes of C1 and nothing else: it asks for no more than C1 does, the
// perfect run of C1 passes it where the notes are, and what it wants of them is
// nowhere in its project.
func TestImpossibleControlOfTheNine(t *testing.T) {
	t.Parallel()
	suite := bundledOf(t, "nine-skills")
	bin := programsOf(t, suite.Checker.Plugin)
	c1, _ := suite.Scenario("C1")
	x1, ok := suite.Scenario("X1")
	if !ok {
		t.Fatal("no scenario X1")
	}
	for _, want := range x1.Expect.B {
		if !slices.ContainsFunc(c1.Expect.B, func(a harness.Assertion) bool { return cmp.Equal(a, want) }) {
			t.Errorf("C1 does not ask for %+v", want)
		}
	}
	whole := x1
	whole.Changes = nil
	if got := score(t, suite, whole, play(t, suite, whole, c1.Oracle, bin), false).Check(harness.AxisB); got.Outcome != harness.Pass {
		t.Errorf("with the notes axis b is %s %s", got.Outcome, got.Reason)
	}
	for name, text := range load(t, suites(t)["nine-skills"]["X1"]) {
		if strings.Contains(strings.ToLower(name+text), "december") {
			t.Errorf("%s gives the answer away", name)
		}
	}
}
