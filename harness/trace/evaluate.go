package trace

import (
	"fmt"
	"strings"
	"unicode"

	"loopd/harness"
)

// The names of the checks. A case is asked those it has a use for.
const (
	Readable       = "trace"                    // a JSON object whose parts have their types
	FinalAnswer    = "final_answer"             // there is one
	EvidenceTools  = "evidence_tools"           // every required tool appears
	Verdict        = "verdict"                  // the verifier gave one
	VerdictAllowed = "verdict_allowed"          // it is one the case allows
	Keywords       = "root_cause_keywords"      // enough of them are in the answer
	ForbiddenWords = "forbidden_keyword"        // none of them is
	ForbiddenClaim = "forbidden_claim"          // no forbidden confirmed claim is
	Degraded       = "degraded_output"          // a rejected answer says so and leaks nothing
	Contradiction  = "gatekeeper_contradiction" // the gatekeeper failed and the verdict passes
	Gatekeeper     = "gatekeeper_result"        // V2 closure: it is there
	ClaimList      = "claim_checks"             // V2 closure: they are there
	ClaimFields    = "claim_fields"             // each has claim_id, verification, detail
	ClaimWords     = "claim_verification"       // each verification is a known word
	Composed       = "composer_output"          // V2 closure: it is there
	ComposerMode   = "composer_mode"            // it says parsed or fallback
	RawMarker      = "raw_marker"               // no word of the executor's protocol leaks
)

// Checks lists the names of all checks, in the order they are asked in.
func Checks() []string {
	return []string{
		Readable, FinalAnswer, EvidenceTools, Verdict, VerdictAllowed, Keywords, ForbiddenWords, ForbiddenClaim, Degraded,
		Contradiction, Gatekeeper, ClaimList, ClaimFields, ClaimWords, Composed, ComposerMode, RawMarker,
	}
}

// The reasons of a result for which there was nothing to look at.
const (
	MissingTrace = "missing_trace"
	UnknownCase  = "unknown_case"
)

// mostFindings bounds what one check says.
const mostFindings = 20

// sheet collects the checks of one trace.
type sheet struct {
	Case
	contract Contract
	trace    trace
	folded   string // the answer
	out      harness.Evaluated
}

// Evaluate holds one saved trace, the bytes of the file of that name, against a
// case. The contract is that of the case's file.
func (c Contract) Evaluate(k Case, file string, data []byte) harness.Evaluated {
	s := sheet{Case: k, contract: c, out: blank(k, file)}
	t, bad := c.read(data)
	if bad != nil {
		s.fail(Readable, bad.reason, bad.what)
		s.out.Settle()
		return s.out
	}
	s.trace, s.folded = t, harness.Fold(t.answer)
	s.out.Verdict = s.verdict()
	s.ask(Readable, len(t.faults) == 0, "wrong_type", t.faults...)
	s.ask(FinalAnswer, s.folded != "", "no_answer", "the trace holds no final answer")
	s.evidence()
	s.verdicts()
	s.words()
	s.degraded()
	s.closure()
	s.metrics()
	s.out.Settle()
	return s.out
}

// Missing is the result of a case that has no trace, or of the trace a case
// names and that is not there.
func Missing(k Case) harness.Evaluated {
	what := "no file whose name begins with " + k.ID + " and a dot"
	if k.Fixture != "" {
		what = "no file " + k.File()
	}
	return unasked(k, k.File(), MissingTrace, what)
}

// Orphan is the result of a trace that belongs to no case.
func Orphan(file string) harness.Evaluated {
	return unasked(Case{ID: Stem(file)}, file, UnknownCase, "no case has this traceFixture or the id "+Stem(file))
}

// Unread is the result of a trace that could not be read from its file.
func Unread(k Case, file, reason, what string) harness.Evaluated {
	s := sheet{out: blank(k, file)}
	s.fail(Readable, reason, what)
	s.out.Settle()
	return s.out
}

func blank(k Case, file string) harness.Evaluated {
	return harness.Evaluated{Result: harness.Result{Kind: harness.Trace, Case: k.ID}, Trace: file, CaseDigest: k.digest()}
}

func unasked(k Case, file, reason, what string) harness.Evaluated {
	out := blank(k, file)
	out.Checks = []harness.Check{{Name: Readable, Outcome: harness.NotRun, Reason: reason, Findings: []string{what}}}
	out.Settle()
	return out
}

func (s *sheet) add(name string, o harness.Outcome, reason string, findings []string) {
	if n := len(findings); n > mostFindings {
		findings = append(findings[:mostFindings:mostFindings], fmt.Sprintf("and %d more", n-mostFindings))
	}
	s.out.Checks = append(s.out.Checks, harness.Check{Name: name, Outcome: o, Reason: reason, Findings: findings})
}

func (s *sheet) fail(name, reason string, findings ...string) {
	s.add(name, harness.Fail, reason, findings)
}

