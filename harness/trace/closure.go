package trace

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"loopd/harness"
)

// claimCheck is one entry of the verifier's claim checks, as far as it is text.
type claimCheck struct{ id, verification, detail, claim string }

// textAt reads a part that must be text, empty where it is not.
func textAt(o object, keys ...string) string {
	_, raw := part(o, keys)
	var s string
	_ = json.Unmarshal(raw, &s) // what is no text counts as not there
	return s
}

// claimChecks reads the list; ok is false where there is none.
func (s *sheet) claimChecks() (list []claimCheck, ok bool) {
	_, raw := part(s.trace.verifier, []string{"claim_checks"})
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return nil, false
	}
	for _, e := range entries {
		var o object
		_ = json.Unmarshal(e, &o) // an entry of another type has none of the fields
		list = append(list, claimCheck{
			id: textAt(o, "claim_id"), verification: textAt(o, "verification"), detail: textAt(o, "detail"), claim: claimText(o),
		})
	}
	return list, true
}

// claimText is the wording of a claim, wherever it is repeated.
func claimText(o object) string { return textAt(o, "claim", "text", "claim_text", "statement") }

// closure asks for the links of the chain from executor to answer.
func (s *sheet) closure() {
	gate := s.inner("gatekeeper_result")
	status := strings.TrimSpace(textAt(gate, "status"))
	if gate != nil {
		contradicts := strings.EqualFold(status, s.contract.GatekeeperFail) && strings.EqualFold(s.out.Verdict, s.contract.PassVerdict)
		s.ask(Contradiction, !contradicts, "fail_and_pass", fmt.Sprintf("the gatekeeper says %s and the verdict is %s", status, s.out.Verdict))
	}
	if s.Closure {
		s.there(Gatekeeper, gate != nil, "gatekeeper_result", "an object")
	}
	if s.Closure || s.Case.ClaimChecks {
		s.claims()
	}
	composer := s.inner("composer_output")
	mode := strings.TrimSpace(textAt(composer, "mode"))
	if s.Closure || s.Composer {
		s.there(Composed, composer != nil, "composer_output", "an object")
	}
	if s.Composer && composer == nil {
		s.nothing(ComposerMode, Composed)
	} else if s.Composer {
		s.ask(ComposerMode, holds(s.contract.ComposerModes, mode), "unknown_mode",
			fmt.Sprintf("composer_output.mode is %q, want one of %s", clip(mode), strings.Join(s.contract.ComposerModes, ", ")))
	}
	if s.Closure || strings.EqualFold(mode, s.contract.ComposerFallback) {
		s.raw()
	}
}

// inner reads an object of the verifier's evaluation, nil where there is none.
func (s *sheet) inner(key string) object {
	_, raw := part(s.trace.verifier, []string{key})
	var o object
	_ = json.Unmarshal(raw, &o) // of another type there is none
	return o
}

// there asks whether a part of the verifier's evaluation is there. Without the
// evaluation there is nothing to look at.
func (s *sheet) there(check string, ok bool, key, want string) {
	_, raw := part(s.trace.verifier, []string{key})
	switch {
	case s.trace.verifier == nil:
		s.nothing(check, Verdict)
	case raw == nil:
		s.fail(check, "missing", "verifier_evaluation."+key+" is not there")
	default:
		s.ask(check, ok, "wrong_type", fmt.Sprintf("verifier_evaluation.%s is %s, want %s", key, typeOf(raw), want))
	}
}

