package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/gateway"
	"loopd/internal/sandbox"
)

// score says whether the attempt is evidence, and if so of what. Everything it
// looks at is kept, so that Rescorer can do the same again.
func (e *Executor) score(ctx context.Context, sc harness.Scenario, box *sandbox.Box, a attempt, k *Kept, t *harness.Trial) error {
	t.Exposed = k.External.Exposed
	e.describe(a, t)
	weigh(e.sealed, a.transcript, *k, t)
	e.account(a, t)
	if t.Class != harness.Valid {
		return nil
	}
	end, err := box.Snapshot(ctx)
	if limit, ok := errors.AsType[*sandbox.LimitError](err); ok {
		t.Class, t.Why = harness.Oversize, limit.Error()
		return nil
	}
	if err != nil {
		return err
	}
	st := e.starts[sc.ID]
	var changes Changes
	if changes, k.Changes, err = e.keepChanges(a.dir, st.tree, end); err != nil {
		return err
	}
	in := k.input(sc, e.o.Suite.Checker, a.transcript, st.tree, changes)
	ev := unprompted.Evaluate(in)
	if ev.Question != nil {
		if k.Judged, err = e.ask(ctx, sc, *ev.Question); err != nil {
			return err
		}
		ev = settle(in, *k.Judged, t)
	}
	if t.Class == harness.Valid {
		t.Result = ev.Result
	}
	return nil
}

// weigh asks the ladder, and whether the session read a sealed text. The result
// stays invalid until the checker has spoken.
func weigh(sealed []harness.HeldOut, tr *transcript.Transcript, k Kept, t *harness.Trial) {
	t.Result = invalidResult(t.Spec)
	j := transcript.Validity(tr, k.Want, k.External)
	t.Class, t.Why, t.NoteVerified = j.Class, j.Why, j.NoteVerified
	if t.Class != harness.Valid {
		return
	}
	if line := contaminated(sealed, tr); line > 0 {
		t.Class, t.Why = harness.Contaminated, fmt.Sprintf("a tool showed the session a sealed text (line %d)", line)
	}
}

// settle evaluates with what came of asking the judge; where that is no answer,
// the trial is no evidence.
func settle(in unprompted.Input, j Judged, t *harness.Trial) unprompted.Evaluation {
	if j.Yes == nil {
		t.Class, t.Why = harness.JudgeError, j.Why
		return unprompted.Evaluation{}
	}
	in.Answer = j.Yes
	return unprompted.Evaluate(in)
}

// judgeTries is how often a judge that gives no answer is asked; the session
// itself is never run again for it.
const judgeTries = 3

// ask puts the checker's question to the suite's judge.
func (e *Executor) ask(ctx context.Context, sc harness.Scenario, q unprompted.Question) (*Judged, error) {
	if e.o.Judge == nil {
		return nil, fmt.Errorf("scenario %s asks a question and there is no judge", sc.ID)
	}
	return askTwice(ctx, e.o.Judge, e.o.Suite.Rubric, q)
}

// askTwice puts a question to the judge twice; a judge that contradicts itself
// has given no answer. The error is that of the context alone.
func askTwice(ctx context.Context, judge Judge, rubric string, q unprompted.Question) (*Judged, error) {
	out := &Judged{Question: questionDigest(rubric, q)}
	first, err := answer(ctx, judge, q)
	second := first
	if err == nil {
		second, err = answer(ctx, judge, q)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() // nobody's answer was waited for
	case err != nil:
		out.Why = err.Error()
	case first != second:
		out.Why = "asked twice, the judge said both YES and NO"
	default:
		out.Yes = &first
	}
	return out, nil
}

// answer asks the judge until it answers, within a bound.
func answer(ctx context.Context, judge Judge, q unprompted.Question) (yes bool, err error) {
	for range judgeTries {
		if yes, err = judge.Judge(ctx, q); err == nil || ctx.Err() != nil {
			break
		}
	}
	return yes, err
}

// want is what the ladder compares the session with.
func (e *Executor) want(sc harness.Scenario, w Wording, t *harness.Trial) transcript.Want {
	l := e.o.Suite.Launch
	model, _ := l.Model(t.Spec.Slot.Cell.Tier)
	return transcript.Want{
		Pinned: true, Version: e.o.Agent.Version, Model: model, Plugin: e.o.Suite.Checker.Plugin, Builtin: l.BuiltinPlugins,
		Note: l.Note.Kind, NoteText: w.Note, Envelope: l.Note.Envelope, Silent: sc.Hook == harness.HookSilent,
	}
}

func external(a attempt) transcript.External {
	return transcript.External{
		Cause: a.exit.Cause, LimitTime: a.exit.LimitTime, Killed: a.exit.Signal != "", ExitCode: a.exit.Code,
		GatewayKnown: true, Exposed: exposed(a.seen, a.transcript), Served: served(a.seen), Blocks: a.seen.Blocks,
	}
}

// served lists the ids the gateway passed on. An answer it could not read makes
// an unknown id prove nothing, so nothing is claimed then.
func served(seen gateway.Report) map[string]bool {
	if seen.Unread > 0 {
		return nil
	}
	out := make(map[string]bool, len(seen.MessageIDs)+len(seen.ToolIDs))
	for _, id := range slices.Concat(seen.MessageIDs, seen.ToolIDs) {
		out[id] = seen.Whole[id]
	}
	return out
}

// describe copies what the stream says of itself.
func (e *Executor) describe(a attempt, t *harness.Trial) {
	if init, ok := a.transcript.Init(); ok {
		t.Model, t.CLI, t.Session = init.Model, init.Version, init.Session
	}
	t.CostUSD, t.Usage = a.transcript.CostUSD(), a.transcript.Usage()
}
