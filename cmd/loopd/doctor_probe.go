package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/internal/setup"
)

// probeRows runs one session in poisoned surroundings. The plugin is the one in
// this directory, or the bundled one outside any.
func probeRows(ctx context.Context, e env, kind rehearsal.AgentKind) ([]setup.Row, error) {
	b, err := openBench(ctx, e)
	if err != nil {
		return nil, err
	}
	defer b.close()
	binary, err := probedAgent(ctx, e, b.cfg, kind)
	if err != nil {
		return nil, err
	}
	g := app.IsolationOrNone(ctx, e.Env, b.cfg.Rung)
	o := setup.ProbeOptions{
		Suite: b.sealed.Suite, Wording: b.wording, Agent: binary, Isolation: g, Graphs: b.graphs,
	}
	if cred, err := config.FindCredential(e.Getenv); err == nil {
		o.Secrets = []string{cred.Value()}
	}
	return setup.Probe(ctx, o)
}

// probedAgent is the agent a campaign here would run: the copy of the one under
// way, or one of what is installed.
func probedAgent(ctx context.Context, e env, cfg config.Config, kind rehearsal.AgentKind) (agent.Binary, error) {
	switch kind {
	case rehearsal.StandIn:
		return app.StandIn()
	case rehearsal.Claude:
	default:
		return agent.Binary{}, hint.Usagef("loopd doctor --probe --agent standin", "unknown agent %q: standin or claude", kind)
	}
	binary, err := app.PinAgent(ctx, e.Env, agentNamed(e, cfg))
	if err != nil || cfg.Plugin == "" {
		return binary, err
	}
	r, err := openReview(ctx, e, "")
	if err != nil || len(r.states) == 0 || r.states[len(r.states)-1].Ended != nil {
		return binary, err
	}
	return app.KeepAgent(e.Env, r.states[len(r.states)-1], binary)
}

// agentNamed is the agent of the settings, or the one found here.
func agentNamed(e env, cfg config.Config) string {
	if cfg.Agent == "" || cfg.Agent == "claude" {
		return app.FindAgent(e.Env, "")
	}
	return cfg.Agent
}

// settingsChecks are those of what loopd.yaml and the launch profile say, and of
// the agent of the campaign under way. Where the suite cannot be read another row
// says why.
func settingsChecks(e env, cfg config.Config) []setup.Check {
	suite := func(name string, look func(context.Context, harness.Suite) setup.Row) setup.Check {
		return func(ctx context.Context) setup.Row {
			home, err := app.HomeOf(e.Env, cfg)
			if err != nil {
				return notLooked(name, suiteCheck)
			}
			sealed, err := openSuite(ctx, home, cfg)
			if err != nil {
				return notLooked(name, suiteCheck)
			}
			return look(ctx, sealed.Suite)
		}
	}
	return []setup.Check{
		func(ctx context.Context) setup.Row { return agentUpdate(ctx, e, cfg) },
		suite("cells", func(ctx context.Context, s harness.Suite) setup.Row {
			return setup.CheckOf("cells", "loopd config", setup.HealthBad, func(context.Context) (string, error) {
				_, err := app.PickCells(s, cfg)
				return cellsText(cfg), err
			})(ctx)
		}),
		suite("environment", func(ctx context.Context, s harness.Suite) setup.Row {
			return setup.CheckOf("environment", "loopd config schema launch", setup.HealthBad, func(context.Context) (string, error) {
				return environmentText(s.Launch)
			})(ctx)
		}),
		suite("agent version", func(ctx context.Context, s harness.Suite) setup.Row { return versionPin(ctx, e, cfg, s) }),
	}
}

// cellsText says which part of the suite's grid the settings ask for.
func cellsText(cfg config.Config) string {
	all := func(ids []string) string {
		if len(ids) == 0 {
			return "all"
		}
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("scenarios: %s; tiers: %s", all(cfg.Scenarios), all(cfg.Tiers))
}

// environmentText lists what a session's environment holds, or says why it could
// not be made.
func environmentText(l harness.Launch) (string, error) {
	values := make(map[string]string)
	for _, name := range l.Env {
		if name != "CLAUDE_CODE_OAUTH_TOKEN" || !slices.Contains(l.Env, "ANTHROPIC_API_KEY") {
			values[name] = "x"
		}
	}
	if _, err := agent.Environ(l, values); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d names: %s", len(l.Env), strings.Join(l.Env, " ")), nil
}

// agentUpdate shows an agent that is another than the campaign under way began
// with. The campaign goes on with its own copy; without the copy it cannot.
func agentUpdate(ctx context.Context, e env, cfg config.Config) setup.Row {
	const name = "agent update"
	r, err := openReview(ctx, e, "")
	if err != nil {
		return setup.Row{Name: name, Health: setup.HealthBad, Detail: err.Error(), Fix: "loopd verify"}
	}
	if len(r.states) == 0 || r.states[len(r.states)-1].Ended != nil {
		return setup.Row{Name: name, Health: setup.HealthOK, Detail: "no campaign is under way"}
	}
	s := r.states[len(r.states)-1].Started
	installed, err := app.PinAgent(ctx, e.Env, agentNamed(e, cfg))
	if err != nil {
		return setup.Row{Name: name, Health: setup.HealthBad, Detail: err.Error(), Fix: "npm install -g @anthropic-ai/claude-code"}
	}
	began := s.Parts[app.AgentPart]
	if began == installed.SHA256 {
		return setup.Row{Name: name, Health: setup.HealthOK, Detail: fmt.Sprintf("none: %s, sha256 %s, as the campaign under way began with", s.Agent, began)}
	}
	detail := fmt.Sprintf("the campaign under way began with %s, sha256 %s; installed is %s, sha256 %s", s.Agent, began, installed.Version, installed.SHA256)
	dir, err := app.CacheDir(e.Env)
	if err == nil {
		_, err = agent.Pinned(dir, began)
	}
	if err != nil {
		return setup.Row{
			Name: name, Health: setup.HealthBad, Detail: detail + "; the copy it began with is gone",
			Fix: "npm install -g @anthropic-ai/claude-code@" + strings.TrimPrefix(s.Agent, "claude "),
		}
	}
	return setup.Row{Name: name, Health: setup.HealthWarning, Detail: detail + "; it keeps its copy", Fix: `loopd freeze --end --reason "take the new agent CLI"`}
}

// versionPin compares the agent with the one version a suite is for.
func versionPin(ctx context.Context, e env, cfg config.Config, s harness.Suite) setup.Row {
	const name = "agent version"
	if s.Launch.CLIVersion == "" {
		return setup.Row{Name: name, Health: setup.HealthOK, Detail: "the suite takes any; a campaign keeps the one it began with"}
	}
	binary, err := probedAgent(ctx, e, cfg, rehearsal.Claude)
	if err == nil {
		err = app.CheckVersion(s.Launch, binary)
	}
	if err != nil {
		return setup.Row{Name: name, Health: setup.HealthBad, Detail: err.Error(), Fix: hint.Of(err)}
	}
	return setup.Row{Name: name, Health: setup.HealthOK, Detail: binary.Version + ", the one the suite takes"}
}
