package repostate_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/harness/repostate"
	"loopd/internal/testenv"
)

func mustParse(t testing.TB, text string) repostate.Spec {
	t.Helper()
	s, err := repostate.ParseSpec("spec-x.json", []byte(text))
	testenv.Must(t, err)
	return s
}

// findings lists what the checks of a submission say.
func findings(t testing.TB, s repostate.Spec, name, text string) []string {
	t.Helper()
	r, err := s.Evaluate(name, []byte(text))
	testenv.Must(t, err)
	out := []string{}
	for _, c := range r.Checks {
		out = append(out, c.Findings...)
	}
	if passed := r.Outcome == harness.Pass; passed != (len(r.Failed) == 0) {
		t.Errorf("got %s with %q failed", r.Outcome, r.Failed)
	}
	return out
}

// TestComparison holds one state against another, both ways. req 129-133, 137-139
func TestComparison(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want, got string
		says      []string
	}{
		"the same":                 {`{"a": 1}`, `{"a": 1}`, nil},
		"another spelling":         {`{"a": 10}`, `{"a": 1.0e1}`, nil},
		"without a point":          {`{"a": 1e1, "b": 1E1, "c": 1.0}`, `{"a": 10, "b": 10, "c": 1}`, nil},
		"a file's mode":            {`{"files": [{"path": "x", "mode": "100644"}]}`, `{"files": [{"path": "x", "mode": "100755"}]}`, []string{`missing mode "100644" on file "x", which has "100755"`}},
		"a review of another kind": {`{"reviews": [{"author": "a", "kind": "approved", "body": "x"}]}`, `{"reviews": [{"author": "a", "kind": "comment", "body": "x"}]}`, []string{`missing review by a "x"`, `unexpected review by a "x" (collateral)`}},
		"like ones out of order":   {`{"comments": [{"author": "a", "n": 1}, {"author": "a", "n": 2}]}`, `{"comments": [{"author": "a", "n": 2}, {"author": "a", "n": 1}]}`, nil},
		"one of two like ones":     {`{"comments": [{"author": "a", "n": 1}, {"author": "a", "n": 2}]}`, `{"comments": [{"author": "a", "n": 3}, {"author": "a", "n": 1}]}`, []string{"missing n 2 on comment by a, which has 3"}},
		"entries of any name":      {`{"entries": [1], "milestone": {"subject": "x"}, "list": [{"subject": "x"}]}`, `{"milestone": {"subject": "x"}}`, []string{"missing entry 1", `missing list "x"`}},
		"a long text":              {`{"a": "` + strings.Repeat("x", 70) + `"}`, `{}`, []string{`missing a "` + strings.Repeat("x", 60) + `…"`}},
		"a map for nothing":        {`{"m": {"a": 1, "b": 2}}`, `{}`, []string{`missing m {"a":1,"b":2}`}},
		"a map for a value":        {`{"m": {"a": 1}}`, `{"m": 3}`, []string{`missing m {"a":1}, which has 3`}},
		"the first of two is gone": {`{"comments": [{"author": "a", "n": 1}, {"author": "a", "n": 2}]}`, `{"comments": [{"author": "a", "n": 2}]}`, []string{"missing comment by a"}},
		"a second one comes first": {`{"comments": [{"author": "a", "n": 2}]}`, `{"comments": [{"author": "a", "n": 1}, {"author": "a", "n": 2}]}`, []string{"unexpected comment by a (collateral)"}},
		"alike but by nobody":      {`{"l": [{"kind": "k", "body": "b", "n": 1}]}`, `{"l": [{"kind": "k", "body": "b", "n": 2}]}`, []string{`missing l "b"`, `unexpected l "b" (collateral)`}},
		"a text of many lines":     {`{"a": "x\n\n y\u2028z\u001b[2J  w"}`, `{}`, []string{`missing a "x y z [2J w"`}},
		"a long number":            {`{"issues": [{"number": 1, "a": 1}]}`, `{"issues": [{"number": 1, "a": 1}, {"number": ` + strings.Repeat("9", 70) + `}], "n": ` + strings.Repeat("9", 70) + `}`, []string{"unexpected issue " + strings.Repeat("9", 60) + "… (collateral)", "unexpected n " + strings.Repeat("9", 60) + "… (collateral)"}},
		"a number beyond floats":   {`{"a": 1e999}`, `{"a": 2e999}`, []string{"missing a 1e999, which has 2e999"}},
		"another value":            {`{"a": 1}`, `{"a": 2}`, []string{"missing a 1, which has 2"}},
		"text is no number":        {`{"a": "1"}`, `{"a": 1}`, []string{`missing a "1", which has 1`}},
		"nor in a list":            {`{"a": ["1"]}`, `{"a": [1]}`, []string{`missing a "1"`, "unexpected a 1 (collateral)"}},
		"empty is not there":       {`{"a": "", "b": [], "c": null, "d": {}}`, `{"e": {"f": []}}`, nil},
		"false is there":           {`{"a": false}`, `{}`, []string{"missing a false"}},
		"line ends":                {`{"a": "x\ny"}`, `{"a": "x\r\ny"}`, nil},
		"order of labels":          {`{"labels": ["a", "b"]}`, `{"labels": ["b", "a"]}`, nil},
		"a label twice":            {`{"issues": [{"number": 1, "labels": ["a"]}]}`, `{"issues": [{"number": 1, "labels": ["a", "a"]}]}`, []string{`unexpected label "a" on issue 1 (collateral)`}},
		"an issue twice":           {`{"issues": [{"number": 1}]}`, `{"issues": [{"number": 1}, {"number": 1}]}`, []string{"unexpected issue 1 (collateral)"}},
		"ids and times":            {`{"issues": [{"number": 1, "id": 3, "createdAt": "x"}]}`, `{"issues": [{"number": 1, "id": 4, "updated_at": "y", "url": "z", "node_id": "n", "etag": "e", "sha": "s"}]}`, nil},
		"a key like a volatile":    {`{"format": 1}`, `{"format": 2, "idea": 3, "urls": 4}`, []string{"missing format 1, which has 2", "unexpected idea 3 (collateral)", "unexpected urls 4 (collateral)"}},
		"a comment by another":     {`{"comments": [{"author": "a", "body": "x"}]}`, `{"comments": [{"author": "b", "body": "x"}]}`, []string{`missing comment by a "x"`, `unexpected comment by b "x" (collateral)`}},
		"a comment edited":         {`{"comments": [{"author": "a", "body": "x"}]}`, `{"comments": [{"author": "a", "body": "y"}]}`, []string{`missing comment by a "x"`, `unexpected comment by a "y" (collateral)`}},
		"more of a comment":        {`{"comments": [{"author": "a", "body": "x"}]}`, `{"comments": [{"author": "a", "body": "x", "hidden": true}]}`, []string{`unexpected hidden true on comment by a (collateral)`}},
		"comments out of order":    {`{"comments": [{"author": "a", "body": "x"}, {"author": "a", "body": "y"}]}`, `{"comments": [{"author": "a", "body": "y", "id": 1}, {"author": "a", "body": "x", "id": 2}]}`, nil},
		"one of three like ones":   {`{"comments": [{"author": "a"}, {"author": "a"}]}`, `{"comments": [{"author": "a"}, {"author": "a"}, {"author": "a"}]}`, []string{"unexpected comment by a (collateral)"}},
		"a part unheard of":        {`{}`, `{"wiki": {"pages": 3}}`, []string{`unexpected wiki {"pages":3} (collateral)`}},
		"a list for a value":       {`{"a": "x"}`, `{"a": ["x"]}`, []string{`missing a "x", which has ["x"]`}},
		"a value for a list":       {`{"a": ["x"]}`, `{"a": "x"}`, []string{`missing a ["x"], which has "x"`}},
		"a map within":             {`{"issues": [{"number": 1, "milestone": {"title": "May"}}]}`, `{"issues": [{"number": 1, "milestone": {"title": "June"}}]}`, []string{`missing title "May" on milestone on issue 1, which has "June"`}},
		"branches and files":       {`{"branches": [{"name": "main", "subjects": ["a"]}], "files": [{"path": "x", "mode": "100644"}]}`, `{"branches": [{"name": "main", "subjects": ["a", "b"]}], "files": []}`, []string{`unexpected subject "b" on branch "main" (collateral)`, `missing file "x"`}},
		"residue":                  {`{}`, `{"residue": [".DS_Store"]}`, []string{`residue, not compared: [".DS_Store"]`}},
		"residue that is expected": {`{"residue": ["a"]}`, `{"residue": ["b"]}`, []string{`missing residue "a"`, `unexpected residue "b" (collateral)`}},
	} {
		got := findings(t, mustParse(t, `{"kind": "mutation", "expected": `+c.want+`}`), "a.json", c.got)
		slices.Sort(got)
		want := append([]string{}, c.says...)
		slices.Sort(want)
		testenv.Same(t, name, want, got)
	}
}

