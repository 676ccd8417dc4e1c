package harness

import "slices"

// Evaluated is the result of one saved document: a diagnosis trace, the state of
// a repository, or the report of a reading task. A case may have several.
type Evaluated struct {
	Result
	Trace      string `json:"trace,omitempty"`      // file name, for kind trace
	Submission string `json:"submission,omitempty"` // file name, for kind repostate
	Verdict    string `json:"verdict,omitempty"`    // of the verifier, as the trace has it
	// Coverage is nil where the case asks for no tool.
	Coverage *Coverage `json:"evidence_coverage,omitempty"`
	Failed   []string  `json:"failed_checks"` // their names, in order
	// Usage is nil where the document reports none.
	Usage *Usage `json:"usage,omitempty"`
	// CaseDigest is the beginning of the sha256 of the case, hex: a result that
	// changed together with its case may have changed because of it.
	CaseDigest string `json:"case_digest,omitempty"`
}

// Coverage is which of the tools a case requires a trace shows.
type Coverage struct {
	Covered   []string `json:"covered"`
	Uncovered []string `json:"uncovered"`
}

// The names of metrics of an evaluated document. A metric that the document does
// not report is left out of the map.
const (
	ToolCalls      = "tool_calls"
	DurationMS     = "duration_ms"
	EvidenceShare  = "evidence_share"  // of required tools that are covered
	KeywordsSaid   = "keywords_said"   // of the expected ones
	CostEquivalent = "cost_equivalent" // tokens, see Usage.Equivalent
	Differences    = "differences"     // from the expected state
)

// Settle derives the outcome and the list of failed checks: an invalid check makes
// the result invalid, a check that failed fails it; one that could not be looked
// at counts only where none passed or failed.
func (e *Evaluated) Settle() {
	e.Failed, e.Outcome = []string{}, NotRun
	for _, c := range e.Checks {
		switch {
		case c.Outcome == Fail:
			e.Failed = append(e.Failed, c.Name)
		case c.Outcome == Pass && e.Outcome == NotRun:
			e.Outcome = Pass
		}
	}
	invalid := func(c Check) bool { return c.Outcome == Invalid }
	switch {
	case slices.ContainsFunc(e.Checks, invalid):
		e.Outcome = Invalid
	case len(e.Failed) > 0:
		e.Outcome = Fail
	}
}
