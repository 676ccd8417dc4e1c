package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Contract is the names and value sets of the system that wrote the traces.
// Words are compared whatever their case.
type Contract struct {
	Verdicts           []string `yaml:"verdicts,omitempty" json:"verdicts,omitempty"`
	PassVerdict        string   `yaml:"passVerdict,omitempty" json:"passVerdict,omitempty"`
	RejectVerdict      string   `yaml:"rejectVerdict,omitempty" json:"rejectVerdict,omitempty"`
	GatekeeperFail     string   `yaml:"gatekeeperFail,omitempty" json:"gatekeeperFail,omitempty"`
	ClaimVerifications []string `yaml:"claimVerifications,omitempty" json:"claimVerifications,omitempty"`
	// VerifiedClaims are those after which a claim may stand in a degraded answer.
	VerifiedClaims   []string `yaml:"verifiedClaims,omitempty" json:"verifiedClaims,omitempty"`
	ComposerModes    []string `yaml:"composerModes,omitempty" json:"composerModes,omitempty"`
	ComposerFallback string   `yaml:"composerFallback,omitempty" json:"composerFallback,omitempty"`
	DegradedMarkers  []string `yaml:"degradedMarkers,omitempty" json:"degradedMarkers,omitempty"`
	RawMarkers       []string `yaml:"rawMarkers,omitempty" json:"rawMarkers,omitempty"`
	Names            Names    `yaml:"names,omitempty" json:"names,omitzero"`
}

// Names lists by which keys a trace may call its parts; the first that is there
// counts.
type Names struct {
	FinalAnswer        []string `yaml:"finalAnswer,omitempty" json:"finalAnswer,omitempty"`
	ToolInvocations    []string `yaml:"toolInvocations,omitempty" json:"toolInvocations,omitempty"`
	ToolName           []string `yaml:"toolName,omitempty" json:"toolName,omitempty"`
	ToolSuccess        []string `yaml:"toolSuccess,omitempty" json:"toolSuccess,omitempty"`
	DurationMS         []string `yaml:"durationMs,omitempty" json:"durationMs,omitempty"`
	Usage              []string `yaml:"usage,omitempty" json:"usage,omitempty"`
	SelfEvaluation     []string `yaml:"selfEvaluation,omitempty" json:"selfEvaluation,omitempty"`
	VerifierEvaluation []string `yaml:"verifierEvaluation,omitempty" json:"verifierEvaluation,omitempty"`
	Verdict            []string `yaml:"verdict,omitempty" json:"verdict,omitempty"`
	TraceSummary       []string `yaml:"traceSummary,omitempty" json:"traceSummary,omitempty"`
	SummaryTools       []string `yaml:"summaryTools,omitempty" json:"summaryTools,omitempty"`
	ExecutorOutput     []string `yaml:"executorOutput,omitempty" json:"executorOutput,omitempty"`
}

// DefaultContract returns what holds where a file of cases says nothing.
func DefaultContract() Contract {
	return Contract{
		Verdicts: []string{"PASS", "REVISE", "REJECT"}, PassVerdict: "PASS", RejectVerdict: "REJECT", GatekeeperFail: "fail",
		ClaimVerifications: []string{"SUPPORTED", "PARTIALLY_SUPPORTED", "UNSUPPORTED", "CONTRADICTED", "NOT_CHECKED"},
		VerifiedClaims:     []string{"SUPPORTED"},
		ComposerModes:      []string{"parsed", "fallback"}, ComposerFallback: "fallback",
		DegradedMarkers: []string{
			"could not be verified", "could not verify", "cannot be verified", "not verified", "could not be confirmed",
			"could not confirm", "insufficient evidence", "not enough evidence",
		},
		RawMarkers: []string{"executor_evidence_v2", "answer_version", "evidence_bindings", "claim_id"},
		Names: Names{
			FinalAnswer: []string{"finalAnswer", "final_answer"}, ToolInvocations: []string{"toolInvocations", "tool_invocations"},
			ToolName: []string{"toolName", "tool_name", "name", "tool"}, ToolSuccess: []string{"success", "ok"},
			DurationMS: []string{"durationMs", "duration_ms"}, Usage: []string{"usage", "tokenUsage", "token_usage"},
			SelfEvaluation:     []string{"selfEvaluation", "self_evaluation"},
			VerifierEvaluation: []string{"verifier_evaluation", "verifierEvaluation"}, Verdict: []string{"verdict"},
			TraceSummary: []string{"trace_summary", "trace_summaries", "traceSummary", "traceSummaries"},
			SummaryTools: []string{"tools", "tool_names", "toolNames"}, ExecutorOutput: []string{"executor_output", "executorOutput"},
		},
	}
}

// withDefaults fills in what is left out.
func (c Contract) withDefaults() Contract {
	d := DefaultContract()
	n := c.Names
	for _, pair := range []struct{ is, def *[]string }{
		{&c.Verdicts, &d.Verdicts}, {&c.ClaimVerifications, &d.ClaimVerifications}, {&c.VerifiedClaims, &d.VerifiedClaims},
		{&c.ComposerModes, &d.ComposerModes}, {&c.DegradedMarkers, &d.DegradedMarkers}, {&c.RawMarkers, &d.RawMarkers},
		{&n.FinalAnswer, &d.Names.FinalAnswer}, {&n.ToolInvocations, &d.Names.ToolInvocations}, {&n.ToolName, &d.Names.ToolName},
		{&n.ToolSuccess, &d.Names.ToolSuccess}, {&n.DurationMS, &d.Names.DurationMS}, {&n.Usage, &d.Names.Usage},
		{&n.SelfEvaluation, &d.Names.SelfEvaluation}, {&n.VerifierEvaluation, &d.Names.VerifierEvaluation}, {&n.Verdict, &d.Names.Verdict},
		{&n.TraceSummary, &d.Names.TraceSummary}, {&n.SummaryTools, &d.Names.SummaryTools}, {&n.ExecutorOutput, &d.Names.ExecutorOutput},
	} {
		if len(*pair.is) == 0 {
			*pair.is = *pair.def
		}
	}
	for _, pair := range []struct{ is, def *string }{
		{&c.PassVerdict, &d.PassVerdict}, {&c.RejectVerdict, &d.RejectVerdict},
		{&c.GatekeeperFail, &d.GatekeeperFail}, {&c.ComposerFallback, &d.ComposerFallback},
	} {
		if *pair.is == "" {
			*pair.is = *pair.def
		}
	}
	c.Names = n
	return c
}

// validate finds a word that could never occur, and with it a rule that would
// never fire.
func (c Contract) validate() []error {
	var errs []error
	among := func(what, word string, list []string) {
		if !holds(list, word) {
			errs = append(errs, fmt.Errorf("read cases: contract.%s: %q is none of %s", what, word, strings.Join(list, ", ")))
		}
	}
	among("passVerdict", c.PassVerdict, c.Verdicts)
	among("rejectVerdict", c.RejectVerdict, c.Verdicts)
	among("composerFallback", c.ComposerFallback, c.ComposerModes)
	for _, v := range c.VerifiedClaims {
		among("verifiedClaims", v, c.ClaimVerifications)
	}
	return errs
}

// Digest is the sha256 of the contract, hex. Results under two contracts were
// measured by different rules.
func (c Contract) Digest() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("marshal contract: %v", err)) // strings and lists of them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
