package fake

import (
	"slices"
	"strings"

	"loopd/harness"
)

// Effect is a planted influence of wording on the pass rate.
type Effect struct {
	// Phrase is what must stand in the wording, compared with runs of white
	// space folded to one blank.
	Phrase string
	// Lift moves the rate p: p += Lift(1-p) when it is not negative, else
	// p *= 1+Lift.
	Lift float64
	// Cells are the cells the effect touches; nil means Wording.Objective.
	Cells []harness.Cell
}

// Wording says how the simulated model answers to wording. The zero value
// passes nothing.
type Wording struct {
	// Base is the pass rate of a cell before any effect; a cell that is not
	// listed starts at 0.
	Base map[harness.Cell]float64
	// Objective are the cells touched by effects that name none; nil means
	// every cell of Base.
	Objective []harness.Cell
	// Effects apply in order.
	Effects []Effect
	Habits  []Habit
}

// Habit is what a phrase makes every session do, whatever its draw. What a checker
// makes of that is in no rate.
type Habit struct {
	Phrase string         // as that of an effect
	First  []harness.Step // before those of the scenario
	Last   string         // at the end of the last message
}

// habitual are the steps of a session with what the wording makes it do besides.
func (w Wording) habitual(steps []harness.Step, text string) []harness.Step {
	text, steps = fold(text), slices.Clone(steps)
	for _, h := range w.Habits {
		if phrase := fold(h.Phrase); phrase == "" || !strings.Contains(text, phrase) {
			continue
		}
		if last := len(steps) - 1; last >= 0 && steps[last].Text != "" && h.Last != "" {
			steps[last].Text = strings.TrimRight(steps[last].Text, "\n") + "\n\n" + h.Last
		}
		steps = slices.Concat(h.First, steps)
	}
	return steps
}

// Rate returns the true pass rate of a cell under a wording, in [0,1]. It is
// pure: a rehearsal computes the true means with it before any session.
func (w Wording) Rate(cell harness.Cell, text string) float64 {
	p := w.Base[cell]
	text = fold(text)
	for _, e := range w.Effects {
		phrase := fold(e.Phrase)
		if phrase == "" || !w.touches(e, cell) || !strings.Contains(text, phrase) {
			continue
		}
		if e.Lift >= 0 {
			p += e.Lift * (1 - p)
		} else {
			p *= 1 + e.Lift
		}
	}
	return min(max(p, 0), 1)
}

func (w Wording) touches(e Effect, cell harness.Cell) bool {
	cells := e.Cells
	if cells == nil {
		cells = w.Objective
	}
	if cells == nil {
		_, ok := w.Base[cell]
		return ok
	}
	return slices.Contains(cells, cell)
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
