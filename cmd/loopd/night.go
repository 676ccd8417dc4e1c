package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/agent"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/daemon"
	"loopd/internal/gateway"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/internal/redact"
	"loopd/internal/store"
	"loopd/internal/trial"
	"loopd/loop"
)

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
	governor *admission.Governor
	purses   *purses
	trial    trial.Options
	awake    *admission.Awake // nil where nothing keeps the machine awake
	lock     *store.Lock      // nil where serve holds it
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
		return nil, hint.Usagef("loopd status", "finish: no campaign is under way")
	case o.resume && !under:
		return nil, hint.Usagef("loopd status", "resume: no campaign is under way")
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
		return nil, hint.Usagef(runHint, "start campaign: no budget given")
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
	if err := n.hold(home); err != nil {
		return nil, err
	}
	n.campaign, err = campaign.Open(ctx, campaign.Options{
		Home: home, Plugin: cfg.Plugin, Sealed: sealed, AgentName: "claude " + binary.Version, AgentSHA: binary.SHA256,
		Credential: string(cred.Kind), Judge: judge.name, Confines: o.ground.confines(cfg), Graphs: n.graphs, Now: time.Now, Log: logger(e), Look: look,
	})
	if err != nil {
		n.close()
		return nil, err
	}
	n.trial = trial.Options{
		Suite: sealed.Suite, Seal: sealed.Verify, Wording: n.campaign.Wordings.Trial, Agent: binary, Store: home.Trials(),
		Redactor: redact.New(cred.Value()), Walls: o.ground.walls, Hidden: hiddenFrom(home, cfg), Read: cfg.Read, Limits: limitsOf(cfg), Graphs: n.graphs, UID: o.ground.uid, GID: o.ground.uid, Now: time.Now,
	}
	if err := n.connect(ctx, e, cred, states, judge); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// connect opens the way to the API, and makes the judge that goes by it.
func (n *night) connect(ctx context.Context, e env, cred config.Credential, states []*loop.State, judge chosenJudge) (err error) {
	if n.gateway, err = startGateway(ctx, e, cred); err != nil {
		return err
	}
	n.trial.Gateway = n.gateway
	n.governor = governorOf(n.cfg, n.parallel(), states, n.o.resume)
	n.gateway.Watch(n.governor.Answer)
	n.trial.Judge, err = judge.make(ctx, n.trial)
	return err
}

// runHint is the command that opens a campaign.
const runHint = "loopd run --sessions 400 --profile scout"

// outside looks at what a campaign needs beside its suite: a repository with a
// commit to start from, a credential and an agent.
func outside(ctx context.Context, e env, cfg config.Config) (config.Credential, agent.Binary, error) {
	user, err := git.OpenUser(cfg.Plugin)
	if err != nil {
		return config.Credential{}, agent.Binary{}, fmt.Errorf("start campaign: %w", err)
	}
	if _, err := user.Head(); err != nil {
		return config.Credential{}, agent.Binary{}, hint.Usagef("git add --all && git commit", "start campaign: %w", err)
	}
	cred, err := config.FindCredential(e.getenv)
	if err != nil {
		return cred, agent.Binary{}, hint.Usagef("loopd login", "start campaign: %w", err)
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
		return hint.Usagef(runHint, "start campaign: %w", err)
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
	upstream, err := serviceURL(e)
	if err != nil {
		return nil, err
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

// hold takes the place of the one loopd that runs or serves here.
func (n *night) hold(home campaign.Home) error {
	if n.o.serving {
		return nil
	}
	if err := home.Make(); err != nil {
		return err
	}
	var err error
	n.lock, err = store.Hold(home.Dir, daemon.LockName)
	return err
}

// close releases what is open, in reverse order.
func (n *night) close() {
	if n.gateway != nil {
		n.gateway.Close()
	}
	if n.campaign != nil {
		n.campaign.Close()
	}
	if n.lock != nil {
		_ = n.lock.Release() // the kernel frees it with the process at the latest
	}
}
