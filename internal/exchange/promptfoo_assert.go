package exchange

import (
	"regexp"
	"strconv"
	"strings"

	"loopd/harness"
)

// maxSet bounds how deep sets of assertions may nest.
const maxSet = 8

// assert carries one assertion; what has no form goes to the unmapped list as a
// whole.
func (p *foo) assert(d *building, at string, n *node, vars map[string]*node) {
	n = p.template(n)
	in := fieldsOf(n, at)
	kind := in.text("type")
	if kind == "assert-set" && n.get("threshold") == nil && strings.Count(at, ".") < maxSet {
		for i, sub := range in.list("assert") {
			p.assert(d, at+".assert["+strconv.Itoa(i)+"]", sub, vars)
		}
		in.meta(&d.notes, "weight", "metric")
		in.rest(&d.notes)
		return
	}
	value, ok := filled(n.get("value"), vars)
	if w := n.get("weight").word(); !ok || w == "0" || !d.fooCheck(in, kind, value) {
		d.lose(at, n)
		return
	}
	in.node("value")
	in.meta(&d.notes, "weight", "metric")
	if n.get("weight") != nil {
		d.flag(flagLevel)
	}
	in.rest(&d.notes)
}

// template follows a reference to an assertion written down once.
func (p *foo) template(n *node) *node {
	name, ok := strings.CutPrefix(n.get("$ref").word(), "#/assertionTemplates/")
	if t := p.top.n.get("assertionTemplates").get(name); ok && t.is(aMap) {
		return merge(t, without(n, "$ref"))
	}
	return n
}

func without(n *node, key string) *node {
	out := newMap()
	for _, k := range n.keysOf() {
		if k != key {
			_ = out.put(k, n.vals[k]) // keys of one map differ
		}
	}
	return out
}

// filled renders the variables in a value; ok is false where more than
// variables stands in it.
func filled(n *node, vars map[string]*node) (*node, bool) {
	switch {
	case n.is(aScalar) && template.MatchString(n.text):
		text, missing, err := render(n.text, vars)
		return &node{kind: aScalar, text: text, quoted: true}, err == nil && !missing
	case n.is(aList):
		out := &node{kind: aList}
		for _, item := range n.items {
			v, ok := filled(item, vars)
			if !ok {
				return n, false
			}
			out.items = append(out.items, v)
		}
		return out, true
	}
	return n, !strings.HasPrefix(n.word(), "file://")
}

// fooCheck carries an assertion by its type; false where it has no form here.
func (d *building) fooCheck(in *fields, kind string, value *node) bool {
	kind, not := strings.CutPrefix(kind, "not-")
	switch kind {
	case "skill-used":
		return d.skillUsed(value, not)
	case "contains", "icontains", "contains-any", "icontains-any", "contains-all", "icontains-all", "regex":
		return d.textCheck(kind, value, not)
	case "trajectory:tool-used":
		return !not && d.toolUsed(value)
	case "trajectory:tool-args-match":
		return !not && d.toolArgs(value)
	case "llm-rubric", "agent-rubric", "g-eval", "model-graded-closedqa", "factuality":
		return !not && in.n.get("threshold") == nil && d.rubric(value)
	case "trajectory:goal-success":
		if goal := value.get("goal"); goal != nil {
			value = goal
		}
		return !not && d.rubric(value)
	case "cost", "latency", "tokens-used":
		in.meta(&d.notes, "threshold", "min", "max", "value")
		d.remark(in.name("type"), kind)
		return true
	}
	return false
}

// rubric takes statements for a judge.
func (d *building) rubric(value *node) bool {
	texts, ok := textsOf(value)
	for _, t := range texts {
		if ok = ok && strings.TrimSpace(t) != ""; ok {
			d.question(t)
		}
	}
	return ok && len(texts) > 0
}

