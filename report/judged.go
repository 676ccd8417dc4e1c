package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// Judged is what files and what the judge settled, arm by arm.
type Judged struct {
	Scenarios []string `json:"scenarios"` // that ask a judge where no file settles them
	// Test is what the judge made of the gold set, nil when it was not tested.
	Test *harness.JudgeTest `json:"test"`
	Arms []JudgedArm        `json:"arms"`
}

// JudgedArm counts one wording's trials in the scenarios that ask a judge.
type JudgedArm struct {
	Arm     string `json:"arm"`
	Valid   int    `json:"valid"`    // trials
	ByFile  int    `json:"by_file"`  // of them passed, settled by a file
	ByJudge int    `json:"by_judge"` // of them passed, settled by the judge
	Calls   int    `json:"calls"`    // of the judge, retries included
	Flips   int    `json:"flips"`    // trials in which it said both YES and NO
	Errors  int    `json:"errors"`   // trials without an answer, flips included
}

// arm is a wording under the name it has in a report.
type arm struct{ name, wording string }

// judgedOf counts the arms, nil where no scenario of the campaign asks a judge.
func judgedOf(s *loop.State, arms ...arm) *Judged {
	if len(s.Started.Judged) == 0 {
		return nil
	}
	out := &Judged{Scenarios: slices.Clone(s.Started.Judged), Test: s.JudgeTest, Arms: []JudgedArm{}}
	for _, a := range arms {
		out.Arms = append(out.Arms, judgedArm(s, a))
	}
	return out
}

func judgedArm(s *loop.State, a arm) JudgedArm {
	out := JudgedArm{Arm: a.name}
	for _, t := range s.Trials {
		if s.CandidateOf(t.Spec.Slot.Wording) != s.CandidateOf(a.wording) || !slices.Contains(s.Started.Judged, t.Spec.Slot.Cell.Scenario) {
			continue
		}
		out.add(t.Trial)
	}
	return out
}

func (a *JudgedArm) add(t harness.Trial) {
	switch t.Class {
	case harness.Valid:
		a.Valid++
	case harness.JudgeError:
		a.Errors++
	}
	if j := t.Judgement; j != nil {
		a.Calls += j.Calls
		if j.Flipped() {
			a.Flips++
		}
	}
	switch {
	case !t.Passed():
	case t.Result.JudgedBy == "judge":
		a.ByJudge++
	case t.Result.JudgedBy == "file":
		a.ByFile++
	}
}

// untestedJudge is the warning that nothing is known about the judge, empty
// where there is none or it was tested.
func untestedJudge(s *loop.State) string {
	if len(s.Started.Judged) == 0 || s.Started.Gold > 0 {
		return ""
	}
	return fmt.Sprintf("the judge of %s was not tested: the suite has no gold set", names(s.Started.Judged))
}

// judgeText says how the judge did on the gold set.
func judgeText(j Judged) string {
	text := names(j.Scenarios) + " ask a judge where no file settles them."
	if len(j.Scenarios) == 1 {
		text = j.Scenarios[0] + " asks a judge where no file settles it."
	}
	t := j.Test
	if t == nil {
		return text + " It has not been tested."
	}
	text += fmt.Sprintf(" Before the first session it got %d of %d proposals of the gold set right, %d of %d other messages and %d of %d that try to talk it into a YES.",
		t.Yes.Right, t.Yes.Of, t.No.Right, t.No.Of, t.Attack.Right, t.Attack.Of)
	return text
}

// JudgedTrials lists the trials in which the judge gave an answer, in an order
// that depends on the campaign's seed and on nothing that happened.
func JudgedTrials(s *loop.State) []loop.Run {
	var out []loop.Run
	for _, t := range s.Trials {
		if t.Judgement == nil {
			continue
		}
		if _, settled := t.Judgement.Settled(); settled {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b loop.Run) int { return strings.Compare(JudgedKey(s, a.ID), JudgedKey(s, b.ID)) })
	return out
}

// JudgedKey names a judged trial for a person who must not learn which it is.
func JudgedKey(s *loop.State, trial string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "judged\x00%d\x00%s", s.Started.Settings.Seed, trial))
	return hex.EncodeToString(sum[:8])
}

// Agreement is how often a person's label is the judge's answer. It decides
// nothing.
type Agreement struct {
	Campaign  string         `json:"campaign"`
	All       AgreementArm   `json:"all"`
	Arms      []AgreementArm `json:"arms"`      // start and candidates that have labels
	Unlabeled int            `json:"unlabeled"` // judged messages without a label
}

// AgreementArm is the agreement under one wording.
type AgreementArm struct {
	Rate
	// Kappa is Cohen's, nil where one of the two always says the same.
	Kappa *float64 `json:"kappa"`
}

// agreed counts pairs of a label and an answer.
type agreed struct{ bothYes, bothNo, labelYes, answerYes int }

func (a agreed) arm(name string) AgreementArm {
	n := a.bothYes + a.bothNo + a.labelYes + a.answerYes
	out := AgreementArm{Rate: rate(name, stats.Count{Pass: a.bothYes + a.bothNo, N: n})}
	if n == 0 {
		return out
	}
	total := float64(n)
	label, answer := float64(a.bothYes+a.labelYes)/total, float64(a.bothYes+a.answerYes)/total
	chance := label*answer + (1-label)*(1-answer)
	if label*(1-label) > 0 && answer*(1-answer) > 0 {
		kappa := (float64(a.bothYes+a.bothNo)/total - chance) / (1 - chance)
		out.Kappa = &kappa
	}
	return out
}

func (a *agreed) add(label, answer bool) {
	switch {
	case label && answer:
		a.bothYes++
	case label:
		a.labelYes++
	case answer:
		a.answerYes++
	default:
		a.bothNo++
	}
}

// Agree compares labels, true for YES, with the judge's answers. A key that is
// none of the campaign's is an error.
func Agree(s *loop.State, labels map[string]bool) (Agreement, error) {
	out := Agreement{Campaign: s.Started.Campaign, Arms: []AgreementArm{}}
	var all agreed
	arms, known := make(map[string]*agreed), make(map[string]bool)
	for _, t := range JudgedTrials(s) {
		key := JudgedKey(s, t.ID)
		known[key] = true
		label, ok := labels[key]
		if !ok {
			out.Unlabeled++
			continue
		}
		name := s.CandidateOf(t.Spec.Slot.Wording)
		if arms[name] == nil {
			arms[name] = &agreed{}
		}
		answer, _ := t.Judgement.Settled()
		all.add(label, answer == harness.AnswerYes)
		arms[name].add(label, answer == harness.AnswerYes)
	}
	for key := range labels {
		if !known[key] {
			return out, fmt.Errorf("read labels: key %s is no judged message of campaign %s", key, s.Started.Campaign)
		}
	}
	out.All = all.arm("all")
	for _, name := range append([]string{loop.SubjectStart}, ids(s)...) {
		if a := arms[name]; a != nil {
			out.Arms = append(out.Arms, a.arm(name))
		}
	}
	return out, nil
}
