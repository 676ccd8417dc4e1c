package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/agent"
	"loopd/internal/app"
	"loopd/internal/atomicfile"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/internal/hint"
	"loopd/internal/trial"
	"loopd/loop"
)

// AgentKind says which agent CLI the sessions run through.
type AgentKind string

// The agents a rehearsal can run through.
const (
	StandIn AgentKind = "standin"
	Claude  AgentKind = "claude"
)

// Fault is a fault of the whole rehearsal, beside those planted in sessions.
type Fault string

// The faults a rehearsal can be asked for.
const (
	NoFault     Fault = ""
	FrozenDrift Fault = "frozen-drift" // a sealed file is edited while sessions run
	ModelDrift  Fault = "model-drift"  // the model gets better by .7 logits in the middle of the queue
	// JudgeGullible: the judge does what a message tells it.
	JudgeGullible Fault = "judge-gullible"
)

// Faults lists them.
func Faults() []Fault { return []Fault{FrozenDrift, ModelDrift, JudgeGullible} }

// Setup is what a rehearsal was started with. It is kept in its directory so
// that an interrupted one can be continued.
type Setup struct {
	Seed       uint64       `json:"seed"`
	Agent      AgentKind    `json:"agent"`
	Candidates int          `json:"candidates"` // 0 for all
	Fault      Fault        `json:"fault,omitempty"`
	Sessions   int          `json:"sessions"` // budget
	Profile    loop.Profile `json:"profile"`
	// Kinds are the kinds of candidate to plant; the usual ones when there are none.
	Kinds []Kind `json:"kinds,omitempty"`
	// Suite is the bundled suite that is rehearsed; empty for the default one.
	Suite string `json:"suite,omitempty"`
	// Proposer fills the queue when it is empty; nobody where it is empty.
	Proposer ProposerKind `json:"proposer,omitempty"`
	// Null: no candidate is planted and no wording has an effect, so that nothing
	// may be promoted whatever is proposed.
	Null bool `json:"null,omitempty"`
	// Scenarios are the scenarios to run; all when there are none.
	Scenarios []string `json:"scenarios,omitempty"`
	// UserBefore is the digest of the user's repository before anything ran.
	UserBefore string `json:"user_before"`
}

// Options say how to run one.
type Options struct {
	Setup
	Dir    string // works here; kept afterwards
	Resume bool   // continue what is in Dir
	Binary agent.Binary
	// Isolation is what sessions run within.
	Isolation app.Isolation
	Parallel  int
	Log       *slog.Logger
	Observe   func(*loop.State, loop.Event)
	Drain     <-chan struct{}
	// Ready is told when everything is open and mended and sessions may start.
	Ready func()

	plugin string // its name
	// meanwhile is told of every session when it is laid, starts and has ended.
	// Only tests have one.
	meanwhile func(harness.Spec, moment)
}

func home(dir string) campaign.Home { return campaign.Home{Dir: filepath.Join(dir, "state")} }

// userDir is the plugin's repository, named like the plugin.
func (o Options) userDir() string { return filepath.Join(o.Dir, o.plugin) }

