// Package trial runs one spec from the sealed bytes to a scored trial: verify
// the seal, lay a sandbox, run the agent through the gateway, parse what it
// said, ask the validity ladder, the checker and, if that is left with a
// question, the judge, and verify the seal again.
//
// Each step returns what it learned, and fold alone makes the trial of it. The
// package decides nothing about wording and knows no arm. Whatever happened to
// the session ends up in the trial's class; an error means that loopd itself
// could not do its part. It is the one place where a held-out task is revealed,
// and only to the agent's standard input. Every attempt is kept on disk.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/agent"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/redact"
)

// Wording is one wording of the plugin, ready to be copied into a sandbox.
type Wording struct {
	Plugin harness.Tree
	// Note is what the hook must deliver, whole. Where the suite says that the
	// hook computes it, it is empty here and found out for each project.
	Note         string
	Descriptions []string
}

// FaultInjector damages sessions and names them to the simulated model. Only
// rehearsals and tests have one.
type FaultInjector interface {
	// Register tells the simulated model which trial a key belongs to; the
	// function it returns forgets it.
	Register(spec harness.Spec, key string) (forget func(), err error)
	// Lay may damage the sandbox before the agent starts.
	Lay(spec harness.Spec, box *isolate.Box) error
}

// Options is what an Executor needs. Faults may be nil, and Judge where no
// scenario asks a question.
type Options struct {
	Suite      harness.Suite
	Seal       func(ctx context.Context) (*frozen.Drift, error)
	Wording    func(commit string) (Wording, error)
	Agent      agent.Binary
	Gateway    *gateway.Gateway
	Store      string // directory of the kept attempts
	Sandboxes  string // parent of the sandboxes, empty for the default
	Judge      Judge
	Faults     FaultInjector
	Redactor   *redact.Redactor
	Instrument string
	// Isolation shuts sessions in; the zero value runs them in the open. Hidden
	// lists what no session may read wherever it lies.
	Isolation isolate.Sandbox
	Hidden    []string
	// Read lists directories and files of the machine, such as toolchains, that
	// sessions may read and run. Limits bound what a session uses.
	Read   []string
	Limits isolate.Limits
	// UID and GID are who sessions run as when loopd is root; 0 for no change.
	UID, GID int
	// Graphs are the built code graphs by fixture, laid into the project of a
	// scenario that wants one.
	Graphs map[string]harness.Tree
	// SpendLimits are those a session counts against; nil for none.
	SpendLimits func(harness.Spec) []*gateway.SpendLimit
	// OneShotLimits are those of prompts beside sessions, such as a proposer's.
	OneShotLimits []*gateway.SpendLimit
	// Asked is how the CLI asked the model on each tier earlier in the campaign.
	Asked map[string]harness.Fingerprint
	// Served are the models that answered on each tier earlier in the campaign.
	Served map[string]harness.Served
	Now    func() time.Time
}

// timed takes the time of the machine where no other clock is given.
func (o Options) timed() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Executor runs specs. It is safe for concurrent use.
type Executor struct {
	o      Options
	starts map[string]start // by scenario
	notes  notes
	asked  *requests
	sealed *harness.Runs // of texts no session may see
}

// New prepares what sessions have in common, and ends what an earlier loopd that
// was killed left running of sessions it kept in the same place. It fails when a
// scenario's changes do not fit its fixture.
func New(ctx context.Context, o Options) (*Executor, error) {
	if _, err := agent.KillLeftovers(o.Store, runningFile); err != nil {
		return nil, err
	}
	starts, err := startsOf(o.Suite, o.Graphs)
	if err != nil {
		return nil, err
	}
	for id, st := range starts {
		if st.git, err = isolate.NewGitTemplate(ctx, st.tree); err != nil {
			return nil, fmt.Errorf("prepare scenario %s: %w", id, err)
		}
		starts[id] = st
	}
	return &Executor{o: o.timed(), starts: starts, sealed: SealedTexts(o.Suite), asked: newRequests(o.Asked, o.Served)}, nil
}

