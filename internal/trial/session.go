package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
}

// Score scores the session by the very steps of an Executor: the ladder, what
// no session may see, the checker, and the judge asked twice. The result is
// invalid unless the class is valid. An error means that a judge was needed and
// there is none, or that ctx ended.
func (s Session) Score(ctx context.Context, suite harness.Suite, judge Judge) (harness.Class, string, harness.Result, error) {
	invalid := harness.Result{Kind: harness.Unprompted, Case: s.Input.Scenario.ID, Outcome: harness.Invalid}
	if j := evidence(sealedTexts(suite), s.Input.Transcript, s.Want, s.External); j.Class != harness.Valid {
		return j.Class, j.Why, invalid, nil
	}
	out, err := settle(ctx, judge, s.Input)
	if err != nil || out.class != harness.Valid {
		return out.class, out.why, invalid, err
	}
	return out.class, out.why, out.result, nil
}

// Want is what the ladder compares a kept attempt of a spec with. A note that
// the hook computed is read from the attempt.
func (e *Executor) Want(spec harness.Spec) (transcript.Want, error) {
	sc, _ := e.Scenario(spec.Slot.Cell.Scenario)
	w, err := e.o.Wording(spec.Slot.Wording)
	if err != nil {
		return transcript.Want{}, err
	}
	note, err := os.ReadFile(filepath.Join(e.o.Store, spec.TrialID(), NoteFile))
	if err == nil {
		w.Note = strings.TrimSuffix(string(note), "\n")
	} else if !errors.Is(err, os.ErrNotExist) {
		return transcript.Want{}, fmt.Errorf("read note of attempt: %w", err)
	}
	return e.want(sc, w, spec.Slot.Cell.Tier), nil
}

// Replies is a judge whose answers are given as the text a judge command would
// print, one a question. An empty list, or one that is used up, stands for a
// judge that gives no answer in time.
type Replies struct{ left []string }

var _ Judge = (*Replies)(nil)

// NewReplies makes the judge that gives these answers in turn.
func NewReplies(replies []string) *Replies { return &Replies{left: replies} }

// Judge reads the next answer as any judge's answer is read.
func (r *Replies) Judge(context.Context, unprompted.Question) (bool, error) {
	if len(r.left) == 0 {
		return false, fmt.Errorf("ask judge: %w", context.DeadlineExceeded)
	}
	next := r.left[0]
	r.left = r.left[1:]
	return yesOrNo(next)
}
