package rehearsal

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/simmodel"
	"loopd/loop"
	"loopd/plugins"
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
	Collapse   Kind = "collapse"     // raises the mean by .08 and ends R2
	Eager      Kind = "over_trigger" // raises the mean by .15 and detours where no record matters
	OffSurface Kind = "off_surface"  // edits a program of the plugin
	LongNote   Kind = "long_note"    // a note of 10,001 characters
	Duplicate  Kind = "duplicate"    // the wording of an earlier candidate
	NoOp       Kind = "no_op"        // only white space
)

// Planted is one planted candidate with the verdicts that are right for it.
type Planted struct {
	ID       string         `json:"id"`
	Kind     Kind           `json:"planted"`
	Expected []loop.Verdict `json:"expected"`
	// FreeOfCost: the right verdict costs no session and has the reason lint.
	FreeOfCost bool `json:"free_of_cost,omitempty"`

	edits   []candidates.Edit
	targets []string
	effects []simmodel.Effect
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
	case Collapse, Eager:
		return undecided
	default:
		return []loop.Verdict{loop.Reject}
	}
}

// Where planted wording goes.
const (
	notePath   = "hooks/session-start-note.md"
	findPath   = "skills/find-decision/SKILL.md"
	recordPath = "skills/record-decision/SKILL.md"
	initPath   = "skills/init-decisions/SKILL.md"
)

// sentence is a planted edit: a phrase put behind a place in the wording. The
// places are apart, so every edit fits whatever was kept before it.
type sentence struct{ path, after, phrase string }

func (s sentence) edit() candidates.Edit {
	return candidates.Edit{Path: s.path, Old: s.after, New: s.after + " " + s.phrase}
}

// sized is a sentence with the change of the mean pass rate it brings over the
// champion it will meet if all earlier verdicts are right.
type sized struct {
	kind Kind
	sentence
	shift float64
}

// Plan is what a rehearsal plants: the candidates in queue order and the
// behaviour of the simulated model.
type Plan struct {
	Candidates []Planted
	Wording    simmodel.Wording

	guards []harness.Cell
}

// bySize lists the candidates that cost sessions, in queue order.
func bySize() []sized {
	const noteEnd, findEnd = "about an earlier choice comes up.", "about why something was decided."
	const recordEnd, initEnd = "asks for a decision to be recorded.", "should start keeping them."
	return []sized{
		{Null, sentence{notePath, noteEnd, "The records are short and plain."}, 0},
		{OneCell, sentence{recordPath, recordEnd, "A rule that was only agreed in passing counts as well."}, .60},
		{Harmful, sentence{findPath, findEnd, "It is rarely needed and can usually be left out."}, -.10},
		{Large, sentence{findPath, findEnd, "Run it first whenever a change touches behaviour that may have been settled before."}, .30},
		{Null, sentence{recordPath, recordEnd, "Each record is one file."}, 0},
		{Collapse, sentence{notePath, noteEnd, "Retries and time limits are never among them."}, .08},
		{Null, sentence{initPath, initEnd, "Nothing else is set up."}, 0},
		{Eager, sentence{notePath, noteEnd, "Go through all of them before anything else, whatever the task is."}, .15},
		{Small, sentence{findPath, findEnd, "The title alone is often enough to see whether one applies."}, .08},
		{Large, sentence{recordPath, recordEnd, "Offer it yourself at the end of any task that settled a lasting choice."}, .30},
		{Null, sentence{notePath, noteEnd, "They are kept with the code."}, 0},
		{Harmful, sentence{notePath, noteEnd, "Most tasks can go ahead without looking at them."}, -.10},
		{Null, sentence{findPath, findEnd, "It prints one line for each match."}, 0},
		{Null, sentence{initPath, initEnd, "It can be run again safely."}, 0},
	}
}

// What the planted candidates of single cells are about.
const (
	oneCell   = "W3/sonnet"
	collapsed = "R2"
)

// lints are the candidates that must cost nothing, by the place in the queue
// they come before. The duplicate gives the whole file the first candidate made,
// so it is nothing new whether that one was kept or not.
func lints(first sentence) map[int]Planted {
	again := startText(first.path)
	again = strings.Replace(again, first.after, first.edit().New, 1)
	program := candidates.Edit{Path: "bin/adr-find", Old: "program=adr-find", New: "program=adr-find # quicker"}
	long := "[os-adr] " + strings.Repeat("n", candidates.MaxNote+1-len("[os-adr] "))
	space := candidates.Edit{Path: initPath, Old: "# Start keeping decision records\n", New: "# Start keeping decision records\n\n"}
	return map[int]Planted{
		1:  {Kind: Duplicate, edits: []candidates.Edit{{Path: first.path, Whole: &again}}},
		6:  {Kind: OffSurface, edits: []candidates.Edit{program}},
		8:  {Kind: NoOp, edits: []candidates.Edit{space}},
		10: {Kind: LongNote, edits: []candidates.Edit{{Path: notePath, Whole: &long}}},
	}
}

