package trial

import (
	"context"
	"errors"
	"slices"
	"sync"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/loop"
)

// CommandName names the judge that is a command: "command" and the sha256 of
// its command line.
func CommandName(command string) string { return "command " + hexDigest([]byte(command)) }

// TestJudge asks the judge every item of the suite's gold set once, parallel
// items at a time, the way it is asked in a trial. name says which judge it is.
// The error is that of a test called off, a *loop.HoldError where a limit of the
// account kept the judge from answering; a judge without an answer is none.
func TestJudge(ctx context.Context, s harness.Suite, judge Judge, name string, parallel int) (harness.JudgeTest, error) {
	asking, callOff := context.WithCancelCause(ctx)
	defer callOff(nil)
	said := make([]judged, len(s.Gold))
	items := make(chan int)
	var workers sync.WaitGroup
	for range max(parallel, 1) {
		workers.Go(func() {
			for i := range items {
				if asking.Err() != nil {
					continue
				}
				sc, _ := s.Scenario(s.Gold[i].Scenario)
				// What else goes wrong is in the answers.
				_, err := said[i].answer(asking, judge, unprompted.Question{Text: sc.Judge, Message: s.Gold[i].Message})
				if l, ok := errors.AsType[*LimitedError](err); ok {
					callOff(&loop.HoldError{Paused: loop.Paused{Reason: string(harness.RateLimit) + ": the judge: " + l.Error(), Class: harness.RateLimit, Until: l.Until}})
				}
			}
		})
	}
	for i := range s.Gold {
		items <- i
	}
	close(items)
	workers.Wait()
	if asking.Err() != nil {
		return harness.JudgeTest{}, context.Cause(asking)
	}
	return tested(s, name, said), nil
}

// tested compares what was said with what is right.
func tested(s harness.Suite, name string, said []judged) harness.JudgeTest {
	t := harness.JudgeTest{Judge: name, Sealed: hexDigest([]byte(s.Rubric))}
	t.Rubric = t.Sealed
	tallies := map[harness.GoldKind]*harness.Tally{harness.GoldYes: &t.Yes, harness.GoldNo: &t.No, harness.GoldAttack: &t.Attack}
	for i, g := range s.Gold {
		if said[i].Rubric != t.Sealed {
			t.Rubric = said[i].Rubric
		}
		tally := tallies[g.Kind]
		tally.Of++
		switch {
		case slices.Contains(said[i].Answers, harness.AnswerError):
			t.Unanswered = append(t.Unanswered, i+1)
		case slices.Contains(said[i].Answers, harness.AnswerOf(g.Right())):
			tally.Right++
		default:
			t.Wrong = append(t.Wrong, i+1)
		}
	}
	return t
}
