package campaign

import (
	"path"
	"slices"
	"strings"

	"loopd/candidates"
	"loopd/harness"
)

// Targets are the cells that edits are meant for where nobody says it, and what
// they follow from; none for all cells. A change of one skill is meant for the
// scenarios of that skill: those that name it, and those that accept its use as
// consulting. A change of the note is meant for the sessions that are given it.
// It looks at edits and suite alone, so that no result can have a say.
func Targets(suite harness.Suite, cells []harness.Cell, edits []candidates.Edit) (targets []string, from string) {
	var concerns func(harness.Scenario) bool
	switch skill := onlySkill(edits); {
	case skill != "":
		from = "the skill " + skill
		concerns = func(sc harness.Scenario) bool { return aboutSkill(sc, skill) }
	case onlyFile(edits, suite.Launch.Note.File):
		from = "the note"
		concerns = func(sc harness.Scenario) bool { return sc.Hook == harness.HookNote }
	default:
		return nil, ""
	}
	for _, cell := range cells {
		if sc, ok := suite.Scenario(cell.Scenario); ok && concerns(sc) {
			targets = append(targets, cell.String())
		}
	}
	if len(targets) == 0 || len(targets) == len(cells) {
		return nil, ""
	}
	return targets, from
}

// aboutSkill says whether a scenario is one of a skill's. A pattern of an
// expectation that fits many skills names none.
func aboutSkill(sc harness.Scenario, skill string) bool {
	if sc.Skill == skill {
		return true
	}
	return slices.ContainsFunc(slices.Concat(sc.Expect.A, sc.Expect.B), func(a harness.Assertion) bool {
		return a.Skill == skill || strings.HasSuffix(a.Skill, ":"+skill)
	})
}

// onlySkill names the one skill all edits are in, empty when they are elsewhere
// or in several.
func onlySkill(edits []candidates.Edit) string {
	skill := ""
	for _, e := range edits {
		dir, file := path.Split(e.Path)
		name := path.Base(dir)
		if file != "SKILL.md" || skill != "" && skill != name {
			return ""
		}
		skill = name
	}
	return skill
}

func onlyFile(edits []candidates.Edit, file string) bool {
	return file != "" && len(edits) > 0 && !slices.ContainsFunc(edits, func(e candidates.Edit) bool { return e.Path != file })
}