// A spec that says what was there before tells the change from the damage.
func TestBefore(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "mutation", "before": {"a": 1, "b": 1, "l": ["x", "y"], "c": [{"author": "m"}]},
		"expected": {"a": 2, "b": 1, "l": ["x", "z"], "c": [{"author": "m"}]}}`)
	for text, want := range map[string][]string{
		`{"a": 2, "b": 1, "l": ["x", "z"], "c": [{"author": "m"}]}`:                {},
		`{"a": 1, "b": 1, "l": ["x", "z"], "c": [{"author": "m"}]}`:                {"missing a 2, which has 1"},
		`{"a": 2, "b": 3, "l": ["x", "z"], "c": [{"author": "m"}]}`:                {"unexpected b 3, which was to stay 1 (collateral)"},
		`{"a": 2, "b": 1, "l": ["x", "y", "z"], "c": [{"author": "m"}]}`:           {`unexpected l "y", which was to go`},
		`{"a": 2, "b": 1, "l": ["z"], "c": [{"author": "m"}]}`:                     {`missing l "x", which was to stay (collateral)`},
		`{"a": 2, "b": 1, "l": ["x"], "c": [{"author": "m"}]}`:                     {`missing l "z"`},
		`{"a": 2, "b": 1, "l": ["x", "z"], "c": [{"author": "m"},{"author":"m"}]}`: {"unexpected c by m (collateral)"},
	} {
		testenv.Same(t, text, want, findings(t, s, "a.json", text))
	}
}

// What was there before and is something else now is neither the change nor
// what stayed.
func TestBeforeThatBecameAnother(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "mutation", "before": {"m": "May", "n": "May"}, "expected": {"n": "June"}}`)
	for text, want := range map[string]string{
		`{"n": "June", "m": "July"}`: `unexpected m "July" (collateral)`, `{"n": "June", "m": "May"}`: `unexpected m "May", which was to go`,
		`{"n": "July"}`: `missing n "June", which has "July"`, `{}`: `missing n "June"`,
	} {
		if got := findings(t, s, "a.json", text); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A submission of the other kind among others is one invalid result.
func TestOtherKindIsInvalid(t *testing.T) {
	t.Parallel()
	read := mustParse(t, `{"kind": "read", "facts": [{"description": "d", "anyOf": ["x"]}]}`)
	r, err := read.Evaluate("a.md", []byte(`{"issues": []}`))
	want := "it is a state, with issues; a spec of kind read wants a report as text"
	if c := r.Check(repostate.Readable); err == nil || r.Outcome != harness.Invalid || len(r.Failed) != 0 || c.Reason != repostate.OtherKind || !slices.Equal(c.Findings, []string{want}) {
		t.Errorf("got %s, %+v, %v; want it invalid for %q", r.Outcome, c, err, want)
	}
	for text, want := range map[string]harness.Outcome{"\xff\xfex\x00": harness.NotRun, "x\x00": harness.NotRun, "\xffx": harness.Pass, "y": harness.Fail} {
		if r, err := read.Evaluate("a.md", []byte(text)); err != nil || r.Outcome != want {
			t.Errorf("%q: got %s, %v; want %s", text, r.Outcome, err, want)
		}
	}
}

func TestDeclaredVolatileKeys(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "mutation", "volatile": ["etag", "x_*"], "expected": {"id": 1}}`)
	if got := findings(t, s, "a.json", `{"id": 2, "etag": 3, "x_y": 4}`); !slices.Equal(got, []string{"missing id 1, which has 2"}) {
		t.Errorf("got %q, want the declared list instead of the default", got)
	}
}

// A submission of the other kind is an error and no result.
func TestKindMismatch(t *testing.T) {
	t.Parallel()
	mutation := mustParse(t, `{"kind": "mutation", "expected": {"a": 1}}`)
	read := mustParse(t, `{"kind": "read", "facts": [{"description": "d", "anyOf": ["x"]}]}`)
	for _, c := range []struct {
		spec       repostate.Spec
		name, text string
		want       string
	}{
		{mutation, "a.txt", "x marks the spot", "evaluate a.txt: it is no JSON; a spec of kind mutation wants the state of a repository as JSON"},
		{mutation, "a.json", `{"kind": "read", "facts": []}`, ""},
		{mutation, "b.json", `{"kind": "read", "facts": [{"description": "d"}]}`, "evaluate b.json: it is a spec; a spec of kind mutation wants the state of a repository as JSON"},
		{read, "a.json", "x", "evaluate a.json: its name ends in .json; a spec of kind read wants a report as text"},
		{read, "a.txt", ` {"issues": [], "labels": []}`, "evaluate a.txt: it is a state, with issues; a spec of kind read wants a report as text"},
		{read, "a.txt", `{"pullRequests": []}`, "evaluate a.txt: it is a state, with pullRequests; a spec of kind read wants a report as text"},
		{read, "a.txt", `{"branches": []}`, "evaluate a.txt: it is a state, with branches; a spec of kind read wants a report as text"},
		{read, "a.txt", `{"labels": []}`, "evaluate a.txt: it is a state, with labels; a spec of kind read wants a report as text"},
		{read, "a.txt", `{"files": []}`, "evaluate a.txt: it is a state, with files; a spec of kind read wants a report as text"},
		{read, "a.txt", `{"answer": "x", "files": 3}`, ""},
		{mutation, "a.json", `{"kind": "read"}`, ""},
		{mutation, "a.json", `{"kind": "other", "expected": 1}`, ""},
		{mutation, "a.json", `{"kind": "mutation", "expected": 1}`, "evaluate a.json: it is a spec; a spec of kind mutation wants the state of a repository as JSON"},
		{read, "a.txt", `{"answer": "x"}`, ""},
	} {
		_, err := c.spec.Evaluate(c.name, []byte(c.text))
		if c.want == "" && err == nil {
			continue
		}
		if kind, ok := errors.AsType[*repostate.KindError](err); !ok || kind.Error() != c.want {
			t.Errorf("%s %s: got %v, want %q", c.name, c.text, err, c.want)
		}
	}
}

// A state that cannot be read says nothing about the agent.
func TestUnreadableState(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "mutation", "expected": {"a": 1}}`)
	for text, want := range map[string]string{
		"": "not_json", `{"a": `: "not_json", "{} {}": "not_json", "[]": "wrong_type", "null": "wrong_type",
		strings.Repeat(`{"a":`, 100_000): "not_json", "{\"a\": \"\xff\"}": "not_json",
	} {
		r, err := s.Evaluate("a.json", []byte(text))
		if c := r.Check(repostate.Readable); err != nil || r.Outcome != harness.NotRun || c.Reason != want || len(c.Findings) != 1 {
			t.Errorf("%.20q: got %s, %+v, %v; want not_run for %s", text, r.Outcome, c, err, want)
		}
	}
	if r := s.Unread("a.json", "too_large", "over"); r.Outcome != harness.NotRun || r.Case != "x" || r.Submission != "a.json" {
		t.Errorf("got %+v", r)
	}
}