// Read returns what the rehearsal in dir was started with.
func Read(dir string) (Setup, error) {
	var s Setup
	data, err := os.ReadFile(filepath.Join(dir, "rehearsal.json"))
	if err != nil {
		return s, fmt.Errorf("continue rehearsal: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("continue rehearsal in %s: %w", dir, err)
	}
	return s, nil
}

// begin makes the user's repository and remembers the setup. It may be cut off
// anywhere and done again.
func (o *Options) begin(ctx context.Context) error {
	if o.Resume {
		setup, err := Read(o.Dir)
		if err != nil {
			return err
		}
		o.Setup = setup
	}
	o.Suite = cmp.Or(o.Suite, campaign.BundledSuite)
	suite, err := campaign.ReadBundled(o.Suite)
	if err != nil {
		return err
	}
	if o.plugin = suite.Checker.Plugin; o.Resume {
		return nil
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) > 0 {
		return errors.Join(err, &NotEmptyError{Dir: o.Dir})
	}
	if err := makeUser(ctx, o.plugin, o.userDir()); err != nil {
		return err
	}
	before, err := userState(o.userDir())
	if err != nil {
		return err
	}
	o.UserBefore = before
	data, err := json.MarshalIndent(o.Setup, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(o.Dir, "rehearsal.json"), append(data, '\n'), 0o600)
}

// NotEmptyError says that a rehearsal was to start where something lies already.
type NotEmptyError struct{ Dir string }

// Error names the directory.
func (e *NotEmptyError) Error() string { return fmt.Sprintf("start rehearsal: %s is not empty", e.Dir) }

// Hint returns the command that continues what may lie there.
func (e *NotEmptyError) Hint() string { return "loopd rehearse --resume " + e.Dir }

// Exit returns the code of wrong usage.
func (e *NotEmptyError) Exit() int { return hint.Usage }

// Run runs or continues a rehearsal. A halt or an unfinished campaign is not an
// error: the result says so.
func Run(ctx context.Context, o Options) (Result, error) {
	began := time.Now()
	if err := o.begin(ctx); err != nil {
		return Result{}, err
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil { // walls take nothing relative
		return Result{}, err
	}
	sealed, err := openSuite(ctx, o.Dir, o.Suite)
	if err != nil {
		return Result{}, err
	}
	r := &run{Options: o, sealed: sealed}
	if err := r.open(ctx); err != nil {
		return Result{}, err
	}
	defer r.close()
	if err := r.work(ctx, app.Watch{Observe: r.observe, Ready: r.Ready}, time.Time{}); err != nil && !errors.Is(err, loop.ErrDrained) {
		return Result{}, err
	}
	return r.result(ctx, time.Since(began))
}

// open starts the simulated model and opens the campaign as a night does, with
// the model in the place of the service.
func (r *run) open(ctx context.Context) error {
	if err := r.planAll(); err != nil {
		return err
	}
	var err error
	if r.model, err = fake.StartModel(ctx, r.plan.Wording, r.script.answer); err != nil {
		return err
	}
	service, err := app.Simulated(r.model.URL())
	if err != nil {
		return errors.Join(err, r.close())
	}
	if r.machine, err = newMachine(r.Dir); err != nil {
		return errors.Join(err, r.close())
	}
	r.injector = &injector{seed: r.Seed, suite: r.sealed.Suite, model: r.model, faults: r.plan.faults, machine: r.machine, night: r.night, meanwhile: r.meanwhile}
	settings := app.Settings{
		Campaign: campaign.Options{
			Home: home(r.Dir), Plugin: r.userDir(), Sealed: r.sealed, AgentName: string(r.Agent) + " " + r.Binary.Version, Credential: "simulated",
			Simulated: true, Confines: map[string]string{"isolation": r.Isolation.Sandbox.String()}, Log: r.Log,
		},
		Gate:     r.machine.gate(r.Options.Parallel, home(r.Dir).Dir),
		Spend:    admission.SpendLimits{Session: sessionLimit},
		Proposer: r.proposer,
	}
	if r.night != nil {
		settings.Gate.Clock, settings.Locked = r.night.clock, true
	}
	r.injector.now = settings.Gate.Clock.Now
	r.App, err = app.New(ctx, settings, app.Parts{
		Suite: r.sealed.Suite, Seal: r.sealed.Verify, Agent: r.Binary, Isolation: r.Isolation, Hidden: []string{r.Dir}, Service: service, Inject: r.injector,
		Judge: app.Judge{Name: judgeName, Make: func(context.Context, trial.Options) (trial.Judge, error) { return r.judge(), nil }},
	})
	if err != nil {
		return errors.Join(err, r.close())
	}
	r.injector.wordings = r.Campaign.Wordings
	return nil
}

// close releases what is open, in reverse order.
func (r *run) close() error {
	var err error
	if r.App != nil {
		err = r.App.Close()
	}
	return errors.Join(err, r.model.Close())
}

func openSuite(ctx context.Context, dir, suite string) (campaign.Sealed, error) {
	if err := home(dir).Make(); err != nil {
		return campaign.Sealed{}, err
	}
	return home(dir).OpenBundledSuite(ctx, suite)
}

// run is a rehearsal under way.
type run struct {
	Options
	*app.App
	sealed   campaign.Sealed
	grid     campaign.Grid
	plan     Plan
	injector *injector
	machine  *machine
	script   script
	model    *fake.ModelServer
	verdicts int // at the moment of the planted drift
	drifted  bool
	night    *night // nil where the campaign runs in one go
}

// planAll settles what is planted.
func (r *run) planAll() error {
	r.grid = campaign.GridOf(r.sealed.Suite, nil, r.wanted)
	sown, err := ReadPlanting(r.sealed.Suite, r.Kinds...)
	if err != nil {
		return err
	}
	if r.plan, err = NewPlan(sown, r.grid.Objective, r.grid.Guards, r.Candidates, r.Profile, r.Fault); err != nil {
		return err
	}
	if r.night != nil { // it has a limit of its own
		maps.DeleteFunc(r.plan.faults, func(_ place, f fault) bool { return f.pause == causeLimit })
	}
	if r.Null {
		r.plan = r.plan.null()
	}
	if r.Options.Proposer == AgentProposer {
		r.grid.Practice = campaign.PracticeCells(r.sealed.Suite, nil, r.wanted)
	}
	r.script, err = r.readScript(sown)
	return err
}

// work runs the campaign until it ends, or until end.
func (r *run) work(ctx context.Context, w app.Watch, end time.Time) error {
	if s := r.Campaign.Current(); r.Resume && s != nil && s.Ended != nil {
		return nil // it came to its end before
	}
	set := loop.DefaultSettings(r.Options.Sessions).Under(r.Profile)
	set.Seed, set.MaxCandidates = r.Seed, queueFactor*len(r.plan.Candidates)+r.Options.Proposer.most()
	if err := r.Begin(ctx, app.Start{Settings: set, Grid: r.grid}); err != nil {
		return err
	}
	if err := r.queue(ctx); err != nil {
		return err
	}
	r.injector.start = r.Campaign.Current().Started.Start
	r.driftModel(r.Campaign.Current())
	if err := r.replant(ctx); err != nil {
		return err
	}
	return r.App.Run(ctx, r.Drain, end, w)
}

// cells lists the cells of a role that are run.
func (r *run) wanted(c harness.Cell) bool {
	return len(r.Scenarios) == 0 || slices.Contains(r.Scenarios, c.Scenario)
}

// queue plants the candidates that are not in the ledger yet.
func (r *run) queue(ctx context.Context) error {
	for _, p := range r.plan.Candidates {
		if r.Campaign.Current().Find(p.ID) != nil {
			continue
		}
		if err := r.Campaign.Queue(ctx, candidateOf(p)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) judge() judge {
	return judge{rubric: r.sealed.Suite.Rubric, checker: r.sealed.Suite.Checker, gullible: r.Fault == JudgeGullible}
}

// queueFactor is how many candidates the budget is shared among for each one
// planted: a night has no way to know that its queue is about to end.
const queueFactor = 2

// driftAfter is how many trials have been recorded when a sealed file is
// edited: in the middle of the first candidates.
const driftAfter = 60

func (r *run) observe(s *loop.State, e loop.Event) {
	if r.Fault == FrozenDrift && !r.drifted && s.Sessions() >= driftAfter {
		r.drifted = true
		r.verdicts = verdicts(s)
		if err := edit(filepath.Join(r.sealed.Dir, r.driftingFile())); err != nil {
			r.Log.Error("the planted drift could not be made", "error", err)
		}
	}
	switch p := e.Payload.(type) {
	case loop.Committed:
		r.driftModel(s)
	case loop.Paused:
		if err := r.machine.lift(p); err != nil {
			r.Log.Error("a planted fault could not be ended", "error", err)
		}
	}
	if r.Options.Observe != nil {
		r.Options.Observe(s, e)
	}
}

// modelDrift is by how many logits the model changes.
const modelDrift = .7

// driftModel changes the model once the candidate in the middle of the queue is
// reached. It depends on the state alone, so a resumed rehearsal sees the same.
func (r *run) driftModel(s *loop.State) {
	if r.Fault != ModelDrift || len(r.plan.Candidates) == 0 {
		return
	}
	middle := s.Find(r.plan.Candidates[len(r.plan.Candidates)/2].ID)
	if middle != nil && middle.Commit != "" {
		r.injector.drifted.Store(true)
	}
}
