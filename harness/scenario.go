package harness

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// HookExpectation says what a scenario's project should get from the hook.
type HookExpectation string

// What the SessionStart hook should do in a scenario's project.
const (
	HookNote   HookExpectation = "note"   // deliver the note
	HookSilent HookExpectation = "silent" // run, exit 0 and say nothing
)

// Scenario is one task with its expectation and role, as read from a suite's
// scenarios/ID.md.
type Scenario struct {
	ID      string `yaml:"id"`
	Role    Role   `yaml:"role"`
	Skill   string `yaml:"skill,omitempty"`
	Fixture string `yaml:"fixture"`
	// Hook is empty in the suite of a plugin without a SessionStart hook.
	Hook    HookExpectation `yaml:"hook,omitempty"`
	Changes []Change        `yaml:"changes,omitempty"`
	// Graph: the project comes with the fixture's code graph. Where none has
	// been built the scenario is not run.
	Graph bool `yaml:"graph,omitempty"`
	// Pair is the scenario a control is read beside, such as the same task
	// without the graph.
	Pair string `yaml:"pair,omitempty"`
	// NeverSay are words and phrases that the task must not hold: whoever is told
	// them is coached. The names of the plugin, its skills and its programs are
	// meant without being listed.
	NeverSay []string `yaml:"never_say,omitempty"`
	Expect   Expect   `yaml:"expect"`
	// Forbidden are changes of the project which must not be there at the end.
	Forbidden []Diff `yaml:"forbidden,omitempty"`
	// Judge is the question asked when no file settled axis b; empty for none.
	Judge string `yaml:"judge,omitempty"`
	// Oracle and Nop are a perfect and an idle run, for the self-test and the
	// simulated model.
	Oracle []Step `yaml:"oracle"`
	Nop    []Step `yaml:"nop"`
	// Task is the prompt. It is held out unless the role is practice, in which
	// case PracticeTask holds it as ordinary text.
	Task         HeldOut `yaml:"-"`
	PracticeTask string  `yaml:"-"`
	// Draft is nil unless the scenario was imported and nobody confirmed it.
	Draft *Draft `yaml:"draft,omitempty"`
}

// Change is one edit of the fixture before the session, such as removing the
// records for a project that has none.
type Change struct {
	Remove string `yaml:"remove,omitempty"` // path or glob below the project
	Path   string `yaml:"path,omitempty"`
	Write  string `yaml:"write,omitempty"` // whole new content of Path
}

// Expect lists what must hold: any of A for axis a, all of B for axis b.
type Expect struct {
	A []Assertion `yaml:"a"`
	B []Assertion `yaml:"b"`
}

// Assertion is one thing that must hold. Exactly one field is set; the set is
// closed so that a suite cannot ask for something no checker can show.
type Assertion struct {
	// Consults: the session did (or, when false, did not) use what the suite's
	// checker.yaml calls consulting.
	Consults *bool `yaml:"consults,omitempty"`
	// Skill, Command and Touches are globs over skills invoked, programs run
	// and paths read or written by tool calls that succeeded.
	Skill   string `yaml:"skill,omitempty"`
	Command string `yaml:"command,omitempty"`
	Touches string `yaml:"touches,omitempty"`
	// Created: a file that the start did not have.
	Created *Created `yaml:"created,omitempty"`
	// Changed: an added or removed line in the project.
	Changed *Diff `yaml:"changed,omitempty"`
	// Cites, Says and NeverSays look at the main agent's own text.
	Cites     *Cites   `yaml:"cites,omitempty"`
	Says      []string `yaml:"says,omitempty"`       // any pattern matches
	NeverSays []string `yaml:"never_says,omitempty"` // no pattern matches
}

// Created asks for a new file whose text holds at least one word of each list.
type Created struct {
	Path     string     `yaml:"path"`
	Keywords [][]string `yaml:"keywords,omitempty"`
}

// Diff asks for a line added to or removed from files matching a glob.
type Diff struct {
	Path    string `yaml:"path"`
	Adds    string `yaml:"adds,omitempty"`
	Removes string `yaml:"removes,omitempty"`
}

// Cites asks that a record is cited and that others are not cited as live.
type Cites struct {
	ID      string   `yaml:"id"`
	NotLive []string `yaml:"not_live,omitempty"`
}

// Step is one step of a fabricated run: a tool call or the final text.
type Step struct {
	Skill string     `yaml:"skill,omitempty"`
	Bash  string     `yaml:"bash,omitempty"`
	Read  string     `yaml:"read,omitempty"`
	Write *WriteStep `yaml:"write,omitempty"`
	Edit  *EditStep  `yaml:"edit,omitempty"`
	Text  string     `yaml:"text,omitempty"`
}

// WriteStep writes a whole file below the project.
type WriteStep struct {
	Path    string `yaml:"path"`
	Content string `yaml:"content"`
}

