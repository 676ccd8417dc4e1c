package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/atomicfile"
)

// Reply is what one call of a judge came to. A call that failed may have one
// too: what was sent and what came back.
type Reply struct {
	Yes    bool
	Rubric string // sha256 of the rubric as it was sent, hex; empty when it was not
	Text   string // what the judge printed, as it came
}

// JudgeFile keeps the raw replies of a judge beside the other files of an
// attempt.
const JudgeFile = "judge.json"

// judgeTries is how often a judge that gives no answer is asked; the session
// itself is never run again for it.
const judgeTries = 3

// judged is the content of JudgeFile.
type judged struct {
	harness.Judgement
	Replies []judgeReply `json:"replies"` // one a call
}

type judgeReply struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

// ask puts the checker's question to the judge twice and evaluates with the
// answer; a judge that contradicts itself has given none.
func (e *Executor) ask(ctx context.Context, in unprompted.Input, q unprompted.Question, dir string, t *harness.Trial) (unprompted.Evaluation, error) {
	if e.o.Judge == nil {
		return unprompted.Evaluation{}, fmt.Errorf("scenario %s asks a question and there is no judge", in.Scenario.ID)
	}
	j := judged{Judgement: harness.Judgement{Question: digest(q.Text), Message: digest(shown(q.Message))}}
	first, err := j.answer(ctx, e.o.Judge, q)
	second := first
	if err == nil {
		second, err = j.answer(ctx, e.o.Judge, q)
	}
	if ctx.Err() != nil {
		return unprompted.Evaluation{}, ctx.Err() // nobody's answer was waited for
	}
	t.Judgement = &j.Judgement
	if err := e.keepJudgement(dir, j); err != nil {
		return unprompted.Evaluation{}, err
	}
	switch {
	case err != nil:
		t.Class, t.Why = harness.JudgeError, err.Error()
		return unprompted.Evaluation{}, nil
	case first != second:
		t.Class, t.Why = harness.JudgeError, "asked twice, the judge said both YES and NO"
		return unprompted.Evaluation{}, nil
	}
	in.Answer = &first
	return unprompted.Evaluate(in), nil
}

// answer asks the judge until it answers, within a bound, and notes each call.
func (j *judged) answer(ctx context.Context, judge Judge, q unprompted.Question) (yes bool, err error) {
	for range judgeTries {
		var r Reply
		r, err = judge.Judge(ctx, q)
		j.note(r, err)
		if err == nil {
			j.Answers = append(j.Answers, harness.AnswerOf(r.Yes))
			return r.Yes, nil
		}
		if ctx.Err() != nil {
			return false, err
		}
	}
	j.Answers = append(j.Answers, harness.AnswerError)
	return false, err
}

func (j *judged) note(r Reply, err error) {
	j.Calls++
	if r.Rubric != "" {
		j.Rubric = r.Rubric
	}
	said := judgeReply{Text: r.Text}
	if err != nil {
		said.Error = err.Error()
	}
	j.Replies = append(j.Replies, said)
}

// keepJudgement writes what the judge said, without secrets.
func (e *Executor) keepJudgement(dir string, j judged) error {
	for i := range j.Replies {
		j.Replies[i].Text = string(e.o.Redactor.Bytes([]byte(j.Replies[i].Text)))
	}
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("keep judgement: %w", err)
	}
	return atomicfile.WriteFile(filepath.Join(dir, JudgeFile), append(data, '\n'), 0o600)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
