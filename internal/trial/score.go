package trial

import (
	"context"
	"errors"
	"fmt"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/isolate"
)

// sealedRun is how many words in a row of a sealed text a tool call must have
// shown before the session is taken to have read it. A long path is a dozen, and
// a perfect run may name one that a tool prints as well.
const sealedRun = 20

// SealedTexts are the texts of a suite that no session may see: what judges it
// and what a perfect run says. Fixtures are for sessions to read, and tasks
// reach them as prompts.
func SealedTexts(s harness.Suite) *harness.Runs {
	out := []harness.HeldOut{harness.NewHeldOut(s.Rubric)}
	for _, sc := range s.Scenarios {
		out = append(out, harness.NewHeldOut(sc.Judge))
		for _, step := range sc.Oracle {
			out = append(out, harness.NewHeldOut(step.Text))
		}
	}
	for _, g := range s.Gold {
		out = append(out, harness.NewHeldOut(g.Message))
	}
	return harness.NewRuns(out, sealedRun)
}

// contaminated names the line at which a tool showed the session a sealed text,
// 0 for none. A session that has read how it is judged measures nothing.
func contaminated(sealed *harness.Runs, t *transcript.Transcript) int {
	for _, call := range t.ToolUses() {
		if sealed.In(call.Output) {
			return call.OutputLine
		}
	}
	return 0
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

// want is what the ladder compares the session with.
func (e *Executor) want(j job, box *isolate.Box) transcript.Want {
	l := e.o.Suite.Launch
	model, _ := l.Model(j.spec.Slot.Cell.Tier)
	return transcript.Want{
		Pinned: true, Version: e.o.Agent.Version, Model: model, Plugin: e.o.Suite.Checker.Plugin, PluginPath: box.Plugin,
		Builtin: l.BuiltinPlugins,
		Note:    l.Note.Kind, NoteText: j.wording.Note, Envelope: l.Note.Envelope, Silent: j.scenario.Hook == harness.HookSilent,
	}
}

// checked is what the checker made of a session that is evidence, and of which the
// judge it may have asked.
type checked struct {
	ruling  // set where the session is no evidence after all
	result  harness.Result
	changes string  // digest of what is kept of the project's end
	judged  *Judged // nil where no judge was asked
	said    *judged // all that the judge said, nil likewise
}

// check evaluates a session; answer is called for the question the checker may be
// left with. Where there is no answer, the session is no evidence. A limit of the
// account is no fault of the judge: it pauses the campaign and is charged to no
// slot.
func check(in unprompted.Input, answer func(unprompted.Question) (*Judged, error)) (c checked, err error) {
	ev := unprompted.Evaluate(in)
	if ev.Question == nil {
		return checked{result: ev.Result}, nil
	}
	if c.judged, err = answer(*ev.Question); err != nil {
		return c, err
	}
	switch j := c.judged; {
	case j.Yes != nil:
		in.Answer = j.Yes
		c.result = unprompted.Evaluate(in).Result
	case j.Limited != nil:
		c.ruling = ruling{class: harness.RateLimit, why: j.Why, lifts: j.Limited}
	default:
		c.ruling = ruling{class: harness.JudgeError, why: j.Why}
	}
	return c, nil
}

// check reads what the session left of the project, keeps it, and evaluates it.
func (e *Executor) check(ctx context.Context, j job, box *isolate.Box, a *attempt, k Kept) (c checked, err error) {
	end, err := box.Snapshot(ctx)
	if limit, ok := errors.AsType[*isolate.LimitError](err); ok {
		return checked{ruling: ruling{class: harness.Oversize, why: limit.Error()}}, nil
	}
	if err != nil {
		return c, err
	}
	changes, digest, err := e.keepChanges(a.dir, j.start.tree, end)
	if err != nil {
		return c, err
	}
	var said *judged
	c, err = check(k.input(j.scenario, e.o.Suite.Checker, a.transcript, j.start.tree, changes), func(q unprompted.Question) (out *Judged, err error) {
		if e.o.Judge == nil {
			return nil, noJudge(j.scenario)
		}
		if out, said, err = askTwice(ctx, e.o.Judge, e.o.Suite.Rubric, q); err != nil {
			return nil, err
		}
		return out, e.keepJudgement(a.dir, said)
	})
	c.changes, c.said = digest, said
	return c, err
}

func noJudge(sc harness.Scenario) error {
	return fmt.Errorf("scenario %s asks a question and there is no judge", sc.ID)
}

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
	invalid := invalidResult(s.Input.Scenario.ID)
	j := evidence(s.Sealed, s.Input.Transcript, s.Want, s.External)
	if j.Class != harness.Valid {
		return j.Class, j.Why, invalid, nil
	}
	c, err := check(s.Input, func(q unprompted.Question) (*Judged, error) {
		if judge == nil {
			return nil, noJudge(s.Input.Scenario)
		}
		out, _, err := askTwice(ctx, judge, suite.Rubric, q)
		return out, err
	})
	switch {
	case err != nil:
		return "", "", invalid, err
	case c.class != "":
		return c.class, c.why, invalid, nil
	}
	return harness.Valid, "", c.result, nil
}