// EditStep replaces the one occurrence of Old in a file below the project.
type EditStep struct {
	Path string `yaml:"path"`
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

// ParseScenario reads a scenario file: YAML front matter and a "## Task"
// block. The file name is for error text only. Errors name file and key.
// A draft is refused.
func ParseScenario(file string, data []byte) (Scenario, error) {
	return parseScenario(file, data, false)
}

func parseScenario(file string, data []byte, draft bool) (Scenario, error) {
	s, err := decodeScenario(file, data)
	if err != nil {
		return Scenario{}, err
	}
	if (s.Draft != nil) != draft {
		return Scenario{}, draftError(file, s.Draft)
	}
	if err := s.validate(); err != nil {
		return Scenario{}, fmt.Errorf("read scenario %s: %w", file, err)
	}
	return s, nil
}

// decodeScenario reads a scenario file that fits its schema and has a task.
func decodeScenario(file string, data []byte) (Scenario, error) {
	front, body, ok := splitFrontMatter(data)
	if !ok {
		return Scenario{}, fmt.Errorf("read scenario %s: no front matter between --- lines", file)
	}
	var s Scenario
	if err := decode(ScenarioSchema, front, &s); err != nil {
		return Scenario{}, fmt.Errorf("read scenario %s: %w", file, err)
	}
	task := taskBlock(body)
	if s.Role == Practice {
		s.PracticeTask = task
	} else {
		s.Task = NewHeldOut(task)
	}
	if strings.TrimSpace(task) == "" {
		return Scenario{}, fmt.Errorf("read scenario %s: no text under ## Task", file)
	}
	return s, nil
}

// splitFrontMatter cuts "---\nFRONT---\nBODY".
func splitFrontMatter(data []byte) (front, body []byte, ok bool) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, nil, false
	}
	front, body, ok = bytes.Cut(rest, []byte("\n---\n"))
	return front, body, ok
}

// taskBlock returns the text below the "## Task" heading up to the next
// heading of the same level.
func taskBlock(body []byte) string {
	_, task, ok := strings.Cut("\n"+string(body), "\n## Task\n")
	if !ok {
		return ""
	}
	task, _, _ = strings.Cut(task, "\n## ")
	return escapedHeading.ReplaceAllString(strings.TrimSpace(task), "$1")
}

// escapedHeading is a line of a task that would end it: it is written with a
// backslash before it, which is no part of the task.
var escapedHeading = regexp.MustCompile(`(?m)^\\(\\*## )`)

// yamlReason keeps the first line of a YAML error, which names key and place,
// and leaves out the source excerpt, which could hold task text.
func yamlReason(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

func (s Scenario) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.ID == "" {
		bad("id: missing")
	}
	if !slices.Contains([]Role{Objective, Guard, Control, Reserve, Practice}, s.Role) {
		bad("role: %q is none of objective, guard, control, reserve, practice", s.Role)
	}
	if s.Draft == nil {
		errs = append(errs, s.whole()...)
	}
	for axis, list := range [][]Assertion{s.Expect.A, s.Expect.B} {
		for i, a := range list {
			if err := a.validate(); err != nil {
				bad("expect.%c[%d]: %w", 'a'+axis, i, err)
			}
		}
	}
	for _, d := range s.Forbidden {
		if err := d.validate(); err != nil {
			bad("forbidden: %w", err)
		}
	}
	for i, phrase := range s.NeverSay {
		if len(words(phrase)) == 0 {
			bad("never_say: entry %d holds no word", i+1)
		}
	}
	return errors.Join(errs...)
}

// whole finds what only a draft may leave open.
func (s Scenario) whole() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Fixture == "" {
		bad("fixture: missing")
	}
	if !slices.Contains([]HookExpectation{"", HookNote, HookSilent}, s.Hook) {
		bad("hook: %q is neither note nor silent", s.Hook)
	}
	if len(s.Expect.A) == 0 || len(s.Expect.B) == 0 {
		bad("expect: both a and b need at least one assertion")
	}
	for i, steps := range [][]Step{s.Oracle, s.Nop} {
		if len(steps) == 0 || steps[len(steps)-1].Text == "" {
			bad("%s: must end with a text step", []string{"oracle", "nop"}[i])
		}
	}
	return errs
}

func (a Assertion) validate() error {
	set := 0
	for _, is := range []bool{
		a.Consults != nil, a.Skill != "", a.Command != "", a.Touches != "", a.Created != nil, a.Changed != nil,
		a.Cites != nil, len(a.Says) > 0, len(a.NeverSays) > 0,
	} {
		if is {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("has %d kinds, want exactly one", set)
	}
	if a.Changed != nil {
		return a.Changed.validate()
	}
	globs := []string{a.Skill, a.Command, a.Touches}
	if a.Created != nil {
		globs = append(globs, a.Created.Path)
	}
	for _, g := range globs {
		if !goodGlob(g) {
			return fmt.Errorf("%q is no glob", g)
		}
	}
	return compileAll(slices.Concat(a.Says, a.NeverSays)...)
}

func (d Diff) validate() error {
	if d.Path == "" || d.Adds == "" && d.Removes == "" {
		return errors.New("a change needs a path and one of adds, removes")
	}
	if !goodGlob(d.Path) {
		return fmt.Errorf("%q is no glob", d.Path)
	}
	return compileAll(d.Adds, d.Removes)
}

// PatternError says that a pattern of a scenario does not compile.
type PatternError struct {
	Pattern string
	Err     error
}

// Error names the whole pattern.
func (e *PatternError) Error() string { return fmt.Sprintf("pattern %q: %v", e.Pattern, e.Err) }

func compileAll(patterns ...string) error {
	for _, p := range patterns {
		if _, err := regexp.Compile(p); err != nil {
			return &PatternError{Pattern: p, Err: err}
		}
	}
	return nil
}
