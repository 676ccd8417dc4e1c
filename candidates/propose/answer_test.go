package propose

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/internal/testenv"
)

func noteBrief(ask Ask) Brief {
	b := Brief{Version: Version, N: 1, Ask: ask, Wording: []File{{Path: "note.md", Text: "One thing. Another thing.\n", Note: true}}}
	tried, err := b.Surface().Apply(b.Base(), []candidates.Edit{{Path: "note.md", Old: "Another", New: "A third"}})
	if err != nil {
		panic(err)
	}
	b.Tried = []string{b.Surface().Digest(tried)}
	return b
}

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	const good = `{"candidates":[{"rationale":"shorter","edits":[{"path":"note.md","old":" Another thing.","new":""}]}]}`
	for name, text := range map[string]string{"bare": good, "fenced": "```json\n" + good + "\n```\n", "plain fence": "```\n" + good + "```"} {
		got, err := ParseAnswer(noteBrief(Delete), []byte(text))
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: got %v, %v", name, got, err)
		}
		if c := got[0]; c.Source != candidates.Proposer || !c.Simplify || c.Rationale != "shorter" || len(c.Targets) > 0 || c.ID != "" {
			t.Errorf("%s: got %+v", name, c)
		}
	}
	// What is off the Surface is for the lint to record, and what was tried is left out beside it.
	two := `{"candidates":[{"rationale":"a","edits":[{"path":"bin/x","whole":"x"}]},{"rationale":"b","edits":[{"path":"note.md","old":"Another","new":"A third"}]}]}`
	if got, err := ParseAnswer(noteBrief(Edit), []byte(two)); err != nil || len(got) != 1 || got[0].Edits[0].Path != "bin/x" {
		t.Errorf("got %v, %v, want the first alone", got, err)
	}
}

func TestParseAnswerKeepsLineEnds(t *testing.T) {
	t.Parallel()
	b := Brief{Ask: Edit, Wording: []File{{Path: "note.md", Text: "One.\r\nTwo.\r\n", Note: true}}}
	got, err := ParseAnswer(b, []byte(`{"candidates":[{"rationale":"r","edits":[{"path":"note.md","whole":"One.\nThree.\n"}]}]}`))
	if err != nil || *got[0].Edits[0].Whole != "One.\r\nThree.\r\n" || len(b.Lint(got[0])) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	t.Parallel()
	one := func(edits string) string { return `{"candidates":[{"rationale":"r","edits":[` + edits + `]}]}` }
	many := strings.Repeat(`{"rationale":"","edits":[{"path":"note.md","whole":"x"}]},`, 6)
	for name, c := range map[string]struct {
		answer string
		why    Why
	}{
		"empty":          {" \n", Nothing},
		"no candidates":  {`{"candidates":[]}`, Nothing},
		"null":           {`null`, Nothing},
		"prose":          {"I would shorten the note, secret words.", Garbage},
		"cut off":        {`{"candidates":[{"rationale":"secret`, Garbage},
		"not text":       {"\xff\xfe", Garbage},
		"unknown key":    {`{"candidates":[],"secret":1}`, Garbage},
		"targets":        {`{"candidates":[{"rationale":"r","targets":["R1/haiku"],"edits":[{"path":"note.md","whole":"x"}]}]}`, Garbage},
		"text behind":    {one(`{"path":"note.md","whole":"x"}`) + " secret", Garbage},
		"no edits":       {one(""), Garbage},
		"no path":        {one(`{"whole":"x"}`), Garbage},
		"both forms":     {one(`{"path":"note.md","old":"One","new":"x","whole":"x"}`), Garbage},
		"too many":       {`{"candidates":[` + strings.TrimSuffix(many, ",") + `]}`, Garbage},
		"long rationale": {`{"candidates":[{"rationale":"` + strings.Repeat("secret", 400) + `","edits":[{"path":"note.md","whole":"x"}]}]}`, Garbage},
		"the same":       {one(`{"path":"note.md","whole":"One thing. Another thing.\n"}`), Identical},
		"white space":    {one(`{"path":"note.md","whole":"  One thing.\n\nAnother   thing."}`), Identical},
		"tried":          {one(`{"path":"note.md","old":"Another","new":"A third"}`), Identical},
		"too large":      {strings.Repeat(" ", MaxAnswer+1), Failed},
	} {
		got, err := ParseAnswer(noteBrief(Edit), []byte(c.answer))
		r, ok := errors.AsType[*Refusal](err)
		if !ok || r.Why != c.why || len(got) > 0 {
			t.Errorf("%s: got %v, %v, want the refusal %s", name, got, err, c.why)
			continue
		}
		if strings.Contains(r.Error(), "secret") {
			t.Errorf("%s: the refusal repeats the answer: %v", name, r)
		}
	}
}

// The schemas name exactly the keys of the types, required where they are always there.
func TestSchemasNameEveryKey(t *testing.T) {
	t.Parallel()
	for kind, typ := range map[SchemaKind]reflect.Type{BriefSchema: reflect.TypeFor[Brief](), AnswerSchema: reflect.TypeFor[answer]()} {
		text, err := Schema(kind)
		testenv.Must(t, err)
		var doc schemaNode
		testenv.Must(t, json.Unmarshal(text, &doc))
		sameKeys(t, string(kind), typ, doc, doc.Defs)
	}
	if _, err := Schema("secret"); err == nil {
		t.Error("a schema nobody has: got no error")
	}
}

type schemaNode struct {
	Ref        string                `json:"$ref"`
	Defs       map[string]schemaNode `json:"$defs"`
	Properties map[string]schemaNode `json:"properties"`
	Required   []string              `json:"required"`
	Items      *schemaNode           `json:"items"`
}

func sameKeys(t *testing.T, at string, typ reflect.Type, doc schemaNode, defs map[string]schemaNode) {
	t.Helper()
	if name, ok := strings.CutPrefix(doc.Ref, "#/$defs/"); ok {
		doc = defs[name]
	}
	for typ.Kind() == reflect.Slice {
		if typ = typ.Elem(); doc.Items == nil {
			t.Fatalf("%s: no items", at)
		}
		doc = *doc.Items
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[candidates.Edit]() {
		return
	}
	var keys []string
	for f := range typ.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, name)
		if required := slices.Contains(doc.Required, name); required != (option == "") {
			t.Errorf("%s.%s: required %v in the schema, the type says %q", at, name, required, option)
		}
		sub, ok := doc.Properties[name]
		if !ok {
			t.Errorf("%s.%s is not in the schema", at, name)
			continue
		}
		sameKeys(t, at+"."+name, f.Type, sub, defs)
	}
	if len(keys) != len(doc.Properties) {
		t.Errorf("%s: the type has keys %v, the schema %d", at, keys, len(doc.Properties))
	}
}