// ask adds a check that passes when ok holds; reason and findings are those of a
// failure.
func (s *sheet) ask(name string, ok bool, reason string, findings ...string) {
	if ok {
		s.add(name, harness.Pass, "", nil)
		return
	}
	s.fail(name, reason, findings...)
}

// nothing adds a check that has nothing to look at, for the reason another check
// has failed.
func (s *sheet) nothing(name, because string) {
	s.add(name, harness.NotRun, "see_"+because, nil)
}

// evidence asks for the tools, among the calls or in the verifier's summary.
func (s *sheet) evidence() {
	if len(s.Tools) == 0 {
		return
	}
	c := &harness.Coverage{Covered: []string{}, Uncovered: []string{}}
	var missing, failed []string
	for _, tool := range s.Tools {
		shown, onlyFailed := s.trace.covered(tool)
		if !shown {
			c.Uncovered = append(c.Uncovered, tool)
			missing = append(missing, tool+" is neither among the calls nor in the verifier's summary")
			continue
		}
		c.Covered = append(c.Covered, tool)
		if onlyFailed {
			failed = append(failed, tool+" was called, and every call failed")
		}
	}
	s.out.Coverage = c
	s.ask(EvidenceTools, len(missing) == 0, "tool_missing", append(missing, failed...)...)
	if len(missing) == 0 {
		s.out.Checks[len(s.out.Checks)-1].Findings = failed // worth a look, and no failure
	}
}

// verdict is the verifier's verdict in the contract's spelling, as it is where
// the contract does not know it, empty for none.
func (s *sheet) verdict() string {
	text := strings.TrimSpace(textAt(s.trace.verifier, s.contract.Names.Verdict...))
	for _, v := range s.contract.Verdicts {
		if strings.EqualFold(v, text) {
			return v
		}
	}
	return clip(text)
}

func (s *sheet) verdicts() {
	v := s.out.Verdict
	if v == "" {
		reason := s.trace.why
		if reason == "" {
			reason = "no_verdict"
		}
		s.fail(Verdict, reason, "selfEvaluation.verifier_evaluation.verdict cannot be read")
		s.nothing(VerdictAllowed, Verdict)
		return
	}
	s.ask(Verdict, true, "")
	switch {
	case !holds(s.contract.Verdicts, v):
		s.fail(VerdictAllowed, "unknown_verdict", fmt.Sprintf("%q is none of %s", v, strings.Join(s.contract.Verdicts, ", ")))
	case holds(s.Forbidden, v):
		s.fail(VerdictAllowed, "forbidden_verdict", v+" is forbidden by the case")
	default:
		s.ask(VerdictAllowed, holds(s.Allowed, v), "verdict_not_allowed", v+" is none of "+strings.Join(s.Allowed, ", "))
	}
}

// words asks what the answer says.
func (s *sheet) words() {
	said := s.said(s.Keywords)
	if s.enough() > 0 && s.folded == "" {
		s.nothing(Keywords, FinalAnswer)
	} else if s.enough() > 0 {
		s.ask(Keywords, len(said) >= s.enough(), "keywords_missing",
			fmt.Sprintf("%d of %d keywords, want %d; not said: %s", len(said), len(s.Keywords), s.enough(), quoted(s.unsaid(s.Keywords))))
	}
	for _, list := range []struct {
		name  string
		words []string
	}{{ForbiddenWords, s.ForbiddenKeywords}, {ForbiddenClaim, s.ForbiddenClaims}} {
		switch found := s.said(list.words); {
		case len(list.words) == 0:
		case s.folded == "":
			s.nothing(list.name, FinalAnswer)
		default:
			s.ask(list.name, len(found) == 0, "said", "the answer says "+quoted(found))
		}
	}
}

// said lists those of the phrases that are in the answer.
func (s *sheet) said(phrases []string) []string { return s.among(phrases, true) }

func (s *sheet) unsaid(phrases []string) []string { return s.among(phrases, false) }

func (s *sheet) among(phrases []string, want bool) []string {
	var out []string
	for _, p := range phrases {
		f := harness.Fold(p)
		if (f != "" && strings.Contains(s.folded, f)) == want {
			out = append(out, p)
		}
	}
	return out
}

// metrics are what the trace says of its cost.
func (s *sheet) metrics() {
	t := s.trace
	m := map[string]float64{harness.ToolCalls: float64(len(t.calls))}
	if t.duration != nil {
		m[harness.DurationMS] = *t.duration
	}
	if n := len(s.Tools); n > 0 {
		m[harness.EvidenceShare] = float64(len(s.out.Coverage.Covered)) / float64(n)
	}
	if len(s.Case.Keywords) > 0 {
		m[harness.KeywordsSaid] = float64(len(s.said(s.Case.Keywords)))
	}
	if t.usage != nil {
		s.out.Usage = t.usage
		m[harness.CostEquivalent] = t.usage.Equivalent()
	}
	s.out.Metrics = m
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = fmt.Sprintf("%q", clip(w))
	}
	return strings.Join(out, ", ")
}

// clip bounds what is repeated of a text, and leaves out what moves a terminal.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}
