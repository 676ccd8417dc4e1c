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
	Null       Kind = "null"        // changes wording, not behaviour
	Harmful    Kind = "harmful"     // lowers the mean by .10
	Large      Kind = "large"       // raises the mean by .30
	OffSurface Kind = "off_surface" // edits a program of the plugin
	LongNote   Kind = "long_note"   // a note of 10,001 characters
	Duplicate  Kind = "duplicate"   // the wording of an earlier candidate
	NoOp       Kind = "no_op"       // only white space
)

// Planted is one planted candidate with the verdicts that are right for it.
type Planted struct {
	ID       string         `json:"id"`
	Kind     Kind           `json:"planted"`
	Expected []loop.Verdict `json:"expected"`
	// FreeOfCost: the right verdict costs no session and has the reason lint.
	FreeOfCost bool `json:"free_of_cost,omitempty"`

	edits  []candidates.Edit
	effect *simmodel.Effect
}

// Right says whether a verdict is one of the expected ones.
func (p Planted) Right(d *loop.Decided) bool {
	if d == nil || !slices.Contains(p.Expected, d.Verdict) {
		return false
	}
	return !p.FreeOfCost || d.Sessions == 0 && d.Reason == loop.ByLint && d.EValue == nil
}

func expected(k Kind) []loop.Verdict {
	switch k {
	case Large:
		return []loop.Verdict{loop.Keep}
	case Null, Harmful:
		return []loop.Verdict{loop.Reject, loop.Inconclusive}
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
}

// bySize lists the candidates that cost sessions, in queue order.
func bySize() []sized {
	const noteEnd, findEnd = "about an earlier choice comes up.", "about why something was decided."
	const recordEnd, initEnd = "asks for a decision to be recorded.", "should start keeping them."
	return []sized{
		{Null, sentence{notePath, noteEnd, "The records are short and plain."}, 0},
		{Harmful, sentence{findPath, findEnd, "It is rarely needed and can usually be left out."}, -.10},
		{Large, sentence{findPath, findEnd, "Run it first whenever a change touches behaviour that may have been settled before."}, .30},
		{Null, sentence{recordPath, recordEnd, "Each record is one file."}, 0},
		{Null, sentence{initPath, initEnd, "Nothing else is set up."}, 0},
		{Large, sentence{recordPath, recordEnd, "Offer it yourself at the end of any task that settled a lasting choice."}, .30},
		{Null, sentence{notePath, noteEnd, "They are kept with the code."}, 0},
		{Harmful, sentence{notePath, noteEnd, "Most tasks can go ahead without looking at them."}, -.10},
		{Null, sentence{findPath, findEnd, "It prints one line for each match."}, 0},
		{Null, sentence{initPath, initEnd, "It can be run again safely."}, 0},
	}
}

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
		1: {Kind: Duplicate, edits: []candidates.Edit{{Path: first.path, Whole: &again}}},
		4: {Kind: OffSurface, edits: []candidates.Edit{program}},
		5: {Kind: NoOp, edits: []candidates.Edit{space}},
		6: {Kind: LongNote, edits: []candidates.Edit{{Path: notePath, Whole: &long}}},
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
func NewPlan(cells, guards []harness.Cell, n int) Plan {
	plan := Plan{Wording: simmodel.Wording{Base: make(map[harness.Cell]float64), Objective: cells}}
	for _, c := range cells {
		plan.Wording.Base[c] = baseRate(c)
	}
	for _, c := range guards {
		plan.Wording.Base[c] = .95
	}
	all := bySize()
	extra := lints(all[0].sentence)
	for i, s := range all {
		if p, ok := extra[i]; ok {
			plan.Candidates = append(plan.Candidates, p)
		}
		plan.Candidates = append(plan.Candidates, Planted{Kind: s.kind, edits: []candidates.Edit{s.edit()}, effect: plan.effect(s)})
	}
	plan.Candidates = firstOf(plan.Candidates, n)
	for i := range plan.Candidates {
		p := &plan.Candidates[i]
		p.ID, p.Expected = fmt.Sprintf("c%03d", i+1), expected(p.Kind)
		p.FreeOfCost = !slices.Contains([]Kind{Null, Harmful, Large}, p.Kind)
		if p.effect != nil {
			plan.Wording.Effects = append(plan.Wording.Effects, *p.effect)
		}
	}
	return plan
}

// effect sizes a sentence so that it moves the mean over the cells by exactly
// its shift on top of the large ones planted before it.
func (p *Plan) effect(s sized) *simmodel.Effect {
	if s.shift == 0 {
		return nil
	}
	mean := p.mean()
	lift := s.shift / mean
	if s.shift > 0 {
		lift = s.shift / (1 - mean)
	}
	return &simmodel.Effect{Phrase: s.phrase, Lift: lift}
}

// mean is the mean rate of the champion that the next candidate meets when
// every large one before it was kept.
func (p *Plan) mean() float64 {
	var kept []string
	w := p.Wording
	w.Effects = nil
	for _, c := range p.Candidates {
		if c.Kind == Large {
			w.Effects = append(w.Effects, *c.effect)
			kept = append(kept, c.effect.Phrase)
		}
	}
	sum := 0.0
	for _, cell := range p.Wording.Objective {
		sum += w.Rate(cell, strings.Join(kept, "\n"))
	}
	return sum / float64(len(p.Wording.Objective))
}

// firstOf keeps n candidates in queue order, the most telling kinds first.
func firstOf(all []Planted, n int) []Planted {
	if n <= 0 || n >= len(all) {
		return all
	}
	order := []Kind{Large, Null, Harmful, OffSurface, LongNote, Duplicate, NoOp}
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

// baseRate is the start's true pass rate, near the reference run: the small
// tier hardly ever consults, the large one misses W3 and R1.
func baseRate(c harness.Cell) float64 {
	small := map[string]float64{"W1": .02, "W2": .02, "W3": .02, "R1": .05, "R2": .10, "R3": .05, "R4": .02}
	large := map[string]float64{"W1": .85, "W2": .90, "W3": .15, "R1": .20, "R2": .90, "R3": .80, "R4": .85}
	if c.Tier == "haiku" {
		return small[c.Scenario]
	}
	return large[c.Scenario]
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
