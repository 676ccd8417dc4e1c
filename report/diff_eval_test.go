package report

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// texts lists the items, regressions with a mark.
func texts(d Diff) []string {
	out := []string{}
	for _, i := range d.Evals.Items {
		mark := ""
		if i.Regression {
			mark = "! "
		}
		out = append(out, mark+i.Text())
	}
	return out
}

// TestCompare_EvalItems changes one thing at a time. req 106-114
func TestCompare_EvalItems(t *testing.T) {
	t.Parallel()
	covered := func(yes bool) func(*harness.Evaluated) {
		return func(e *harness.Evaluated) {
			e.Coverage = &harness.Coverage{Covered: []string{"ping"}, Uncovered: []string{}}
			if !yes {
				e.Coverage = &harness.Coverage{Covered: []string{}, Uncovered: []string{"ping"}}
			}
		}
	}
	metric := func(name string, v float64) func(*harness.Evaluated) {
		return func(e *harness.Evaluated) { e.Metrics[name] = v }
	}
	verdict := func(v string) func(*harness.Evaluated) { return func(e *harness.Evaluated) { e.Verdict = v } }
	named := func(v string) func(*harness.Evaluated) { return func(e *harness.Evaluated) { e.Trace = v } }
	pass, fail, notRun := harness.Pass, harness.Fail, harness.NotRun
	for name, c := range map[string]struct {
		a, b EvalDocument
		want []string
	}{
		"nothing":      {evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", pass)), nil},
		"order":        {evalOf(evaluated("c1", pass), evaluated("c2", fail)), evalOf(evaluated("c2", fail), evaluated("c1", pass)), nil},
		"another file": {evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", pass, named("c1.v2.json"))), nil},
		"a case fails": {
			evalOf(evaluated("c1", pass), evaluated("c2", pass)), evalOf(evaluated("c1", pass), evaluated("c2", fail)),
			[]string{"! pass rate: 1/2, was 2/2 (-0.5)", "! c2: fail, was pass", "! c2: raw_marker: fail, was pass"},
		},
		"a case passes": {
			evalOf(evaluated("c1", fail)), evalOf(evaluated("c1", pass)),
			[]string{"pass rate: 1/1, was 0/1 (+1)", "c1: pass, was fail", "c1: raw_marker: pass, was fail"},
		},
		"missing and new": {
			evalOf(evaluated("c1", pass), evaluated("c2", pass)), evalOf(evaluated("c2", pass), evaluated("c3", pass)),
			[]string{"! c1 is missing, was pass", "c3 is new: pass"},
		},
		"a new case that fails": {
			evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", pass), evaluated("c2", fail)),
			[]string{"! pass rate: 1/2, was 1/1 (-0.5)", "verdict PASS: 2, was 1 (+1)", "c2 is new: fail"},
		},
		"a trace gone": {
			evalOf(evaluated("c1", pass), evaluated("c2", fail)), evalOf(evaluated("c1", pass), evaluated("c2", notRun)),
			[]string{"pass rate: 1/1, was 1/2 (+0.5)", "verdict PASS: 1, was 2 (-1)", "! c2: not_run, was fail", "c2: raw_marker: not_run, was fail"},
		},
		"all traces gone": {
			evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", notRun)),
			[]string{"! pass rate: not run, was 1/1", "verdict PASS: 0, was 1 (-1)", "! c1: not_run, was pass"},
		},
		"a tool uncovered": {
			evalOf(evaluated("c1", pass, covered(true))), evalOf(evaluated("c1", pass, covered(false))), []string{"! c1: tool ping: uncovered, was covered"},
		},
		"a tool covered": {
			evalOf(evaluated("c1", pass, covered(false))), evalOf(evaluated("c1", pass, covered(true))), []string{"c1: tool ping: covered, was uncovered"},
		},
		"a tool asked for no more": {evalOf(evaluated("c1", pass, covered(true))), evalOf(evaluated("c1", pass)), nil},
		"more calls": {
			evalOf(evaluated("c1", pass), evaluated("c2", pass)), evalOf(evaluated("c1", pass), evaluated("c2", pass, metric(harness.ToolCalls, 5))),
			[]string{"mean tool calls: 3.5, was 2 (+1.5)", "c2: tool calls: 5, was 2 (+3)"},
		},
		"slower, and dearer": {
			evalOf(evaluated("c1", pass, metric(harness.DurationMS, 100), metric(harness.CostEquivalent, 10))),
			evalOf(evaluated("c1", pass, metric(harness.DurationMS, 150), metric(harness.CostEquivalent, 30))),
			[]string{"mean duration in ms: 150, was 100 (+50)", "mean cost-equivalent tokens: 30, was 10 (+20)"},
		},
		"a duration reported anew": {
			evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", pass, metric(harness.DurationMS, 150))), []string{"mean duration in ms: 150, was -"},
		},
		"another verdict": {
			evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", pass, verdict("REVISE"))),
			[]string{"verdict PASS: 0, was 1 (-1)", "verdict REVISE: 1, was 0 (+1)", "c1: verdict: REVISE, was PASS"},
		},
		"another definition": {
			evalOf(evaluated("c1", pass)), evalOf(evaluated("c1", pass, func(e *harness.Evaluated) { e.CaseDigest = "x" })), []string{"c1: the case itself has changed"},
		},
		"one of several": {
			evalOf(evaluated("c1", pass), evaluated("c1", pass, named("c1.b.json")), evaluated("c1", pass, named("c1.c.json"))),
			evalOf(evaluated("c1", pass, named("c1.b.json")), evaluated("c1", pass), evaluated("c1", pass, named("c1.d.json"))),
			[]string{"! c1 (c1.c.json) is missing, was pass", "c1 (c1.d.json) is new: pass"},
		},
	} {
		d := compared(t, c.a, c.b, false)
		testenv.Same(t, name, append([]string{}, c.want...), texts(d))
		n := 0
		for _, text := range c.want {
			if rest, ok := strings.CutPrefix(text, "! "); ok {
				n++
				if !slices.Contains(d.Regressions, rest) {
					t.Errorf("%s: %q is no regression in %q", name, rest, d.Regressions)
				}
			}
		}
		if n != len(d.Regressions) || d.Evals.Summary.Regressions != n || d.Evals.Summary.Changes != len(c.want)-n {
			t.Errorf("%s: got %q, %+v; want %d regressions of %d items", name, d.Regressions, d.Evals.Summary, n, len(c.want))
		}
	}
}

// The comparison in each of its forms. req 115, 116
func TestCompare_EvalGoldens(t *testing.T) {
	a := evalSample()
	b := evalOf(slices.Concat(a.Results[:1], []harness.Evaluated{evaluated("b", harness.Fail), evaluated("e", harness.Pass), evaluated("c", harness.Fail)})...)
	d := compared(t, a, b, false)
	asJSON, err := json.MarshalIndent(d.Document(), "", " ")
	testenv.Must(t, err)
	for name, got := range map[string][]byte{"diff_eval.json": asJSON, "diff_eval.md": d.Markdown(), "diff_eval.txt": d.Text(0)} {
		testenv.Golden(t, "testdata/"+name, got)
	}
	for line := range strings.Lines(string(d.Text(0))) {
		if len([]rune(line)) > 81 {
			t.Errorf("over 80 columns: %s", line)
		}
	}
	var doc map[string]any
	if err := json.Unmarshal(asJSON, &doc); err != nil || doc["summary"] == nil || doc["items"] == nil || doc["cells"] != nil {
		t.Errorf("got keys of %v, %v; want those of an evaluation", doc, err)
	}
	same := compared(t, a, a, false)
	if !strings.Contains(string(same.Text(0)), "Nothing changed.") || !strings.Contains(string(same.Markdown()), "Nothing changed.") || same.Headline() != "nothing regressed" {
		t.Errorf("of the same report: got\n%s\n%s", same.Text(0), same.Markdown())
	}
}

// Turning the reports round turns every delta round.
func TestCompare_EvalTurnsRound(t *testing.T) {
	t.Parallel()
	a := evalSample()
	b := evalOf(evaluated("a", harness.Fail), evaluated("z", harness.Pass))
	there, back := compared(t, a, b, false), compared(t, b, a, false)
	for i, f := range []Figure{there.Evals.Summary.PassRate, there.Evals.Summary.ToolCalls} {
		g := []Figure{back.Evals.Summary.PassRate, back.Evals.Summary.ToolCalls}[i]
		if *f.Delta != -*g.Delta || *f.A != *g.B {
			t.Errorf("got %v there, %v back", f, g)
		}
	}
}

func TestCompare_EvalRefuses(t *testing.T) {
	t.Parallel()
	good := evalOf(evaluated("a", harness.Pass))
	with := func(edit func(*EvalDocument)) EvalDocument {
		e := evalOf(evaluated("a", harness.Pass))
		edit(&e)
		return e
	}
	for name, c := range map[string]struct {
		b    EvalDocument
		want string
	}{
		"another kind of result": {with(func(e *EvalDocument) { e.Results[0].Kind = harness.Unprompted }), `the result of a is of kind "unprompted", the report of kind trace`},
		"a result of no case":    {with(func(e *EvalDocument) { e.Results[0].Case = "" }), "a result names no case"},
		"a result twice":         {with(func(e *EvalDocument) { e.Results = append(e.Results, e.Results[0]) }), "a a.json is there twice"},
		"no results":             {with(func(e *EvalDocument) { e.Results = nil }), "results is no list"},
		"no instrument":          {with(func(e *EvalDocument) { e.Instrument = "" }), "it lacks instrument or results"},
		"a senseless rate":       {with(func(e *EvalDocument) { e.Summary.Rate.K = 7 }), "pass rate counts 7 of 1"},
	} {
		_, err := Compare(documentOf(t, "a.json", good), documentOf(t, "b.json", c.b), false)
		if _, ok := errors.AsType[*IncomparableError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	other := with(func(e *EvalDocument) {
		e.Instrument, e.Parts = "i2", map[string]string{"rules": "r2", "contract": "k1"}
	})
	_, err := Compare(documentOf(t, "a.json", good), documentOf(t, "b.json", other), false)
	if e, ok := errors.AsType[*InstrumentsError](err); !ok || !slices.Equal(e.Differs, []string{"rules"}) {
		t.Errorf("got %v, want a refusal for other rules", err)
	}
	d, err := Compare(documentOf(t, "a.json", good), documentOf(t, "b.json", other), true)
	if err != nil || !slices.Equal(d.Evals.Differs, []string{"rules"}) || !strings.Contains(string(d.Text(0)), "which differ in rules") || !strings.Contains(string(d.Markdown()), "which differ in rules") {
		t.Errorf("across: got %v, %v", d.Evals.Differs, err)
	}
}
