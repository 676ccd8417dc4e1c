package rehearsal

import (
	"fmt"
	"slices"
	"strings"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/fake"
	"loopd/loop"
	"loopd/report"
)

// Kind says what was planted.
type Kind string

// The kinds of planted candidate.
const (
	Null       Kind = "null"         // changes wording, not behaviour
	Harmful    Kind = "harmful"      // lowers the mean by .10
	Large      Kind = "large"        // raises the mean by .30
	Small      Kind = "small"        // raises the mean by .08
	OneCell    Kind = "one_cell"     // declares one cell and raises it by .60
	Collapse   Kind = "collapse"     // raises the mean by .08 and ends some cells
	Eager      Kind = "over_trigger" // raises the mean by .15 and detours where no record matters
	OffSurface Kind = "off_surface"  // edits a program of the plugin
	LongNote   Kind = "long_note"    // a note of 10,001 characters
	Duplicate  Kind = "duplicate"    // the wording of an earlier candidate
	NoOp       Kind = "no_op"        // only white space
	Leak       Kind = "leak"         // names what only the sealed suite could have told
	Proposed   Kind = "proposed"     // not planted: a proposer brought it

	// Planted only where they are asked for.
	Shotgun     Kind = "shotgun"      // wins some cells, reads every record and names each in every answer
	AlwaysWrite Kind = "always_write" // wins some cells, records a decision in every session
)

// Kinds lists what can be planted, in order of interest.
func Kinds() []Kind {
	return []Kind{Large, Null, Harmful, OffSurface, LongNote, Duplicate, NoOp, OneCell, Collapse, Eager, Small, Leak, Shotgun, AlwaysWrite}
}

// gaming says whether a kind games one side of the metric by what it does in every
// session.
func (k Kind) gaming() bool { return k == Shotgun || k == AlwaysWrite }

// Planted is one planted candidate with the verdicts that are right for it.
type Planted struct {
	ID       string         `json:"id"`
	Kind     Kind           `json:"planted"`
	Expected []loop.Verdict `json:"expected"`
	// FreeOfCost: the right verdict costs no session and has the reason lint.
	FreeOfCost bool `json:"free_of_cost,omitempty"`

	edits   []candidates.Edit
	targets []string
	effects []fake.Effect
	habit   fake.Habit
}

// Right says whether a verdict is one of the expected ones.
func (p Planted) Right(d *loop.Decided) bool {
	if d == nil || !slices.Contains(p.Expected, d.Verdict) {
		return false
	}
	return !p.FreeOfCost || d.Sessions == 0 && d.Reason == loop.ByLint && d.EValue == nil
}

// expected is fixed by the kind and the profile before any session. What is
// real but small may be missed; what does harm may never be kept. A shortlist
// of the profile scout claims nothing, so a null may be on it.
func expected(k Kind, profile loop.Profile) []loop.Verdict {
	undecided := []loop.Verdict{loop.Reject, loop.Inconclusive}
	kept := loop.Keep
	if profile == loop.Scout {
		kept = loop.Shortlisted
	}
	switch k {
	case Large:
		if profile == loop.Fast {
			return []loop.Verdict{loop.Keep}
		}
		return append(undecided, kept)
	case OneCell:
		if profile == loop.Fast {
			return []loop.Verdict{loop.Keep, loop.Inconclusive}
		}
		return append(undecided, kept)
	case Small:
		return append(undecided, kept)
	case Null, Harmful:
		if profile == loop.Scout {
			return append(undecided, kept)
		}
		return undecided
	case Collapse, Eager, Shotgun, AlwaysWrite:
		return undecided
	default:
		return []loop.Verdict{loop.Reject}
	}
}

// edits are the edits of a sown candidate; before are those of the first one.
func (s Sown) edits(p Planting, first []candidates.Edit) ([]candidates.Edit, error) {
	edit := candidates.Edit{Path: s.Path, Old: s.After, New: s.After + " " + s.Phrase}
	switch s.Kind {
	case NoOp:
		edit.New = s.After + "\n"
	case LongNote:
		start := s.Phrase + " "
		long := start + strings.Repeat("n", candidates.MaxNote+1-len(start))
		edit = candidates.Edit{Path: p.note, Whole: &long}
	case Duplicate:
		// The whole file the first candidate made is nothing new, whether that one
		// was kept or not.
		next, err := p.surface().Apply(p.files, first)
		if err != nil {
			return nil, err
		}
		again := string(next[first[0].Path])
		edit = candidates.Edit{Path: first[0].Path, Whole: &again}
	}
	return []candidates.Edit{edit}, nil
}

// Plan is what a rehearsal plants: the candidates in queue order and the
// behaviour of the simulated model.
type Plan struct {
	Candidates []Planted
	Wording    fake.Wording

	guards []harness.Cell
	faults map[place]fault
}

