package trace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/trace"
	"loopd/internal/testenv"
)

// edited evaluates the trace of a case after a change.
func edited(t *testing.T, id string, edit func(doc)) harness.Evaluated {
	t.Helper()
	cases, traces := fixed(t)
	var d doc
	testenv.Must(t, json.Unmarshal(traces[id+".json"], &d))
	edit(d)
	data, err := json.Marshal(d)
	testenv.Must(t, err)
	k, _ := cases.Of(id + ".json")
	return cases.Contract.Evaluate(k, id+".json", data)
}

// A check that the case does not ask for is not asked.
func TestWhatIsNotAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id   string
		edit func(doc)
	}{
		"a raw word without closure":       {"slow-checkout", func(d doc) { d.at("finalAnswer", "No index on the address table; see claim_id 3.") }},
		"no claim among those of closure":  {"queue-backlog", func(d doc) { d.at(ve+"claim_checks", []any{}) }},
		"claims of closure without fields": {"queue-backlog", func(d doc) { d.at(ve+"claim_checks", []any{map[string]any{}}) }},
		"a mode that is not required":      {"inventory-drift", func(d doc) { d.at(ve+"composer_output", map[string]any{}) }},
		"no gatekeeper without closure":    {"name-lookup", func(d doc) { d.at(ve+"gatekeeper_result", gone) }},
		"a null for nothing":               {"slow-checkout", func(d doc) { d.at("durationMs", nil).at("usage", nil) }},
		"a fourth keyword":                 {"inventory-drift", func(d doc) { d.at("finalAnswer", "The IMPORT  skipped a site.") }},
	} {
		if r := edited(t, c.id, c.edit); r.Outcome != harness.Pass {
			t.Errorf("%s: got %q", name, r.Failed)
		}
	}
	for id, check := range map[string]string{"inventory-drift": trace.Composed, "name-lookup": trace.Composed, "queue-backlog": trace.ClaimList} {
		key := map[string]string{trace.Composed: "composer_output", trace.ClaimList: "claim_checks"}[check]
		if r := edited(t, id, func(d doc) { d.at(ve+key, gone) }); !slices.Equal(r.Failed, []string{check}) {
			t.Errorf("%s without %s: got %q", id, key, r.Failed)
		}
	}
}

// A result says what was looked for.
func TestFindingsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := edited(t, "inventory-drift", func(d doc) { d.at("finalAnswer", "The import has stopped, "+strings.Repeat("x", 200)) })
	want := `1 of 3 keywords, want 2; not said: "skipped", "schema change"`
	if got := r.Check(trace.Keywords).Findings; !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r := edited(t, "name-lookup", func(d doc) { d.at(ve+"gatekeeper_result", gone) }); r.Check(trace.Contradiction).Outcome != harness.NotRun {
		t.Error("without a gatekeeper the contradiction is asked all the same")
	}
	if got := trace.Missing(trace.Case{ID: "a", Fixture: "x/first.json"}).Checks[0].Findings; !slices.Equal(got, []string{"no file first.json"}) {
		t.Errorf("got %q, want the file's name", got)
	}
	if r := edited(t, "slow-checkout", func(d doc) { d.at(ve+"verdict", "\x1b[2JGREAT") }); r.Verdict != " [2JGREAT" {
		t.Errorf("a verdict that moves the terminal: got %q", r.Verdict)
	}
	if r := edited(t, "slow-checkout", func(d doc) { d.at(ve+"verdict", strings.Repeat("v", 90)) }); len([]rune(r.Verdict)) != 81 {
		t.Errorf("a long verdict: got %d characters, want it cut", len(r.Verdict))
	}
}