// What a document of loopd eval capture says of its shape is no part of a state; another
// program's is.
func TestOwnSchemaIsNoState(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "mutation", "expected": {"schema": "loopd:capture/1", "a": 1}}`)
	for text, want := range map[string]int{
		`{"a": 1}`: 0, `{"schema": "loopd:capture/2", "a": 1}`: 0, `{"schema": "theirs", "a": 1}`: 1, `{"schema": {"b": 2}, "a": 1}`: 1,
		`{"a": 1, "part": {"schema": "loopd:capture/1"}}`: 1,
	} {
		if got := findings(t, s, "a.json", text); len(got) != want {
			t.Errorf("%s: got %q, want %d findings", text, got, want)
		}
	}
}

func TestManyFindingsAreCut(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "mutation", "expected": {"a": 1}}`)
	labels, err := json.Marshal(strings.Split(strings.Repeat("x,", 99)+"x", ","))
	testenv.Must(t, err)
	r, err := s.Evaluate("a.json", []byte(`{"a": 1, "labels": `+string(labels)+`}`))
	if c := r.Check(repostate.Collateral); err != nil || len(c.Findings) != 21 || c.Findings[20] != "and 80 more" || r.Metrics[harness.Differences] != 100 {
		t.Errorf("got %d findings, %v, %v; want 20 and how many more", len(c.Findings), r.Metrics, err)
	}
}

