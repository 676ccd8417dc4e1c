package main

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
	"loopd/internal/gateway"
	"loopd/internal/hint"
	"loopd/internal/proposer"
	"loopd/loop"
)

// practise settles what a proposer is shown beside numbers, and refuses settings
// of one that cannot be asked, before anything is run.
func (n *night) practise(s harness.Suite, pick func(harness.Cell) bool) error {
	switch n.cfg.Proposer {
	case config.AgentModel:
		if _, err := proposerTier(n.cfg, s); err != nil {
			return err
		}
	case config.CommandModel:
		if _, err := exec.LookPath(n.cfg.ProposerCommand[0]); err != nil {
			return hint.Usagef("loopd config", "proposer.command: %s is no program that can be run", n.cfg.ProposerCommand[0])
		}
	default:
		return nil // nobody who reads
	}
	n.grid.Practice = campaign.PracticeCells(s, n.graphs, pick)
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

// proposing is who fills an empty queue by the settings. One run without a word
// on it asks nobody.
func (n *night) proposing(e env) loop.Proposing {
	p := campaign.Proposer{Name: string(n.cfg.Proposer), DeleteShare: float64(n.cfg.DeleteShare), PerWindow: n.cfg.PerNight}
	limit := time.Duration(n.cfg.ProposerTimeout)
	switch n.cfg.Proposer {
	case config.BuiltinModel:
		p.Open = func(_ context.Context, s *loop.State) (propose.Model, error) {
			return propose.Builtin{Seed: s.Started.Settings.Seed}, nil
		}
	case config.CommandModel:
		p.Open = func(context.Context, *loop.State) (propose.Model, error) {
			return proposer.Command{Args: n.cfg.ProposerCommand, Limit: limit, Environ: e.environ}, nil
		}
	case config.AgentModel:
		tier, err := proposerTier(n.cfg, n.trial.Suite)
		p.Name = fmt.Sprintf("agent %s", tier.Model)
		p.Open = func(ctx context.Context, _ *loop.State) (propose.Model, error) {
			if err := cmp.Or(err, n.governor.May(), n.purses.may()); err != nil {
				return nil, err // held as a session would be
			}
			o := n.trial
			if n.purses.campaign != nil {
				o.OneShotLimits = []*gateway.SpendLimit{n.purses.campaign}
			}
			return proposer.NewAgent(ctx, o, tier.Model, limit)
		}
	default:
		return loop.Proposing{}
	}
	return n.campaign.Proposing(p)
}
