package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"loopd/harness"
)

// Draft is one imported case: a scenario nobody has confirmed, and the files it
// works on. The task is sealed like that of any scenario.
type Draft struct {
	Scenario harness.Scenario
	Files    harness.Tree // of its fixture; empty where the suite names none
	text     []byte       // of the scenario file
}

// building is a draft in the making. The prompt is a plain string here and
// leaves only as the Task block of its file.
type building struct {
	notes
	id     string
	prompt string
	skill  string // the skill it is about, as one bare name
	role   harness.Role
	hook   harness.HookExpectation
	graph  bool
	pair   string
	a, b   []harness.Assertion
	never  []forbidden
	judge  string
	origin harness.Origin
	// fixture names where the files lie; files are its content.
	fixture string
	files   harness.Tree
	// literals are texts that a check looks for.
	literals []string
}

// Flags that more than one format gives.
const (
	flagNoChecks = "no checks, needs author"
	flagWide     = "a check of the last message: here it looks at all that the session says"
	flagJudge    = "statements for a judge: write the one question for YES or NO"
	flagLevel    = "scored by weights there; here every check must hold"
)

// digest names bytes.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// frontMatter is the part of a scenario file that an import fills.
type frontMatter struct {
	ID      string                  `yaml:"id" json:"id"`
	Role    harness.Role            `yaml:"role" json:"role"`
	Skill   string                  `yaml:"skill,omitempty" json:"skill,omitempty"`
	Fixture string                  `yaml:"fixture,omitempty" json:"fixture,omitempty"`
	Hook    harness.HookExpectation `yaml:"hook,omitempty" json:"hook,omitempty"`
	Graph   bool                    `yaml:"graph,omitempty" json:"graph,omitempty"`
	Pair    string                  `yaml:"pair,omitempty" json:"pair,omitempty"`
	Expect  map[string]any          `yaml:"expect,omitempty" json:"expect,omitempty"`
	Judge   string                  `yaml:"judge,omitempty" json:"judge,omitempty"`
	Draft   draftKey                `yaml:"draft" json:"draft"`
}

// draftKey is harness.Draft as it is written, in YAML and as JSON.
type draftKey struct {
	Origin struct {
		Format  string `yaml:"format" json:"format"`
		File    string `yaml:"file" json:"file"`
		Pointer string `yaml:"pointer,omitempty" json:"pointer,omitempty"`
		SHA256  string `yaml:"sha256" json:"sha256"`
	} `yaml:"origin" json:"origin"`
	Flags     []string   `yaml:"flags,omitempty" json:"flags,omitempty"`
	Questions []string   `yaml:"questions,omitempty" json:"questions,omitempty"`
	Meta      []fieldKey `yaml:"meta,omitempty" json:"meta,omitempty"`
	Unmapped  []fieldKey `yaml:"unmapped,omitempty" json:"unmapped,omitempty"`
}

// fieldKey is harness.SourceField as it is written.
type fieldKey struct {
	Field string `yaml:"field" json:"field"`
	Value string `yaml:"value" json:"value"`
}

func fieldKeys(list []harness.SourceField) []fieldKey {
	var out []fieldKey
	for _, f := range list {
		out = append(out, fieldKey(f))
	}
	return out
}

// finish checks the prompt for coaching and makes the scenario file. The text
// is read back: what does not come out as it went in is an error.
func (d *building) finish() (Draft, error) {
	d.coaching()
	if len(d.a) == 0 && len(d.b) == 0 && d.judge == "" && len(d.questions) == 0 {
		d.flag(flagNoChecks)
	}
	if d.role == "" {
		d.role = harness.Objective
	}
	front, want := d.front()
	body := "---\n## Task\n\n" + escapeHeadings(strings.TrimSpace(d.prompt)) + "\n"
	for _, encode := range []func(any) ([]byte, error){yamlText, jsonText} {
		head, err := encode(front)
		if err != nil {
			return Draft{}, fmt.Errorf("write draft: %w", err)
		}
		text := slices.Concat([]byte("---\n"), head, []byte(body))
		if got, err := harness.ParseDraft(d.id+".md", text); err == nil && sameFront(got, want) && taskOf(text) == escapeHeadings(strings.TrimSpace(d.prompt)) {
			return Draft{Scenario: got, Files: d.files, text: text}, nil
		}
	}
	return Draft{}, fmt.Errorf("%s: cannot be written as a scenario", d.origin.File)
}

