package exchange

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"loopd/harness"
)

// foo reads one promptfoo configuration.
type foo struct {
	*importer
	file   suiteFile
	top    *fields
	common notes // fields of the configuration that belong to no single test
	trees  harness.Tree
	name   string // of the fixture
}

// promptfoo reads a configuration of promptfoo: every prompt with every test.
func (im *importer) promptfoo(f suiteFile) error {
	p := &foo{importer: im, file: f, top: fieldsOf(f.doc, "")}
	p.providers()
	prompts, err := p.prompts()
	if err != nil {
		return err
	}
	tests, err := p.tests()
	if err != nil {
		return err
	}
	defaults, err := p.external(p.top.node("defaultTest"))
	if err != nil {
		return err
	}
	p.top.node("assertionTemplates") // carried where a test refers to it
	p.top.meta(&p.common, "description", "evaluateOptions", "tracing")
	p.top.rest(&p.common)
	var cases []*building
	for _, t := range tests {
		for i, prompt := range prompts {
			made, err := p.expand(t, prompt, i, len(prompts), defaults)
			if err != nil {
				return err
			}
			cases = append(cases, made...)
		}
	}
	name := f.doc.get("description").word()
	if fileName(name) == "" || len(name) > 40 {
		name = f.stem()
	}
	return im.add(Suite{Format: Promptfoo, File: f.name, Name: name}, cases)
}

// fooTest is one test with its place.
type fooTest struct {
	at string
	n  *node
}

// tests lists the tests of a configuration: its own, those of files it names,
// and each row of a scenario with each of its tests.
func (p *foo) tests() ([]fooTest, error) {
	var out []fooTest
	list := p.top.node("tests")
	if list.is(aScalar) {
		list = &node{kind: aList, items: []*node{list}}
	}
	for i, n := range list.entries() {
		at := fmt.Sprintf("/tests/%d", i)
		more, err := p.testFile(at, n)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	if list != nil && !list.is(aList) {
		p.common.lose("tests", list)
	}
	for i, sc := range p.top.list("scenarios") {
		for j, row := range sc.get("config").entries() {
			for k, t := range sc.get("tests").entries() {
				out = append(out, fooTest{fmt.Sprintf("/scenarios/%d/config/%d/tests/%d", i, j, k), merge(row, t)})
			}
		}
		in := fieldsOf(sc, fmt.Sprintf("scenarios[%d]", i))
		in.node("config")
		in.node("tests")
		in.rest(&p.common)
	}
	return out, nil
}

// testFile reads the tests of a file that stands in place of a test.
func (p *foo) testFile(at string, n *node) ([]fooTest, error) {
	if n.is(aMap) {
		return []fooTest{{at, n}}, nil
	}
	doc, err := p.external(n)
	if err != nil {
		return nil, err
	}
	if doc.is(aMap) {
		return []fooTest{{at, doc}}, nil
	}
	if !doc.is(aList) {
		p.skip(p.file.name+"#"+at, "tests that are no YAML, JSON or rows of JSON")
		p.common.lose(strings.TrimPrefix(at, "/"), n)
		return nil, nil
	}
	var out []fooTest
	for i, item := range doc.items {
		if item.is(aMap) {
			out = append(out, fooTest{fmt.Sprintf("%s/%d", at, i), item})
		}
	}
	return out, nil
}

// external follows file://x to a document beside the configuration. Code is
// never run: such a value stays as it is.
func (p *foo) external(n *node) (*node, error) {
	name, ok := strings.CutPrefix(n.word(), "file://")
	if !ok || !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl"}, path.Ext(name)) {
		return n, nil
	}
	data, err := p.importer.file(path.Dir(p.file.name), name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.file.name, err)
	}
	doc, err := parseFile(name, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.file.name, shortPath(name), err)
	}
	return doc, nil
}

