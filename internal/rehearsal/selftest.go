package rehearsal

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"loopd/fixtures"
	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/internal/isolate"
	"loopd/internal/trial"
)

// RunKind names a fabricated run of a scenario.
type RunKind string

// The fabricated runs of every scenario.
const (
	OracleRun RunKind = "oracle" // does it right
	NopRun    RunKind = "nop"    // does nothing, or does it without noticing
	DamageRun RunKind = "damage" // a good run with one thing broken
)

// SelfCase is one fabricated run with what it must come to.
type SelfCase struct {
	Scenario string          `json:"scenario"`
	Run      RunKind         `json:"run"`
	Want     harness.Outcome `json:"want"`
	Got      harness.Outcome `json:"got"`
	AxisA    harness.Outcome `json:"axis_a"`
	AxisB    harness.Outcome `json:"axis_b"`
	Class    harness.Class   `json:"class"`
	Reasons  []string        `json:"reasons"`
	Failed   []string        `json:"failed,omitempty"` // places of the expectations that did not hold
	Right    bool            `json:"right"`
	// Damage is what was broken in a good run; WantClass and WantReason what
	// must be said of it.
	Damage     string        `json:"damage,omitempty"`
	WantClass  harness.Class `json:"want_class,omitempty"`
	WantReason string        `json:"want_reason,omitempty"`
}

// SelfTestOptions say what is tested and with what.
type SelfTestOptions struct {
	Suite     harness.Suite
	Wording   trial.Wording
	Graphs    map[string]harness.Tree
	Binary    agent.Binary
	Isolation app.Isolation
	// Parallel is how many sessions run side by side.
	Parallel int
}

// neutralTask stands in for every task: a self-test never uses one.
const neutralTask = "Please begin."

// SelfTest runs a perfect and an idle session of every scenario through the
// stand-in and the simulated model, then damages them and makes wrong runs of
// them that try to pass, and says what the checker makes of all. No model is
// asked and no task is used. Scenarios without their code graph are not among
// the cases.
func SelfTest(ctx context.Context, o SelfTestOptions) (SelfReport, error) {
	f, err := fabricate(ctx, o)
	if err != nil {
		return SelfReport{}, err
	}
	return f.attack(ctx, scorerOf(f.suite), max(o.Parallel, 1))
}

// BothWays runs a perfect and an idle session of every scenario and nothing
// else: what SelfTest begins with.
func BothWays(ctx context.Context, o SelfTestOptions) ([]SelfCase, error) {
	f, err := fabricate(ctx, o)
	return f.cases, err
}

// fabricated are the runs of the stand-in, and what they came to.
type fabricated struct {
	suite   harness.Suite
	grounds []fake.Pair
	cases   []SelfCase
}

