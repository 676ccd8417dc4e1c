package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"loopd/internal/testenv"
)

// versioned are the documents that others read: one whose shape changes gets the
// next number.
var versioned = []string{"campaign", "candidate", "status", "diff", "eval-diff", "eval", "cell"}

// publishedFile has a line for each of them that was ever given away: its name with
// its number, and the digest of its shape.
const publishedFile = "testdata/published.txt"

// A shape that was published keeps its number.
func TestOutput_Versions(t *testing.T) {
	t.Parallel()
	published, seen := readPublished(t), 0
	var added strings.Builder
	for _, o := range outputs {
		text, err := o.text()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(versioned, func(kind string) bool { return strings.HasPrefix(o.schema, "loopd:"+kind+"/") }) {
			continue
		}
		seen++
		switch digest, known := published[o.schema]; {
		case !known && testenv.Updating():
			fmt.Fprintf(&added, "%s %s\n", o.schema, shapeDigest(t, text))
		case !known:
			t.Errorf("%s is not in %s: go test ./cmd/loopd -run TestOutput_Versions -update", o.schema, publishedFile)
		case digest != shapeDigest(t, text):
			t.Errorf("the shape of %s has changed, and others read it: give it the next number where it is named, or, where that number was never released, "+
				"delete its line in %s; then go test ./cmd/loopd -run TestOutput_Versions -update", o.schema, publishedFile)
		}
	}
	if seen != len(versioned) {
		t.Errorf("got %d versioned documents, want %d", seen, len(versioned))
	}
	if testenv.Updating() {
		old, err := os.ReadFile(publishedFile)
		testenv.Must(t, errors.Join(err, os.WriteFile(publishedFile, append(old, added.String()...), 0o644)))
	}
}

func readPublished(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(publishedFile)
	testenv.Must(t, err)
	out := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		name, digest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, twice := out[name]; twice {
			t.Errorf("%s: %s is there twice", publishedFile, name)
		}
		out[name] = digest
	}
	return out
}

// shapeDigest is the digest of a schema without its explanations, which may change.
func shapeDigest(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	testenv.Must(t, json.Unmarshal(text, &v))
	dropDescriptions(v)
	data, err := json.Marshal(v) // keys in order
	testenv.Must(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

func dropDescriptions(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if _, text := part.(string); text && (key == "description" || key == "title") {
				delete(v, key)
			}
			dropDescriptions(part)
		}
	case []any:
		for _, part := range v {
			dropDescriptions(part)
		}
	}
}

// Every verb with --json has a schema, and nothing else has.
func TestEveryVerbWithJSONHasASchema(t *testing.T) {
	t.Parallel()
	with := make(map[string]bool)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		verb := strings.TrimPrefix(c.CommandPath(), "loopd ")
		if c.Flags().Lookup("json") != nil || verb == "eval capture" { // which prints nothing else
			with[verb] = true
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(env{stdout: io.Discard, stderr: io.Discard}))
	if len(with) < 30 {
		t.Fatalf("got %d verbs with --json", len(with))
	}
	for _, o := range outputs {
		if o.verbs == "" && o.kept == "" {
			t.Errorf("%s says not what it is of", o.schema)
		}
		for verb := range strings.SplitSeq(o.verbs, ", ") {
			if verb != "" && !with[verb] {
				t.Errorf("%s: %q prints no JSON", o.schema, verb)
			}
		}
	}
	for verb := range with {
		if !slices.ContainsFunc(outputs, func(o output) bool { return slices.Contains(strings.Split(o.verbs, ", "), verb) }) {
			t.Errorf("loopd %s --json has no schema", verb)
		}
	}
}

// compiledOutputs are the shipped schemas, ready for use.
var compiledOutputs = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	out := make(map[string]*jsonschema.Schema)
	for _, o := range outputs {
		text, err := o.text()
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.schema, err)
		}
		if err := c.AddResource(o.schema, doc); err != nil {
			return nil, fmt.Errorf("%s: %w", o.schema, err)
		}
		if out[o.schema], err = c.Compile(o.schema); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// wantSchema wants what loopd printed or wrote for --json to fit its schema. It
// may have printed nothing.
func wantSchema(ts *testscript.TestScript, args []string) {
	if args = strings.Fields(strings.Join(args, " ")); len(args) == 0 { // a shell's command is one argument
		return
	}
	text := ts.ReadFile("stdout")
	i := slices.Index(args, "--json")
	switch {
	case args[0] == "eval" && i > 0 && i+1 < len(args) && args[i+1] != stdoutName:
		data, err := os.ReadFile(ts.MkAbs(args[i+1]))
		if errors.Is(err, fs.ErrNotExist) {
			return // refused before it was written
		}
		ts.Check(err)
		text = string(data)
	case args[0] == "capture" && strings.HasPrefix(text, "{"):
	case i < 0:
		return
	}
	if text == "" {
		return
	}
	if err := fits([]byte(text)); err != nil {
		ts.Fatalf("loopd %s: %v", strings.Join(args, " "), err)
	}
}

// fits holds every document of a text against the schema it names. There must be
// one.
func fits(text []byte) error {
	schemas, err := compiledOutputs()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for n := 0; ; n++ {
		var doc map[string]any
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) && n > 0 {
			return nil
		} else if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		name, _ := doc["schema"].(string)
		s := schemas[name]
		if s == nil {
			return fmt.Errorf("document %d: no schema %q", n, name)
		}
		if err := s.Validate(doc); err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

// The goldens of package report fit, and each that is damaged in one place does not.
func TestDamagedDocumentsDoNotFit(t *testing.T) {
	t.Parallel()
	schemas, err := compiledOutputs()
	testenv.Must(t, err)
	files, err := filepath.Glob("../../report/testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("got %d goldens, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err := errors.Join(err, fits(text)); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var doc map[string]any
		testenv.Must(t, json.Unmarshal(text, &doc))
		damaged := func(what string, change func()) {
			good := maps.Clone(doc)
			change()
			if text, err := json.Marshal(doc); err != nil || fits(text) == nil {
				t.Errorf("%s fits with %s, %v", file, what, err)
			}
			doc = good
		}
		for _, key := range schemas[doc["schema"].(string)].Required {
			damaged(key+" dropped", func() { delete(doc, key) })
			damaged(key+" of another type", func() { doc[key] = []any{[]any{0}} })
		}
		damaged("a key more", func() { doc["more"] = 1 })
		damaged("a later number", func() { doc["schema"] = strings.TrimSuffix(doc["schema"].(string), "1") + "2" })
		for key, v := range doc {
			if list, ok := v.([]any); ok && len(list) > 0 {
				if first, ok := list[0].(map[string]any); ok {
					first["more"] = 1
					damaged("a key more in "+key, func() {})
					delete(first, "more")
				}
			}
		}
	}
}

// A document in which nothing is set fits, too: what may be null, empty or left out
// is told apart.
func TestEmptyDocumentsFit(t *testing.T) {
	t.Parallel()
	for _, o := range outputs {
		v := reflect.New(o.shape).Elem()
		if own := v.FieldByName("Schema"); own.IsValid() {
			own.SetString(o.schema)
		}
		text, err := marshal(v.Interface())
		if err := errors.Join(err, fits(text)); err != nil {
			t.Errorf("%s: %v", o.schema, err)
		}
	}
}
