package trace_test

import (
	"slices"
	"testing"

	"loopd/harness"
	"loopd/harness/trace"
	"loopd/internal/testenv"
)

// held evaluates a trace written out against one case.
func held(t *testing.T, rules, text string) harness.Evaluated {
	t.Helper()
	cases, err := trace.ParseCases([]byte("cases: [{id: a, question: Why?, expectedRootCauseKeywords: [], requiredEvidenceTools: [], allowedVerdicts: [PASS, REJECT]" + rules + "}]"))
	testenv.Must(t, err)
	return cases.Contract.Evaluate(cases.Cases[0], "a.json", []byte(text))
}

// What is not in a trace is not reported as zero, nor what has another type.
func TestNothingIsNoZero(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"durationMs": null, "usage": null}`, `{"durationMs": "40"}`, `{"durationMs": 1e999}`} {
		r := held(t, "", text)
		if _, there := r.Metrics[harness.DurationMS]; there || r.Usage != nil {
			t.Errorf("%s: got %v, %v", text, r.Metrics, r.Usage)
		}
	}
	r := held(t, "", `{"durationMs": 0, "finalAnswer": "x"}`)
	if v, there := r.Metrics[harness.DurationMS]; !there || v != 0 {
		t.Errorf("zero is a duration: got %v", r.Metrics)
	}
	_, said := r.Metrics[harness.KeywordsSaid]
	asked := func(name string) bool {
		return slices.ContainsFunc(r.Checks, func(c harness.Check) bool { return c.Name == name })
	}
	if said || r.Coverage != nil || asked(trace.Keywords) || asked(trace.EvidenceTools) {
		t.Errorf("neither tool nor keyword is asked for: got %+v", r)
	}
}

// One call that is none takes nothing from the others.
func TestOddCalls(t *testing.T) {
	t.Parallel()
	cases, err := trace.ParseCases([]byte(`cases:
  - {id: a, question: Why?, expectedRootCauseKeywords: [], requiredEvidenceTools: [ping, look], allowedVerdicts: [PASS]}
  - {id: b, question: Why?, expectedRootCauseKeywords: [], requiredEvidenceTools: [], allowedVerdicts: [PASS]}`))
	testenv.Must(t, err)
	for text, want := range map[string][]string{
		`[{"name": "ping"}, 7, {"name": "look"}, null]`:                                    {"toolInvocations[1] is a number, want an object", "toolInvocations[3] is null, want an object"},
		`[{"name": "ping", "ok": false}, {"name": "ping", "ok": false}, {"name": "look"}]`: {"ping was called, and every call failed"},
		`[{"name": "ping", "ok": false}, {"name": "ping", "ok": true}, {"name": "look"}]`:  nil,
		`[{"name": "ping", "ok": false}]`:                                                  {"look is neither among the calls nor in the verifier's summary", "ping was called, and every call failed"},
		`[{"name": "ping"}, {"name": "look"}, {"name": ""}]`:                               {"toolInvocations[2] names no tool"},
	} {
		r := cases.Contract.Evaluate(cases.Cases[0], "a.json", []byte(`{"finalAnswer": "x", "toolInvocations": `+text+`}`))
		got := slices.Concat(r.Check(trace.Readable).Findings, r.Check(trace.EvidenceTools).Findings)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A part of another type is named by its check.
func TestPartsOfAnotherType(t *testing.T) {
	t.Parallel()
	ve := func(parts string) string {
		return `{"finalAnswer": "x", "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS"` + parts + `}}}`
	}
	for _, c := range []struct{ text, check, reason string }{
		{ve(`, "composer_output": "parsed"`), trace.Composed, "wrong_type"},
		{ve(`, "composer_output": null`), trace.Composed, "missing"},
		{ve(`, "gatekeeper_result": ["fail"]`), trace.Gatekeeper, "wrong_type"},
		{ve(`, "claim_checks": {"c1": 1}`), trace.ClaimList, "wrong_type"},
		{ve(``), trace.ClaimList, "missing"},
		{`{"selfEvaluation": 7}`, trace.Verdict, "self_evaluation_wrong_type"},
		{`{"selfEvaluation": "null"}`, trace.Verdict, "self_evaluation_wrong_type"},
		{`{"selfEvaluation": null}`, trace.Verdict, "no_self_evaluation"},
		{`{"selfEvaluation": {"verifier_evaluation": []}}`, trace.Verdict, "verifier_evaluation_wrong_type"},
		{`{"selfEvaluation": {"verifier_evaluation": {"verdict": 1}}}`, trace.Verdict, "no_verdict"},
		{`{"selfEvaluation": {"verifier_evaluation": {"verdict": " "}}}`, trace.Verdict, "no_verdict"},
	} {
		r := held(t, ", requireV2AuditClosure: true", c.text)
		if got := r.Check(c.check); got.Outcome != harness.Fail || got.Reason != c.reason {
			t.Errorf("%s: got %+v, want %s to fail as %s", c.text, got, c.check, c.reason)
		}
	}
}

// What a rejected answer may repeat: sentences that were verified, whole or as a
// claim of theirs, and no others.
func TestWhatMayBeRepeated(t *testing.T) {
	t.Parallel()
	const answer = "This could not be verified. "
	rejected := func(said, executor, checks string) string {
		return `{"finalAnswer": "` + answer + said + `", "selfEvaluation": {"executor_output": ` + executor + `,
			"verifier_evaluation": {"verdict": "REJECT", "claim_checks": [` + checks + `]}}}`
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a line of several":     {rejected("All nodes are down", `{"answer": "The disk is failing\nAll nodes are down"}`, ""), []string{`the answer repeats what was not verified: "all nodes are down"`}},
		"without its stop":      {rejected("The disk is failing, maybe", `{"answer": "The disk is failing."}`, ""), []string{`the answer repeats what was not verified: "the disk is failing"`}},
		"a claim without id":    {rejected("The disk is failing", `{"claims": [{"text": "The disk is failing."}]}`, `{"verification": "SUPPORTED"}`), []string{`the answer repeats what was not verified: "the disk is failing"`}},
		"a verified claim":      {rejected("The disk is failing", `{"answer": "The disk is failing.", "claims": [{"claim_id": "c1", "text": "The disk is failing."}]}`, `{"claim_id": "c1", "verification": "SUPPORTED"}`), nil},
		"a number with a point": {rejected("Another 5 of them fail", `{"answer": "Version 2.5 of them fail"}`, ""), nil},
		"said twice, told once": {rejected("The disk is failing", `{"answer": "The disk is failing.", "claims": [{"claim_id": "c1", "text": "The disk is failing."}]}`, ""), []string{`the answer repeats what was not verified: "the disk is failing"`}},
	} {
		if got := held(t, "", c.text).Check(trace.Degraded); !slices.Equal(got.Findings, c.want) || (got.Outcome == harness.Pass) != (c.want == nil) {
			t.Errorf("%s: got %s, %q; want %q", name, got.Outcome, got.Findings, c.want)
		}
	}
}
