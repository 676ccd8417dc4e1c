package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
)

// Session is a finished session held in memory, with everything an Executor
// scores one by.
type Session struct {
	Input    unprompted.Input
	Want     transcript.Want
	External transcript.External
	// Sealed are the texts no session may see, of SealedTexts.
	Sealed *harness.Runs
}

// Score scores the session by the very steps of an Executor: the ladder, what
// no session may see, the checker, and the judge asked twice. The result is
// invalid unless the class is valid. An error means that a judge was needed and
// there is none, or that ctx ended.
func (s Session) Score(ctx context.Context, suite harness.Suite, judge Judge) (harness.Class, string, harness.Result, error) {
	invalid := harness.Result{Kind: harness.Unprompted, Case: s.Input.Scenario.ID, Outcome: harness.Invalid}
	if j := evidence(s.Sealed, s.Input.Transcript, s.Want, s.External); j.Class != harness.Valid {
		return j.Class, j.Why, invalid, nil
	}
	t := harness.Trial{Class: harness.Valid}
	ev := unprompted.Evaluate(s.Input)
	if ev.Question != nil {
		if judge == nil {
			return "", "", invalid, fmt.Errorf("scenario %s asks a question and there is no judge", s.Input.Scenario.ID)
		}
		j, _, err := askTwice(ctx, judge, suite.Rubric, *ev.Question)
		if err != nil {
			return "", "", invalid, err
		}
		ev = settle(s.Input, *j, &t)
	}
	if t.Class != harness.Valid {
		return t.Class, t.Why, invalid, nil
	}
	return t.Class, "", ev.Result, nil
}

// Want is what the ladder compared a kept attempt of a spec with.
func (e *Executor) Want(spec harness.Spec) (transcript.Want, error) {
	var k Kept
	data, err := os.ReadFile(filepath.Join(e.o.Store, spec.TrialID(), LaunchFile))
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return k.Want, fmt.Errorf("read attempt: %w", err)
	}
	return k.Want, nil
}

// Replies is a judge whose answers are given as the text a judge command would
// print, one a question. An empty list, or one that is used up, stands for a
// judge that gives no answer in time.
type Replies struct{ left []string }

var _ Judge = (*Replies)(nil)

// NewReplies makes the judge that gives these answers in turn.
func NewReplies(replies []string) *Replies { return &Replies{left: replies} }

// Judge reads the next answer as any judge's answer is read.
func (r *Replies) Judge(context.Context, unprompted.Question) (JudgeReply, error) {
	if len(r.left) == 0 {
		return JudgeReply{}, fmt.Errorf("ask judge: %w", context.DeadlineExceeded)
	}
	next := r.left[0]
	r.left = r.left[1:]
	yes, err := yesOrNo(next)
	return JudgeReply{Yes: yes, Text: next}, err
}
