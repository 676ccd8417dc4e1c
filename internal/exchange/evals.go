package exchange

import (
	"fmt"
	"path"
	"strings"

	"loopd/harness"
)

// suiteSkill is the skill a suite is about: what it says, what the user says,
// or the only skill of the folder.
func (im *importer) suiteSkill(own string) string {
	switch {
	case own != "":
		return own
	case im.options.Skill != "":
		return im.options.Skill
	case len(im.plugin.skills) == 1:
		return im.plugin.skills[0]
	}
	return ""
}

// evals reads an evals.json: prompts with statements about a good answer.
func (im *importer) evals(f suiteFile) error {
	top := fieldsOf(f.doc, "")
	skill := im.suiteSkill(top.text("skill_name"))
	if skill == "" {
		return &NoSkillError{f.name}
	}
	if !skillName.MatchString(skill) {
		return fmt.Errorf("%s: skill_name is no name of a skill", f.name)
	}
	if why := im.plugin.unknownSkill(skillGlobs(skill)[0]); why != "" {
		return fmt.Errorf("%s: %s", f.name, why)
	}
	var common notes
	items := top.list("evals")
	top.rest(&common)
	var cases []*building
	for i, item := range items {
		d, err := im.eval(f, i, item, skill)
		if err != nil {
			return err
		}
		if d != nil {
			d.unmapped = append(d.unmapped, common.unmapped...)
			cases = append(cases, d)
		}
	}
	return im.add(Suite{Format: EvalsJSON, File: f.name, Name: bareSkill(skill)}, cases)
}

// eval reads one entry; nil for one that is no case.
func (im *importer) eval(f suiteFile, i int, item *node, skill string) (*building, error) {
	pointer := fmt.Sprintf("/evals/%d", i)
	if !item.is(aMap) {
		return nil, fmt.Errorf("%s#%s: want a map", f.name, pointer)
	}
	in := fieldsOf(item, "")
	d := &building{id: in.text("id"), prompt: in.text("prompt"), skill: bareSkill(skill), origin: f.origin(EvalsJSON, pointer)}
	if strings.TrimSpace(d.prompt) == "" {
		im.skip(f.name+"#"+pointer, "no prompt")
		return nil, nil
	}
	if d.id == "" {
		d.id = fmt.Sprint(i + 1)
	}
	in.meta(&d.notes, "name")
	d.statements(in, "assertions", "expectations")
	if text := in.text("expected_output"); text != "" {
		d.question(text)
	}
	if trigger, ok := in.truth("should_trigger"); ok {
		d.trigger(skill, trigger)
	} else {
		d.flag("skill_name is a suggestion: the suite does not claim that the skill is called")
	}
	if len(d.questions) > 0 {
		d.flag(flagJudge)
	}
	im.evalFiles(d, in, path.Dir(f.name))
	in.rest(&d.notes)
	return d, nil
}

// statements takes lists of sentences for a judge. An entry that is an object
// gives its sentence; what else it holds was for a checker of the suite's own.
func (d *building) statements(in *fields, keys ...string) {
	for _, key := range keys {
		for j, item := range in.list(key) {
			if item.is(aScalar) {
				d.question(item.text)
				continue
			}
			sub := fieldsOf(item, fmt.Sprintf("%s[%d]", key, j))
			for _, name := range []string{"description", "text", "name"} {
				if text := sub.text(name); text != "" {
					d.question(text)
					break
				}
			}
			if item.is(aMap) {
				sub.rest(&d.notes)
			} else {
				d.lose(sub.at, item)
			}
		}
	}
}

// trigger asks that a skill is called, or that it is not.
func (d *building) trigger(skill string, wanted bool) {
	if wanted {
		d.a = append(d.a, skillAssertions(skillGlobs(skill))...)
		return
	}
	d.never = append(d.never, forbidden{skill: skill})
	d.settle()
}

// forbidden is a skill that must not be called, and the field that says so.
type forbidden struct {
	skill, at string
	n         *node
}