// What would be looked at is not there: the check is not run, and no pass.
func TestNothingToLookAtIsNoPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id     string
		edit   func(doc)
		notRun []string
	}{
		"no answer": {"login-loop", func(d doc) { d.at("finalAnswer", gone) }, []string{trace.ForbiddenClaim, trace.Degraded, trace.RawMarker}},
		"no answer, keywords": {
			"payment-declines", func(d doc) { d.at("finalAnswer", gone) }, []string{trace.Keywords, trace.ForbiddenWords, trace.RawMarker},
		},
		"no verifier": {
			"payment-declines", func(d doc) { d.at("selfEvaluation.verifier_evaluation", gone) },
			[]string{trace.VerdictAllowed, trace.Gatekeeper, trace.ClaimList, trace.ClaimFields, trace.ClaimWords, trace.Composed, trace.ComposerMode},
		},
		"no claims":   {"payment-declines", func(d doc) { d.at(ve+"claim_checks", gone) }, []string{trace.ClaimFields, trace.ClaimWords}},
		"no composer": {"payment-declines", func(d doc) { d.at(ve+"composer_output", gone) }, []string{trace.ComposerMode}},
	} {
		r := edited(t, c.id, c.edit)
		var got []string
		for _, check := range r.Checks {
			if check.Outcome == harness.NotRun {
				got = append(got, check.Name)
				if !strings.HasPrefix(check.Reason, "see_") {
					t.Errorf("%s: %s is not run for %q, want the check that failed", name, check.Name, check.Reason)
				}
			}
		}
		testenv.Same(t, fmt.Sprintf("%s: not run", name), c.notRun, got)
	}
}

// The checks that are asked anywhere are those that are listed.
func TestChecksAreListed(t *testing.T) {
	t.Parallel()
	cases, traces := fixed(t)
	var seen []string
	for _, k := range cases.Cases {
		for _, c := range cases.Contract.Evaluate(k, k.File(), traces[k.File()]).Checks {
			if !slices.Contains(seen, c.Name) {
				seen = append(seen, c.Name)
			}
		}
	}
	want := slices.Clone(trace.Checks())
	slices.Sort(want)
	slices.Sort(seen)
	testenv.Same(t, "result", want, seen)
}