// job is one session to run.
type job struct {
	spec     harness.Spec
	scenario harness.Scenario
	start    start
	wording  Wording // with the note the hook computes, once it is known
	// expectsNote: the scenario's project should get the note. computesNote: the
	// hook computes it.
	expectsNote, computesNote bool
}

// ruling is the class one step gives a session, and what it rests on. The zero
// value is that of a step that says nothing.
type ruling struct {
	class harness.Class
	why   string
	lifts *time.Time // when the limit that stopped the session is over, nil where the step does not say
}

// learned is what the steps of one session returned, in the order in which they
// run. What a step that was not reached would have returned is its zero value.
type learned struct {
	note     ruling // a computed note that cannot be expected
	attempt  *attempt
	validity transcript.Judgement // of the ladder
	limit    ruling               // when a limit of the account that ended the session lifts
	gateway  ruling               // another instrument, or a spend limit
	checked  checked
	launch   string // digest of the kept record
	ended    ruling // called off, or no room on the disk
}

// fold makes a trial of what its steps learned. Nothing else writes on a trial,
// and the order is the rule:
//
//  1. What was launched, what the stream says of itself, and what the gateway
//     counted where the stream is silent, whatever the class.
//  2. The rulings, in the order of the steps; each replaces the one before: the
//     computed note, the ladder, the gateway, the check and its judge, an end from
//     outside, the seal.
//  3. The checker's result, if the class is valid after all of them. Anything else
//     is an invalid result.
func fold(t harness.Trial, l learned, seal ruling) harness.Trial {
	if l.attempt != nil {
		t = l.attempt.describe(t)
	}
	t.Launch = l.launch
	if l.checked.said != nil {
		t.Judgement = &l.checked.said.Judgement
	}
	return rule(t, l.validity, l.checked.result, l.note, ladderRuling(l.validity), l.limit, l.gateway, l.checked.ruling, l.ended, seal)
}

// rule lays rulings over a trial; a later one replaces an earlier one.
func rule(t harness.Trial, validity transcript.Judgement, result harness.Result, rulings ...ruling) harness.Trial {
	t.NoteVerified = validity.NoteVerified
	for _, r := range rulings {
		if r.class != "" {
			t.Class, t.Why = r.class, r.why
		}
		if r.lifts != nil {
			t.Lifts = *r.lifts
		}
	}
	t.Result = result
	if t.Class != harness.Valid {
		t.Result = invalidResult(t.Spec.Slot.Cell.Scenario)
	}
	return t
}

func ladderRuling(j transcript.Judgement) ruling { return ruling{class: j.Class, why: j.Why} }

// Run runs one spec to its end.
func (e *Executor) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t := harness.Trial{ID: spec.TrialID(), Spec: spec, Instrument: e.o.Instrument, Started: e.o.Now().UTC(), Isolation: e.o.Isolation.String()}
	seal, err := e.sealRuling(ctx)
	if err != nil || seal.class != "" {
		return fold(t, learned{}, seal), err
	}
	j := job{spec: spec, start: e.starts[spec.Slot.Cell.Scenario]}
	var ok bool
	if j.scenario, ok = e.Scenario(spec.Slot.Cell.Scenario); !ok {
		return t, fmt.Errorf("run trial %s: no scenario %s in the suite", t.ID, spec.Slot.Cell.Scenario)
	}
	kind := e.o.Suite.Launch.Note.Kind
	j.expectsNote = kind != harness.NoteNone && j.scenario.Hook == harness.HookNote
	j.computesNote = j.expectsNote && kind == harness.NoteComputed
	t.ExpectsNote = j.expectsNote
	l, err := e.session(ctx, j)
	if err != nil {
		return t, fmt.Errorf("run trial %s of %s: %w", t.ID, spec.Slot.Cell, err)
	}
	seal, err = e.sealRuling(ctx)
	return fold(t, l, seal), err
}

