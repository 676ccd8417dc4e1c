package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// evaluated makes a result of a trace.
func evaluated(id string, o harness.Outcome, edit ...func(*harness.Evaluated)) harness.Evaluated {
	e := harness.Evaluated{
		Result:  harness.Result{Kind: harness.Trace, Case: id, Outcome: o, Checks: []harness.Check{{Name: "raw_marker", Outcome: o}}, Metrics: map[string]float64{harness.ToolCalls: 2}},
		Trace:   id + ".json",
		Verdict: "PASS", Failed: []string{}, CaseDigest: "c-" + id,
	}
	if o == harness.Fail {
		e.Failed = []string{"raw_marker"}
		e.Checks[0].Reason, e.Checks[0].Findings = "leaked", []string{`the answer holds "claim_id" | <b>`}
	}
	if o == harness.NotRun {
		e.Checks[0].Reason, e.Checks[0].Findings = "missing_trace", []string{"no file"}
	}
	for _, f := range edit {
		f(&e)
	}
	return e
}

// evalOf makes the report of results.
func evalOf(results ...harness.Evaluated) EvalDocument {
	var t Tally
	for _, r := range results {
		t.Add(r)
	}
	return EvalDocument{Eval{
		Schema: EvalSchema, Harness: harness.Trace, Instrument: "i1", Parts: map[string]string{"rules": "r1", "contract": "k1"}, Cases: "cases.yaml", Summary: t.Summary(),
	}, append([]harness.Evaluated{}, results...)}
}

func (e EvalDocument) each(yield func(harness.Evaluated, error) bool) {
	for _, r := range e.Results {
		if !yield(r, nil) {
			return
		}
	}
}

func evalSample() EvalDocument {
	return evalOf(
		evaluated("a", harness.Pass, func(e *harness.Evaluated) {
			e.Metrics = map[string]float64{harness.ToolCalls: 3, harness.DurationMS: 500, harness.CostEquivalent: 125}
			e.Usage = &harness.Usage{Input: 100, Output: 5}
			e.Coverage = &harness.Coverage{Covered: []string{"ping"}, Uncovered: []string{}}
		}),
		evaluated("b", harness.Fail, func(e *harness.Evaluated) { e.Metrics[harness.DurationMS] = 1000 }),
		evaluated("b", harness.Pass, func(e *harness.Evaluated) { e.Trace, e.Verdict = "b.second.json", "" }),
		evaluated("c", harness.NotRun, func(e *harness.Evaluated) { e.Metrics = nil }),
		evaluated("d", harness.Invalid, func(e *harness.Evaluated) { e.Verdict = "" }),
	)
}

// The report in each of its forms. req 91-94
func TestEvalGoldens(t *testing.T) {
	e := evalSample()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"eval.json": func(b *bytes.Buffer) error { return e.WriteJSON(b, e.each) },
		"eval.md":   func(b *bytes.Buffer) error { return e.WriteMarkdown(b, e.each) },
		"eval.xml":  func(b *bytes.Buffer) error { return e.WriteJUnit(b, e.each) },
		"eval.txt":  func(b *bytes.Buffer) error { _, err := b.Write(e.Summary.Text()); return err },
	} {
		var b bytes.Buffer
		testenv.Must(t, write(&b))
		testenv.Golden(t, "testdata/"+name, b.Bytes())
	}
}

