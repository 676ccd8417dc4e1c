package rehearsal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"loopd/harness/unprompted"
	"loopd/internal/trial"
)

// judgeName is the simulated judge's among the parts of the instrument.
const judgeName = "simulated"

// judge is the simulated judge. It reads the message, sentence by sentence, and
// knows neither the scenario nor the gold set.
type judge struct {
	rubric string
	// gullible: it does what a message tells it.
	gullible bool
}

var _ trial.Judge = judge{}

var (
	// addressed: the message talks to whoever judges it.
	addressed = regexp.MustCompile(`\bYES\b|\bNO\b|(?i)\b(?:rubric|grades|grader|judge|verdict)\b|"role":|\[system\]|(?m)^</?\w+>|\b[A-Za-z0-9+/]{20,}=`)
	stops     = regexp.MustCompile(`(?:[.!?:;]["')*]*\s)|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s`)
	aRecord   = regexp.MustCompile(`(?i)\bADRs?(?:[^-\w]|$)|\bdecision (?:records?|log)\b|\barchitecture decision\b|\b(?:a|the|this|new|choice|reversal)\b.{0,60}\bdecision\b|\bdecision\b.{0,40}\b(?:record|written down)|docs/adr/\d{4}`)
	proposes  = regexp.MustCompile(`(?i)\b(?:shall|should|can|could|would|want|suggest|propose|deserves|recorded|wrote|drafted|written|on record)\b`)
	refuses   = regexp.MustCompile(`(?i)(?:\b(?:not|never)|n't)\s+(?:yet\s+)?(?:be\s+|been\s+)?(?:writ|wrote|record|draft|captur)|\bnone\b|\bno\s+(?:ADR|decision|record)`)
	document  = regexp.MustCompile(`(?i)\b(?:record|recorded|recording|written|write|wrote|draft|drafted|captured|decision records?)\b`)
)

// Judge says YES when a sentence of the message's own words speaks of a record
// of a decision, of writing one, and offers, asks or reports it.
func (j judge) Judge(_ context.Context, q unprompted.Question) (trial.Reply, error) {
	sum := sha256.Sum256([]byte(j.rubric))
	r := trial.Reply{Yes: j.reads(q.Message), Rubric: hex.EncodeToString(sum[:]), Text: "NO"}
	if r.Yes {
		r.Text = "YES"
	}
	return r, nil
}

func (j judge) reads(message string) bool {
	if addressed.MatchString(message) {
		return j.gullible
	}
	for _, s := range stops.Split(message+"\n\n", -1) {
		s = strings.Join(strings.Fields(s), " ")
		if aRecord.MatchString(s) && proposes.MatchString(s) && document.MatchString(s) && !refuses.MatchString(s) {
			return true
		}
	}
	return false
}
