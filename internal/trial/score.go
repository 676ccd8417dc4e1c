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
	"loopd/internal/isolate"
)

// score says whether the attempt is evidence, and if so of what. Everything it
// looks at is kept, so that Rescorer can do the same again.
func (e *Executor) score(ctx context.Context, sc harness.Scenario, box *isolate.Box, a attempt, k *Kept, t *harness.Trial) error {
	t.Exposed = k.External.Exposed
	e.describe(a, t)
	weigh(e.sealed, a.transcript, *k, t)
	e.account(a, t)
	if t.Class != harness.Valid {
		return nil
	}
	end, err := box.Snapshot(ctx)
	if limit, ok := errors.AsType[*isolate.LimitError](err); ok {
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
		if k.Judged, err = e.ask(ctx, sc, *ev.Question, a.dir, t); err != nil {
			return err
		}
		ev = settle(in, *k.Judged, t)
	}
	if t.Class == harness.Valid {
		t.Result = ev.Result
	}
	return nil
}

// evidence climbs the ladder and asks last whether a tool showed the session
// what it is judged by.
func evidence(sealed *harness.Runs, t *transcript.Transcript, want transcript.Want, ext transcript.External) transcript.Judgement {
	j := transcript.Validity(t, want, ext)
	if j.Class != harness.Valid {
		return j
	}
	if line := contaminated(sealed, t); line > 0 {
		j.Class, j.Why = harness.Contaminated, fmt.Sprintf("a tool showed the session a sealed text (line %d)", line)
	}
	return j
}

// weigh says whether a session is evidence. The result stays invalid until the
// checker has spoken.
func weigh(sealed *harness.Runs, tr *transcript.Transcript, k Kept, t *harness.Trial) {
	t.Result = invalidResult(t.Spec)
	j := evidence(sealed, tr, k.Want, k.External)
	t.Class, t.Why, t.NoteVerified = j.Class, j.Why, j.NoteVerified
}

// settle evaluates with what came of asking the judge; where that is no answer,
// the trial is no evidence. A limit of the account is no fault of the judge: it
// pauses the campaign and is charged to no slot.
func settle(in unprompted.Input, j Judged, t *harness.Trial) unprompted.Evaluation {
	if j.Yes == nil {
		t.Class, t.Why = harness.JudgeError, j.Why
		if j.Limited != nil {
			t.Class, t.Lifts = harness.RateLimit, *j.Limited
		}
		return unprompted.Evaluation{}
	}
	in.Answer = j.Yes
	return unprompted.Evaluate(in)
}

// want is what the ladder compares the session with.
func (e *Executor) want(sc harness.Scenario, w Wording, box *isolate.Box, t *harness.Trial) transcript.Want {
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
