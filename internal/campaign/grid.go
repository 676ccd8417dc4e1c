package campaign

import (
	"slices"
	"strings"

	"loopd/harness"
	"loopd/loop"
)

// Grid is what a campaign runs: the cells of the metric, those of its guards
// and controls, and what cannot be run here and is therefore outside.
type Grid struct {
	Objective, Guards, Controls []harness.Cell
	// Impossible are the controls read beside no scenario: with the governing
	// record gone axis b cannot pass.
	Impossible []harness.Cell
	// Pairs says what each other control is read beside, by its scenario.
	Pairs map[string]loop.Pair
	// Reserve is run once, after the gate.
	Reserve []harness.Cell
	// Practice is run once in the pilot, to be shown to a proposer; see
	// PracticeCells.
	Practice []harness.Cell
	NotRun   []harness.Unrun
}

// GridOf lays out the cells of a suite that pick wants. graphs are the code
// graphs that have been built, by fixture.
func GridOf(s harness.Suite, graphs map[string]harness.Tree, pick func(harness.Cell) bool) Grid {
	var g Grid
	take := func(role harness.Role) []harness.Cell {
		cells, unrun := s.Runnable(role, graphs)
		g.NotRun = append(g.NotRun, unrun...)
		var out []harness.Cell
		for _, c := range cells {
			if pick == nil || pick(c) {
				out = append(out, c)
			}
		}
		return out
	}
	g.Objective, g.Guards, g.Controls = take(harness.Objective), take(harness.Guard), take(harness.Control)
	g.Reserve = take(harness.Reserve)
	for _, c := range g.Controls {
		sc, ok := s.Scenario(c.Scenario)
		switch {
		case !ok:
		case sc.Pair == "":
			g.Impossible = append(g.Impossible, c)
		default:
			if g.Pairs == nil {
				g.Pairs = make(map[string]loop.Pair)
			}
			g.Pairs[sc.ID] = loop.Pair{Scenario: sc.Pair, Lacks: lacking(s, sc)}
		}
	}
	return g
}

// lacking says in words what a control's project lacks of its pair's; empty
// where the difference is neither the code graph nor something removed.
func lacking(s harness.Suite, control harness.Scenario) string {
	pair, ok := s.Scenario(control.Pair)
	if !ok {
		return ""
	}
	var out []string
	if pair.Graph && !control.Graph {
		out = append(out, "the code graph")
	}
	for _, c := range control.Changes {
		if c.Remove != "" && !slices.Contains(pair.Changes, c) {
			out = append(out, c.Remove)
		}
	}
	return strings.Join(out, ", ")
}

// judged lists the scenarios of the metric and the guards that may ask a judge.
func (g Grid) judged(s harness.Suite) []string {
	var out []string
	for _, c := range slices.Concat(g.Objective, g.Guards) {
		sc, _ := s.Scenario(c.Scenario)
		if sc.Judge != "" && !slices.Contains(out, sc.ID) {
			out = append(out, sc.ID)
		}
	}
	return out
}
