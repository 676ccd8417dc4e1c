package main

import (
	"context"
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
	"loopd/internal/redact"
	"loopd/internal/sandbox"
	"loopd/internal/trial"
	"loopd/loop"
)

type runOptions struct {
	sessions    int
	parallel    int
	seed        uint64
	noIsolation bool
	json        bool

	ground ground
}

func newRun(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run", Short: "open or continue a campaign", Args: noArgs,
		Long: "  loopd run --sessions 400\n\nOpens a campaign, or continues the one under way, and works through the queue\nuntil the budget is used, a person stops it, or what measures has changed.\nThe first signal lets running sessions end, the second stops at once.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.sessions, "sessions", 0, "budget of a new campaign, in sessions")
	f.IntVar(&o.parallel, "parallel", 0, "sessions side by side; 0 for the setting")
	f.Uint64Var(&o.seed, "seed", 0, "seed of every coin; 0 takes it from the clock")
	f.BoolVar(&o.noIsolation, "i-accept-no-isolation", false, "go on where sessions cannot be isolated from this machine")
	f.BoolVar(&o.json, "json", false, "print the campaign report as JSON at the end")
	return cmd
}

func runRun(ctx context.Context, e env, o runOptions) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	if o.ground, err = groundFor(ctx, e, o.noIsolation); err != nil {
		return err
	}
	n, err := openNight(ctx, e, l.Config, o)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.begin(ctx); err != nil {
		return err
	}
	runErr := n.run(ctx, e)
	if runErr != nil {
		return runErr
	}
	if err := runReport(ctx, e, n.campaign.Home.Dir, campaignReport, o.json); err != nil {
		return err
	}
	return stop(n.campaign.Current())
}

// night is a campaign with everything it needs open.
type night struct {
	cfg      config.Config
	o        runOptions
	grid     campaign.Grid
	graphs   map[string]harness.Tree
	settings loop.Settings
	campaign *campaign.Campaign
	gateway  *gateway.Gateway
	trial    trial.Options
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
	under, err := underWay(ctx, e, home)
	if err != nil {
		return nil, err
	}
	if !under && n.budget() == 0 {
		return nil, usageError(runHint, "start campaign: no budget given")
	}
	sealed, err := openSuite(ctx, home, cfg)
	if err != nil {
		return nil, err
	}
	if n.graphs, err = home.Graphs(); err != nil {
		return nil, err
	}
	if err := n.choose(sealed.Suite, under); err != nil {
		return nil, err
	}
	makeJudge, err := judgeOf(e, cfg, sealed.Suite)
	if err != nil {
		return nil, err
	}
	n.campaign, err = campaign.Open(ctx, campaign.Options{
		Home: home, Plugin: cfg.Plugin, Sealed: sealed, AgentName: "claude " + binary.Version, AgentSHA: binary.SHA256,
		Credential: string(cred.Kind), Graphs: n.graphs, Now: time.Now, Log: logger(e),
	})
	if err != nil {
		return nil, err
	}
	n.trial = trial.Options{
		Suite: sealed.Suite, Seal: sealed.Verify, Wording: n.campaign.Wordings.Trial, Agent: binary, Store: home.Trials(),
		Redactor: redact.New(cred.Value()), Walls: o.ground.walls, Hidden: hiddenFrom(home, cfg), Graphs: n.graphs, UID: o.ground.uid, GID: o.ground.uid, Now: time.Now,
	}
	if n.gateway, err = startGateway(ctx, e, cred); err == nil {
		n.trial.Gateway = n.gateway
		n.trial.Judge, err = makeJudge(ctx, n.trial)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// runHint is the command that opens a campaign.
const runHint = "loopd run --sessions 400"

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

// underWay says whether there is a campaign to continue.
func underWay(ctx context.Context, e env, home campaign.Home) (bool, error) {
	r, err := openReview(ctx, e, home.Dir)
	n := len(r.states)
	return n > 0 && r.states[n-1].Ended == nil, err
}

func (n *night) budget() int {
	if n.o.sessions > 0 {
		return n.o.sessions
	}
	return n.cfg.Sessions
}

// choose fixes the cells and the numbers of a new campaign; one under way has
// its own.
func (n *night) choose(s harness.Suite, under bool) error {
	pick, err := pickCells(s, n.cfg)
	if err != nil {
		return err
	}
	n.grid = campaign.GridOf(s, n.graphs, pick)
	n.settings = loop.DefaultSettings(n.budget())
	n.settings.Seed, n.settings.MaxCandidates = n.o.seed, n.cfg.MaxCandidates
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

// begin opens a new campaign or continues the one under way.
func (n *night) begin(ctx context.Context) error {
	if err := n.campaign.Begin(ctx, n.settings, n.grid); err != nil {
		return fmt.Errorf("start campaign: %w", err)
	}
	n.trial.Instrument = n.campaign.Current().Started.Instrument
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
	bar := newProgress(e.stderr, n.campaign.Current().Started.Settings.Budget)
	defer bar.close()
	parallel := n.cfg.Parallel
	if n.o.parallel > 0 {
		parallel = n.o.parallel
	}
	return n.campaign.Run(ctx, loop.Loop{Executor: executor, Parallel: parallel, Drain: e.drain, Observe: bar.observe})
}

// close releases what is open, in reverse order.
func (n *night) close() {
	if n.gateway != nil {
		n.gateway.Close()
	}
	n.campaign.Close()
}