func TestParseSpecNamesTheDamage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                              "want a map",
		`{}`:                            "kind: missing",
		`{"kind": "dance"}`:             `kind: "dance" is none of mutation, read`,
		`{"kind": "mutation"}`:          "expected: missing, and the kind is mutation",
		`{"kind": "read"}`:              "facts: missing, and the kind is read",
		`{"kind": "read", "facts": []}`: "facts: has 0 entries, want at least 1",
		`{"kind": "read", "facts": [{"anyOf": ["x"]}]}`:                                     "facts[0].description: missing",
		`{"kind": "read", "facts": [{"description": "d"}]}`:                                 "facts[0]: want one of anyOf, pattern",
		`{"kind": "read", "facts": [{"description": "d", "noneOf": ["x"]}]}`:                "facts[0]: want one of anyOf, pattern",
		`{"kind": "read", "facts": [{"description": "d", "anyOf": [""]}]}`:                  "facts[0].anyOf[0]: empty",
		`{"kind": "read", "facts": [{"description": "d", "pattern": "(x"}]}`:                "facts[0].pattern: does not compile",
		`{"kind": "read", "facts": [{"description": "d", "anyOf": ["x"]}], "expected": {}}`: "expected: there, and the kind is read",
		`{"kind": "read", "facts": [{"description": "d", "anyOf": ["x"]}], "before": {}}`:   "before: there, and the kind is read",
		`{"kind": "mutation", "expected": []}`:                                              "expected: want a map",
		`{"kind": "mutation", "expected": {}, "volatile": ["[a"]}`:                          `volatile: "[a" is no glob`,
		`{"kind": "mutation", "expected": {}, "volatil": []}`:                               "volatil: unknown key",
		`{"kind": "mutation", "expected": {`:                                                "not JSON: it ends in the middle",
	} {
		if _, err := repostate.ParseSpec("spec-x.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
	if s := mustParse(t, `{"kind": "mutation", "id": "own", "expected": {"a": 1}}`); s.ID != "own" {
		t.Errorf("got id %q, want the spec's own", s.ID)
	}
	if _, err := repostate.ParseSpec("spec-x.json", []byte("{\"kind\": \"mutation\", \"before\": {\"a\": 1}, \"expected\": {\"a\": \"\xff\"}}")); err == nil || !strings.HasPrefix(err.Error(), "read spec spec-x.json: not JSON: it is no UTF-8") {
		t.Errorf("a state that is no UTF-8: got %v", err)
	}
	if r, err := mustParse(t, `{"kind": "mutation", "expected": {"a": 1}}`).Evaluate("a.txt", []byte(`{"a": 1}`)); err != nil || r.Outcome != harness.Pass {
		t.Errorf("a state by another name: got %s, %v", r.Outcome, err)
	}
	for name, want := range map[string]string{"spec-close.json": "close", "dir/spec-a-b.json": "a-b", "plain.json": "plain"} {
		s, err := repostate.ParseSpec(name, []byte(`{"kind": "mutation", "expected": {"a": 1}}`))
		if err != nil || s.ID != want {
			t.Errorf("%s: got id %q, %v; want %q", name, s.ID, err, want)
		}
	}
}

func TestSchemaAndTypeAgree(t *testing.T) {
	t.Parallel()
	data, err := harness.Schema(harness.RepoStateSchema)
	testenv.Must(t, err)
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	testenv.Must(t, json.Unmarshal(data, &doc))
	known := 0
	for f := range reflect.TypeFor[repostate.Spec]().Fields() {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" {
			known++
			if doc.Properties[key] == nil {
				t.Errorf("%s: not in the schema", key)
			}
		}
	}
	if known != len(doc.Properties) {
		t.Errorf("the type has %d keys, the schema %d", known, len(doc.Properties))
	}
}

