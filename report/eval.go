package report

import (
	"slices"

	"loopd/harness"
	"loopd/stats"
)

// Eval is the report of saved documents held against their cases. Its results
// are written beside it one by one, so that their number does not matter.
type Eval struct {
	Schema  string       `json:"schema"` // EvalSchema
	Harness harness.Kind `json:"harness"`
	// Instrument is the digest of the parts: the rules' source and their contract.
	// A case may be added without it changing.
	Instrument string            `json:"instrument"`
	Parts      map[string]string `json:"parts"`
	Cases      string            `json:"cases"` // name of the file of cases, or of the spec
	Summary    EvalSummary       `json:"summary"`
}

// EvalSummary adds up the results of an Eval.
type EvalSummary struct {
	Results int  `json:"results"`
	Passed  int  `json:"passed"`
	Failed  int  `json:"failed"`
	Invalid int  `json:"invalid"`
	NotRun  int  `json:"not_run"`
	Rate    Rate `json:"pass_rate"` // of those that passed or failed
	// Verdicts counts them; "none" is no verdict, "unknown" one outside the set.
	Verdicts     map[string]int `json:"verdicts,omitempty"`
	FailedChecks map[string]int `json:"failed_checks"`
	// The means are nil where no document reports the thing; each is over those
	// that do.
	MeanToolCalls      *float64 `json:"mean_tool_calls"`
	MeanDurationMS     *float64 `json:"mean_duration_ms"`
	MeanCostEquivalent *float64 `json:"mean_cost_equivalent_tokens"`
	// Usage is the sum over the documents that report one, nil for none.
	Usage *harness.Usage `json:"usage,omitempty"`
}

// EvalDocument is an Eval as its file has it, with its results.
type EvalDocument struct {
	Eval
	Results []harness.Evaluated `json:"results"`
}

// Tally adds results up. Its size does not grow with their number.
type Tally struct {
	sum   EvalSummary
	means map[string]*running
}

// running is a mean on the way.
type running struct {
	sum float64
	n   int
}

// The words for verdicts that are none of a contract's.
const (
	noVerdict      = "none"
	unknownVerdict = "unknown"
)

// Add counts one result.
func (t *Tally) Add(e harness.Evaluated) {
	if t.means == nil {
		t.means = make(map[string]*running)
		t.sum.FailedChecks = make(map[string]int)
	}
	t.sum.Results++
	switch e.Outcome {
	case harness.Pass:
		t.sum.Passed++
	case harness.Fail:
		t.sum.Failed++
	case harness.Invalid:
		t.sum.Invalid++
	default:
		t.sum.NotRun++
	}
	for _, name := range e.Failed {
		t.sum.FailedChecks[name]++
	}
	for _, name := range []string{harness.ToolCalls, harness.DurationMS, harness.CostEquivalent} {
		if v, ok := e.Metrics[name]; ok {
			if t.means[name] == nil {
				t.means[name] = &running{}
			}
			t.means[name].sum += v
			t.means[name].n++
		}
	}
	if e.Usage != nil {
		sum := *e.Usage
		if t.sum.Usage != nil {
			sum = sum.Add(*t.sum.Usage)
		}
		t.sum.Usage = &sum
	}
	t.verdict(e)
}

// verdict counts the verdict of a trace that was looked at.
func (t *Tally) verdict(e harness.Evaluated) {
	if e.Kind != harness.Trace || e.Outcome == harness.NotRun {
		return
	}
	if t.sum.Verdicts == nil {
		t.sum.Verdicts = make(map[string]int)
	}
	unknown := slices.ContainsFunc(e.Checks, func(c harness.Check) bool { return c.Reason == "unknown_verdict" })
	switch {
	case e.Verdict == "":
		t.sum.Verdicts[noVerdict]++
	case unknown:
		t.sum.Verdicts[unknownVerdict]++
	default:
		t.sum.Verdicts[e.Verdict]++
	}
}

// Summary is what was counted so far.
func (t *Tally) Summary() EvalSummary {
	s := t.sum
	if s.FailedChecks == nil {
		s.FailedChecks = make(map[string]int)
	}
	s.Rate = rate("pass rate", stats.Count{Pass: s.Passed, N: s.Passed + s.Failed})
	for name, to := range map[string]**float64{
		harness.ToolCalls: &s.MeanToolCalls, harness.DurationMS: &s.MeanDurationMS, harness.CostEquivalent: &s.MeanCostEquivalent,
	} {
		if m := t.means[name]; m != nil {
			mean := m.sum / float64(m.n)
			*to = &mean
		}
	}
	return s
}

// document is the name of the document a result is of.
func document(e harness.Evaluated) string {
	if e.Trace != "" {
		return e.Trace
	}
	return e.Submission
}
