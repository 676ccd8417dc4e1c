package exchange

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"loopd/harness"
)

// graders sorts the checks of a case.
func (im *importer) graders(d *building, c nativeFile) error {
	seen := make(map[string]bool)
	for _, g := range c.graders {
		name := g.n.get("name").word()
		if seen[name] {
			return fmt.Errorf("two graders have the name %s", fileName(name))
		}
		seen[name] = true
		if !d.grade(g) {
			d.lose(g.at, g.n)
		}
	}
	d.settle()
	for _, a := range d.a {
		if why := im.plugin.unknownSkill(a.Skill); a.Skill != "" && why != "" {
			return errors.New(why)
		}
	}
	switch {
	case d.judge == "" && len(d.questions) == 1 && isQuestion(d.questions[0]):
		d.judge, d.questions = d.questions[0], nil
	case len(d.questions) > 0:
		d.flag(flagJudge)
	}
	return nil
}

// isQuestion reports whether a text is one question for YES or NO.
func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") && strings.Count(text, "?") == 1 && !strings.Contains(text, "\n")
}

// grade carries one grader; false leaves the whole of it to the unmapped list.
func (d *building) grade(g grader) bool {
	in := fieldsOf(g.n, g.at)
	var carried bool
	switch in.text("type") {
	case "regex":
		carried = d.regexGrader(in)
	case "tool_used":
		carried = d.toolGrader(in)
	case "file_exists":
		carried = d.fileGrader(in)
	case "llm":
		carried = d.judgeGrader(in)
	}
	if carried {
		in.text("name")
		in.meta(&d.notes, "weight", "arm")
		in.rest(&d.notes)
	}
	return carried
}

func (d *building) regexGrader(in *fields) bool {
	match := in.text("match")
	if target := in.text("target"); target != "" && target != "last_message" || in.n.get("target").is(aMap) {
		return false
	}
	p, err := fromJS(in.text("pattern"), in.text("flags"))
	if err != nil || in.n.get("pattern").word() == "" {
		d.flag("%s: the pattern has no form here", in.at)
		return false
	}
	switch match {
	case "", "contains":
		d.b = append(d.b, harness.Assertion{Says: alternatives(p)})
	case "not_contains":
		d.b = append(d.b, harness.Assertion{NeverSays: alternatives(p)})
	default:
		return false
	}
	d.flag(flagWide)
	return true
}

func (d *building) toolGrader(in *fields) bool {
	tool, pattern := in.text("tool"), in.text("input_match")
	least, most := in.number("min", 1), in.number("max", -1)
	if most > 0 || least > 1 || in.n.get("max") != nil && most < 0 || least < 0 {
		return false // a count; a scenario asks whether, not how often
	}
	never := most == 0
	switch {
	case tool == "Bash" && pattern == "" && least == 1 && !never:
		d.b = append(d.b, harness.Assertion{Command: "*"})
		return true
	case tool != "Skill" || least == 0 && !never:
		return false
	}
	globs := []string{"*"}
	if pattern != "" {
		var ok bool
		if globs, ok = globsOfPattern(pattern); !ok {
			d.flag("%s: no name of a skill can be read from the pattern", in.at)
			return false
		}
	}
	if never {
		d.never = append(d.never, forbidden{strings.TrimPrefix(globs[0], "*:"), in.at, in.n})
		return true
	}
	if len(d.a) > 0 {
		return false // a second skill that must be called as well
	}
	d.a = skillAssertions(globs)
	return true
}

func (d *building) fileGrader(in *fields) bool {
	glob := in.text("path")
	if exists, ok := in.truth("exists"); !ok && in.n.get("exists") != nil || ok && !exists || !inside(glob) || strings.ContainsAny(glob, "{}!") {
		return false
	}
	if _, err := path.Match(glob, ""); err != nil {
		return false
	}
	d.b = append(d.b, harness.Assertion{Created: &harness.Created{Path: glob}})
	return true
}

func (d *building) judgeGrader(in *fields) bool {
	text := strings.TrimSpace(in.text("criteria"))
	if text == "" {
		return false
	}
	if focus := in.n.get("focus"); focus == nil || focus.word() == "last_message" {
		in.used["focus"] = true
	}
	d.question(text)
	return true
}