// A state equals itself in any order, and a dropped or doubled issue is seen
// whatever the state.
func TestShuffledStatesAreEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var issues []any
		for i := range rapid.IntRange(1, 8).Draw(rt, "issues") {
			labels := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(rt, "labels")
			issues = append(issues, map[string]any{"number": i + 1, "title": rapid.String().Draw(rt, "title"), "labels": labels})
		}
		state := func(list []any) string {
			text, err := json.Marshal(map[string]any{"issues": list})
			if err != nil {
				rt.Fatal(err)
			}
			return string(text)
		}
		s := mustParse(t, `{"kind": "mutation", "expected": `+state(issues)+`}`)
		shuffled := rapid.Permutation(issues).Draw(rt, "order")
		if got := findings(t, s, "a.json", state(shuffled)); len(got) != 0 {
			rt.Fatalf("shuffled: got %q", got)
		}
		if got := findings(t, s, "a.json", state(shuffled[1:])); len(got) != 1 || !strings.HasPrefix(got[0], "missing issue") {
			rt.Fatalf("one dropped: got %q", got)
		}
		if got := findings(t, s, "a.json", state(append(shuffled, shuffled[0]))); len(got) != 1 || !strings.HasPrefix(got[0], "unexpected issue") {
			rt.Fatalf("one doubled: got %q", got)
		}
	})
}

