package app

import (
	"slices"

	"loopd/harness"
	"loopd/internal/config"
	"loopd/internal/hint"
)

// PickCells wants the cells of the scenarios and tiers named in the settings.
// Naming scenarios narrows the metric; guards and controls go with every tier.
func PickCells(s harness.Suite, c config.Config) (func(harness.Cell) bool, error) {
	for _, id := range c.Scenarios {
		if _, ok := s.Scenario(id); !ok {
			return nil, hint.Usagef("loopd config", "scenarios: the suite has no %q", id)
		}
	}
	for _, t := range c.Tiers {
		if _, ok := s.Launch.Model(t); !ok {
			return nil, hint.Usagef("loopd config", "tiers: the suite has no %q", t)
		}
	}
	return func(cell harness.Cell) bool {
		sc, _ := s.Scenario(cell.Scenario)
		if len(c.Tiers) > 0 && !slices.Contains(c.Tiers, cell.Tier) {
			return false
		}
		return sc.Role != harness.Objective || len(c.Scenarios) == 0 || slices.Contains(c.Scenarios, cell.Scenario)
	}, nil
}
