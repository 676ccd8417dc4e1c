package trace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/harness/trace"
	"loopd/internal/testenv"
)

// fixed reads the cases and traces that are kept with the documentation.
func fixed(t testing.TB) (trace.Cases, map[string][]byte) {
	t.Helper()
	data, err := os.ReadFile("../../docs/eval/cases.yaml")
	testenv.Must(t, err)
	cases, err := trace.ParseCases(data)
	testenv.Must(t, err)
	files := testenv.Glob(t, "../../docs/eval/traces/*.json")
	traces := make(map[string][]byte)
	for _, f := range files {
		if traces[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return cases, traces
}

// TestFixedCases wants a set that is small, complete and right: every case with
// its own trace, which passes, and every rule asked by some case.
// req 81, 82, 95, 97, 99, 100, 101, 117
func TestFixedCases(t *testing.T) {
	t.Parallel()
	cases, traces := fixed(t)
	if n := len(cases.Cases); n < 8 || n > 40 {
		t.Errorf("got %d cases, want a small set of 8 at least", n)
	}
	passed := make(map[string]bool)
	for _, k := range cases.Cases {
		data, ok := traces[k.File()]
		if !ok {
			t.Errorf("%s: no trace %q", k.ID, k.Fixture)
			continue
		}
		r := cases.Contract.Evaluate(k, k.File(), data)
		if r.Outcome != harness.Pass || len(r.Failed) > 0 {
			t.Errorf("%s: got %s, failed %q: %+v", k.ID, r.Outcome, r.Failed, r.Checks)
		}
		for _, c := range r.Checks {
			if c.Outcome != harness.Pass {
				t.Errorf("%s: %s: got %s (%s)", k.ID, c.Name, c.Outcome, c.Reason)
			}
			passed[c.Name] = true
		}
		if again := cases.Contract.Evaluate(k, k.File(), data); !cmp.Equal(r, again) {
			t.Errorf("%s: two looks at one trace differ", k.ID)
		}
	}
	for _, name := range trace.Checks() {
		if !passed[name] {
			t.Errorf("no fixed case asks %s", name)
		}
	}
	if len(traces) != len(cases.Cases) {
		t.Errorf("got %d traces for %d cases", len(traces), len(cases.Cases))
	}
}

// doc is a trace as a document that can be damaged.
type doc map[string]any

// at sets or, for the value gone, removes what a path of keys leads to.
func (d doc) at(path string, value any) doc {
	keys := strings.Split(path, ".")
	var in any = map[string]any(d)
	for _, k := range keys[:len(keys)-1] {
		switch v := in.(type) {
		case map[string]any:
			in = v[k]
		case []any:
			in = v[int(k[0]-'0')]
		}
	}
	last := keys[len(keys)-1]
	switch v := in.(type) {
	case map[string]any:
		if value == gone {
			delete(v, last)
		} else {
			v[last] = value
		}
	case []any:
		v[int(last[0]-'0')] = value
	default:
		panic("no " + path)
	}
	return d
}

// gone marks what is taken away.
const gone = "\x00gone"

const ve = "selfEvaluation.verifier_evaluation."

// damages breaks one thing in a good trace each.
var damages = []struct {
	name, trace, path string
	value             any
	want, reason      string
}{
	{"a duration that is text", "payment-declines", "durationMs", "long", trace.Readable, "wrong_type"},
	{"a duration below zero", "payment-declines", "durationMs", -1, trace.Readable, "wrong_type"},
	{"a duration beyond belief", "payment-declines", "durationMs", 1e300, trace.Readable, "wrong_type"},
	{"a call that is a number", "payment-declines", "toolInvocations.2", 7, trace.Readable, "wrong_type"},
	{"a call that is null", "payment-declines", "toolInvocations.2", nil, trace.Readable, "wrong_type"},
	{"calls that are an object", "payment-declines", "toolInvocations", map[string]any{}, trace.Readable, "wrong_type"},
	{"a call without a name", "payment-declines", "toolInvocations.2.toolName", gone, trace.Readable, "wrong_type"},
	{"tokens that are text", "payment-declines", "usage.output_tokens", "many", trace.Readable, "wrong_type"},
	{"no answer", "payment-declines", "finalAnswer", gone, trace.FinalAnswer, "no_answer"},
	{"a blank answer", "login-loop", "finalAnswer", " \n\t", trace.FinalAnswer, "no_answer"},
	{"an answer that is null", "slow-checkout", "finalAnswer", nil, trace.FinalAnswer, "no_answer"},
	{"a tool not used", "inventory-drift", ve + "trace_summary.tools.1", "list_tables", trace.EvidenceTools, "tool_missing"},
	{"a tool in prose only", "inventory-drift", ve + "trace_summary", "list_jobs was not called", trace.EvidenceTools, "tool_missing"},
	{"a tool of a like name", "export-memory", "toolInvocations.0.toolName", "container_events_v2", trace.EvidenceTools, "tool_missing"},
	{"no verdict", "payment-declines", ve + "verdict", gone, trace.Verdict, "no_verdict"},
	{"a verdict that is a number", "payment-declines", ve + "verdict", 1, trace.Verdict, "no_verdict"},
	{"no self-evaluation", "slow-checkout", "selfEvaluation", gone, trace.Verdict, "no_self_evaluation"},
	{"no verifier", "payment-declines", "selfEvaluation.verifier_evaluation", gone, trace.Verdict, "no_verifier_evaluation"},
	{"a verifier that is a list", "payment-declines", "selfEvaluation.verifier_evaluation", []any{}, trace.Verdict, "verifier_evaluation_wrong_type"},
	{"a self-evaluation that is a list", "slow-checkout", "selfEvaluation", []any{}, trace.Verdict, "self_evaluation_wrong_type"},
	{"a self-evaluation of broken JSON", "cache-stampede", "selfEvaluation", `{"verifier_evaluation": {"verdict": "PASS"`, trace.Verdict, "self_evaluation_not_json"},
	{"a verdict not allowed", "payment-declines", ve + "verdict", "REVISE", trace.VerdictAllowed, "verdict_not_allowed"},
	{"a verdict forbidden", "inventory-drift", ve + "verdict", "PASS", trace.VerdictAllowed, "forbidden_verdict"},
	{"a verdict nobody knows", "payment-declines", ve + "verdict", "MAYBE", trace.VerdictAllowed, "unknown_verdict"},
	{"too few keywords", "inventory-drift", "finalAnswer", "The import has stopped.", trace.Keywords, "keywords_missing"},
	{"a keyword forbidden", "cache-stampede", "finalAnswer", "Keys expire together. FLUSH  the `cache`.", trace.ForbiddenWords, "said"},
	{"a claim forbidden", "name-lookup", "finalAnswer", "The resolver is overloaded; data loss **confirmed**.", trace.ForbiddenClaim, "said"},
	{"a rejection that does not say so", "login-loop", "finalAnswer", "Session errors rise from 09:20 on.", trace.Degraded, "no_marker"},
	{"a rejection that leaks a claim", "login-loop", "finalAnswer", "It could not be verified that the clock of auth-3 is two minutes behind.", trace.Degraded, "unverified_leak"},
	{"a rejection that leaks the executor's answer", "login-loop", "finalAnswer", "This could not be verified. Restart auth-3", trace.Degraded, "unverified_leak"},
	{"a claim doubted after all", "login-loop", ve + "claim_checks.1.verification", "CONTRADICTED", trace.Degraded, "unverified_leak"},
	{"a failed gatekeeper that passes", "payment-declines", ve + "gatekeeper_result.status", "FAIL", trace.Contradiction, "fail_and_pass"},
	{"the same without closure", "name-lookup", ve + "gatekeeper_result.status", "fail", trace.Contradiction, "fail_and_pass"},
	{"no gatekeeper", "payment-declines", ve + "gatekeeper_result", gone, trace.Gatekeeper, "missing"},
	{"a gatekeeper that is text", "payment-declines", ve + "gatekeeper_result", "pass", trace.Gatekeeper, "wrong_type"},
	{"no claim checks", "payment-declines", ve + "claim_checks", gone, trace.ClaimList, "missing"},
	{"no claim check among them", "payment-declines", ve + "claim_checks", []any{}, trace.ClaimList, "empty"},
	{"claim checks that are an object", "queue-backlog", ve + "claim_checks", map[string]any{}, trace.ClaimList, "wrong_type"},
	{"a claim check without id", "payment-declines", ve + "claim_checks.1.claim_id", gone, trace.ClaimFields, "field_missing"},
	{"a claim check without detail", "export-memory", ve + "claim_checks.1.detail", " ", trace.ClaimFields, "field_missing"},
	{"a claim check that is text", "export-memory", ve + "claim_checks.1", "fine", trace.ClaimFields, "field_missing"},
	{"a claim check without verification", "export-memory", ve + "claim_checks.1.verification", nil, trace.ClaimFields, "field_missing"},
	{"a verification nobody knows", "export-memory", ve + "claim_checks.1.verification", "PROBABLY", trace.ClaimWords, "unknown_verification"},
	{"no composer", "payment-declines", ve + "composer_output", gone, trace.Composed, "missing"},
	{"a composer without a mode", "payment-declines", ve + "composer_output", map[string]any{}, trace.ComposerMode, "unknown_mode"},
	{"a mode nobody knows", "name-lookup", ve + "composer_output.mode", "guessed", trace.ComposerMode, "unknown_mode"},
	{"a raw marker", "payment-declines", "finalAnswer", `The client certificate expired. {"answer_version": 2}`, trace.RawMarker, "leaked"},
	{"a raw marker after a fallback", "queue-backlog", "finalAnswer", "A malformed message is retried (Claim_ID c1).", trace.RawMarker, "leaked"},
}

// TestDamageFailsExactlyItsCheck breaks one thing in a good trace, and every
// check at least once. req 85-90, 118-127
func TestDamageFailsExactlyItsCheck(t *testing.T) {
	t.Parallel()
	cases, traces := fixed(t)
	failed := make(map[string]bool)
	for _, d := range damages {
		var good doc
		if err := json.Unmarshal(traces[d.trace+".json"], &good); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		data, err := json.Marshal(good.at(d.path, d.value))
		testenv.Must(t, err)
		k, _ := cases.Of(d.trace + ".json")
		r := cases.Contract.Evaluate(k, d.trace+".json", data)
		if diff := cmp.Diff([]string{d.want}, r.Failed); diff != "" || r.Outcome != harness.Fail {
			t.Errorf("%s: got %s, failed (-want +got):\n%s", d.name, r.Outcome, diff)
		}
		c := r.Check(d.want)
		if c.Reason != d.reason || len(c.Findings) == 0 {
			t.Errorf("%s: got reason %q, findings %q; want reason %q and what was found", d.name, c.Reason, c.Findings, d.reason)
		}
		failed[d.want] = true
	}
	for _, name := range trace.Checks() {
		if !failed[name] {
			t.Errorf("no damage fails %s", name)
		}
	}
}

// A failed gatekeeper beside PASS is wrong in any trace; a leak after a fallback
// is wrong whether or not the case asks for closure. req 121, 127
func TestRulesThatNeedNoFlag(t *testing.T) {
	t.Parallel()
	cases, traces := fixed(t)
	k, _ := cases.Of("slow-checkout.json")
	for want, edit := range map[string]func(doc){
		trace.Contradiction: func(d doc) { d.at(ve+"gatekeeper_result", map[string]any{"status": "fail"}) },
		trace.RawMarker: func(d doc) {
			d.at(ve+"composer_output.mode", "fallback").at("finalAnswer", "No index on the address table; see evidence_bindings.")
		},
	} {
		var good doc
		testenv.Must(t, json.Unmarshal(traces["slow-checkout.json"], &good))
		edit(good)
		data, err := json.Marshal(good)
		testenv.Must(t, err)
		if r := cases.Contract.Evaluate(k, "slow-checkout.json", data); !slices.Equal(r.Failed, []string{want}) {
			t.Errorf("got %q, want %s", r.Failed, want)
		}
	}
}

// What is no trace fails by name, and nothing in a file is fatal.
func TestUnreadableTraces(t *testing.T) {
	t.Parallel()
	cases, _ := fixed(t)
	deep := strings.Repeat("[", 100_000)
	for text, want := range map[string]string{
		"": "empty", " \n": "empty", "\ufeff": "empty", "{": "not_json", "hello": "not_json", `{"finalAnswer": "x"} {}`: "not_json",
		"[]": "wrong_type", `"text"`: "wrong_type", "null": "wrong_type", "7": "wrong_type",
		`{"selfEvaluation": ` + deep + "}": "not_json", deep: "not_json", `{"durationMs": 1e999999}`: "wrong_type",
		"{\"finalAnswer\": \"caf\xe9\"}": "not_utf8", "\xff\xfe{\x00}\x00": "not_utf8",
	} {
		r := cases.Contract.Evaluate(cases.Cases[0], "x.json", []byte(text))
		if c := r.Check(trace.Readable); r.Outcome != harness.Fail || c.Outcome != harness.Fail || c.Reason != want {
			t.Errorf("%.30q: got %s, %s (%s); want it to fail as %s", text, r.Outcome, c.Outcome, c.Reason, want)
		}
		if len(r.Checks) == 0 || r.Metrics["duration_ms"] != 0 {
			t.Errorf("%.30q: got %+v", text, r)
		}
	}
}

func TestResultsWithoutATrace(t *testing.T) {
	t.Parallel()
	cases, _ := fixed(t)
	for want, r := range map[string]harness.Evaluated{
		trace.MissingTrace: trace.Missing(cases.Cases[0]), trace.UnknownCase: trace.Orphan("stray.first.json"),
	} {
		c := r.Check(trace.Readable)
		if r.Outcome != harness.NotRun || c.Reason != want || len(c.Findings) != 1 || len(r.Failed) != 0 {
			t.Errorf("got %+v, want %s", r, want)
		}
	}
	if r := trace.Orphan("stray.first.json"); r.Case != "stray" {
		t.Errorf("got case %q, want stray", r.Case)
	}
	if r := trace.Missing(trace.Case{ID: "a"}); r.Trace != "" || !strings.Contains(r.Checks[0].Findings[0], "begins with a and a dot") {
		t.Errorf("got %q", r.Checks[0].Findings)
	}
	if r := trace.Unread(cases.Cases[0], "x.json", "too_large", "over 16 MiB"); r.Outcome != harness.Fail || r.Trace != "x.json" {
		t.Errorf("got %+v, want a failure of x.json", r)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	cases, traces := fixed(t)
	k, _ := cases.Of("payment-declines.json")
	r := cases.Contract.Evaluate(k, "payment-declines.json", traces["payment-declines.json"])
	want := map[string]float64{
		harness.ToolCalls: 3, harness.DurationMS: 6120, harness.EvidenceShare: 1, harness.KeywordsSaid: 2,
		harness.CostEquivalent: 5200 + 1.25*2400 + 0.1*18000 + 5*610,
	}
	testenv.Same(t, "metrics", want, r.Metrics)
	if r.Verdict != "PASS" || r.Usage == nil || r.Usage.Output != 610 {
		t.Errorf("got verdict %q, usage %+v", r.Verdict, r.Usage)
	}
	testenv.Same(t, "covered", []string{"query_metrics", "search_logs"}, r.Coverage.Covered)
	k, _ = cases.Of("slow-checkout.json")
	if r := cases.Contract.Evaluate(k, "slow-checkout.json", []byte(`{}`)); len(r.Coverage.Uncovered) != 2 || r.Usage != nil {
		t.Errorf("got %+v, %v; want two tools uncovered and no usage", r.Coverage, r.Usage)
	}
}

// A tool whose every call failed is covered, and noted.
func TestFailedToolIsNoted(t *testing.T) {
	t.Parallel()
	contract := trace.DefaultContract()
	k := trace.Case{ID: "a", Tools: []string{"ping"}, Allowed: []string{"PASS"}}
	for text, noted := range map[string]bool{
		`[{"name": "ping", "success": false}]`:                                    true,
		`[{"name": "ping", "success": false}, {"name": "ping", "success": true}]`: false,
		`[{"name": "ping", "success": true}, {"name": "ping", "success": false}]`: false,
		`[{"name": "ping"}]`: false,
	} {
		c := contract.Evaluate(k, "a.json", []byte(`{"toolInvocations": `+text+`}`)).Check(trace.EvidenceTools)
		if c.Outcome != harness.Pass || (len(c.Findings) == 1) != noted {
			t.Errorf("%s: got %+v, want it noted: %v", text, c, noted)
		}
	}
}

// The order of tool calls and claim checks, and the case of an answer, decide
// nothing.
func TestOrderDecidesNothing(t *testing.T) {
	t.Parallel()
	cases, traces := fixed(t)
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(cases.Cases).Draw(rt, "case")
		var d doc
		if err := json.Unmarshal(traces[k.File()], &d); err != nil {
			rt.Fatal(err)
		}
		if calls, ok := d["toolInvocations"].([]any); ok {
			d["toolInvocations"] = rapid.Permutation(calls).Draw(rt, "calls")
		}
		if answer, ok := d["finalAnswer"].(string); ok && rapid.Bool().Draw(rt, "upper") {
			d["finalAnswer"] = strings.ToUpper(answer)
		}
		data, err := json.Marshal(d)
		if err != nil {
			rt.Fatal(err)
		}
		if r := cases.Contract.Evaluate(k, k.File(), data); r.Outcome != harness.Pass {
			rt.Fatalf("got %s, failed %q", r.Outcome, r.Failed)
		}
	})
}
