package harness

import "slices"

// Unrun is a scenario that cannot be run here, why, and the command that would
// help.
type Unrun struct {
	Scenario string `json:"scenario"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint"`
}

// Runnable lists the cells of a role that can be run when the code graphs of
// the fixtures named in graphs have been built, and the scenarios that cannot.
// A control is worth nothing without the scenario it is read beside.
func (s Suite) Runnable(role Role, graphs map[string]Tree) (cells []Cell, unrun []Unrun) {
	for _, sc := range s.Scenarios {
		if sc.Role != role {
			continue
		}
		if u, missing := s.missing(sc, graphs); missing {
			unrun = append(unrun, u)
			continue
		}
		for _, t := range s.Launch.Tiers {
			cells = append(cells, Cell{Scenario: sc.ID, Tier: t.Name})
		}
	}
	return cells, unrun
}

func (s Suite) missing(sc Scenario, graphs map[string]Tree) (Unrun, bool) {
	if sc.Graph && graphs[sc.Fixture] == nil {
		return Unrun{sc.ID, "the code graph of " + sc.Fixture + " has not been built", "loopd freeze graph build"}, true
	}
	if sc.Pair == "" {
		return Unrun{}, false
	}
	i := slices.IndexFunc(s.Scenarios, func(other Scenario) bool { return other.ID == sc.Pair })
	if i < 0 {
		return Unrun{sc.ID, "the suite has no " + sc.Pair + " to read it beside", "loopd config"}, true
	}
	if u, missing := s.missing(s.Scenarios[i], graphs); missing {
		return Unrun{sc.ID, "it is read beside " + sc.Pair + ": " + u.Reason, u.Hint}, true
	}
	return Unrun{}, false
}