func fabricate(ctx context.Context, o SelfTestOptions) (f fabricated, err error) {
	suite := withoutTasks(o.Suite)
	model, err := fake.StartModel(ctx, halfway(suite))
	if err != nil {
		return f, err
	}
	defer model.Close()
	service, err := app.Simulated(model.URL())
	if err != nil {
		return f, err
	}
	store, err := os.MkdirTemp("", "loopd-selftest-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(store)
	sessions, err := app.Connect(ctx, app.Parts{
		Suite: suite, Wording: app.Fixed(o.Wording), Agent: o.Binary, Isolation: o.Isolation, Graphs: o.Graphs, Service: service, Store: store,
		Inject: both{suite: suite, model: model},
		Judge: app.Judge{Make: func(context.Context, trial.Options) (trial.Judge, error) {
			return judge{rubric: suite.Rubric, checker: suite.Checker}, nil
		}},
	})
	if err != nil {
		return f, err
	}
	defer sessions.Close()
	executor, err := sessions.Executor(ctx)
	if err != nil {
		return f, err
	}
	specs := selfSpecs(suite, o.Graphs)
	cases, err := runCases(ctx, executor, specs, max(o.Parallel, 1))
	if err != nil {
		return f, err
	}
	grounds, err := groundsOf(suite, o.Graphs, executor, store, specs, cases)
	return fabricated{suite, grounds, cases}, err
}

// withoutTasks replaces every held-out task.
func withoutTasks(s harness.Suite) harness.Suite {
	s.Scenarios = slices.Clone(s.Scenarios)
	for i := range s.Scenarios {
		s.Scenarios[i].Task, s.Scenarios[i].PracticeTask = harness.NewHeldOut(neutralTask), neutralTask
	}
	return s
}

// halfway is a wording whose every cell passes one draw in two, so that a draw
// of 0 plays the oracle and one of .9 the nop.
func halfway(s harness.Suite) fake.Wording {
	w := fake.Wording{Base: make(map[harness.Cell]float64)}
	for _, sc := range s.Scenarios {
		w.Base[harness.Cell{Scenario: sc.ID, Tier: s.Launch.Tiers[0].Name}] = .5
	}
	return w
}

// both plays the oracle on the first repetition and the nop on the second.
type both struct {
	suite harness.Suite
	model *fake.ModelServer
}

func (b both) Register(spec harness.Spec, key string) (func(), error) {
	sc, ok := b.suite.Scenario(spec.Slot.Cell.Scenario)
	if !ok {
		return nil, fmt.Errorf("no scenario %s", spec.Slot.Cell.Scenario)
	}
	draw := 0.0
	if spec.Slot.Rep > 1 {
		draw = .9
	}
	err := b.model.Register(key, fake.ModelSession{Scenario: sc, Cell: spec.Slot.Cell, Draw: draw})
	return func() { b.model.Forget(key) }, err
}

func (both) Lay(harness.Spec, *isolate.Box) error { return nil }

func selfSpecs(s harness.Suite, graphs map[string]harness.Tree) []harness.Spec {
	var out []harness.Spec
	for _, role := range []harness.Role{harness.Objective, harness.Guard, harness.Control, harness.Reserve, harness.Practice} {
		cells, _ := s.Runnable(role, graphs)
		for _, c := range cells {
			if c.Tier != s.Launch.Tiers[0].Name {
				continue
			}
			for rep := 1; rep <= 2; rep++ {
				out = append(out, harness.Spec{Campaign: "selftest", Slot: harness.Slot{Wording: "selftest", Cell: c, Rep: rep}, Attempt: 1})
			}
		}
	}
	return out
}

// runCases runs the specs side by side and keeps their order.
func runCases(ctx context.Context, e *trial.Executor, specs []harness.Spec, parallel int) ([]SelfCase, error) {
	cases, errs := make([]SelfCase, len(specs)), make([]error, len(specs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				t, err := e.Run(ctx, specs[i])
				cases[i], errs[i] = caseOf(e, t), err
			}
		})
	}
	for i := range specs {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("self-test: %w", err)
		}
	}
	return cases, nil
}

func caseOf(e *trial.Executor, t harness.Trial) SelfCase {
	sc, _ := e.Scenario(t.Spec.Slot.Cell.Scenario)
	c := SelfCase{
		Scenario: sc.ID, Run: OracleRun, Want: harness.Pass, Got: t.Result.Outcome, Class: t.Class, Reasons: t.Result.Reasons(),
		AxisA: t.Result.Check(harness.AxisA).Outcome, AxisB: t.Result.Check(harness.AxisB).Outcome,
	}
	for _, check := range t.Result.Checks {
		c.Failed = append(c.Failed, check.Failed...)
	}
	if t.Spec.Slot.Rep > 1 {
		c.Run, c.Want = NopRun, harness.Fail
	}
	if sc.Role == harness.Control {
		c.Want = harness.Fail // what a control lacks cannot be made up for
	}
	c.Right = c.Class == harness.Valid && c.Got == c.Want && (sc.Role != harness.Control || c.AxisB == harness.Fail)
	return c
}

// BundledPlugin is the plugin a bundled suite measures, as a wording.
func BundledPlugin(suite harness.Suite) (trial.Wording, error) {
	name := suite.Checker.Plugin
	sub, err := fs.Sub(fixtures.Plugins(), name)
	if err != nil {
		return trial.Wording{}, err
	}
	tree, err := harness.ReadTree(sub)
	if err != nil {
		return trial.Wording{}, err
	}
	for file, f := range tree {
		f.Mode = fixtures.PluginMode(file)
		tree[file] = f
	}
	return campaign.WordingOf(tree, suite.Launch.Note)
}
