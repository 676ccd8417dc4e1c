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
	j := evidence(e.sealed, a.transcript, e.want(sc, w, t.Spec.Slot.Cell.Tier), external(a))
	t.Class, t.Why, t.NoteVerified, t.Exposed = j.Class, j.Why, j.NoteVerified, a.seen.Exposed
	e.describe(a, t)
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
	if err := e.keepChanges(a.dir, st.tree, end); err != nil {
		return err
	}
	s, err := settle(ctx, e.o.Judge, unprompted.Input{
		Scenario: sc, Checker: e.o.Suite.Checker, Transcript: a.transcript, Project: box.Work, Start: st.tree, End: end,
		LimitTime: a.exit.LimitTime,
	})
	if err != nil {
		return err
	}
	if t.Class, t.Why = s.class, s.why; t.Class == harness.Valid {
		t.Result = s.result
	}
	return nil
}

// evidence climbs the ladder and asks last whether a tool showed the session
// what it is judged by.
func evidence(sealed []harness.HeldOut, t *transcript.Transcript, want transcript.Want, ext transcript.External) transcript.Judgement {
	j := transcript.Validity(t, want, ext)
	if j.Class != harness.Valid {
		return j
	}
	if line := contaminated(sealed, t); line > 0 {
		j.Class, j.Why = harness.Contaminated, fmt.Sprintf("a tool showed the session a sealed text (line %d)", line)
	}
	return j
}

// settled is what a session that is evidence came to. The class is valid, or
// judge_error when the judge gave no answer; then there is no result.
type settled struct {
	class  harness.Class
	why    string
	result harness.Result
}

// settle asks the checker and, if that is left with a question, the judge.
func settle(ctx context.Context, judge Judge, in unprompted.Input) (settled, error) {
	ev := unprompted.Evaluate(in)
	if ev.Question == nil {
		return settled{harness.Valid, "", ev.Result}, nil
	}
	if judge == nil {
		return settled{}, fmt.Errorf("scenario %s asks a question and there is no judge", in.Scenario.ID)
	}
	return ask(ctx, judge, in, *ev.Question)
}

// judgeTries is how often a judge that gives no answer is asked; the session
// itself is never run again for it.
const judgeTries = 3

// ask puts the checker's question to the judge twice and evaluates with the
// answer; a judge that contradicts itself has given none.
func ask(ctx context.Context, judge Judge, in unprompted.Input, q unprompted.Question) (settled, error) {
	first, err := answer(ctx, judge, q)
	second := first
	if err == nil {
		second, err = answer(ctx, judge, q)
	}
	switch {
	case ctx.Err() != nil:
		return settled{}, ctx.Err() // nobody's answer was waited for
	case err != nil:
		return settled{class: harness.JudgeError, why: err.Error()}, nil
	case first != second:
		return settled{class: harness.JudgeError, why: "asked twice, the judge said both YES and NO"}, nil
	}
	in.Answer = &first
	return settled{harness.Valid, "", unprompted.Evaluate(in).Result}, nil
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
func (e *Executor) want(sc harness.Scenario, w Wording, tier string) transcript.Want {
	l := e.o.Suite.Launch
	model, _ := l.Model(tier)
	return transcript.Want{
		Pinned: true, Version: e.o.Agent.Version, Model: model, Plugin: e.o.Suite.Checker.Plugin, Builtin: l.BuiltinPlugins,
		Note: l.Note.Kind, NoteText: w.Note, Envelope: l.Note.Envelope, Silent: sc.Hook == harness.HookSilent,
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
