package campaign

import (
	"slices"
	"testing"

	"loopd/candidates"
	"loopd/harness"
)

// TestTargetsFollowFromTheSuite: a scenario is a skill's when it names it or
// accepts its use; a pattern names none, and all cells are no targets.
func TestTargetsFollowFromTheSuite(t *testing.T) {
	t.Parallel()
	skill := func(pattern string) harness.Expect { return harness.Expect{A: []harness.Assertion{{Skill: pattern}}} }
	suite := harness.Suite{
		Launch: harness.Launch{Note: harness.Note{File: "note.md"}},
		Scenarios: []harness.Scenario{
			{ID: "named", Skill: "find", Hook: harness.HookNote},
			{ID: "accepts", Skill: "write", Hook: harness.HookNote, Expect: skill("adr:find")},
			{ID: "anything", Skill: "write", Hook: harness.HookSilent, Expect: skill("*")},
		},
	}
	cells := []harness.Cell{{Scenario: "named", Tier: "m"}, {Scenario: "accepts", Tier: "m"}, {Scenario: "anything", Tier: "m"}}
	find, other := candidates.Edit{Path: "skills/find/SKILL.md"}, candidates.Edit{Path: "skills/other/SKILL.md"}
	note := candidates.Edit{Path: "note.md"}
	for name, test := range map[string]struct {
		cells []harness.Cell
		edits []candidates.Edit
		want  []string
		from  string
	}{
		"a skill":             {cells, []candidates.Edit{find}, []string{"named/m", "accepts/m"}, "the skill find"},
		"the note":            {cells, []candidates.Edit{note, note}, []string{"named/m", "accepts/m"}, "the note"},
		"no scenario's skill": {cells, []candidates.Edit{other}, nil, ""},
		"skill and note":      {cells, []candidates.Edit{find, note}, nil, ""},
		"all cells":           {cells[:2], []candidates.Edit{find}, nil, ""},
		"no edits":            {cells, nil, nil, ""},
	} {
		if got, from := Targets(suite, test.cells, test.edits); !slices.Equal(got, test.want) || from != test.from {
			t.Errorf("%s: got %v from %q, want %v from %q", name, got, from, test.want, test.from)
		}
	}
}
