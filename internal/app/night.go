package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/agent"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/gateway"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/loop"
	"loopd/report"
)

// RunHint is the command that opens a campaign.
const RunHint = "loopd run --sessions 400 --profile scout"

// ErrNoBudget says that a new campaign was given no budget.
var ErrNoBudget = hint.Usagef(RunHint, "start campaign: no budget given")

// Ask says what the user asks of a campaign.
type Ask struct {
	Limits
	Profile  string // rule for keeping; empty for the setting
	New      bool   // a new campaign even where a gate is open
	Finish   bool   // end the search first
	Resume   bool   // lift a pause or a halt first
	Parallel int    // 0 for the setting
	Seed     uint64 // 0 takes it from the clock
	// NoIsolation goes on where sessions cannot be isolated from this machine.
	NoIsolation bool
	NoWait      bool // stop at a limit
	Locked      bool // the state directory's own lock is held by serve
	// Suite opens the suite that measures.
	Suite  func(ctx context.Context, home campaign.Home, cfg config.Config) (campaign.Sealed, error)
	Status func(newest *loop.State, all []*loop.State) any // see campaign.Options
	Log    *slog.Logger
}

// Night is a campaign with real sessions: what run, serve, resume and finish work
// on. Close it.
type Night struct {
	*App
	Config config.Config
	Budget Allowance
	Grid   campaign.Grid

	env      Env
	ask      Ask
	settings loop.Settings
}

// Open opens what a campaign with real sessions needs. Everything that may refuse
// comes before the first file is written to the state directory.
func Open(ctx context.Context, e Env, cfg config.Config, ask Ask) (*Night, error) {
	n := &Night{Config: cfg, env: e, ask: ask}
	home, err := HomeOf(e, cfg)
	if err != nil {
		return nil, err
	}
	if !ask.Locked {
		if err := errors.Join(home.KeptFromOthers(), fits(home, cfg)); err != nil {
			return nil, err
		}
	}
	parts, cred, err := outside(ctx, e, cfg, ask.NoIsolation)
	if err != nil {
		return nil, err
	}
	states, err := campaign.Known(ctx, home)
	if err != nil {
		return nil, err
	}
	if parts.Agent, err = n.allow(e, states, parts.Agent); err != nil {
		return nil, err
	}
	sealed, err := ask.Suite(ctx, home, cfg)
	if err != nil {
		return nil, err
	}
	if err := priced(cfg, sealed.Suite); err != nil {
		return nil, err
	}
	graphs, err := home.Graphs()
	if err != nil {
		return nil, err
	}
	if err := n.choose(sealed.Suite, graphs, underWay(states) || !ask.New && len(states) > 0 && states[len(states)-1].GateOpen()); err != nil {
		return nil, err
	}
	if err := parts.measure(e, cfg, home, sealed, graphs); err != nil {
		return nil, err
	}
	n.App, err = New(ctx, Settings{
		Campaign: campaign.Options{
			Home: home, Plugin: cfg.Plugin, Sealed: sealed, AgentName: "claude " + parts.Agent.Version, Credential: string(cred.Kind),
			Confines: parts.Isolation.Parts(cfg), Log: ask.Log, Look: ask.Status,
		},
		Gate: n.gate(home, states), Spend: SpendOf(cfg), Locked: ask.Locked, NoWait: ask.NoWait, Proposer: n.proposer,
	}, parts)
	return n, err
}

// underWay reports whether the newest campaign has not ended.
func underWay(states []*loop.State) bool {
	return len(states) > 0 && states[len(states)-1].Ended == nil
}

// allow settles the budget and the agent: a campaign under way keeps the agent it
// began with.
func (n *Night) allow(e Env, states []*loop.State, binary agent.Binary) (agent.Binary, error) {
	under := underWay(states)
	switch {
	case n.ask.Finish && !under:
		return binary, hint.Usagef("loopd status", "finish: no campaign is under way")
	case n.ask.Resume && !under:
		return binary, hint.Usagef("loopd status", "resume: no campaign is under way")
	}
	var err error
	if under {
		if binary, err = KeepAgent(e, states[len(states)-1], binary); err != nil {
			return binary, err
		}
	}
	if n.Budget, err = n.ask.Allow(n.Config, loop.PaceOf(states...), n.parallel(), time.Now()); err != nil {
		return binary, err
	}
	if !under && n.Budget.Sessions == 0 {
		return binary, ErrNoBudget
	}
	return binary, nil
}