// merge lays a test over the row of a scenario.
func merge(under, over *node) *node {
	if !under.is(aMap) || !over.is(aMap) {
		return over
	}
	out := newMap()
	for _, key := range under.keys {
		_ = out.put(key, under.vals[key]) // keys of one map differ
	}
	for _, key := range over.keys {
		have, both := out.vals[key]
		switch {
		case !both:
			_ = out.put(key, over.vals[key])
		case have.is(aMap):
			out.vals[key] = merge(have, over.vals[key])
		case have.is(aList) && key == "assert" && over.vals[key].is(aList):
			out.vals[key] = &node{kind: aList, items: slices.Concat(have.items, over.vals[key].items)}
		default:
			out.vals[key] = over.vals[key]
		}
	}
	return out
}

// prompts lists the texts of prompts. One that is a conversation or code is left
// out, and said to be.
func (p *foo) prompts() ([]string, error) {
	list := p.top.node("prompts")
	if list.is(aScalar) {
		list = &node{kind: aList, items: []*node{list}}
	}
	var out []string
	for i, n := range list.entries() {
		raw := n
		if n.is(aMap) {
			raw = n.get("raw")
		}
		text := raw.word()
		name, external := strings.CutPrefix(text, "file://")
		switch {
		case external && slices.Contains([]string{".txt", ".md"}, path.Ext(name)):
			data, err := p.importer.file(path.Dir(p.file.name), name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.file.name, err)
			}
			out = append(out, string(clean(data)))
		case text == "" || external:
			// Its value is not kept: it is a task, and belongs into no front matter.
			p.skip(fmt.Sprintf("%s#/prompts/%d", p.file.name, i), "a prompt that is no plain text")
		default:
			out = append(out, text)
		}
	}
	return out, nil
}

// providers takes the project from the working folder the providers agree on.
// What differs between providers is wording, which is no part of a scenario.
func (p *foo) providers() {
	var dirs []string
	for _, key := range []string{"providers", "targets"} {
		for i, n := range p.top.n.get(key).entries() {
			in := fieldsOf(n.get("config"), fmt.Sprintf("%s[%d].config", key, i))
			if dir := in.text("working_dir"); dir != "" && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
			in.meta(&p.common, "max_turns", "model", "append_allowed_tools", "custom_allowed_tools", "disallowed_tools", "max_budget_usd")
			in.rest(&p.common)
			own := fieldsOf(n, fmt.Sprintf("%s[%d]", key, i))
			own.node("config")
			own.meta(&p.common, "id", "label")
			own.rest(&p.common)
			if n.is(aScalar) {
				p.common.remark(own.at, n.text)
			}
			p.top.used[key] = true
		}
	}
	switch len(dirs) {
	case 0:
		p.common.flag("no working folder: the sessions had neither a project nor tools")
	case 1:
		p.workingDir(dirs[0])
	default:
		p.common.flag("the providers work in different folders: choose the project")
	}
}

func (p *foo) workingDir(dir string) {
	tree, err := p.importer.tree(path.Dir(p.file.name), dir)
	if err != nil {
		p.common.flag("working_dir: %v", err)
		p.common.unmapped = append(p.common.unmapped, harness.SourceField{Field: "working_dir", Value: dir})
		return
	}
	maps.DeleteFunc(tree, func(name string, _ harness.File) bool { return strings.HasPrefix(name, ".claude/skills/") })
	p.trees, p.name = tree, path.Base(path.Clean(dir))
}

// expand makes the cases of one test and one prompt: several where a variable
// is a list.
func (p *foo) expand(t fooTest, prompt string, number, prompts int, defaults *node) ([]*building, error) {
	if !t.n.is(aMap) {
		return nil, fmt.Errorf("%s#%s: want a map", p.file.name, t.at)
	}
	whole := t.n
	if defaults.is(aMap) {
		whole = merge(defaults, t.n)
	}
	var out []*building
	sets := varSets(whole)
	for i, vars := range sets {
		d := &building{id: p.caseID(t), origin: p.file.origin(Promptfoo, t.at), files: p.trees, fixture: p.name, notes: p.common.clone()}
		if prompts > 1 {
			d.id += fmt.Sprintf("-p%d", number+1)
		}
		if len(sets) > 1 {
			d.id += fmt.Sprintf("-v%d", i+1)
		}
		text, missing, err := render(prompt, vars)
		switch {
		case err != nil:
			p.skip(p.file.name+"#"+t.at, "%v", err)
			continue
		case strings.TrimSpace(text) == "":
			p.skip(p.file.name+"#"+t.at, "no prompt")
			continue
		case missing:
			d.flag("a variable of the prompt has no value; it is left empty, as it was there")
		}
		d.prompt = text
		p.fill(d, whole, vars, prompt)
		out = append(out, d)
	}
	return out, nil
}