// FuzzEvaluate wants a result or a refusal of any bytes, of either kind.
func FuzzEvaluate(f *testing.F) {
	mutation := mustParse(f, `{"kind": "mutation", "before": {"issues": []}, "expected": {"issues": [{"number": 1, "labels": ["a", "a"]}]}}`)
	read := mustParse(f, `{"kind": "read", "facts": [{"description": "d", "anyOf": ["#1", "1.5"], "pattern": "a+b", "noneOf": ["c_d"]}]}`)
	f.Add([]byte(`{"issues": [{"number": 1, "labels": ["a"]}, 7, null, [[]]]}`))
	f.Add([]byte("_#1_ is **1.5** <!-- c_d"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, s := range map[string]repostate.Spec{"a.json": mutation, "a.txt": read} {
			r, err := s.Evaluate(name, data)
			if err != nil {
				if _, ok := errors.AsType[*repostate.KindError](err); !ok {
					t.Fatal(err)
				}
				continue
			}
			if r.Outcome == "" || len(r.Checks) == 0 {
				t.Fatalf("got %+v", r)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzParseSpec wants no panic.
func FuzzParseSpec(f *testing.F) {
	f.Add([]byte(`{"kind": "mutation", "expected": {"a": [1, {"b": null}]}}`))
	f.Add([]byte(`{"kind": "read", "facts": [{"description": "d", "pattern": "a+b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := repostate.ParseSpec("spec-x.json", data); err == nil && s.ID == "" {
			t.Fatal("a spec without an id")
		}
	})
}