func (s *sheet) claims() {
	list, ok := s.claimChecks()
	if ok && len(list) == 0 && s.Case.ClaimChecks {
		s.fail(ClaimList, "empty", "verifier_evaluation.claim_checks is empty")
	} else {
		s.there(ClaimList, ok, "claim_checks", "a list")
	}
	switch {
	case !s.Case.ClaimChecks:
		return
	case len(list) == 0:
		s.nothing(ClaimFields, ClaimList)
		s.nothing(ClaimWords, ClaimList)
		return
	}
	var fields, words []string
	for i, c := range list {
		for _, f := range []struct{ name, text string }{{"claim_id", c.id}, {"verification", c.verification}, {"detail", c.detail}} {
			if strings.TrimSpace(f.text) == "" {
				fields = append(fields, fmt.Sprintf("claim_checks[%d] has no %s", i, f.name))
			}
		}
		if v := strings.TrimSpace(c.verification); v != "" && !holds(s.contract.ClaimVerifications, v) {
			words = append(words, fmt.Sprintf("claim_checks[%d] says %q, want one of %s", i, clip(v), strings.Join(s.contract.ClaimVerifications, ", ")))
		}
	}
	s.ask(ClaimFields, len(fields) == 0, "field_missing", fields...)
	s.ask(ClaimWords, len(words) == 0, "unknown_verification", words...)
}

// raw asks that no word of the executor's protocol is in the answer.
func (s *sheet) raw() {
	if s.folded == "" {
		s.nothing(RawMarker, FinalAnswer)
		return
	}
	found := s.said(s.contract.RawMarkers)
	s.ask(RawMarker, len(found) == 0, "leaked", "the answer holds "+quoted(found))
}

// degraded asks of a rejected answer that it says so and repeats nothing that
// was not verified.
func (s *sheet) degraded() {
	if !strings.EqualFold(s.out.Verdict, s.contract.RejectVerdict) {
		return
	}
	if s.folded == "" {
		s.nothing(Degraded, FinalAnswer)
		return
	}
	markers := s.DegradedMarkers
	if len(markers) == 0 {
		markers = s.contract.DegradedMarkers
	}
	if len(s.said(markers)) == 0 {
		s.fail(Degraded, "no_marker", "the answer says none of "+quoted(markers))
		return
	}
	var leaked []string
	for _, sentence := range s.unverified() {
		if strings.Contains(s.folded, sentence) {
			leaked = append(leaked, fmt.Sprintf("the answer repeats what was not verified: %q", clip(sentence)))
		}
	}
	s.ask(Degraded, len(leaked) == 0, "unverified_leak", leaked...)
}

// sentenceEnd cuts a claim or an executor's answer into sentences.
var sentenceEnd = regexp.MustCompile(`[.!?。！？]+(?:\s+|$)|\n+`)

// shortest is the fewest characters of a sentence that counts as repeated: a
// shorter one is no statement.
const shortest = 8

// unverified lists, folded, the sentences an answer after a rejection must not
// repeat: the executor's answer, and its claims but for those that were verified.
func (s *sheet) unverified() []string {
	verified, doubted := make(map[string]bool), make(map[string]bool) // by claim id
	fine := make(map[string]bool)                                     // sentences
	texts := []string{textAt(s.trace.executor, "answer", "finalAnswer", "final_answer", "summary")}
	list, _ := s.claimChecks()
	for _, c := range list {
		if !holds(s.contract.VerifiedClaims, strings.TrimSpace(c.verification)) {
			texts = append(texts, c.claim)
			doubted[c.id] = true
			continue
		}
		verified[c.id] = true
		for _, sentence := range sentences(c.claim) {
			fine[sentence] = true
		}
	}
	for _, o := range s.executorClaims() {
		id := textAt(o, "claim_id", "id")
		if id == "" || !verified[id] || doubted[id] {
			texts = append(texts, claimText(o))
			continue
		}
		for _, sentence := range sentences(claimText(o)) {
			fine[sentence] = true
		}
	}
	var out []string
	for _, text := range texts {
		for _, sentence := range sentences(text) {
			if !fine[sentence] && !slices.Contains(out, sentence) {
				out = append(out, sentence)
			}
		}
	}
	return out
}

// sentences cuts a text up and folds what is long enough to be a statement.
func sentences(text string) []string {
	var out []string
	for _, sentence := range sentenceEnd.Split(text, -1) {
		if folded := harness.Fold(sentence); len([]rune(folded)) >= shortest {
			out = append(out, folded)
		}
	}
	return out
}

func (s *sheet) executorClaims() []object {
	_, raw := part(s.trace.executor, []string{"claims"})
	var out []object
	_ = json.Unmarshal(raw, &out) // what is no list of objects holds no claim
	return out
}
