package report

import (
	"fmt"
	"slices"

	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// level is that of every interval in a report.
const level = .95

// Gate is the comparison of the champion with the start, fresh reps only. They
// are the only ones nobody was selected by.
type Gate struct {
	Cells  []Cell  `json:"cells"`
	Effect *Effect `json:"effect"` // over the gate's own cells; nil while one lacks a rep
	// Grid is the same over every objective cell; nil while one lacks a rep.
	Grid *Effect          `json:"grid"`
	Path []loop.PathPoint `json:"path"`
}

// Effect is a difference of mean pass rates, champion minus start, in points of
// 1.
type Effect struct {
	Cells      int            `json:"cells"`
	Difference float64        `json:"difference"`
	CI         stats.Interval `json:"ci95"`
}

func gateOf(s *loop.State) *Gate {
	c := s.GateComparison
	if c == nil {
		return nil
	}
	g := &Gate{Cells: []Cell{}, Path: append([]loop.PathPoint{}, c.Path...)}
	pairs, all := make([]stats.Pair, len(c.Own)), make([]float64, len(c.Own))
	for i, cell := range s.Started.Objective {
		pairs[i], all[i] = stats.Pair{A: stats.Tally(c.Own[i]), B: stats.Tally(c.Fresh[i])}, 1
		g.Cells = append(g.Cells, Cell{
			Name: cell.String(), Champion: rate("start", pairs[i].B), Candidate: rate("champion", pairs[i].A), Target: c.Weights[i] > 0,
		})
	}
	g.Effect, g.Grid = effect(pairs, c.Weights), effect(pairs, all)
	return g
}

func effect(pairs []stats.Pair, weights []float64) *Effect {
	d, iv, ok := stats.MeanInterval(pairs, weights, level)
	if !ok {
		return nil
	}
	cells := 0
	for _, w := range weights {
		if w > 0 {
			cells++
		}
	}
	return &Effect{Cells: cells, Difference: d, CI: iv}
}

// difference compares one cell, nil where one of the two has no trial.
func difference(a, b stats.Count) *Effect { return effect([]stats.Pair{{A: a, B: b}}, []float64{1}) }

func transferOf(s *loop.State) []Cell {
	out := []Cell{}
	if !slices.ContainsFunc(s.Trials, func(t loop.Run) bool { return t.Purpose == loop.ForTransfer }) {
		return out
	}
	of := countsOf(s)
	for _, c := range s.Started.Reserve {
		out = append(out, Cell{
			Name: c.String(), Champion: rate("start", of(s.Started.Start, c)), Candidate: rate("champion", of(s.Champion, c)),
		})
	}
	return out
}

// Windows is the start's passes over the objective cells, window by window: the
// one wording that every window may have measured.
type Windows struct {
	Rates []Rate `json:"rates"`
	// P is the chance of so uneven windows, or more, when nothing changed between
	// them.
	P float64 `json:"p"`
}

func windowsOf(s *loop.State) *Windows {
	last := 0
	for _, t := range s.Trials {
		last = max(last, t.Window)
	}
	if last < 2 {
		return nil
	}
	cells, all := make([][]stats.Count, len(s.Started.Objective)), make([]stats.Count, last)
	for i := range cells {
		cells[i] = make([]stats.Count, last)
	}
	for _, t := range s.Trials {
		i := slices.Index(s.Started.Objective, t.Spec.Slot.Cell)
		if i < 0 || t.Class != harness.Valid || s.CandidateOf(t.Spec.Slot.Wording) != loop.SubjectStart {
			continue
		}
		one := stats.Tally([]bool{t.Passed()})
		cells[i][t.Window-1] = cells[i][t.Window-1].Add(one)
		all[t.Window-1] = all[t.Window-1].Add(one)
	}
	out := &Windows{P: stats.CompareWindows(cells).P}
	for i, c := range all {
		out.Rates = append(out.Rates, rate(fmt.Sprintf("window %d", i+1), c))
	}
	return out
}

// promise states the error rate of the procedure in fixed words.
func promise(s *loop.State) string {
	return fmt.Sprintf("If no tried wording were truly better on the stated cells, this campaign would still have promoted one at most 1 time in %s.",
		number(s.Started.Settings.PromoteAt))
}

// record counts the campaigns on this suite, this one included.
func record(s *loop.State, before []*loop.State) string {
	n, promoted := 0, 0
	for _, c := range append(slices.Clone(before), s) {
		if c.Started.Seal != s.Started.Seal {
			continue
		}
		n++
		if c.Ended != nil && c.Ended.Outcome == loop.Promoted {
			promoted++
		}
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%s campaign on this suite, %d promoted, each could promote wrongly at most 1 time in %s when nothing helps.",
		ordinal(n), promoted, number(s.Started.Settings.PromoteAt))
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		suffix = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
		if suffix == "" {
			suffix = "th"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// String prints a difference with its interval, and says so when the interval does
// not tell its sign.
func (e *Effect) String() string {
	if e == nil {
		return "not known: a cell has no fresh rep in one arm"
	}
	cells := "cells"
	if e.Cells == 1 {
		cells = "cell"
	}
	text := fmt.Sprintf("%s over %d %s", e.text(), e.Cells, cells)
	if e.CI.Low <= 0 && e.CI.High >= 0 {
		text += ", which may be nothing"
	}
	return text
}

// text is the difference with its interval, - for none.
func (e *Effect) text() string {
	if e == nil {
		return "-"
	}
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", e.Difference, e.CI.Low, e.CI.High)
}

// short is the same for one cell, in which two digits are enough.
func (e *Effect) short() string {
	if e == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f [%+.2f, %+.2f]", e.Difference, e.CI.Low, e.CI.High)
}

// aaText says what the A/A pilot showed and could have shown.
func aaText(aa *stats.AA) string {
	if aa == nil {
		return ""
	}
	text := fmt.Sprintf("A/A pilot, the same wording under two labels: p = %.2g", aa.P)
	if aa.Noticeable {
		return text + fmt.Sprintf("; an imbalance of %.3g passes or more would have halted. It finds a broken arm, not a small bias.", aa.Smallest)
	}
	return text + "; too few reps to notice anything."
}
