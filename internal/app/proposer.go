package app

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/loop"
)

// practise settles what a proposer is shown beside numbers, and refuses settings
// of one that cannot be asked, before anything is run.
func (n *Night) practise(s harness.Suite, graphs map[string]harness.Tree, pick func(harness.Cell) bool) error {
	switch n.Config.Proposer {
	case config.AgentModel:
		if _, err := proposerTier(n.Config, s); err != nil {
			return err
		}
	case config.CommandModel:
		if _, err := exec.LookPath(n.Config.ProposerCommand[0]); err != nil {
			return hint.Usagef("loopd config", "proposer.command: %s is no program that can be run", n.Config.ProposerCommand[0])
		}
	default:
		return nil // nobody who reads
	}
	n.Grid.Practice = campaign.PracticeCells(s, graphs, pick)
	return nil
}

// proposerTier is the model an agent is asked with: the tier of the settings, or
// the suite's last, which is its most able.
func proposerTier(cfg config.Config, s harness.Suite) (harness.Tier, error) {
	tiers := s.Launch.Tiers
	if cfg.ProposerTier == "" {
		return tiers[len(tiers)-1], nil
	}
	i := slices.IndexFunc(tiers, func(t harness.Tier) bool { return t.Name == cfg.ProposerTier })
	if i < 0 {
		var names []string
		for _, t := range tiers {
			names = append(names, t.Name)
		}
		return harness.Tier{}, hint.Usagef("loopd config", "proposer.tier: %q is no tier of the suite: %s", cfg.ProposerTier, strings.Join(names, ", "))
	}
	return tiers[i], nil
}

// Proposes reports whether an empty queue is filled by somebody. A run without a
// word on it asks nobody.
func (n *Night) Proposes() bool {
	switch n.Config.Proposer {
	case config.BuiltinModel, config.CommandModel, config.AgentModel:
		return true
	}
	return false
}

// proposer is who fills an empty queue by the settings; nil for nobody.
func (n *Night) proposer(a *App) *campaign.Proposer {
	if !n.Proposes() {
		return nil
	}
	p := &campaign.Proposer{Name: string(n.Config.Proposer), DeleteShare: float64(n.Config.DeleteShare), PerWindow: n.Config.PerNight}
	limit := time.Duration(n.Config.ProposerTimeout)
	switch n.Config.Proposer {
	case config.BuiltinModel:
		p.Open = func(_ context.Context, s *loop.State) (propose.Model, error) {
			return propose.Builtin{Seed: s.Started.Settings.Seed}, nil
		}
	case config.CommandModel:
		p.Open = func(context.Context, *loop.State) (propose.Model, error) {
			return ProposerCommand{Args: n.Config.ProposerCommand, Limit: limit, Environ: n.env.Environ}, nil
		}
	case config.AgentModel:
		tier, err := proposerTier(n.Config, a.Sessions.Suite)
		p.Name = fmt.Sprintf("agent %s", tier.Model)
		p.Open = func(ctx context.Context, _ *loop.State) (propose.Model, error) {
			if err := cmp.Or(err, a.Gate.May()); err != nil {
				return nil, err // held as a session would be
			}
			o := a.Sessions.Options
			o.OneShotLimits = a.spending.Campaign()
			return NewProposerAgent(ctx, o, tier.Model, limit)
		}
	}
	return p
}