func (s *notes) clone() notes {
	return notes{slices.Clone(s.flags), slices.Clone(s.questions), slices.Clone(s.meta), slices.Clone(s.unmapped)}
}

// caseID is what a test is called: its own id, or its place. Descriptions are
// prose that may say what the prompt says.
func (p *foo) caseID(t fooTest) string {
	if id := t.n.get("metadata").get("id").word(); fileName(id) != "" {
		return id
	}
	return "test" + strings.NewReplacer("/tests/", "-", "/scenarios/", "-s", "/config/", "-c", "/", "-").Replace(t.at)
}

// fill carries the fields of a test.
func (p *foo) fill(d *building, n *node, vars map[string]*node, prompt string) {
	in := fieldsOf(n, "test")
	options := fieldsOf(in.node("options"), "test.options")
	options.truth("disableVarExpansion")
	options.rest(&d.notes)
	for _, v := range n.get("vars").keysOf() {
		if !strings.Contains(prompt, v) {
			d.lose("vars."+v, n.get("vars").get(v))
		}
	}
	in.node("vars")
	in.meta(&d.notes, "description", "metadata", "threshold")
	if t := n.get("threshold").word(); t != "" && t != "1" && t != "1.0" {
		d.flag(flagLevel)
	}
	for i, a := range in.list("assert") {
		p.assert(d, fmt.Sprintf("assert[%d]", i), a, vars)
	}
	d.settle()
	if len(d.questions) > 0 {
		d.flag(flagJudge)
	}
	in.rest(&d.notes)
}

func (n *node) keysOf() []string {
	if n.is(aMap) {
		return n.keys
	}
	return nil
}

// varSets are the values of the variables: one set, or one for each entry where
// a variable is a list.
func varSets(n *node) []map[string]*node {
	vars := n.get("vars")
	off, _ := n.get("options").get("disableVarExpansion").truth()
	sets := []map[string]*node{{}}
	for _, key := range vars.keysOf() {
		values := []*node{vars.vals[key]}
		if vars.vals[key].is(aList) && !off {
			values = vars.vals[key].items
		}
		var next []map[string]*node
		for _, set := range sets {
			for _, v := range values {
				with := maps.Clone(set)
				with[key] = v
				next = append(next, with)
			}
		}
		if sets = next; len(sets) > maxSets {
			return sets[:maxSets]
		}
	}
	return sets
}

// maxSets bounds the cases one test can multiply into.
const maxSets = 100

var (
	hole     = regexp.MustCompile(`\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}`)
	template = regexp.MustCompile(`\{\{|\{%|\{#`)
)

// render puts the variables into a prompt. Whatever else a template may hold is
// an error: a prompt that is not the one that was run is worth nothing.
func render(prompt string, vars map[string]*node) (text string, missing bool, err error) {
	if template.MatchString(hole.ReplaceAllString(prompt, "")) {
		return "", false, fmt.Errorf("the prompt is a template with more than variables")
	}
	text = hole.ReplaceAllStringFunc(prompt, func(m string) string {
		v := vars[hole.FindStringSubmatch(m)[1]]
		switch {
		case v == nil:
			missing = true
			return ""
		case strings.HasPrefix(v.word(), "file://") || template.MatchString(v.word()):
			err = fmt.Errorf("a variable of the prompt is a file or a template")
		}
		return v.verbatim()
	})
	return text, missing, err
}
