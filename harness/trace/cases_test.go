package trace_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/trace"
	"loopd/internal/testenv"
)

const goodCases = `
version: 1
contract: {verdicts: [GOOD, BAD, SO_SO], passVerdict: GOOD, rejectVerdict: BAD}
cases:
  - id: one
    question: Why?
    expectedRootCauseKeywords: [pool, full]
    minKeywordCoverage: 1
    requiredEvidenceTools: [ping]
    allowedVerdicts: [GOOD]
    forbiddenVerdicts: [BAD]
    traceFixture: saved/first.json
  - id: two
    question: Why not?
    expectedRootCauseKeywords: []
    requiredEvidenceTools: []
    allowedVerdicts: [BAD]
`

func TestParseCases(t *testing.T) {
	t.Parallel()
	c, err := trace.ParseCases([]byte(goodCases))
	testenv.Must(t, err)
	if got := c.Contract.GatekeeperFail; got != "fail" {
		t.Errorf("got %q for what the contract leaves out, want the default", got)
	}
	for file, want := range map[string]string{
		"first.json": "one", "one.json": "one", "one.second.json": "one", "two.json": "two", "three.json": "", "onetwo.json": "", "saved/first.json": "",
	} {
		if k, ok := c.Of(file); k.ID != want || ok != (want != "") {
			t.Errorf("%s: got case %q, want %q", file, k.ID, want)
		}
	}
	asJSON, err := json.Marshal(c)
	testenv.Must(t, err)
	again, err := trace.ParseCases(asJSON)
	if err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("as JSON: got %+v, %v; want the same cases", again, err)
	}
}

// Each fault is named by its place, all of them at once.
func TestParseCasesNamesTheDamage(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct{ old, new, want string }{
		"no id":                      {"id: one", "description: one", "cases[0].id: missing"},
		"no question":                {"question: Why?", "description: x", "cases[0].question: missing"},
		"no keywords":                {"    expectedRootCauseKeywords: []\n", "", "cases[1].expectedRootCauseKeywords: missing"},
		"no tools":                   {"    requiredEvidenceTools: []\n", "", "cases[1].requiredEvidenceTools: missing"},
		"no verdicts":                {"allowedVerdicts: [GOOD]", "allowedVerdicts: []", "cases[0].allowedVerdicts: has 0 entries, want at least 1"},
		"an id twice":                {"id: two", "id: one", "cases[1]: one: this id is there twice"},
		"an id with a dot":           {"id: two", "id: t.wo", "cases[1].id: want text of the form"},
		"a fixture twice":            {"id: two", "id: two\n    traceFixture: other/first.json", "cases[1]: two: traceFixture: other/first.json is that of one too"},
		"a fixture of another kind":  {"first.json", "first.yaml", "cases[0].traceFixture: want text of the form"},
		"more keywords than there":   {"minKeywordCoverage: 1", "minKeywordCoverage: 3", "cases[0]: one: minKeywordCoverage: 3 of 2 keywords"},
		"a share of keywords":        {"minKeywordCoverage: 1", "minKeywordCoverage: 0.5", "cases[0].minKeywordCoverage: want a whole number"},
		"a verdict outside the set":  {"allowedVerdicts: [BAD]", "allowedVerdicts: [PASS]", `cases[1]: two: verdict "PASS" is none of GOOD, BAD, SO_SO`},
		"allowed and forbidden":      {"forbiddenVerdicts: [BAD]", "forbiddenVerdicts: [good]", "cases[0]: one: verdict good is allowed and forbidden"},
		"an unknown key":             {"question: Why?", "question: Why?\n    answer: x", "cases[0].answer: unknown key"},
		"a wrong type":               {"question: Why?", "question: [a]", "cases[0].question: want a string"},
		"no cases":                   {goodCases[strings.Index(goodCases, "cases:"):], "cases: []", "cases: has 0 entries"},
		"a pass verdict of no set":   {"passVerdict: GOOD", "passVerdict: FINE", `contract.passVerdict: "FINE" is none of GOOD, BAD, SO_SO`},
		"a reject verdict of no set": {"rejectVerdict: BAD", "rejectVerdict: POOR", `contract.rejectVerdict: "POOR" is none of`},
		"a fallback of no set":       {"verdicts: [", "composerFallback: guess, verdicts: [", `contract.composerFallback: "guess" is none of parsed, fallback`},
		"verified by no word":        {"verdicts: [", "verifiedClaims: [SURE], verdicts: [", `contract.verifiedClaims: "SURE" is none of`},
		"another version":            {"version: 1", "version: 2", "version: want at most 1"},
		"nothing but brackets":       {goodCases, "a: " + strings.Repeat("[", 9000), "nested more than 100 deep"},
		"nothing":                    {goodCases, "", "want a map"},
		"broken JSON":                {goodCases, `{"cases": [`, "not JSON: it ends in the middle"},
		"two documents":              {goodCases, `{"cases": []} {}`, "more than one JSON document"},
	} {
		damaged := strings.Replace(goodCases, d.old, d.new, 1)
		if damaged == goodCases {
			t.Fatalf("%s: the damage did not apply", name)
		}
		if _, err := trace.ParseCases([]byte(damaged)); err == nil || !strings.Contains(err.Error(), d.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, d.want)
		}
	}
	_, err := trace.ParseCases([]byte(strings.NewReplacer("id: two", "id: one", "allowedVerdicts: [BAD]", "allowedVerdicts: [PASS]").Replace(goodCases)))
	if err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("two faults: got %v, want a line each", err)
	}
}

