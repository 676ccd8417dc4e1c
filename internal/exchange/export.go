package exchange

import (
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
)

// Limits of a case of claude plugin eval.
const (
	mostTurns   = 200
	mostSeconds = 3600
)

// Exported is one scenario written as a case: its folder's name and what of the
// scenario the case does not check.
type Exported struct {
	ID      string
	Left    []string // what has no form in a case
	Graders int
}

// Export writes scenarios of a suite as cases of claude plugin eval below a
// folder, one folder for each, with a README.md that lists what a case does not
// check. files are the scenario files by id: a task goes as it is written from
// its file into prompt.md and is held by nothing on the way. Where a file exists
// already nothing is written and the error is an ExistsError.
func Export(dir string, suite harness.Suite, ids []string, files map[string][]byte) ([]Exported, error) {
	tree := make(harness.Tree)
	var out []Exported
	for _, id := range ids {
		sc, ok := suite.Scenario(id)
		if !ok {
			return nil, fmt.Errorf("export: no scenario %s", shortPath(id))
		}
		c, err := exportCase(suite, sc, files[id])
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", id, err)
		}
		if c.graders == 0 {
			c.left = append(c.left, "nothing it expects has a form in a case, and a case needs a check: it is not written")
			out = append(out, Exported{ID: id, Left: c.left})
			continue
		}
		for p, f := range c.files {
			tree[id+"/"+p] = f
		}
		out = append(out, Exported{ID: id, Left: c.left, Graders: c.graders})
	}
	if len(tree) == 0 {
		return nil, fmt.Errorf("export: nothing these scenarios expect has a form in a case")
	}
	tree["README.md"] = textFile(exportReadme(suite, out))
	return out, layOut(dir, tree)
}

func textFile(text string) harness.File { return harness.File{Mode: 0o644, Data: []byte(text)} }

// writing is a case in the making.
type writing struct {
	files   harness.Tree
	graders int
	left    []string
}

func (w *writing) leave(format string, args ...any) {
	w.left = append(w.left, fmt.Sprintf(format, args...))
}

// grade adds one grader: its front matter, and a body for a judge.
func (w *writing) grade(name string, front []pair, body string) {
	w.graders++
	text := frontText(front)
	if body != "" {
		text += "\n" + body + "\n"
	}
	w.files["graders/"+name+".md"] = textFile(text)
}

// pair is one key of a front matter; values are strings, whole numbers, truth
// values or lists of strings.
type pair struct {
	key   string
	value any
}

// frontText writes a front matter. Strings are quoted as in JSON, which every
// reader of YAML takes for the same text.
func frontText(pairs []pair) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, p := range pairs {
		b.WriteString(p.key + ": " + inlineValue(p.value) + "\n")
	}
	b.WriteString("---\n")
	return b.String()
}

func inlineValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoteJSON(v)
	case []string:
		var parts []string
		for _, s := range v {
			parts = append(parts, quoteJSON(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// exportCase writes the files of one case.
func exportCase(suite harness.Suite, sc harness.Scenario, file []byte) (*writing, error) {
	w := &writing{files: make(harness.Tree)}
	task := unescapeHeadings(taskOf(file))
	if task == "" {
		return nil, fmt.Errorf("no text under ## Task")
	}
	w.axisA(sc.Expect.A, suite.Checker)
	w.axisB(sc.Expect.B)
	if sc.Judge != "" {
		w.grade("judge", []pair{{"type", "llm"}, {"focus", "last_message"}}, sc.Judge)
		if slices.ContainsFunc(sc.Expect.B, func(a harness.Assertion) bool { return a.Created != nil }) {
			w.leave("judge: asked here only where no file settles axis b; there both are graded")
		}
	}
	for _, d := range sc.Forbidden {
		w.leave("forbidden: no change of %s is looked for", d.Path)
	}
	w.leave("oracle, nop: a case has no made-up runs")
	if err := w.project(suite, sc); err != nil {
		return nil, err
	}
	front := []pair{{"schema_version", caseVersion}, {"name", sc.ID}, {"tags", caseTags(sc)}}
	if n := suite.Launch.MaxTurns; n > 0 {
		front = append(front, pair{"max_turns", min(n, mostTurns)})
	}
	if s := int(suite.Launch.Clocks.Total.Seconds()); s > 0 {
		front = append(front, pair{"timeout_seconds", min(s, mostSeconds)})
	}
	front = append(front, pair{"allowed_tools", caseTools})
	w.files["prompt.md"] = textFile(frontText(front) + "\n" + task + "\n")
	return w, nil
}

// caseTools are the tools a session needs for the tasks of a suite. Naming those
// that write grants nothing: that is for whoever runs the cases.
var caseTools = []string{"Skill", "Read", "Glob", "Grep", "Bash", "Write", "Edit"}

// caseTags carry what a case has no field for; import reads them back.
func caseTags(sc harness.Scenario) []string {
	tags := []string{tagRole + string(sc.Role), tagFixture + sc.Fixture, tagHook + string(sc.Hook)}
	if sc.Skill != "" {
		tags = append(tags, tagSkill+sc.Skill)
	}
	if sc.Pair != "" {
		tags = append(tags, tagPair+sc.Pair)
	}
	if sc.Graph {
		tags = append(tags, tagGraph)
	}
	return tags
}

func unescapeHeadings(task string) string { return escaped.ReplaceAllString(task, "$1") }

// axisA writes what settles axis a as one grader of the Skill tool: any of the
// skills is enough. Programs and paths have no form in the same grader.
func (w *writing) axisA(list []harness.Assertion, c harness.Checker) {
	var globs, lost []string
	never := false
	for _, a := range list {
		from := []harness.Assertion{a}
		if a.Consults != nil {
			never, from = never || !*a.Consults, c.Consult
		}
		for _, one := range from {
			switch {
			case one.Skill != "":
				globs = append(globs, one.Skill)
			default:
				lost = append(lost, kindOf(one))
			}
		}
	}
	if never && len(list) > 1 {
		w.leave("expect.a: consults: false beside others")
		return
	}
	for _, what := range lost {
		w.leave("expect.a: %s is not looked at", what)
	}
	if len(globs) == 0 {
		return
	}
	pattern, err := skillPattern(globs)
	if err != nil {
		w.leave("expect.a: %v", err)
		return
	}
	front := []pair{{"type", "tool_used"}, {"tool", "Skill"}, {"input_match", pattern}}
	if never {
		front = append(front, pair{"min", 0}, pair{"max", 0}, pair{"arm", "both"})
	}
	w.grade("axis-a", front, "")
}

// kindOf names an assertion for the list of what is left out.
func kindOf(a harness.Assertion) string {
	switch {
	case a.Command != "":
		return "command " + a.Command
	case a.Touches != "":
		return "touches " + a.Touches
	case a.Changed != nil:
		return "changed " + a.Changed.Path
	case a.Cites != nil:
		return "cites " + a.Cites.ID
	case a.Skill != "":
		return "skill " + a.Skill
	case len(a.Says) > 0:
		return "says"
	case len(a.NeverSays) > 0:
		return "never_says"
	case a.Created != nil:
		return "created " + a.Created.Path
	}
	return "consults"
}

// axisB writes one grader for each assertion that has a form in a case.
func (w *writing) axisB(list []harness.Assertion) {
	for i, a := range list {
		name := fmt.Sprintf("axis-b-%d", i+1)
		patterns, match := a.Says, "contains"
		if len(a.NeverSays) > 0 {
			patterns, match = a.NeverSays, "not_contains"
		}
		switch {
		case a.Created != nil:
			w.grade(name, []pair{{"type", "file_exists"}, {"path", a.Created.Path}, {"exists", true}}, "")
			if len(a.Created.Keywords) > 0 {
				w.leave("expect.b[%d]: keywords in %s", i, a.Created.Path)
			}
		case a.Command == "*":
			w.grade(name, []pair{{"type", "tool_used"}, {"tool", "Bash"}}, "")
		case len(patterns) > 0:
			w.patterns(i, name, match, patterns)
		default:
			w.leave("expect.b[%d]: %s", i, kindOf(a))
		}
	}
}

func (w *writing) patterns(i int, name, match string, patterns []string) {
	pattern, flags, err := toJS(patterns)
	if err != nil {
		w.leave("expect.b[%d]: %v", i, err)
		return
	}
	front := []pair{{"type", "regex"}, {"pattern", pattern}}
	if flags != "" {
		front = append(front, pair{"flags", flags})
	}
	w.grade(name, append(front, pair{"match", match}, pair{"target", "last_message"}), "")
}
