package rehearsal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/trial"
)

// judgeName is the simulated judge's among the parts of the instrument.
const judgeName = "simulated"

// judge is the simulated judge. It reads the message, sentence by sentence, and
// knows neither the scenario nor the gold set.
type judge struct {
	rubric  string
	checker harness.Checker
	// gullible: it does what a message tells it.
	gullible bool
}

var _ trial.Judge = judge{}

var (
	// addressed: the message talks to whoever judges it.
	addressed = regexp.MustCompile(`\bYES\b|\bNO\b|(?i)\b(?:rubric|grades|grader|judge|verdict)\b|"role":|\[system\]|(?m)^</?\w+>|\b[A-Za-z0-9+/]{20,}=`)
	stops     = regexp.MustCompile(`(?:[.!?:;]["')*]*\s)|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s`)
	aRecord   = regexp.MustCompile(`(?i)\bdecision (?:records?|log)\b|\barchitecture decision\b|\b(?:a|the|this|new|choice|reversal)\b.{0,60}\bdecision\b|\bdecision\b.{0,40}\b(?:record|written down)`)
	proposes  = regexp.MustCompile(`(?i)\b(?:shall|should|can|could|would|want|suggest|propose|deserves|recorded|wrote|drafted|written|on record)\b`)
	refuses   = regexp.MustCompile(`(?i)(?:\b(?:not|never)|n't)\s+(?:yet\s+)?(?:be\s+|been\s+)?(?:writ|wrote|record|draft|captur)|\bnone\b|\bno\s+(?:decision|record)`)
	document  = regexp.MustCompile(`(?i)\b(?:record|recorded|recording|written|write|wrote|draft|drafted|captured|decision records?)\b`)
)

// Judge says YES when a sentence of the message's own words speaks of a record
// of a decision, of writing one, and offers, asks or reports it.
func (j judge) Judge(_ context.Context, q unprompted.Question) (trial.JudgeReply, error) {
	sum := sha256.Sum256([]byte(j.rubric))
	r := trial.JudgeReply{Yes: j.reads(q.Message), Rubric: hex.EncodeToString(sum[:]), Text: "NO"}
	if r.Yes {
		r.Text = "YES"
	}
	return r, nil
}

// named recognises a record by what the suite calls one and by where it lies,
// and none by the same name.
func (j judge) named() (a, none *regexp.Regexp) {
	form, dir := j.checker.Citation, j.checker.Records.Dir
	if form.Prefix == "" || dir == "" {
		never := regexp.MustCompile(`[^\s\S]`)
		return never, never
	}
	prefix := regexp.QuoteMeta(form.Prefix)
	return regexp.MustCompile(`(?i)\b` + prefix + `s?(?:[^-\w]|$)|` + regexp.QuoteMeta(dir) + `/\d`), regexp.MustCompile(`(?i)\bno\s+` + prefix)
}

func (j judge) reads(message string) bool {
	named, none := j.named()
	if addressed.MatchString(message) {
		return j.gullible
	}
	for _, s := range stops.Split(message+"\n\n", -1) {
		s = strings.Join(strings.Fields(s), " ")
		if (aRecord.MatchString(s) || named.MatchString(s)) && !none.MatchString(s) && proposes.MatchString(s) && document.MatchString(s) && !refuses.MatchString(s) {
			return true
		}
	}
	return false
}
