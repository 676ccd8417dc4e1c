package setup

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"loopd/harness"
)

// mark begins every text of a new scenario that its author has to replace.
const mark = "FILL IN"

// taskText is what stands under ## Task in a new scenario.
const taskText = mark + ": what a user would type here, in a user's words and without a hint."

// taskSample are words of taskText by which a task is known that still has them.
const taskSample = "what a user would type here in a user's words"

func unfilled(text string) bool { return strings.Contains(text, mark) }

//go:embed scenario.md.tmpl
var scenarioText string

var scenarioTemplate = template.Must(template.New("scenario").Funcs(template.FuncMap{"yaml": scalar}).Parse(scenarioText))

// NewScenario is what a new scenario is made from.
type NewScenario struct {
	ID      string
	Role    harness.Role
	Skill   string // bare name; empty for none
	Fixture string
	NoHook  bool // the plugin has none
}

// goodID is a name that is safe as a file, in a cell's name and in a table.
var goodID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,39}$`)

// Validate says what is wrong with the name or the role.
func (n NewScenario) Validate() error {
	if !goodID.MatchString(n.ID) {
		return fmt.Errorf("name %q: want a letter, then at most 39 letters, digits, - or _", n.ID)
	}
	roles := []harness.Role{harness.Objective, harness.Guard, harness.Control, harness.Reserve, harness.Practice}
	if !slices.Contains(roles, n.Role) {
		return fmt.Errorf("role %q: want one of objective, guard, control, reserve, practice", n.Role)
	}
	return nil
}

// WriteScenario writes a scenario file to fill in. What it returns can be read by
// harness.ParseScenario; Lint lists each place that is still to be filled in.
func WriteScenario(n NewScenario) ([]byte, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := scenarioTemplate.Execute(&b, struct {
		NewScenario
		Guard, Control bool
		Task           string
	}{n, n.Role == harness.Guard, n.Role == harness.Control, taskText})
	if err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", n.ID, err)
	}
	sc, err := harness.ParseScenario("scenarios/"+n.ID+".md", b.Bytes())
	if err == nil && (sc.ID != n.ID || sc.Skill != n.Skill || sc.Fixture != n.Fixture) {
		err = errors.New("the names cannot be written so that they read the same")
	}
	if err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", n.ID, err)
	}
	return b.Bytes(), nil
}

// plainScalar is a text that YAML reads as that text without quotes.
var plainScalar = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// scalar writes a text for YAML, quoted where YAML would read something else.
func scalar(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plainScalar.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

// FillIns lists the places of a scenario that are still as a new one has them.
func FillIns(sc harness.Scenario) []Finding {
	var out []Finding
	texts(reflect.ValueOf(sc), "", func(place, text string) {
		if unfilled(text) {
			out = append(out, Finding{sc.ID, RuleFillIn, place, "still to be filled in"})
		}
	})
	if sc.TaskSays(taskSample) {
		out = append(out, Finding{sc.ID, RuleFillIn, "## Task", "still to be filled in"})
	}
	return out
}

// texts visits every text of a value with its place, written as the schema's
// errors write it: expect.b[0].says[1].
func texts(v reflect.Value, at string, visit func(place, text string)) {
	switch v.Kind() {
	case reflect.String:
		visit(at, v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), at, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), fmt.Sprintf("%s[%d]", at, i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if key == "" || key == "-" {
				continue // no key of the file: the task is one
			}
			texts(v.Field(i), strings.TrimPrefix(at+"."+key, "."), visit)
		}
	}
}