// sealRuling verifies the seal; a session of a broken one is void.
func (e *Executor) sealRuling(ctx context.Context) (ruling, error) {
	drift, err := e.o.Seal(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return ruling{}, fmt.Errorf("verify seal: %w", err)
	case drift != nil:
		return ruling{class: harness.DriftedSeal, why: drift.Deltas[0].Path}, nil
	}
	return ruling{}, nil
}

// session lays the sandbox, and runs and scores the session in it.
func (e *Executor) session(ctx context.Context, j job) (l learned, err error) {
	if j.wording, err = e.o.Wording(j.spec.Slot.Wording); err != nil {
		return l, err
	}
	if j.computesNote {
		d, err := e.delivery(ctx, j)
		if err != nil || d.class != "" {
			l.note = d.ruling
			l.ended, err = ending(ctx, err)
			return l, err
		}
		j.wording.Note = d.text
	}
	box, err := e.box(ctx, j.start, j.wording.Plugin)
	if err != nil {
		l.ended, err = ending(ctx, err)
		return l, err
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	if e.o.Faults != nil {
		if err := e.o.Faults.Lay(j.spec, box); err != nil {
			return l, err
		}
	}
	l, err = e.measure(ctx, j, box)
	l.ended, err = ending(ctx, err)
	return l, err
}

// box is a fresh copy of a project and a plugin.
func (e *Executor) box(ctx context.Context, st start, plugin harness.Tree) (*isolate.Box, error) {
	return isolate.New(ctx, isolate.Options{
		Base: e.o.Sandboxes, Fixture: st.tree, Plugin: plugin, PluginName: e.o.Suite.Checker.Plugin, Git: st.git, UID: e.o.UID, GID: e.o.GID,
	})
}

// measure runs the agent and scores what it left. Everything it looks at is kept,
// so that Rescorer can do the same again.
func (e *Executor) measure(ctx context.Context, j job, box *isolate.Box) (l learned, err error) {
	if l.attempt, err = e.launch(ctx, j, box); err != nil {
		return l, err
	}
	k := Kept{Project: box.Work, Start: j.start.project, Want: e.want(j, box), External: l.attempt.external()}
	l.validity = evidence(e.sealed, l.attempt.transcript, k.Want, k.External)
	l.limit = l.attempt.limitRuling(l.validity.Class)
	l.gateway = e.gatewayRuling(j.spec.Slot.Cell.Tier, l.attempt.seen, l.validity.Class)
	if l.validity.Class == harness.Valid && l.gateway.class == "" {
		if l.checked, err = e.check(ctx, j, box, l.attempt, k); err != nil {
			return l, err
		}
		k.Changes, k.Judged = l.checked.changes, l.checked.judged
	}
	l.launch, err = k.write(l.attempt.dir)
	return l, err
}

// whyCalledOff tells a session that was called off from one that was ended: its
// stream says nothing about it.
const whyCalledOff = "called off"

// ending turns an error that is no failure of loopd's into a ruling: there was no
// room on the disk, for anyone or for this user, or the caller gave up.
func ending(ctx context.Context, err error) (ruling, error) {
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		why := "no room to keep the session"
		if where, ok := errors.AsType[*fs.PathError](err); ok {
			why = "no room left at " + where.Path
		}
		return ruling{class: harness.Disk, why: why}, nil
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ruling{class: harness.Cancelled, why: whyCalledOff}, nil
	}
	return ruling{}, err
}

// invalidResult is the result of a session that is no evidence.
func invalidResult(scenario string) harness.Result {
	return harness.Result{Kind: harness.Unprompted, Case: scenario, Outcome: harness.Invalid}
}

// Scenario returns the scenario of that id in the suite the executor runs.
func (e *Executor) Scenario(id string) (harness.Scenario, bool) { return e.o.Suite.Scenario(id) }
