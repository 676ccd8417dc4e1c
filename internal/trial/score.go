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

// score says whether the attempt is evidence, and if so of what.
func (e *Executor) score(ctx context.Context, sc harness.Scenario, w Wording, box *sandbox.Box, a attempt, t *harness.Trial) error {
	t.Result = invalidResult(t.Spec)
	j := transcript.Validity(a.transcript, e.want(sc, w, box, t), external(a))
	t.Class, t.Why, t.NoteVerified, t.Exposed = j.Class, j.Why, j.NoteVerified, a.seen.Exposed
	e.describe(a, t)
	if t.Class != harness.Valid {
		return nil
	}
	if line := contaminated(e.sealed, a.transcript); line > 0 {
		t.Class, t.Why = harness.Contaminated, fmt.Sprintf("a tool showed the session a sealed text (line %d)", line)
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
	if err := e.keepChanges(a.dir, st.tree, end); err != nil {
		return err
	}
	in := unprompted.Input{
		Scenario: sc, Checker: e.o.Suite.Checker, Transcript: a.transcript, Project: box.Work, Start: st.tree, End: end,
		LimitTime: a.exit.LimitTime,
	}
	ev := unprompted.Evaluate(in)
	if ev.Question != nil {
		if ev, err = e.ask(ctx, a.dir, in, *ev.Question, t); err != nil {
			return err
		}
	}
	if t.Class == harness.Valid {
		t.Result = ev.Result
	}
	return nil
}

// judgeTries is how often a judge that gives no answer is asked; the session
// itself is never run again for it.
const judgeTries = 3

// ask puts the checker's question to the judge twice and evaluates with the
// answer; a judge that contradicts itself has given none. What it printed
// instead of an answer is kept in dir.
func (e *Executor) ask(ctx context.Context, dir string, in unprompted.Input, q unprompted.Question, t *harness.Trial) (unprompted.Evaluation, error) {
	if e.o.Judge == nil {
		return unprompted.Evaluation{}, fmt.Errorf("scenario %s asks a question and there is no judge", in.Scenario.ID)
	}
	var kept replies
	first, err := e.answer(ctx, q, &kept)
	second := first
	if err == nil {
		second, err = e.answer(ctx, q, &kept)
	}
	if err := e.keepReplies(dir, kept); err != nil {
		return unprompted.Evaluation{}, err
	}
	switch {
	case ctx.Err() != nil:
		return unprompted.Evaluation{}, ctx.Err() // nobody's answer was waited for
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

// answer asks the judge until it answers, within a bound, and adds what was no
// answer to kept.
func (e *Executor) answer(ctx context.Context, q unprompted.Question, kept *replies) (yes bool, err error) {
	for range judgeTries {
		if yes, err = e.o.Judge.Judge(ctx, q); err == nil || ctx.Err() != nil {
			break
		}
		kept.add(err)
	}
	return yes, err
}

// want is what the ladder compares the session with.
func (e *Executor) want(sc harness.Scenario, w Wording, box *sandbox.Box, t *harness.Trial) transcript.Want {
	l := e.o.Suite.Launch
	model, _ := l.Model(t.Spec.Slot.Cell.Tier)
	return transcript.Want{
		Pinned: true, Version: e.o.Agent.Version, Model: model, Plugin: e.o.Suite.Checker.Plugin, PluginPath: box.Plugin,
		Builtin: l.BuiltinPlugins,
		Note:    l.Note.Kind, NoteText: w.Note, Envelope: l.Note.Envelope, Silent: sc.Hook == harness.HookSilent,
	}
}

func external(a attempt) transcript.External {
	return transcript.External{
		Cause: a.exit.Cause, LimitTime: a.exit.LimitTime, Killed: a.exit.Signal != "", ExitCode: a.exit.Code,
		GatewayKnown: true, Exposed: a.seen.Exposed, Served: served(a.seen), Blocks: a.seen.Blocks,
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
