package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/gateway"
	"loopd/internal/gitrepo"
	"loopd/internal/governor"
	"loopd/internal/power"
	"loopd/internal/redact"
	"loopd/internal/sandbox"
	"loopd/internal/trial"
	"loopd/loop"
)

// newFinish is run with the search ended first.
func newFinish(e env) *cobra.Command {
	o := runOptions{finish: true}
	cmd := &cobra.Command{
		Use: "finish", Short: "end the search of the campaign under way and run its gate now", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	o.flags(cmd)
	return cmd
}

// newResume is run with the pause or the halt lifted first.
func newResume(e env) *cobra.Command {
	o := runOptions{resume: true}
	cmd := &cobra.Command{
		Use: "resume", Short: "go on with a campaign that was paused, or halted for something outside it", Args: noArgs,
		Long: "  loopd login && loopd resume\n\nA campaign that met a limit, or was halted because a login, a bill or a model's\nname was refused, goes on where it stopped. A halt for a changed suite does not\nlift: \"loopd freeze\" ends that campaign.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	o.flags(cmd)
	return cmd
}

type runOptions struct {
	limits
	profile     string
	anew        bool // a new campaign even where a gate is open
	finish      bool // end the search first
	resume      bool // lift a pause or a halt first
	parallel    int
	seed        uint64
	noIsolation bool
	noWait      bool // stop at a limit
	json        bool

	ground ground
}

func newRun(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run", Short: "open or continue a campaign", Args: noArgs,
		Long: `  loopd run --sessions 400

Opens a campaign, or continues the one under way, and works through the queue
until the budget is used, a person stops it, or what measures has changed. A
limit of the account is waited out, and part of a subscription's allowances is
left for you (quota in loopd.yaml). The machine is kept awake; on its battery the
campaign waits for the mains (power in loopd.yaml). A campaign that ended at an unfinished gate goes on with the sessions given.
"loopd plan" says what a budget can find. The first signal lets running sessions
end, the second stops at once.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	o.limits.flags(cmd)
	o.flags(cmd)
	f.StringVar(&o.profile, "profile", "", "rule for keeping: fast, strict, certified, scout; empty for the setting")
	f.BoolVar(&o.anew, "new", false, "open a new campaign even if the last one's gate could go on")
	f.Uint64Var(&o.seed, "seed", 0, "seed of every coin; 0 takes it from the clock")
	return cmd
}

// flags are those of every verb that runs sessions of a campaign.
func (o *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.parallel, "parallel", 0, "sessions side by side; 0 for the setting")
	f.BoolVar(&o.noWait, "no-wait", false, "stop at a limit of the account instead of waiting until it lifts")
	f.BoolVar(&o.noIsolation, "i-accept-no-isolation", false, "go on where sessions cannot be isolated from this machine")
	f.BoolVar(&o.json, "json", false, "print the campaign report as JSON at the end")
}

func runRun(ctx context.Context, e env, o runOptions) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	if o.ground, err = groundFor(ctx, e, l.Config, o.noIsolation); err != nil {
		return err
	}
	n, err := openNight(ctx, e, l.Config, o)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.begin(ctx, e); err != nil {
		return err
	}
	runErr := n.run(ctx, e)
	if runErr != nil {
		return runErr
	}
	return n.conclude(e)
}

// night is a campaign with everything it needs open.
type night struct {
	cfg      config.Config
	o        runOptions
	plugin   string // the one the suite measures
	grid     campaign.Grid
	graphs   map[string]harness.Tree
	settings loop.Settings
	allowed  allowance
	campaign *campaign.Campaign
	gateway  *gateway.Gateway
	governor *governor.Governor
	purses   *purses
	trial    trial.Options
	awake    *power.Awake // nil where nothing keeps the machine awake
}

// openNight opens what a campaign needs. Everything that may refuse comes
// before the first file is written to the state directory.
func openNight(ctx context.Context, e env, cfg config.Config, o runOptions) (*night, error) {
	home, err := homeOf(e, cfg)
	if err != nil {
		return nil, err
	}
	cred, binary, err := outside(ctx, e, cfg)
	if err != nil {
		return nil, err
	}
	n := &night{cfg: cfg, o: o}
	states, err := known(ctx, e, home)
	if err != nil {
		return nil, err
	}
	under := len(states) > 0 && states[len(states)-1].Ended == nil
	switch {
	case o.finish && !under:
		return nil, usageError("loopd status", "finish: no campaign is under way")
	case o.resume && !under:
		return nil, usageError("loopd status", "resume: no campaign is under way")
	}
	if under {
		if binary, err = keepPinned(e, states[len(states)-1], binary); err != nil {
			return nil, err
		}
	}
	if n.allowed, err = o.allow(cfg, loop.PaceOf(states...), n.parallel(), time.Now()); err != nil {
		return nil, err
	}
	if !under && n.allowed.Sessions == 0 {
		// Advice that takes too long is left out; the refusal stays one.
		if err := suggestBudgets(ctx, e); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return nil, err
		}
		return nil, usageError(runHint, "start campaign: no budget given")
	}
	sealed, err := openSuite(ctx, home, cfg)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(priced(cfg, sealed.Suite), accepted(sealed.Suite.Launch, binary)); err != nil {
		return nil, err
	}
	if n.graphs, err = home.Graphs(); err != nil {
		return nil, err
	}
	goesOn := under || !o.anew && len(states) > 0 && states[len(states)-1].GateOpen()
	if err := n.choose(sealed.Suite, goesOn); err != nil {
		return nil, err
	}
	if !goesOn {
		n.warnOfLittle(ctx, e, states)
	}
	judge, err := judgeOf(e, cfg, sealed.Suite)
	if err != nil {
		return nil, err
	}
	n.campaign, err = campaign.Open(ctx, campaign.Options{
		Home: home, Plugin: cfg.Plugin, Sealed: sealed, AgentName: "claude " + binary.Version, AgentSHA: binary.SHA256,
		Credential: string(cred.Kind), Judge: judge.name, Confines: o.ground.confines(cfg), Graphs: n.graphs, Now: time.Now, Log: logger(e),
	})
	if err != nil {
		return nil, err
	}
	n.trial = trial.Options{
		Suite: sealed.Suite, Seal: sealed.Verify, Wording: n.campaign.Wordings.Trial, Agent: binary, Store: home.Trials(),
		Redactor: redact.New(cred.Value()), Walls: o.ground.walls, Hidden: hiddenFrom(home, cfg), Read: cfg.Read, Limits: limitsOf(cfg), Graphs: n.graphs, UID: o.ground.uid, GID: o.ground.uid, Now: time.Now,
	}
	if n.gateway, err = startGateway(ctx, e, cred); err == nil {
		n.trial.Gateway = n.gateway
		n.governor = governorOf(cfg, n.parallel(), states, o.resume)
		n.gateway.Watch(n.governor.Answer)
		n.trial.Judge, err = judge.make(ctx, n.trial)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// runHint is the command that opens a campaign.
const runHint = "loopd run --sessions 400 --profile scout"

// outside looks at what a campaign needs beside its suite: a repository with a
// commit to start from, a credential and an agent.
func outside(ctx context.Context, e env, cfg config.Config) (config.Credential, agent.Binary, error) {
	user, err := gitrepo.OpenUser(cfg.Plugin)
	if err != nil {
		return config.Credential{}, agent.Binary{}, fmt.Errorf("start campaign: %w", err)
	}
	if _, err := user.Head(); err != nil {
		return config.Credential{}, agent.Binary{}, usageError("git add --all && git commit", "start campaign: %w", err)
	}
	cred, err := config.FindCredential(e.getenv)
	if err != nil {
		return cred, agent.Binary{}, usageError("loopd login", "start campaign: %w", err)
	}
	binary, err := pinClaude(ctx, e, cfg.Agent)
	return cred, binary, err
}

// known replays what the state directory knows, without its lock.
func known(ctx context.Context, e env, home campaign.Home) ([]*loop.State, error) {
	r, err := openReview(ctx, e, home.Dir)
	return r.states, err
}

func (n *night) parallel() int {
	if n.o.parallel > 0 {
		return n.o.parallel
	}
	return n.cfg.Parallel
}

// choose fixes the cells and the numbers of a new campaign; one under way has
// its own.
func (n *night) choose(s harness.Suite, under bool) error {
	pick, err := pickCells(s, n.cfg)
	if err != nil {
		return err
	}
	n.plugin, n.grid = s.Checker.Plugin, campaign.GridOf(s, n.graphs, pick)
	if err := n.practise(s, pick); err != nil {
		return err
	}
	profile := loop.Profile(n.cfg.Profile)
	if n.o.profile != "" {
		profile = loop.Profile(n.o.profile)
	}
	n.settings = loop.DefaultSettings(n.allowed.Sessions).Under(profile)
	n.settings.Seed, n.settings.MaxCandidates, n.settings.Sentinels = n.o.seed, n.cfg.MaxCandidates, n.cfg.Sentinels
	n.settings.SpendCandidate = n.cfg.SpendCandidate
	if n.o.seed == 0 {
		n.settings.Seed = uint64(time.Now().UnixNano())
	}
	if under {
		return nil
	}
	if err := n.settings.Validate(len(n.grid.Objective)); err != nil {
		return usageError(runHint, "start campaign: %w", err)
	}
	return nil
}

// warnOfLittle says when a budget cannot confirm anything. It is the user's to
// spend all the same.
func (n *night) warnOfLittle(ctx context.Context, e env, states []*loop.State) {
	p := planner{cfg: n.cfg, grid: n.grid, bytes: assumedBytes}
	p.rates, p.from = ratesOf(n.plugin, n.grid.Objective, states)
	out, err := p.outlook(ctx, n.allowed.Sessions, n.settings.Profile)
	if err == nil && !out.Reachable {
		fmt.Fprintf(e.stderr, "loopd: warning: %s can hardly confirm anything under the profile\nloopd: %s; the smallest budget that would is %d\n",
			plural(n.allowed.Sessions), out.Profile, out.Smallest)
	}
}

// startGateway opens the way to the API the user's environment names.
func startGateway(ctx context.Context, e env, cred config.Credential) (*gateway.Gateway, error) {
	base := e.getenv("ANTHROPIC_BASE_URL")
	if base == "" {
		base = "https://api.anthropic.com"
	}
	upstream, err := url.Parse(base)
	if err != nil {
		return nil, usageError("", "ANTHROPIC_BASE_URL: %w", err)
	}
	header := gateway.HeaderKey
	if cred.Kind == config.OAuthToken {
		header = gateway.HeaderToken
	}
	return gateway.Start(ctx, upstream, gateway.Credential{Header: header, Value: cred.Value()})
}

// hiddenFrom lists what no session may read, wherever it lies.
func hiddenFrom(home campaign.Home, cfg config.Config) []string {
	out := []string{home.Dir}
	if cfg.Suite != config.Bundled {
		out = append(out, cfg.Suite)
	}
	return out
}

// begin opens a new campaign, continues the one under way, or takes up the
// gate of the last one.
func (n *night) begin(ctx context.Context, e env) error {
	extended := false
	var err error
	if n.o.resume {
		if err := n.campaign.Resume(ctx); err != nil {
			return usageError(cmp.Or(hintOf(err), "loopd status"), "resume: %w", err)
		}
	}
	if !n.o.anew {
		if extended, err = n.campaign.Extend(ctx, n.allowed.Sessions); err != nil {
			return fmt.Errorf("continue the gate: %w", err)
		}
	}
	if !extended {
		err = n.campaign.Begin(ctx, n.settings, n.grid)
	}
	if err == nil && n.o.finish {
		err = n.campaign.Finish(ctx)
	}
	if err != nil {
		return fmt.Errorf("start campaign: %w", err)
	}
	if n.allowed.Why != "" {
		fmt.Fprintln(e.stderr, "loopd: "+n.allowed.Why)
	}
	s := n.campaign.Current()
	n.purses = pursesOf(n.cfg, s)
	n.trial.Instrument, n.trial.Purses = s.Started.Instrument, n.purses.of
	n.trial.Asked, n.trial.Served = askedOf(s), servedOf(s)
	return nil
}

func (n *night) run(ctx context.Context, e env) error {
	if _, err := sandbox.Sweep(""); err != nil {
		return err
	}
	executor, err := trial.New(ctx, n.trial)
	if err != nil {
		return err
	}
	bar := newProgress(e.stderr, n.campaign.Current().Budget())
	defer bar.close()
	drain, stop := closing(ctx, e.drain, n.allowed.Deadline)
	defer stop()
	n.stayAwake(ctx, e)
	defer func() { n.awake.Stop() }()
	governed := n.purses.within(plugged{n.cfg.OnBattery, e.machine, n.governor.Govern(executor)})
	err = n.rest(ctx, e, drain, func() error {
		return n.campaign.Run(ctx, loop.Loop{Executor: governed, TestJudge: n.testJudge, Parallel: n.parallel(), Drain: drain, Observe: bar.observe, Proposing: n.proposing(e)})
	})
	if errors.Is(err, loop.ErrDrained) && n.allowed.over(time.Now()) {
		return n.campaign.Pause(ctx, loop.Paused{Reason: "window: the time given is over"})
	}
	return err
}

// testJudge asks the judge the gold set.
func (n *night) testJudge(ctx context.Context) (harness.JudgeTest, error) {
	return trial.TestJudge(ctx, n.trial.Suite, n.trial.Judge, n.campaign.Judge, n.parallel())
}

// close releases what is open, in reverse order.
func (n *night) close() {
	if n.gateway != nil {
		n.gateway.Close()
	}
	n.campaign.Close()
}
