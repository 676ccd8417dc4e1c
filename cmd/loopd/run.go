package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/gateway"
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
	f.BoolVar(&o.noIsolation, "i-accept-no-isolation", false, "run sessions as an ordinary process of this machine")
	f.BoolVar(&o.json, "json", false, "print the campaign report as JSON at the end")
	return cmd
}

func runRun(ctx context.Context, e env, o runOptions) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	if !o.noIsolation {
		return usageError("loopd run --sessions 400 --i-accept-no-isolation",
			"start campaign: sessions run with every permission and nothing isolates them yet")
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
	if err := runReport(ctx, e, n.campaign.Home.Dir, "campaign", o.json); err != nil {
		return err
	}
	return stop(n.campaign.Current())
}

// night is a campaign with everything it needs open.
type night struct {
	cfg      config.Config
	o        runOptions
	sealed   campaign.Sealed
	campaign *campaign.Campaign
	gateway  *gateway.Gateway
	trial    trial.Options
}

func openNight(ctx context.Context, e env, cfg config.Config, o runOptions) (*night, error) {
	home, err := homeOf(e, cfg)
	if err != nil {
		return nil, err
	}
	sealed, err := openSuite(ctx, home, cfg)
	if err != nil {
		return nil, err
	}
	binary, err := pinClaude(ctx, e, cfg.Agent)
	if err != nil {
		return nil, err
	}
	cred, err := credentialOf(e)
	if err != nil {
		return nil, err
	}
	judge, err := judgeOf(e, cfg, sealed.Suite)
	if err != nil {
		return nil, err
	}
	c, err := campaign.Open(ctx, campaign.Options{
		Home: home, Plugin: cfg.Plugin, Sealed: sealed, AgentName: "claude " + binary.Version, AgentSHA: binary.SHA256,
		Credential: string(cred.Header), Now: time.Now, Log: logger(e),
	})
	if err != nil {
		return nil, err
	}
	n := &night{cfg: cfg, o: o, sealed: sealed, campaign: c}
	n.trial = trial.Options{
		Suite: sealed.Suite, Seal: sealed.Verify, Wording: c.Wordings.Trial, Agent: binary, Store: home.Trials(), Judge: judge,
		Redactor: redact.New(cred.Value), UID: sessionUser(), GID: sessionUser(), Now: time.Now,
	}
	n.gateway, err = startGateway(ctx, e, cred)
	n.trial.Gateway = n.gateway
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// startGateway opens the way to the API the user's environment names.
func startGateway(ctx context.Context, e env, cred gateway.Credential) (*gateway.Gateway, error) {
	base := e.getenv("ANTHROPIC_BASE_URL")
	if base == "" {
		base = "https://api.anthropic.com"
	}
	upstream, err := url.Parse(base)
	if err != nil {
		return nil, usageError("", "ANTHROPIC_BASE_URL: %w", err)
	}
	return gateway.Start(ctx, upstream, cred)
}

// credentialOf takes the user's credential from the environment.
func credentialOf(e env) (gateway.Credential, error) {
	if key := e.getenv("ANTHROPIC_API_KEY"); key != "" {
		return gateway.Credential{Header: gateway.HeaderKey, Value: key}, nil
	}
	if token := e.getenv("CLAUDE_CODE_OAUTH_TOKEN"); token != "" {
		return gateway.Credential{Header: gateway.HeaderToken, Value: token}, nil
	}
	return gateway.Credential{}, usageError("export ANTHROPIC_API_KEY=…", "start campaign: no credential: neither ANTHROPIC_API_KEY nor CLAUDE_CODE_OAUTH_TOKEN is set")
}

// begin opens a new campaign or continues the one under way.
func (n *night) begin(ctx context.Context) error {
	objective, err := selectCells(n.sealed.Suite, harness.Objective, n.cfg)
	if err != nil {
		return err
	}
	guards, err := selectCells(n.sealed.Suite, harness.Guard, n.cfg)
	if err != nil {
		return err
	}
	budget := n.o.sessions
	if budget == 0 {
		budget = n.cfg.Sessions
	}
	if s := n.campaign.Current(); (s == nil || s.Ended != nil) && budget == 0 {
		return usageError("loopd run --sessions 400 --i-accept-no-isolation", "start campaign: no budget given")
	}
	set := loop.DefaultSettings(budget)
	set.Seed, set.MaxCandidates = n.o.seed, n.cfg.MaxCandidates
	if set.Seed == 0 {
		set.Seed = uint64(time.Now().UnixNano())
	}
	if err := n.campaign.Begin(ctx, set, objective, guards); err != nil {
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