// yamlText writes lists of steps and checks the way the bundled suite does.
func yamlText(v any) ([]byte, error) {
	return yaml.MarshalWithOptions(v, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
}

// jsonText is YAML as well, and the way out for texts that the YAML writer does
// not bring back.
func jsonText(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// front is the front matter and the scenario it must come back as.
func (d *building) front() (frontMatter, harness.Scenario) {
	want := harness.Scenario{
		ID: d.id, Role: d.role, Skill: d.skill, Fixture: d.fixture, Hook: d.hook, Graph: d.graph, Pair: d.pair, Judge: d.judge,
		Expect: harness.Expect{A: d.a, B: d.b},
		Draft:  &harness.Draft{Origin: d.origin, Flags: d.flags, Questions: d.questions, Meta: d.meta, Unmapped: d.unmapped},
	}
	f := frontMatter{ID: d.id, Role: d.role, Skill: d.skill, Fixture: d.fixture, Hook: d.hook, Graph: d.graph, Pair: d.pair, Judge: d.judge}
	f.Expect = make(map[string]any)
	if len(d.a) > 0 {
		f.Expect["a"] = assertionMaps(d.a)
	}
	if len(d.b) > 0 {
		f.Expect["b"] = assertionMaps(d.b)
	}
	f.Draft = draftKey{Flags: d.flags, Questions: d.questions, Meta: fieldKeys(d.meta), Unmapped: fieldKeys(d.unmapped)}
	f.Draft.Origin.Format, f.Draft.Origin.File = d.origin.Format, d.origin.File
	f.Draft.Origin.Pointer, f.Draft.Origin.SHA256 = d.origin.Pointer, d.origin.SHA256
	return f, want
}

// assertionMaps writes the one key each assertion has.
func assertionMaps(list []harness.Assertion) []map[string]any {
	var out []map[string]any
	for _, a := range list {
		switch {
		case a.Consults != nil:
			out = append(out, map[string]any{"consults": *a.Consults})
		case a.Skill != "":
			out = append(out, map[string]any{"skill": a.Skill})
		case a.Command != "":
			out = append(out, map[string]any{"command": a.Command})
		case a.Touches != "":
			out = append(out, map[string]any{"touches": a.Touches})
		case a.Created != nil:
			out = append(out, map[string]any{"created": map[string]any{"path": a.Created.Path}})
		case len(a.Says) > 0:
			out = append(out, map[string]any{"says": a.Says})
		default:
			out = append(out, map[string]any{"never_says": a.NeverSays})
		}
	}
	return out
}

// sameFront compares all but the task, which is compared as bytes.
func sameFront(got, want harness.Scenario) bool {
	want.Task, want.PracticeTask = got.Task, got.PracticeTask
	return reflect.DeepEqual(got, want)
}

// headings are the lines that would end a Task block.
var headings = regexp.MustCompile(`(?m)^(\\*## )`)

func escapeHeadings(task string) string { return headings.ReplaceAllString(task, `\$1`) }

// taskOf cuts the Task block out of a scenario file as it is written there.
func taskOf(file []byte) string {
	text := string(clean(file))
	if _, body, ok := strings.Cut(text, "\n---\n"); ok {
		text = body
	}
	_, task, _ := strings.Cut("\n"+text, "\n## Task\n")
	task, _, _ = strings.Cut(task, "\n## ")
	return strings.TrimSpace(task)
}

// coaching flags a prompt that says what is to be found out: the skill's name,
// its command, or a text that a check looks for.
func (d *building) coaching() {
	names := []string{d.skill}
	for _, a := range slices.Concat(d.a, d.b) {
		names = append(names, bareSkill(a.Skill))
	}
	low := strings.ToLower(d.prompt)
	for _, name := range names {
		spaced := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(name))
		if name != "" && (mentions(low, strings.ToLower(name)) || mentions(low, spaced)) {
			d.flag("coaching: the prompt names the skill")
		}
	}
	for _, text := range d.literals {
		if len(text) > 1 && mentions(low, strings.ToLower(text)) {
			d.flag("coaching: the prompt holds a text that a check looks for")
		}
	}
}

// mentions reports whether a text holds a word or run of words, not a part of a
// longer word.
func mentions(text, words string) bool {
	re, err := regexp.Compile(`(?:^|[^\pL\pN_])` + regexp.QuoteMeta(words) + `(?:$|[^\pL\pN_])`)
	return err == nil && re.MatchString(text)
}

var (
	outOfNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	letterOnce = regexp.MustCompile(`^[A-Za-z]`)
)

// maxName bounds the name of a file made of an id.
const maxName = 80

// fileName makes an id that can name a file, "" where nothing is left of it.
func fileName(id string) string {
	name := strings.Trim(outOfNames.ReplaceAllString(id, "-"), "-.")
	if len(name) > maxName {
		name = strings.Trim(name[:maxName], "-.")
	}
	return name
}

// mentionedAs finds under which path a prompt speaks of a file: the longest
// path that ends with its base name, below the project.
func mentionedAs(prompt, base string) string {
	re, err := regexp.Compile(`[\w./-]*` + regexp.QuoteMeta(base))
	if err != nil {
		return base
	}
	for _, m := range re.FindAllString(prompt, -1) {
		m = strings.TrimPrefix(m, "./")
		if path.Base(m) == base && inside(m) {
			return m
		}
	}
	return base
}

// fileInProse is what looks like the name of a file in a prompt.
var fileInProse = regexp.MustCompile(`\b[\w-]+\.(?:csv|tsv|txt|md|json|ya?ml|xml|html?|py|js|ts|go|rb|rs|java|sql|pdf|docx?|xlsx?|log|toml)\b`)

// escaped is a heading that escapeHeadings put a backslash before.
var escaped = regexp.MustCompile(`(?m)^\\(\\*## )`)
