package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// GoldKind says what a judge must answer to a gold item.
type GoldKind string

// The kinds of gold item.
const (
	GoldYes GoldKind = "yes"
	GoldNo  GoldKind = "no"
	// GoldAttack is a message that tries to talk the judge into a YES. The right
	// answer is NO.
	GoldAttack GoldKind = "attack"
)

// GoldItem is a final message whose right answer is known, for testing a judge
// with the question of its scenario.
type GoldItem struct {
	Scenario string   `yaml:"scenario"`
	Kind     GoldKind `yaml:"kind"`
	Message  string   `yaml:"message"`
}

// goldFile is the content of gold.yaml.
type goldFile struct {
	Items []GoldItem `yaml:"items"`
}

// Right is the answer the item wants: true for YES.
func (g GoldItem) Right() bool { return g.Kind == GoldYes }

// readGold reads gold.yaml, which a suite may do without.
func readGold(fsys fs.FS) ([]GoldItem, error) {
	var file goldFile
	err := readYAML(fsys, "gold.yaml", GoldSchema, &file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(file.Items) == 0 {
		err = errors.New("gold.yaml: items: empty")
	}
	return file.Items, err
}

// validateGold reports what makes the gold set useless, by item number.
func (s Suite) validateGold() error {
	var errs []error
	kinds, seen := make(map[GoldKind]int), make(map[[2]string]int)
	for i, g := range s.Gold {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("gold.yaml: item %d: "+format, append([]any{i + 1}, args...)...))
		}
		sc, ok := s.Scenario(g.Scenario)
		switch {
		case !ok:
			bad("scenario: the suite has no %q", g.Scenario)
		case sc.Judge == "":
			bad("scenario: %s asks no judge", g.Scenario)
		}
		if !slices.Contains([]GoldKind{GoldYes, GoldNo, GoldAttack}, g.Kind) {
			bad("kind: %q is none of yes, no, attack", g.Kind)
		}
		key := [2]string{g.Scenario, strings.TrimSpace(g.Message)}
		switch {
		case key[1] == "":
			bad("message: empty")
		case seen[key] > 0:
			bad("message: the same as that of item %d", seen[key])
		default:
			seen[key] = i + 1
		}
		kinds[g.Kind]++
	}
	for _, kind := range []GoldKind{GoldYes, GoldNo, GoldAttack} {
		if len(s.Gold) > 0 && kinds[kind] == 0 {
			errs = append(errs, fmt.Errorf("gold.yaml: no item of kind %s", kind))
		}
	}
	return errors.Join(errs...)
}

// Tally is how many of some items were answered right.
type Tally struct {
	Right int `json:"right"`
	Of    int `json:"of"`
}

// JudgeTest is what a judge made of the gold set. Items are numbered from 1, in
// the order of gold.yaml.
type JudgeTest struct {
	// Judge is what was asked: a pinned model id, or "command" and the sha256 of
	// the command line.
	Judge string `json:"judge"`
	// Rubric is the sha256 of the rubric that was sent, hex, and Sealed that of
	// the suite's.
	Rubric string `json:"rubric"`
	Sealed string `json:"sealed"`
	Yes    Tally  `json:"yes"`
	No     Tally  `json:"no"`
	Attack Tally  `json:"attack"`
	Wrong  []int  `json:"wrong,omitempty"` // items answered, and wrongly
	// Unanswered are items without an answer after the last retry.
	Unanswered []int `json:"unanswered,omitempty"`
}

// Judgement is what a judge was asked about one session and what it said. All
// digests are sha256 of the text as it was sent, hex.
type Judgement struct {
	Rubric   string `json:"rubric"`
	Question string `json:"question"`
	Message  string `json:"message"`
	// Answers are those of the two times it was asked, in order; an error ends it.
	Answers []JudgeAnswer `json:"answers"`
	Calls   int           `json:"calls"` // of the judge, retries included
}

// JudgeAnswer is one answer of a judge.
type JudgeAnswer string

// The answers of a judge.
const (
	AnswerYes   JudgeAnswer = "YES"
	AnswerNo    JudgeAnswer = "NO"
	AnswerError JudgeAnswer = "error" // none, after the last retry
)

// AnswerOf names an answer.
func AnswerOf(yes bool) JudgeAnswer {
	if yes {
		return AnswerYes
	}
	return AnswerNo
}

// Flipped reports whether the judge said both YES and NO to one message.
func (j Judgement) Flipped() bool {
	return slices.Contains(j.Answers, AnswerYes) && slices.Contains(j.Answers, AnswerNo)
}

// Settled returns the answer the judge gave both times, and whether it did.
func (j Judgement) Settled() (JudgeAnswer, bool) {
	if len(j.Answers) != 2 || j.Answers[0] != j.Answers[1] || j.Answers[0] == AnswerError {
		return "", false
	}
	return j.Answers[0], true
}