// NewPlan plants the first n candidates in order of interest (0 for all): one
// large and one null before the rest. An error says which candidate does not fit
// the plugin's wording.
func NewPlan(sown Planting, cells, guards []harness.Cell, n int, profile loop.Profile, fault Fault) (Plan, error) {
	plan := Plan{
		Wording: fake.Wording{Base: make(map[harness.Cell]float64), Objective: cells}, guards: guards, faults: sown.faultsAt(cells),
	}
	for _, c := range cells {
		plan.Wording.Base[c] = sown.rate(c)
	}
	for _, c := range guards {
		plan.Wording.Base[c] = sown.Guards
	}
	for i, s := range sown.Sown {
		var first []candidates.Edit
		if i > 0 {
			first = plan.Candidates[0].edits
		}
		edits, err := s.edits(sown, first)
		if err != nil {
			return plan, fmt.Errorf("plant candidate %d, %s: %w", i+1, s.Kind, err)
		}
		p := Planted{Kind: s.Kind, FreeOfCost: s.lint(), edits: edits, effects: plan.effects(s), habit: s.habit()}
		if s.Kind == OneCell && profile != loop.Scout { // one rep of one cell would say nothing
			p.targets = s.Cells
		}
		plan.Candidates = append(plan.Candidates, p)
	}
	plan.Candidates = firstOf(plan.Candidates, n)
	for i := range plan.Candidates {
		p := &plan.Candidates[i]
		p.ID, p.Expected = fmt.Sprintf("c%03d", i+1), expected(p.Kind, profile)
		if fault == ModelDrift && p.Kind == Null {
			// A champion measured before the change looks worse than it is: the gate,
			// with both arms fresh, is what must not be fooled.
			p.Expected = append(p.Expected, loop.Keep)
		}
		plan.Wording.Effects = append(plan.Wording.Effects, p.effects...)
		if p.Kind.gaming() {
			plan.Wording.Habits = append(plan.Wording.Habits, p.habit)
		}
	}
	return plan, nil
}

// effects sizes a phrase so that it moves the mean over the cells by exactly
// its shift on top of the large ones planted before it.
func (p *Plan) effects(s Sown) []fake.Effect {
	champion := p.champion()
	rates := func(cells []harness.Cell) (sum float64) {
		for _, c := range cells {
			sum += champion.Rate(c, phrases(champion))
		}
		return sum
	}
	all := p.Wording.Objective
	n := float64(len(all))
	switch {
	case s.Kind == OneCell:
		only := slices.DeleteFunc(slices.Clone(all), func(c harness.Cell) bool { return !s.matches(c) })
		return []fake.Effect{{Phrase: s.Phrase, Lift: s.Shift / (1 - rates(only)), Cells: only}}
	case s.Kind == Collapse:
		gone := slices.DeleteFunc(slices.Clone(all), func(c harness.Cell) bool { return !s.matches(c) })
		rest := slices.DeleteFunc(slices.Clone(all), s.matches)
		const left = .03
		up := (s.Shift*n + (1-left)*rates(gone)) / (float64(len(rest)) - rates(rest))
		return []fake.Effect{{Phrase: s.Phrase, Lift: left - 1, Cells: gone}, {Phrase: s.Phrase, Lift: up, Cells: rest}}
	case s.Kind.gaming():
		won := slices.DeleteFunc(slices.Clone(all), func(c harness.Cell) bool { return !s.matches(c) })
		return []fake.Effect{{Phrase: s.Phrase, Lift: s.Shift * n / (float64(len(won)) - rates(won)), Cells: won}}
	case s.Shift < 0:
		return []fake.Effect{{Phrase: s.Phrase, Lift: s.Shift * n / rates(all)}}
	case s.Shift > 0:
		up := []fake.Effect{{Phrase: s.Phrase, Lift: s.Shift * n / (n - rates(all))}}
		if s.Kind == Eager {
			up = append(up, fake.Effect{Phrase: s.Phrase, Lift: -.8, Cells: p.guards})
		}
		return up
	}
	return nil
}

// phrases is a text that holds every phrase of a wording's effects.
func phrases(w fake.Wording) string {
	var out []string
	for _, e := range w.Effects {
		out = append(out, e.Phrase)
	}
	return strings.Join(out, "\n")
}

// champion is the wording the next candidate meets when every large one before
// it was kept and nothing else.
func (p *Plan) champion() fake.Wording {
	w := p.Wording
	w.Effects = nil
	for _, c := range p.Candidates {
		if c.Kind == Large {
			w.Effects = append(w.Effects, c.effects...)
		}
	}
	return w
}

// firstOf keeps n candidates in queue order, the most telling kinds first.
func firstOf(all []Planted, n int) []Planted {
	if n <= 0 || n >= len(all) {
		return all
	}
	var picked []int
	for round := 0; len(picked) < n; round++ {
		for _, kind := range Kinds() {
			if i := nth(all, kind, round); i >= 0 && len(picked) < n {
				picked = append(picked, i)
			}
		}
	}
	slices.Sort(picked)
	out := make([]Planted, 0, n)
	for _, i := range picked {
		out = append(out, all[i])
	}
	return out
}

// nth returns the index of the n-th candidate of a kind, or -1.
func nth(all []Planted, kind Kind, n int) int {
	for i, p := range all {
		if p.Kind != kind {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// Print renders the plan for people, before any session.
func (p Plan) Print() string {
	rows := [][]string{{"id", "planted", "right verdicts"}}
	for _, c := range p.Candidates {
		right := make([]string, len(c.Expected))
		for i, v := range c.Expected {
			right[i] = string(v)
		}
		line := strings.Join(right, " or ")
		if c.FreeOfCost {
			line += " (lint, 0 sessions)"
		}
		rows = append(rows, []string{c.ID, string(c.Kind), line})
	}
	return report.Table(rows, 0)
}