// TestDegradedOutput: a rejected answer says so and repeats only what was
// verified. req 90
func TestDegradedOutput(t *testing.T) {
	t.Parallel()
	k := trace.Case{ID: "a", Allowed: []string{"REJECT"}}
	for name, c := range map[string]struct {
		executor, claims, answer, reason string
		markers                          []string
	}{
		"it says so":                    {"", "", "This could not be verified.", "", nil},
		"it does not":                   {"", "", "All is well.", "no_marker", nil},
		"by the case's own phrase":      {"", "", "We do not know.", "", []string{"do not know"}},
		"not by the case's own phrase":  {"", "", "This could not be verified.", "no_marker", []string{"do not know"}},
		"a claim without an id":         {`{"claims": [{"text": "The disk is full."}]}`, "", "Not verified: the disk is full", "unverified_leak", nil},
		"a claim nobody checked":        {`{"claims": [{"id": "c1", "text": "The disk is full."}]}`, "", "Not verified: the disk is full", "unverified_leak", nil},
		"a claim that was verified":     {`{"claims": [{"claim_id": "c1", "text": "The disk is full."}]}`, `[{"claim_id": "c1", "verification": "supported"}]`, "The disk is full. The rest is not verified.", "", nil},
		"verified once, doubted once":   {`{"claims": [{"claim_id": "c1", "text": "The disk is full."}]}`, `[{"claim_id": "c1", "verification": "SUPPORTED"}, {"claim_id": "c1", "verification": "CONTRADICTED"}]`, "The disk is full. The rest is not verified.", "unverified_leak", nil},
		"partly is not verified":        {"", `[{"claim_id": "c1", "verification": "PARTIALLY_SUPPORTED", "claim": "The disk is full"}]`, "Not verified: the disk is full.", "unverified_leak", nil},
		"a verified one in the answer":  {`{"answer": "The disk is full! Is it old? Buy a new one.\nSoon, at best"}`, `[{"claim_id": "c1", "verification": "SUPPORTED", "claim": "The disk is full"}]`, "Not verified, but the disk is full", "", nil},
		"the second sentence":           {`{"answer": "The disk is full! Is it old? Buy a new one.\nSoon, at best"}`, "", "Not verified: is it old", "unverified_leak", nil},
		"the third sentence":            {`{"answer": "The disk is full! Is it old? Buy a new one.\nSoon, at best"}`, "", "Not verified: BUY a new one", "unverified_leak", nil},
		"the last line":                 {`{"answer": "The disk is full! Is it old? Buy a new one.\nSoon, at best"}`, "", "Not verified; soon, at best", "unverified_leak", nil},
		"no part of a sentence":         {`{"answer": "The disk is full of old logs"}`, "", "Not verified; a disk is full", "", nil},
		"too short to be a statement":   {`{"answer": "Yes. It is."}`, "", "Yes. It is not verified.", "", nil},
		"an executor that is bare text": {`"The disk is full."`, "", "Not verified: the disk is full", "unverified_leak", nil},
	} {
		k.DegradedMarkers = c.markers
		text := fmt.Sprintf(`{"finalAnswer": %q, "selfEvaluation": {"verifier_evaluation": {"verdict": "reject", "claim_checks": %s}}, "executor_output": %s}`,
			c.answer, orNull(c.claims), orNull(c.executor))
		r := trace.DefaultContract().Evaluate(k, "a.json", []byte(text))
		if check := r.Check(trace.Degraded); check.Reason != c.reason || (check.Outcome == harness.Pass) != (c.reason == "") {
			t.Errorf("%s: got %s (%s) %q, want reason %q", name, check.Outcome, check.Reason, check.Findings, c.reason)
		}
		if n := len(r.Check(trace.Degraded).Findings); c.reason == "unverified_leak" && n != 1 {
			t.Errorf("%s: got %d findings, want each leak once", name, n)
		}
	}
	for _, place := range []string{
		`{"finalAnswer": %q, "executorOutput": {"answer": "The disk is full"}, "selfEvaluation": {"verifier_evaluation": {"verdict": "REJECT"}}}`,
		`{"finalAnswer": %q, "selfEvaluation": {"executor_output": {"answer": "The disk is full"}, "verifier_evaluation": {"verdict": "REJECT"}}}`,
		`{"finalAnswer": %q, "selfEvaluation": {"verifier_evaluation": {"verdict": "REJECT", "executor_output": {"answer": "The disk is full"}}}}`,
	} {
		k.DegradedMarkers = nil
		r := trace.DefaultContract().Evaluate(k, "a.json", fmt.Appendf(nil, place, "Not verified: the disk is full"))
		if got := r.Check(trace.Degraded).Reason; got != "unverified_leak" {
			t.Errorf("%s: got %q, want the leak to be seen", place, got)
		}
	}
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}

