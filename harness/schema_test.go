package harness

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// node is a schema as a document.
type node map[string]any

func schemaDoc(t *testing.T, k SchemaKind) node {
	t.Helper()
	data, err := Schema(k)
	testenv.Must(t, err)
	var doc node
	testenv.Must(t, json.Unmarshal(data, &doc))
	return doc
}

// follow returns what a reference points to; a schema may point into another.
func follow(t *testing.T, root, n node) (node, node) {
	t.Helper()
	ref, ok := n["$ref"].(string)
	if !ok {
		return root, n
	}
	file, name, ok := strings.Cut(ref, "#/$defs/")
	if !ok {
		t.Fatalf("reference %q is not to a definition", ref)
	}
	if file != "" {
		root = schemaDoc(t, SchemaKind(strings.TrimPrefix(file, "loopd:")))
	}
	to, ok := root["$defs"].(map[string]any)[name].(map[string]any)
	if !ok {
		t.Fatalf("reference %q leads nowhere", ref)
	}
	return root, to
}

// constantsOf lists the values of the constants of a type of this package.
func constantsOf(t *testing.T, name string) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source files: %v", err)
	}
	var out []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		testenv.Must(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == name {
				text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				testenv.Must(t, err)
				out = append(out, text)
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}

// agree compares a Go type with its schema, key by key and both ways.
func agree(t *testing.T, at string, typ reflect.Type, root, n node) {
	t.Helper()
	root, n = follow(t, root, n)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Float64: "number",
	}[typ.Kind()]
	if typ == reflect.TypeFor[time.Duration]() {
		want = "string"
	}
	if n["type"] != want {
		t.Errorf("%s: the schema says %v, the type is %s", at, n["type"], want)
		return
	}
	switch typ.Kind() {
	case reflect.Struct:
		agreeStruct(t, at, typ, root, n)
	case reflect.Slice:
		items, _ := n["items"].(map[string]any)
		agree(t, at+"[]", typ.Elem(), root, items)
	case reflect.String:
		agreeEnum(t, at, typ, n)
	}
}

func agreeStruct(t *testing.T, at string, typ reflect.Type, root, n node) {
	t.Helper()
	if n["additionalProperties"] != false {
		t.Errorf("%s: the schema lets unknown keys in", at)
	}
	have, _ := n["properties"].(map[string]any)
	seen := make(map[string]bool)
	for f := range typ.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "-" {
			continue
		}
		seen[key] = true
		sub, ok := have[key].(map[string]any)
		if !ok {
			t.Errorf("%s.%s: not in the schema", at, key)
			continue
		}
		agree(t, at+"."+key, f.Type, root, sub)
	}
	for key := range have {
		if !seen[key] {
			t.Errorf("%s.%s: in the schema and not in the type", at, key)
		}
	}
	required, _ := n["required"].([]any)
	for _, key := range required {
		if !seen[key.(string)] {
			t.Errorf("%s.%s: required and unknown", at, key)
		}
	}
}