// skillUsed reads the names a skill assertion gives: one, several that are all
// needed, or a name or glob with counts.
func (d *building) skillUsed(value *node, not bool) bool {
	names, ok := textsOf(value)
	if value.is(aMap) {
		in := fieldsOf(value, "")
		name := in.text("name")
		if name == "" {
			name = in.text("pattern")
		}
		least, most := in.number("min", 1), in.number("max", -1)
		if name == "" || most > 0 || least > 1 || value.get("min") != nil && most < 0 && least == 0 || not && (value.get("min") != nil || most > 0) {
			return false
		}
		names, ok, not = []string{name}, true, not || most == 0
	}
	switch {
	case !ok || len(names) == 0 || !not && (len(names) > 1 || len(d.a) > 0):
		return false // several that are all needed are no list of which one is enough
	}
	for _, name := range names {
		globs := skillGlobs(name)
		if rest, any := strings.CutPrefix(name, "*"); any && skillName.MatchString(rest) {
			globs = skillGlobs(strings.TrimPrefix(rest, ":"))
		} else if !skillName.MatchString(name) {
			return false
		}
		if not {
			d.never = append(d.never, forbidden{skill: strings.TrimLeft(name, "*:/"), at: "not-skill-used", n: value})
			continue
		}
		d.a = skillAssertions(globs)
	}
	return true
}

// textCheck turns a check of the reply into patterns.
func (d *building) textCheck(kind string, value *node, not bool) bool {
	texts, ok := textsOf(value)
	if !ok || len(texts) == 0 {
		return false
	}
	if value.is(aScalar) && (strings.HasSuffix(kind, "-any") || strings.HasSuffix(kind, "-all")) {
		texts = strings.Split(value.text, ",")
	}
	var patterns []string
	for _, t := range texts {
		p := regexp.QuoteMeta(strings.TrimSpace(t))
		if !strings.Contains(kind, "-") {
			p = regexp.QuoteMeta(t)
		}
		if strings.HasPrefix(kind, "icontains") {
			p = "(?i)" + p
		}
		if kind == "regex" {
			var err error
			if p, err = fromJS(t, ""); err != nil {
				d.flag("a pattern has no form here")
				return false
			}
		} else {
			d.literals = append(d.literals, strings.TrimSpace(t))
		}
		if strings.TrimSpace(t) == "" {
			return false
		}
		patterns = append(patterns, p)
	}
	all := strings.HasSuffix(kind, "-all")
	switch {
	case not && all && len(patterns) > 1:
		return false // some may be there, only not all of them
	case not:
		d.b = append(d.b, harness.Assertion{NeverSays: patterns})
	case all:
		for _, p := range patterns {
			d.b = append(d.b, harness.Assertion{Says: []string{p}})
		}
	default:
		d.b = append(d.b, harness.Assertion{Says: patterns})
	}
	d.flag(flagWide)
	return true
}

// toolUsed carries the two tools a scenario can ask for without more: a skill,
// whichever, and a shell command, whichever.
func (d *building) toolUsed(value *node) bool {
	name := value.word()
	if value.is(aMap) {
		in := fieldsOf(value, "")
		name = in.text("name")
		if in.number("min", 1) != 1 || value.get("max") != nil {
			return false
		}
	}
	switch {
	case name == "Bash":
		d.b = append(d.b, harness.Assertion{Command: "*"})
	case name == "Skill" && len(d.a) == 0:
		d.a = skillAssertions([]string{"*"})
	default:
		return false
	}
	return true
}

// toolArgs carries a call that reads or writes a file below the project, or
// calls a skill by its name.
func (d *building) toolArgs(value *node) bool {
	args := value.get("args")
	if args == nil {
		args = value.get("arguments")
	}
	keys := args.keysOf()
	if len(keys) != 1 || value.get("defaults") != nil || value.get("ignore") != nil {
		return false
	}
	text := args.get(keys[0]).word()
	switch name := value.get("name").word(); {
	case name == "Read" && keys[0] == "file_path" && inside(text) && !strings.ContainsAny(text, `*?[`):
		d.b = append(d.b, harness.Assertion{Touches: text})
		d.flag("a call with certain arguments: here any call that reads or writes the path is enough")
	case name == "Skill" && keys[0] == "skill" && skillName.MatchString(text) && len(d.a) == 0:
		d.a = skillAssertions(skillGlobs(text))
	default:
		return false
	}
	return true
}