func (n *Night) parallel() int {
	if n.ask.Parallel > 0 {
		return n.ask.Parallel
	}
	return n.Config.Parallel
}

// choose fixes the cells and the numbers of a new campaign; one that goes on has
// its own.
func (n *Night) choose(s harness.Suite, graphs map[string]harness.Tree, goesOn bool) error {
	pick, err := PickCells(s, n.Config)
	if err != nil {
		return err
	}
	n.Grid = campaign.GridOf(s, graphs, pick)
	if err := n.practise(s, graphs, pick); err != nil {
		return err
	}
	profile := loop.Profile(n.Config.Profile)
	if n.ask.Profile != "" {
		profile = loop.Profile(n.ask.Profile)
	}
	set := loop.DefaultSettings(n.Budget.Sessions).Under(profile)
	set.Seed, set.MaxCandidates, set.Sentinels, set.SpendCandidate = n.ask.Seed, n.Config.MaxCandidates, n.Config.Sentinels, n.Config.SpendCandidate
	if set.Seed == 0 {
		set.Seed = uint64(time.Now().UnixNano())
	}
	if n.settings = set; goesOn {
		return nil
	}
	if err := set.Validate(len(n.Grid.Objective)); err != nil {
		return hint.Usagef(RunHint, "start campaign: %w", err)
	}
	return nil
}

// Profile is the rule for keeping of a new campaign.
func (n *Night) Profile() loop.Profile { return n.settings.Profile }

// Begin opens a new campaign, continues the one under way, or takes up the gate of
// the last one.
func (n *Night) Begin(ctx context.Context) error {
	s := Start{Settings: n.settings, Grid: n.Grid, Resume: n.ask.Resume, Finish: n.ask.Finish}
	if !n.ask.New {
		s.Extend = n.Budget.Sessions
	}
	if err := n.App.Begin(ctx, s); err != nil {
		return err
	}
	if n.Budget.Why != "" {
		n.env.warnf("%s", n.Budget.Why)
	}
	return nil
}

// Idle returns why a window has nothing to do, empty where it has.
func (n *Night) Idle() (string, error) {
	st := n.Campaign.Current()
	if st != nil && (st.Ended == nil || st.GateOpen()) {
		return "", nil
	}
	waits, err := n.Campaign.Waits()
	if err != nil || waits {
		return "", err
	}
	if n.Config.Proposer == config.NoModel {
		return "nothing to try: no candidate waits, and nobody proposes; loopd candidate add --patch FILE", nil
	}
	if st == nil || !report.Confirmed(st) {
		return "", nil
	}
	if _, moved := n.Campaign.BaseMoved(); moved {
		return "", nil
	}
	return fmt.Sprintf("campaign %s promoted a wording that is neither taken over nor refused; loopd adopt", st.Started.Campaign), nil
}

// gate keeps a night's sessions within what the settings allow. What was known
// before a restart is known again, unless the user asks anew: then one session
// goes ahead and finds out.
func (n *Night) gate(home campaign.Home, states []*loop.State) admission.Options {
	cfg := n.Config
	o := admission.Options{
		Governor: admission.GovernorOptions{
			Parallel: n.parallel(), Leave: admission.Leave{FiveHour: float64(cfg.LeaveFiveHour), SevenDay: float64(cfg.LeaveSevenDay)}, Probe: n.ask.Resume,
		},
		Disk: DiskOf(home, cfg), Machine: n.env.Machine, PauseOnBattery: cfg.OnBattery == config.PauseOnBattery, KeepAwake: cfg.KeepAwake,
		Warn: func(err error) { n.env.warnf("warning: %v", err) },
	}
	if n.ask.Resume {
		return o
	}
	o.Governor.Quota = LastQuota(states)
	if last := len(states) - 1; last >= 0 {
		o.Governor.Probe = states[last].Paused != nil && states[last].Paused.Lifts()
	}
	return o
}

// LastQuota is what the API said last of the account's allowances.
func LastQuota(states []*loop.State) harness.Quota {
	for i := len(states) - 1; i >= 0; i-- {
		for j := len(states[i].Trials) - 1; j >= 0; j-- {
			if q := states[i].Trials[j].Quota; q != nil {
				return *q
			}
		}
	}
	return harness.Quota{}
}