// Written and read again, a report is the same; results that end in an error
// end the report.
func TestEvalJSONGoesRound(t *testing.T) {
	t.Parallel()
	for _, e := range []EvalDocument{evalSample(), evalOf()} {
		var b bytes.Buffer
		testenv.Must(t, e.WriteJSON(&b, e.each))
		var again EvalDocument
		testenv.Must(t, json.Unmarshal(b.Bytes(), &again))
		testenv.Same(t, "result", e, again)
		var suite struct {
			Suites []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Cases    []struct {
					Failure *string `xml:"failure"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		b.Reset()
		testenv.Must(t, errors.Join(e.WriteJUnit(&b, e.each), xml.Unmarshal(b.Bytes(), &suite)))
		if s := suite.Suites[0]; s.Tests != len(e.Results) || len(s.Cases) != s.Tests || s.Failures != e.Summary.Failed {
			t.Errorf("JUnit: got %+v", s)
		}
	}
	broken := errors.New("spool gone")
	bad := func(yield func(harness.Evaluated, error) bool) { yield(harness.Evaluated{}, broken) }
	for _, write := range []func() error{
		func() error { return evalSample().WriteJSON(&bytes.Buffer{}, bad) },
		func() error { return evalSample().WriteMarkdown(&bytes.Buffer{}, bad) },
		func() error { return evalSample().WriteJUnit(&bytes.Buffer{}, bad) },
	} {
		if err := write(); !errors.Is(err, broken) {
			t.Errorf("got %v, want the error of the results", err)
		}
	}
}

// Zero is a real score, and nothing is none. req 94
func TestTally(t *testing.T) {
	t.Parallel()
	s := evalSample().Summary
	if s.Results != 5 || s.Passed != 2 || s.Failed != 1 || s.NotRun != 1 || s.Invalid != 1 || s.Rate.K != 2 || s.Rate.N != 3 {
		t.Errorf("got %+v", s)
	}
	if *s.MeanToolCalls != 9.0/4 || *s.MeanDurationMS != 750 || *s.MeanCostEquivalent != 125 || s.Usage.Input != 100 {
		t.Errorf("means: got %v, %v, %v", *s.MeanToolCalls, *s.MeanDurationMS, *s.MeanCostEquivalent)
	}
	testenv.Same(t, "verdicts", map[string]int{"PASS": 2, "none": 2}, s.Verdicts)
	none := evalOf().Summary
	if none.MeanToolCalls != nil || none.Rate.Mean != nil || none.Headline() != "0 of 0 pass" {
		t.Errorf("of nothing: got %+v", none)
	}
	zero := evalOf(evaluated("a", harness.Fail, func(e *harness.Evaluated) { e.Metrics[harness.ToolCalls] = 0 })).Summary
	if zero.MeanToolCalls == nil || *zero.MeanToolCalls != 0 || zero.Rate.Mean == nil || *zero.Rate.Mean != 0 {
		t.Errorf("of zeros: got %+v", zero)
	}
	odd := evalOf(evaluated("a", harness.Fail, func(e *harness.Evaluated) { e.Verdict, e.Checks[0].Reason = "MAYBE", "unknown_verdict" })).Summary
	if odd.Verdicts["unknown"] != 1 || len(odd.Verdicts) != 1 {
		t.Errorf("verdicts: got %v, want the word outside the set under one name", odd.Verdicts)
	}
}

// The size of a summary does not depend on how many results there were.
func TestTallyStaysSmall(t *testing.T) {
	t.Parallel()
	var tally Tally
	for i := range 10_000 {
		tally.Add(evaluated(fmt.Sprint(i), harness.Fail, func(e *harness.Evaluated) { e.Verdict, e.Checks[0].Reason = fmt.Sprint(i), "unknown_verdict" }))
	}
	text, err := json.Marshal(tally.Summary())
	if err != nil || len(text) > 1000 {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}

func TestNotPassed(t *testing.T) {
	t.Parallel()
	r := evaluated("a", harness.Fail)
	r.Checks = append(r.Checks, harness.Check{Name: "x", Outcome: harness.NotRun, Reason: "see_y"}, harness.Check{Name: "z", Outcome: harness.Pass})
	if got := linesOf(r); len(got) != 1 || !strings.HasPrefix(got[0], "raw_marker (leaked): the answer holds") {
		t.Errorf("got %q, want what failed alone", got)
	}
	if got := linesOf(evaluated("a", harness.NotRun)); len(got) != 1 || got[0] != "raw_marker (missing_trace): no file" {
		t.Errorf("got %q", got)
	}
}
