package harness

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed schema/*.schema.json
var schemaFiles embed.FS

// SchemaKind names one of the kinds of file that measure.
type SchemaKind string

// The kinds of file that have a schema.
const (
	ScenarioSchema SchemaKind = "scenario" // front matter of scenarios/ID.md
	CheckerSchema  SchemaKind = "checker"  // checker.yaml
	LaunchSchema   SchemaKind = "launch"   // launch.yaml
	GoldSchema     SchemaKind = "gold"     // gold.yaml
	// The two below belong to no suite: loopd eval is handed them.
	TraceSchema     SchemaKind = "trace"     // cases of diagnosis traces
	RepoStateSchema SchemaKind = "repostate" // what a task leaves or reports
)

// SchemaKinds lists them, those of a suite first, in the order it is written in.
func SchemaKinds() []SchemaKind {
	return []SchemaKind{ScenarioSchema, CheckerSchema, LaunchSchema, GoldSchema, TraceSchema, RepoStateSchema}
}

// Schema returns the JSON Schema (draft 2020-12) of a kind of file, as text.
func Schema(k SchemaKind) ([]byte, error) {
	data, err := schemaFiles.ReadFile("schema/" + string(k) + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("show schema: no schema %q", k)
	}
	return data, nil
}

// compiled holds the schemas ready for use. They are part of the program, so
// one that does not compile is a bug.
var compiled = sync.OnceValue(func() map[SchemaKind]*jsonschema.Schema {
	c := jsonschema.NewCompiler()
	for _, k := range SchemaKinds() {
		text, err := Schema(k)
		if err != nil {
			panic(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			panic(fmt.Sprintf("schema %s: %v", k, err))
		}
		if err := c.AddResource("loopd:"+string(k), doc); err != nil {
			panic(fmt.Sprintf("schema %s: %v", k, err))
		}
	}
	out := make(map[SchemaKind]*jsonschema.Schema)
	for _, k := range SchemaKinds() {
		out[k] = c.MustCompile("loopd:" + string(k))
	}
	return out
})

// decode reads YAML into a value once its schema holds. Errors name each key
// by its path and say what it wants; they quote no text of the file.
func decode(k SchemaKind, data []byte, into any) error {
	var plain any
	if err := yaml.UnmarshalWithOptions(data, &plain, yaml.Strict()); err != nil {
		return errors.New(yamlReason(err))
	}
	err := compiled()[k].Validate(plain)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return faults(invalid)
	}
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalWithOptions(data, into, yaml.Strict()); err != nil {
		return errors.New(yamlReason(err))
	}
	return nil
}

// faults lists the leaves of a validation error, each with its place, in the
// order of the places.
func faults(e *jsonschema.ValidationError) error {
	var all []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if text := faultText(e); text != "" {
			all = append(all, text)
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	slices.Sort(all)
	return errors.New(strings.Join(slices.Compact(all), "; "))
}

// faultText says what is wrong in one place, or "" where the causes say it.
func faultText(e *jsonschema.ValidationError) string {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return ""
	case *kind.Required:
		return eachKey(at, k.Missing, "missing")
	case *kind.AdditionalProperties:
		return eachKey(at, k.Properties, "unknown key")
	case *kind.AnyOf:
		return placed(at, "want one of "+strings.Join(requiredOf(e.Causes), ", "))
	}
	return placed(at, wanted(e.ErrorKind))
}

// wanted says what a value should have been.
func wanted(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return typeText(k)
	case *kind.Enum:
		return enumText(k)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d keys, want exactly one", k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d keys, want exactly one", k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("has %d entries, want at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d entries, want at most %d", k.Got, k.Want)
	case *kind.MinLength:
		return "empty"
	case *kind.Minimum:
		return "want at least " + k.Want.RatString()
	case *kind.Maximum:
		return "want at most " + k.Want.RatString()
	case *kind.Pattern:
		return "want text of the form " + k.Want
	case *kind.InvalidJsonValue:
		return "no number and no text"
	}
	return "does not fit its schema (" + strings.Join(k.KeywordPath(), " ") + ")"
}

func typeText(k *kind.Type) string {
	names := map[string]string{
		"string": "a string", "array": "a list", "object": "a map", "boolean": "true or false", "integer": "a whole number", "number": "a number",
	}
	want := names[k.Want[0]]
	if k.Want[0] == "string" && k.Got != "array" && k.Got != "object" {
		want += ": quote it" // YAML took the text for a number, a truth value or nothing
	}
	return "want " + want
}

// shown are values short and plain enough to be said back.
var shown = regexp.MustCompile(`^[\w-]{1,24}$`)

func enumText(k *kind.Enum) string {
	want := make([]string, len(k.Want))
	for i, w := range k.Want {
		want[i] = fmt.Sprint(w)
	}
	got := ""
	if s, ok := k.Got.(string); ok && shown.MatchString(s) {
		got = strconv.Quote(s) + " is "
	}
	return got + "none of " + strings.Join(want, ", ")
}

func requiredOf(causes []*jsonschema.ValidationError) []string {
	var out []string
	for _, c := range causes {
		if r, ok := c.ErrorKind.(*kind.Required); ok {
			out = append(out, r.Missing...)
		}
		out = append(out, requiredOf(c.Causes)...)
	}
	return out
}

// eachKey says the same of several keys of one map. A key that is no plain word
// is text that lost its indentation, and is not repeated; one that is missing is
// the schema's own.
func eachKey(at, keys []string, what string) string {
	out := make([]string, len(keys))
	for i, key := range slices.Sorted(slices.Values(keys)) {
		if what == "missing" || shown.MatchString(key) {
			out[i] = placed(append(slices.Clone(at), key), what)
		} else {
			out[i] = placed(at, what)
		}
	}
	return strings.Join(out, "; ")
}

// placed writes a place as expect.b[0].cites.id before what is said of it.
func placed(at []string, what string) string {
	var b strings.Builder
	for _, step := range at {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	if b.Len() == 0 {
		return what
	}
	return b.String() + ": " + what
}
