// Package trial runs one spec from the sealed bytes to a scored trial: verify
// the seal, lay a sandbox, run the agent through the gateway, parse what it
// said, ask the validity ladder, the checker and, if that is left with a
// question, the judge, and verify the seal again.
//
// It decides nothing about wording and knows no arm. Whatever happened to the
// session ends up in the trial's class; an error means that loopd itself could
// not do its part. It is the one place where a held-out task is revealed, and
// only to the agent's standard input. Every attempt is kept on disk.
package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/harness/unprompted"
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

// Judge answers the question a checker was left with. Anything but YES or NO is
// an error.
type Judge interface {
	Judge(ctx context.Context, q unprompted.Question) (JudgeReply, error)
}

// FaultInjector plants faults and names the simulated model's sessions. Only rehearsals
// and tests have one.
type FaultInjector interface {
	// Register tells the simulated model which trial a key belongs to; the
	// function it returns forgets it.
	Register(spec harness.Spec, key string) (forget func(), err error)
	// Lay may damage the sandbox before the agent starts.
	Lay(spec harness.Spec, box *isolate.Box) error
}

// Options is what an Executor needs. Rig may be nil, and Judge where no
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
	// Isolation shut sessions in; the zero value runs them in the open. Hidden lists
	// what no session may read wherever it lies.
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
	// SpendLimits pay for a session; nil for no limit of spending.
	SpendLimits func(harness.Spec) []*gateway.SpendLimit
	// OneShotLimits pay for what is asked beside sessions, such as a proposer.
	OneShotLimits []*gateway.SpendLimit
	// Asked is how the CLI asked the model on each tier earlier in the campaign.
	Asked map[string]harness.Fingerprint
	// Served are the models that answered on each tier earlier in the campaign.
	Served map[string]harness.Served
	Now    func() time.Time
}

// timed goes by the clock on the wall where no other is given.
func (o Options) timed() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Executor runs specs. It is safe for concurrent use.
type Executor struct {
	o      Options
	starts map[string]*start // by scenario
	notes  notes
	asked  requests
	sealed *harness.Runs // of texts no session may see
}

// graphDir is where a project keeps its code graph; git ignores it.
const graphDir = "graphify-out"

// start is what every session of a scenario begins with.
type start struct {
	tree harness.Tree
	git  *isolate.GitTemplate
	// project is the same for scenarios that start from the same files.
	project string
}

// New prepares what sessions have in common, and ends what an earlier loopd that
// was killed left running of sessions it kept in the same place. It fails when a
// scenario's changes do not fit its fixture.
func New(ctx context.Context, o Options) (*Executor, error) {
	if _, err := agent.KillLeftovers(o.Store, runningFile); err != nil {
		return nil, err
	}
	e := &Executor{o: o.timed(), starts: make(map[string]*start), sealed: SealedTexts(o.Suite)}
	e.asked.first = make(map[string]harness.Fingerprint)
	maps.Copy(e.asked.first, o.Asked)
	e.asked.served = make(map[string]harness.Served)
	maps.Copy(e.asked.served, o.Served)
	for _, sc := range o.Suite.Scenarios {
		tree, err := StartOf(o.Suite, sc, o.Graphs)
		if err != nil {
			return nil, err
		}
		git, err := isolate.NewGitTemplate(ctx, tree)
		if err != nil {
			return nil, fmt.Errorf("prepare scenario %s: %w", sc.ID, err)
		}
		e.starts[sc.ID] = &start{tree: tree, git: git, project: digestOf(tree)}
	}
	return e, nil
}

