package harness

import (
	"testing"
)

func TestRunnable(t *testing.T) { // req 36, 47
	s := Suite{
		Launch: Launch{Tiers: []Tier{{Name: "small"}, {Name: "big"}}},
		Scenarios: []Scenario{
			{ID: "A", Role: Objective, Fixture: "shop"},
			{ID: "G", Role: Objective, Fixture: "shop", Graph: true},
			{ID: "G-without", Role: Control, Fixture: "shop", Pair: "G"},
			{ID: "lone", Role: Control, Fixture: "shop", Pair: "none"},
		},
	}
	cells, unrun := s.Runnable(Objective, nil)
	if len(cells) != 2 || len(unrun) != 1 || unrun[0].Scenario != "G" || unrun[0].Hint == "" {
		t.Errorf("without a graph: %v, not run %v", cells, unrun)
	}
	cells, unrun = s.Runnable(Control, nil)
	if len(cells) != 0 || len(unrun) != 2 {
		t.Errorf("controls without a graph: %v, not run %v", cells, unrun)
	}
	graphs := map[string]Tree{"shop": {"graph.json": {}}}
	if cells, unrun = s.Runnable(Objective, graphs); len(cells) != 4 || len(unrun) != 0 {
		t.Errorf("with a graph: %v, not run %v", cells, unrun)
	}
	if cells, unrun = s.Runnable(Control, graphs); len(cells) != 2 || len(unrun) != 1 || unrun[0].Scenario != "lone" {
		t.Errorf("controls with a graph: %v, not run %v", cells, unrun)
	}
}