// What a file of cases leaves out is the default, all of it.
func TestContractLeftOut(t *testing.T) {
	t.Parallel()
	c, err := trace.ParseCases([]byte(`{"cases": [{"id": "a", "question": "b",
		"expectedRootCauseKeywords": [], "requiredEvidenceTools": [], "allowedVerdicts": ["PASS"]}]}`))
	testenv.Must(t, err)
	if !reflect.DeepEqual(c.Contract, trace.DefaultContract()) {
		t.Errorf("got %+v, want the default", c.Contract)
	}
}

// The words of another system are the contract's to say.
func TestContractOfAnotherSystem(t *testing.T) {
	t.Parallel()
	c, err := trace.ParseCases([]byte(`
contract:
  verdicts: [OK, NO]
  passVerdict: OK
  rejectVerdict: NO
  gatekeeperFail: red
  claimVerifications: [BACKED, OPEN]
  verifiedClaims: [BACKED]
  rawMarkers: [internal_v7]
  names: {finalAnswer: [reply], toolInvocations: [steps], toolName: [uses], selfEvaluation: [review], verifierEvaluation: [second], verdict: [says]}
cases:
  - id: a
    question: Why?
    expectedRootCauseKeywords: [pool]
    requiredEvidenceTools: [ping]
    allowedVerdicts: [OK]
    requireClaimChecks: true
    requireV2AuditClosure: true
`))
	testenv.Must(t, err)
	good := `{"reply": "the pool", "steps": [{"uses": "ping"}], "review": {"second": {"says": "ok", "gatekeeper_result": {"status": "green"},
		"claim_checks": [{"claim_id": "1", "verification": "backed", "detail": "x"}], "composer_output": {}}}}`
	for name, d := range map[string]struct {
		old, new string
		want     []string
	}{
		"good":           {"", "", nil},
		"raw marker":     {"the pool", "the pool internal_v7", []string{trace.RawMarker}},
		"contradiction":  {"green", "RED", []string{trace.Contradiction}},
		"claim word":     {`"backed"`, `"SUPPORTED"`, []string{trace.ClaimWords}},
		"unknown word":   {`"ok"`, `"PASS"`, []string{trace.VerdictAllowed}},
		"another's name": {`"reply"`, `"finalAnswer"`, []string{trace.FinalAnswer}},
	} {
		r := c.Contract.Evaluate(c.Cases[0], "a.json", []byte(strings.Replace(good, d.old, d.new, 1)))
		if !slices.Equal(r.Failed, d.want) && len(r.Failed)+len(d.want) > 0 {
			t.Errorf("%s: got %q, want %q", name, r.Failed, d.want)
		}
	}
	if trace.DefaultContract().Digest() == c.Contract.Digest() {
		t.Error("two contracts have one digest")
	}
}

// A key known to the schema only, or to the type only, would be refused by the
// other.
func TestSchemaAndTypesAgree(t *testing.T) {
	t.Parallel()
	data, err := harness.Schema(harness.TraceSchema)
	testenv.Must(t, err)
	var doc map[string]any
	testenv.Must(t, json.Unmarshal(data, &doc))
	compared := 0
	var agree func(at string, typ reflect.Type, n map[string]any)
	agree = func(at string, typ reflect.Type, n map[string]any) {
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
			typ, n = typ.Elem(), n["items"].(map[string]any)
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		have := n["properties"].(map[string]any)
		for f := range typ.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() {
				continue
			}
			yamlKey, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			sub, ok := have[key].(map[string]any)
			if !ok || key != yamlKey {
				t.Errorf("%s.%s: not in the schema, or another key in YAML", at, key)
				continue
			}
			compared++
			agree(at+"."+key, f.Type, sub)
			delete(have, key)
		}
		for key := range have {
			t.Errorf("%s.%s: in the schema and not in the type", at, key)
		}
	}
	agree("", reflect.TypeFor[trace.Cases](), doc)
	if compared < 30 {
		t.Errorf("compared %d keys, want all", compared)
	}
}

// FuzzParseCases wants no panic, and what was accepted to be accepted again.
func FuzzParseCases(f *testing.F) {
	f.Add([]byte(goodCases))
	f.Add([]byte(`{"cases": [{"id": "a", "question": "b", "expectedRootCauseKeywords": [], "requiredEvidenceTools": [], "allowedVerdicts": ["PASS"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := trace.ParseCases(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(c)
		testenv.Must(t, err)
		if _, err := trace.ParseCases(text); err != nil {
			t.Fatalf("accepted once, then: %v", err)
		}
	})
}

// FuzzEvaluate wants a result of any bytes, with an outcome and JSON.
func FuzzEvaluate(f *testing.F) {
	cases, traces := fixed(f)
	for _, data := range traces {
		f.Add(data)
	}
	f.Add([]byte(`{"durationMs": 1e308, "selfEvaluation": "\"{}\""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, k := range cases.Cases {
			r := cases.Contract.Evaluate(k, "a.json", data)
			if r.Outcome != harness.Pass && r.Outcome != harness.Fail {
				t.Fatalf("got outcome %q", r.Outcome)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			}
		}
	})
}