// settle turns skills that must not be called into the consulting of a guard:
// whether a session that broke counts is decided before any check, so that it
// does not pass by having done nothing. Beside a skill that must be called
// there is no form for it.
func (d *building) settle() {
	for _, f := range d.never {
		if len(d.a) > 0 && d.a[0].Consults == nil {
			d.lose(f.at, f.n)
			continue
		}
		no := false
		d.a = []harness.Assertion{{Consults: &no}}
		if d.role == "" {
			d.role = harness.Guard
		}
		d.flag("not called is read as consults: false: checker.yaml must count %s as consulting", f.skill)
	}
	d.never = nil
}

// evalFiles reads the files a case names, from the folder of the skill or else
// of the suite.
func (im *importer) evalFiles(d *building, in *fields, dir string) {
	list := in.n.get("files")
	names, ok := textsOf(list)
	if !ok {
		return
	}
	in.used["files"] = true
	bases := []string{".", dir}
	if path.Base(dir) == "evals" {
		bases = []string{path.Dir(dir), dir}
	}
	for _, name := range names {
		if err := im.take(d, name, bases); err != nil {
			d.flag("%v", err)
			d.unmapped = append(d.unmapped, harness.SourceField{Field: "files", Value: name})
		}
	}
}

// take puts one file into the fixture, under the path by which the prompt
// speaks of it.
func (im *importer) take(d *building, name string, bases []string) error {
	var data []byte
	var first error
	for _, base := range bases {
		got, err := im.file(base, name)
		switch {
		case err != nil && first == nil:
			first = err
		case err != nil:
		case data != nil && string(data) != string(got):
			return fmt.Errorf("file %s means two different files", shortPath(name))
		default:
			data = append([]byte{}, got...)
		}
	}
	if data == nil {
		return first
	}
	if d.files == nil {
		d.files = make(harness.Tree)
	}
	at := mentionedAs(d.prompt, path.Base(name))
	if _, taken := d.files[at]; taken {
		return fmt.Errorf("file %s: another file has its name", shortPath(name))
	}
	d.files[at] = harness.File{Mode: 0o644, Data: data}
	return nil
}

// triggers reads a set of queries that should or should not trigger a skill.
func (im *importer) triggers(f suiteFile) error {
	skill := im.suiteSkill("")
	if skill == "" {
		return &NoSkillError{f.name}
	}
	if why := im.plugin.unknownSkill(skillGlobs(skill)[0]); why != "" {
		return fmt.Errorf("%s: %s", f.name, why)
	}
	seen := make(map[string]bool)
	var cases []*building
	for i, item := range f.doc.items {
		pointer := fmt.Sprintf("/%d", i)
		in := fieldsOf(item, "")
		query := in.text("query")
		wanted, _ := in.truth("should_trigger")
		switch {
		case strings.TrimSpace(query) == "":
			im.skip(f.name+"#"+pointer, "no query")
			continue
		case seen[query]:
			return fmt.Errorf("%s: the query at %s stands twice", f.name, pointer)
		}
		seen[query] = true
		d := &building{id: fmt.Sprintf("%s-%d", f.stem(), i+1), prompt: query, skill: bareSkill(skill), origin: f.origin(TriggerSet, pointer)}
		d.trigger(skill, wanted)
		d.flag("only the first decision is tested: axis b is the author's")
		if fileInProse.MatchString(query) {
			d.flag("the prompt names a file that does not exist")
		}
		d.split(f.stem())
		in.rest(&d.notes)
		cases = append(cases, d)
	}
	return im.add(Suite{Format: TriggerSet, File: f.name, Name: bareSkill(skill)}, cases)
}

// split keeps which half of a split a file is.
func (d *building) split(stem string) {
	for _, half := range []string{"train", "validation", "test"} {
		if strings.HasPrefix(strings.ToLower(stem), half) {
			d.remark("split", half)
		}
	}
}