func agreeEnum(t *testing.T, at string, typ reflect.Type, n node) {
	t.Helper()
	var got []string
	values, _ := n["enum"].([]any)
	for _, v := range values {
		got = append(got, v.(string))
	}
	slices.Sort(got)
	var want []string
	if typ.PkgPath() != "" {
		if want = constantsOf(t, typ.Name()); len(want) == 0 {
			t.Fatalf("found no constants of %s", typ.Name())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the schema allows %q, the type %q", at, got, want)
	}
}

// A key known to one side only would be refused by the other.
func TestSchemasAndTypesAgree(t *testing.T) {
	for kind, typ := range map[SchemaKind]reflect.Type{
		ScenarioSchema: reflect.TypeFor[Scenario](), CheckerSchema: reflect.TypeFor[Checker](), LaunchSchema: reflect.TypeFor[Launch](),
		GoldSchema: reflect.TypeFor[goldFile](),
	} {
		doc := schemaDoc(t, kind)
		agree(t, string(kind), typ, doc, doc)
	}
}

// Whoever edits a file sees what each key is for.
func TestSchemasTeach(t *testing.T) {
	var look func(at string, n map[string]any)
	look = func(at string, n map[string]any) {
		for name, v := range n {
			sub, ok := v.(map[string]any)
			if !ok {
				continue
			}
			if strings.HasSuffix(at, "/properties") && sub["description"] == nil && sub["$ref"] == nil && !strings.Contains(at, "/step/") {
				t.Errorf("%s/%s: no description", at, name)
			}
			look(at+"/"+name, sub)
		}
	}
	for _, k := range SchemaKinds() {
		look(string(k), schemaDoc(t, k))
	}
}

// Each fault is named by its place; no value that could be text is repeated.
func TestSchemaNamesThePlace(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"id without quotes":     {`id: "0002"`, "id: 0002", "read scenario S1.md: expect.b[0].cites.id: want a string: quote it"},
		"one of several":        {`["0001"]`, `["0001", 0004]`, "expect.b[0].cites.not_live[1]: want a string: quote it"},
		"a string for a list":   {`not_live: ["0001"]`, `not_live: "0001"`, "expect.b[0].cites.not_live: want a list"},
		"a list for a string":   {"fixture: shop", "fixture: [shop]", "fixture: want a string"},
		"yes for true":          {"consults: true", `consults: "yes"`, "expect.a[0].consults: want true or false"},
		"key of a small map":    {`adds: 'round\('`, `added: 'round\('`, "forbidden[0].added: unknown key"},
		"no way to change":      {`, adds: 'round\('`, ``, "forbidden[0]: want one of adds, removes"},
		"two keys of a step":    {"  - bash: ls docs", "  - bash: ls docs\n    read: x", "oracle[0]: has 2 keys, want exactly one"},
		"a key that is text":    {"hook: note", "hook: note\nplease round it down now: 1", "read scenario S1.md: unknown key"},
		"an enum that is text":  {"role: objective", "role: please round it down", "role: none of objective, guard"},
		"an enum with a typo":   {"role: objective", "role: objektive", `role: "objektive" is none of objective`},
		"everything, not first": {"hook: note", "hook: loud\nskill: 7", `hook: "loud" is none of note, silent; skill: want a string: quote it`},
		"the same key twice":    {"hook: note", "hook: note\nhook: note", `"hook" already defined`},
	} {
		damaged := strings.Replace(scenarioText, tc.old, tc.new, 1)
		if damaged == scenarioText {
			t.Fatalf("%s: the damage did not apply", name)
		}
		_, err := ParseScenario("S1.md", []byte(damaged))
		switch {
		case err == nil:
			t.Errorf("%s: accepted", name)
		case !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s: got %q, want %q in it", name, err, tc.want)
		case strings.Contains(err.Error(), "round it down"):
			t.Errorf("%s: the error repeats text: %q", name, err)
		}
	}
}

func TestSchemaOfTheOtherFiles(t *testing.T) {
	for name, tc := range map[string]struct{ file, old, new, want string }{
		"no plugin":        {"checker.yaml", "plugin: p", "graph: []", "checker.yaml: plugin: missing"},
		"digits as text":   {"checker.yaml", "digits: 4", "digits: four", "checker.yaml: citation.digits: want a whole number"},
		"a noun of two":    {"checker.yaml", "digits: 4", "digits: 4, nouns: ['a b']", "checker.yaml: citation.nouns[0]: want text of the form"},
		"a clock in words": {"launch.yaml", "startup: 1s", "startup: soon", "launch.yaml: clocks.startup: want text of the form"},
		"no tier":          {"launch.yaml", "tiers: [{name: small, model: m-1}, {name: big, model: m-2}]", "tiers: []", "launch.yaml: tiers: has 0 entries, want at least 1"},
		"not a number":     {"launch.yaml", "max_turns: 3", "max_turns: .nan", "launch.yaml: max_turns: no number and no text"},
		"an empty file":    {"launch.yaml", string(suiteFS()["launch.yaml"].Data), "\n", "launch.yaml: want a map"},
	} {
		fsys := suiteFS()
		was := string(fsys[tc.file].Data)
		damaged := strings.Replace(was, tc.old, tc.new, 1)
		if damaged == was {
			t.Fatalf("%s: the damage did not apply", name)
		}
		fsys[tc.file].Data = []byte(damaged)
		if _, err := ParseSuite(fsys); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, tc.want)
		}
	}
}
