package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/atomicfile"
)

// JudgeFile keeps the raw replies of a judge beside the other files of an
// attempt.
const JudgeFile = "judge.json"

// judgeTries is how often a judge that gives no answer is asked; the session
// itself is never run again for it.
const judgeTries = 3

// judged is the content of JudgeFile.
type judged struct {
	harness.Judgement
	Replies []recordedReply `json:"replies"` // one a call
}

type recordedReply struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

// askTwice puts a question to the judge twice; a judge that contradicts itself
// has given no answer. The error is that of the context alone.
func askTwice(ctx context.Context, judge Judge, rubric string, q unprompted.Question) (*Judged, *judged, error) {
	out := &Judged{Question: questionDigest(rubric, q)}
	j := &judged{Judgement: harness.Judgement{Question: hexDigest([]byte(q.Text)), Message: hexDigest([]byte(shown(q.Message)))}}
	first, err := j.answer(ctx, judge, q)
	second := first
	if err == nil {
		second, err = j.answer(ctx, judge, q)
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err() // nobody's answer was waited for
	case err != nil:
		out.Why = err.Error()
		if l, ok := errors.AsType[*LimitedError](err); ok {
			out.Limited = &l.Until
		}
	case first != second:
		out.Why = "asked twice, the judge said both YES and NO"
	default:
		out.Yes = &first
	}
	return out, j, nil
}

// answer asks the judge until it answers, within a bound, and notes each call.
func (j *judged) answer(ctx context.Context, judge Judge, q unprompted.Question) (yes bool, err error) {
	for range judgeTries {
		var r JudgeReply
		r, err = judge.Judge(ctx, q)
		j.Calls++
		j.Rubric = cmp.Or(r.Rubric, j.Rubric)
		j.Replies = append(j.Replies, recordedReply{Text: r.Text})
		if err == nil {
			j.Answers = append(j.Answers, harness.AnswerOf(r.Yes))
			return r.Yes, nil
		}
		j.Replies[len(j.Replies)-1].Error = err.Error()
		if ctx.Err() != nil {
			return false, err
		}
		if _, limited := errors.AsType[*LimitedError](err); limited {
			break
		}
	}
	j.Answers = append(j.Answers, harness.AnswerError)
	return false, err
}

// keepJudgement writes what the judge said, without secrets.
func (e *Executor) keepJudgement(dir string, j *judged) error {
	for i := range j.Replies {
		j.Replies[i].Text = string(e.o.Redactor.Bytes([]byte(j.Replies[i].Text)))
	}
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("keep judgement: %w", err)
	}
	return atomicfile.WriteFile(filepath.Join(dir, JudgeFile), append(data, '\n'), 0o600)
}