// Run runs one spec to its end.
func (e *Executor) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t := harness.Trial{ID: spec.TrialID(), Spec: spec, Instrument: e.o.Instrument, Started: e.o.Now().UTC(), Isolation: e.o.Isolation.String()}
	drifted, err := e.sealHolds(ctx, &t)
	if err != nil || drifted {
		return t, err
	}
	sc, ok := e.o.Suite.Scenario(spec.Slot.Cell.Scenario)
	if !ok {
		return t, fmt.Errorf("run trial %s: no scenario %s in the suite", t.ID, spec.Slot.Cell.Scenario)
	}
	t.ExpectsNote = e.o.Suite.Launch.Note.Kind != harness.NoteNone && sc.Hook == harness.HookNote
	if err := e.session(ctx, sc, &t); err != nil {
		return t, fmt.Errorf("run trial %s of %s: %w", t.ID, spec.Slot.Cell, err)
	}
	if _, err := e.sealHolds(ctx, &t); err != nil {
		return t, err
	}
	return t, nil
}

// sealHolds verifies the seal and makes the trial void when it does not hold.
func (e *Executor) sealHolds(ctx context.Context, t *harness.Trial) (bool, error) {
	drift, err := e.o.Seal(context.WithoutCancel(ctx))
	if err != nil {
		return false, fmt.Errorf("verify seal: %w", err)
	}
	if drift == nil {
		return false, nil
	}
	t.Class, t.Why = harness.DriftedSeal, drift.Deltas[0].Path
	t.Result = invalidResult(t.Spec)
	return true, nil
}

// session lays the sandbox, runs the agent and scores what it left.
func (e *Executor) session(ctx context.Context, sc harness.Scenario, t *harness.Trial) (err error) {
	w, err := e.o.Wording(t.Spec.Slot.Wording)
	if err != nil {
		return err
	}
	st := e.starts[sc.ID]
	if e.computes(t) {
		d, err := e.delivery(ctx, sc.ID, w, t.Spec.Slot.Wording)
		if err != nil || d.class != "" {
			t.Class, t.Why, t.Result = d.class, d.why, invalidResult(t.Spec)
			return cancelled(ctx, t, err)
		}
		w.Note = d.text
	}
	box, err := isolate.New(ctx, isolate.Options{
		Base: e.o.Sandboxes, Fixture: st.tree, Plugin: w.Plugin, PluginName: e.o.Suite.Checker.Plugin, Git: st.git, UID: e.o.UID, GID: e.o.GID,
	})
	if err != nil {
		return cancelled(ctx, t, err)
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	if e.o.Faults != nil {
		if err := e.o.Faults.Lay(t.Spec, box); err != nil {
			return err
		}
	}
	return cancelled(ctx, t, e.launchAndScore(ctx, sc, w, box, t))
}

func (e *Executor) launchAndScore(ctx context.Context, sc harness.Scenario, w Wording, box *isolate.Box, t *harness.Trial) error {
	kept, err := e.launch(ctx, sc, w, box, t)
	if err != nil {
		return err
	}
	k := Kept{Project: box.Work, Start: e.starts[sc.ID].project, Want: e.want(sc, w, box, t), External: external(kept)}
	if err := e.score(ctx, sc, box, kept, &k, t); err != nil {
		return err
	}
	t.Launch, err = k.write(kept.dir)
	return err
}

// cancelled turns an error that only says that the caller gave up into the
// trial's class: a session that is called off is no failure of loopd's.
func cancelled(ctx context.Context, t *harness.Trial, err error) error {
	if diskFull(t, err) {
		return nil
	}
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	t.Class, t.Why = harness.Cancelled, whyCalledOff
	t.Result = invalidResult(t.Spec)
	return nil
}

// whyCalledOff tells a session that was called off from one that was ended: its
// stream says nothing about it.
const whyCalledOff = "called off"

func calledOff(t harness.Trial) bool { return t.Class == harness.Cancelled && t.Why == whyCalledOff }

// invalidResult is the result of a session that is no evidence.
func invalidResult(spec harness.Spec) harness.Result {
	return harness.Result{Kind: harness.Unprompted, Case: spec.Slot.Cell.Scenario, Outcome: harness.Invalid}
}

// Scenario returns the scenario of that id in the suite the executor runs.
func (e *Executor) Scenario(id string) (harness.Scenario, bool) { return e.o.Suite.Scenario(id) }