// The default names and words are all in use.
func TestDefaultContractIsInUse(t *testing.T) {
	t.Parallel()
	contract := trace.DefaultContract()
	for _, marker := range []string{
		"could not be verified", "could not verify", "cannot be verified", "not verified", "could not be confirmed", "could not confirm",
		"insufficient evidence", "not enough evidence",
	} {
		text := fmt.Sprintf(`{"finalAnswer": "It %s.", "selfEvaluation": {"verifier_evaluation": {"verdict": "REJECT"}}}`, marker)
		if r := contract.Evaluate(trace.Case{ID: "a", Allowed: []string{"REJECT"}}, "a.json", []byte(text)); r.Outcome != harness.Pass {
			t.Errorf("%q: got %q", marker, r.Failed)
		}
		if !slices.Contains(contract.DegradedMarkers, marker) {
			t.Errorf("%q is no marker of its own", marker)
		}
	}
	for _, word := range []string{"executor_evidence_v2", "answer_version", "evidence_bindings", "claim_id"} {
		text := fmt.Sprintf(`{"finalAnswer": "See %s.", "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS", "composer_output": {"mode": "fallback"}}}}`, word)
		if r := contract.Evaluate(trace.Case{ID: "a", Allowed: []string{"PASS"}}, "a.json", []byte(text)); !slices.Equal(r.Failed, []string{trace.RawMarker}) {
			t.Errorf("%s: got %q", word, r.Failed)
		}
	}
	good := `{"finalAnswer": "x", "toolInvocations": [{"toolName": "ping", "success": false}], "durationMs": 5, "usage": {"input": 1, "cache_read": 10, "cache_write": 4, "output": 2},
		"selfEvaluation": {"verifier_evaluation": {"verdict": "pass", "trace_summary": {"tools": ["pong"]}}}}`
	k := trace.Case{ID: "a", Tools: []string{"ping", "pong"}, Allowed: []string{"PASS"}}
	want := contract.Evaluate(k, "a.json", []byte(good))
	if want.Outcome != harness.Pass || want.Verdict != "PASS" || want.Metrics[harness.CostEquivalent] != 17 || len(want.Check(trace.EvidenceTools).Findings) != 1 {
		t.Fatalf("got %+v", want)
	}
	for old, others := range map[string][]string{
		`"finalAnswer"`: {`"final_answer"`}, `"toolInvocations"`: {`"tool_invocations"`}, `"toolName"`: {`"tool_name"`, `"name"`, `"tool"`},
		`"success"`: {`"ok"`}, `"durationMs"`: {`"duration_ms"`}, `"usage"`: {`"tokenUsage"`, `"token_usage"`},
		`"selfEvaluation"`: {`"self_evaluation"`}, `"verifier_evaluation"`: {`"verifierEvaluation"`},
		`"trace_summary"`: {`"trace_summaries"`, `"traceSummary"`, `"traceSummaries"`}, `"tools"`: {`"tool_names"`, `"toolNames"`},
		`{"tools": ["pong"]}`: {`["pong"]`, `[{"tool": "pong"}]`, `[[{"name": "pong"}]]`, `{"tools": [{"tool_name": "pong"}]}`, `{"name": "pong", "tools": []}`},
	} {
		for _, other := range others {
			got := contract.Evaluate(k, "a.json", []byte(strings.Replace(good, old, other, 1)))
			testenv.Same(t, fmt.Sprintf("%s for %s", other, old), want, got)
		}
	}
	deep := strings.Repeat("[", 9) + `"pong"` + strings.Repeat("]", 9)
	if r := contract.Evaluate(k, "a.json", []byte(strings.Replace(good, `{"tools": ["pong"]}`, deep, 1))); !slices.Equal(r.Failed, []string{trace.EvidenceTools}) {
		t.Errorf("a summary nested deep: got %q", r.Failed)
	}
}

// A part of the wrong type is named with what it is.
func TestWrongTypesAreNamed(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{}`: "an object", `[]`: "a list", `"x"`: "text", `true`: "true or false", `false`: "true or false", `1e999`: "beyond what a number holds",
	} {
		r := trace.DefaultContract().Evaluate(trace.Case{ID: "a"}, "a.json", []byte(`{"durationMs": `+value+`}`))
		if got := r.Check(trace.Readable).Findings; !slices.Equal(got, []string{"durationMs is " + want + ", want a number"}) {
			t.Errorf("%s: got %q", value, got)
		}
	}
	for value, want := range map[string]string{"-1": "input_tokens is no count of tokens: -1", "1e13": "input_tokens is no count of tokens: 1e+13"} {
		r := trace.DefaultContract().Evaluate(trace.Case{ID: "a"}, "a.json", []byte(`{"usage": {"input_tokens": `+value+`}}`))
		if got := r.Check(trace.Readable).Findings; !slices.Equal(got, []string{want}) || r.Usage.Input != 0 {
			t.Errorf("%s: got %q, %+v", value, got, r.Usage)
		}
	}
	calls := `{"toolInvocations": [` + strings.TrimSuffix(strings.Repeat("7,", 30), ",") + `]}`
	got := trace.DefaultContract().Evaluate(trace.Case{ID: "a"}, "a.json", []byte(calls)).Check(trace.Readable).Findings
	if len(got) != 21 || got[20] != "and 10 more" {
		t.Errorf("thirty faults: got %d, the last %q", len(got), got[len(got)-1])
	}
	if null := trace.DefaultContract().Evaluate(trace.Case{ID: "a"}, "a.json", []byte("null")); !strings.Contains(null.Checks[0].Findings[0], "is null") {
		t.Errorf("null: got %+v", null.Checks)
	}
}