// startText is a file of the bundled plugin, which is part of the program.
func startText(path string) string {
	data, err := fs.ReadFile(plugins.FS(), "os-adr/"+path)
	if err != nil {
		panic("read the bundled plugin: " + err.Error())
	}
	return string(data)
}

// NewPlan plants the first n candidates in order of interest (0 for all): one
// large and one null before the rest.
func NewPlan(cells, guards []harness.Cell, n int, profile loop.Profile, fault Fault) Plan {
	plan := Plan{Wording: simmodel.Wording{Base: make(map[harness.Cell]float64), Objective: cells}, guards: guards}
	for _, c := range cells {
		plan.Wording.Base[c], _ = ReferenceRate(c)
	}
	for _, c := range guards {
		plan.Wording.Base[c] = .95
	}
	all := bySize()
	extra := lints(all[0].sentence)
	for i, s := range all {
		if p, ok := extra[i]; ok {
			p.FreeOfCost = true
			plan.Candidates = append(plan.Candidates, p)
		}
		p := Planted{Kind: s.kind, edits: []candidates.Edit{s.edit()}, effects: plan.effects(s)}
		if s.kind == OneCell && profile != loop.Scout { // one rep of one cell would say nothing
			p.targets = []string{oneCell}
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
	}
	return plan
}

// effects sizes a sentence so that it moves the mean over the cells by exactly
// its shift on top of the large ones planted before it.
func (p *Plan) effects(s sized) []simmodel.Effect {
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
	case s.kind == OneCell:
		only := slices.DeleteFunc(slices.Clone(all), func(c harness.Cell) bool { return c.String() != oneCell })
		return []simmodel.Effect{{Phrase: s.phrase, Lift: s.shift / (1 - rates(only)), Cells: only}}
	case s.kind == Collapse:
		gone := slices.DeleteFunc(slices.Clone(all), func(c harness.Cell) bool { return c.Scenario != collapsed })
		rest := slices.DeleteFunc(slices.Clone(all), func(c harness.Cell) bool { return c.Scenario == collapsed })
		const left = .03
		up := (s.shift*n + (1-left)*rates(gone)) / (float64(len(rest)) - rates(rest))
		return []simmodel.Effect{{Phrase: s.phrase, Lift: left - 1, Cells: gone}, {Phrase: s.phrase, Lift: up, Cells: rest}}
	case s.shift < 0:
		return []simmodel.Effect{{Phrase: s.phrase, Lift: s.shift * n / rates(all)}}
	case s.shift > 0:
		up := []simmodel.Effect{{Phrase: s.phrase, Lift: s.shift * n / (n - rates(all))}}
		if s.kind == Eager {
			up = append(up, simmodel.Effect{Phrase: s.phrase, Lift: -.8, Cells: p.guards})
		}
		return up
	}
	return nil
}

// phrases is a text that holds every phrase of a wording's effects.
func phrases(w simmodel.Wording) string {
	var out []string
	for _, e := range w.Effects {
		out = append(out, e.Phrase)
	}
	return strings.Join(out, "\n")
}

// champion is the wording the next candidate meets when every large one before
// it was kept and nothing else.
func (p *Plan) champion() simmodel.Wording {
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
	order := []Kind{Large, Null, Harmful, OffSurface, LongNote, Duplicate, NoOp, OneCell, Collapse, Eager, Small}
	var picked []int
	for round := 0; len(picked) < n; round++ {
		for _, kind := range order {
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

// ReferenceRate is the start's pass rate near the reference run: the small tier
// hardly ever consults, the large one misses W3 and R1. It is false for a cell
// that was not in it.
func ReferenceRate(c harness.Cell) (rate float64, ok bool) {
	small := map[string]float64{"W1": .02, "W2": .02, "W3": .02, "R1": .05, "R2": .10, "R3": .05, "R4": .02}
	large := map[string]float64{"W1": .85, "W2": .90, "W3": .15, "R1": .20, "R2": .90, "R3": .80, "R4": .85}
	switch c.Tier {
	case "haiku":
		rate, ok = small[c.Scenario]
	case "sonnet":
		rate, ok = large[c.Scenario]
	}
	return rate, ok
}

// Print renders the plan for people, before any session.
func (p Plan) Print() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %-12s %s\n", "id", "planted", "right verdicts")
	for _, c := range p.Candidates {
		right := make([]string, len(c.Expected))
		for i, v := range c.Expected {
			right[i] = string(v)
		}
		line := strings.Join(right, " or ")
		if c.FreeOfCost {
			line += " (lint, 0 sessions)"
		}
		fmt.Fprintf(&b, "%-6s %-12s %s\n", c.ID, c.Kind, line)
	}
	return b.String()
}