// DiskOf is the disk that a campaign watches: that of the state directory and that
// of the sandboxes.
func DiskOf(home campaign.Home, cfg config.Config) admission.Disk {
	return admission.Disk{Floor: uint64(cfg.DiskFloor), Dirs: []string{home.Dir, os.TempDir()}}
}

// SpendOf are the limits of spending in the settings.
func SpendOf(cfg config.Config) admission.SpendLimits {
	return admission.SpendLimits{Session: cfg.SpendSession, Candidate: cfg.SpendCandidate, Campaign: cfg.SpendCampaign}
}

// priced refuses a limit of spending that could not hold: it counts tokens, and
// needs the price of every model.
func priced(cfg config.Config, s harness.Suite) error {
	if !SpendOf(cfg).Any() {
		return nil
	}
	for _, t := range s.Launch.Tiers {
		if t.Price == nil {
			return hint.Usagef("loopd config", "start campaign: the settings limit spending, and launch.yaml gives the tier %s no price", t.Name)
		}
	}
	return nil
}

// RealParts are what real sessions of a suite are run with, as the settings say.
func RealParts(ctx context.Context, e Env, cfg config.Config, home campaign.Home, sealed campaign.Sealed, graphs map[string]harness.Tree, noIsolation bool) (Parts, error) {
	p, _, err := outside(ctx, e, cfg, noIsolation)
	if err != nil {
		return p, err
	}
	return p, p.measure(e, cfg, home, sealed, graphs)
}

// outside looks at what sessions need beside their suite: isolation, a repository
// with a commit to start from, a credential and an agent.
func outside(ctx context.Context, e Env, cfg config.Config, noIsolation bool) (p Parts, cred config.Credential, err error) {
	if p.Isolation, err = RequireIsolation(ctx, e, cfg, noIsolation); err != nil {
		return p, cred, err
	}
	user, err := git.OpenUser(cfg.Plugin)
	if err != nil {
		return p, cred, fmt.Errorf("start campaign: %w", err)
	}
	if _, err := user.Head(); err != nil {
		return p, cred, hint.Usagef("git add --all && git commit", "start campaign: %w", err)
	}
	if cred, err = config.FindCredential(e.Getenv); err != nil {
		return p, cred, hint.Usagef("loopd login", "start campaign: %w", err)
	}
	if p.Agent, err = PinAgent(ctx, e, cfg.Agent); err != nil {
		return p, cred, err
	}
	p.Service, err = serviceFor(e, cred)
	return p, cred, err
}

// measure adds what follows from the suite.
func (p *Parts) measure(e Env, cfg config.Config, home campaign.Home, sealed campaign.Sealed, graphs map[string]harness.Tree) (err error) {
	if err := CheckVersion(sealed.Suite.Launch, p.Agent); err != nil {
		return err
	}
	p.Suite, p.Seal, p.Graphs = sealed.Suite, sealed.Verify, graphs
	p.Limits, p.Read, p.Hidden = LimitsOf(cfg), cfg.Read, HiddenFrom(home, cfg)
	p.Judge, err = ChooseJudge(e, cfg, sealed.Suite)
	return err
}

// serviceFor is the API that the environment names, under a credential.
func serviceFor(e Env, cred config.Credential) (Service, error) {
	u, err := ServiceURL(e)
	header := gateway.HeaderKey
	if cred.Kind == config.OAuthToken {
		header = gateway.HeaderToken
	}
	return Service{URL: u, Credential: gateway.Credential{Header: header, Value: cred.Value()}}, err
}

// fits refuses to begin where the campaign would pause at once for want of space.
func fits(home campaign.Home, cfg config.Config) error {
	if hold, ok := errors.AsType[*loop.HoldError](DiskOf(home, cfg).May()); ok {
		return hint.Usagef("loopd prune --older 30d --dry-run", "start campaign: %s", hold.Paused.Reason)
	}
	return nil
}

// HiddenFrom lists what no session may read, wherever it lies.
func HiddenFrom(home campaign.Home, cfg config.Config) []string {
	out := []string{home.Dir}
	if cfg.Suite != config.Bundled {
		out = append(out, cfg.Suite)
	}
	return out
}
