package report

import (
	"slices"
	"strings"

	"znkr.io/diff/textdiff"

	"loopd/candidates"
	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// Candidate is the report of one candidate, verdict first.
type Candidate struct {
	Schema    string       `json:"schema"` // CandidateSchema
	Harness   harness.Kind `json:"harness"`
	Campaign  string       `json:"campaign"`
	Simulated bool         `json:"simulated"`
	Summary                // id, source, rationale, verdict, reason, sessions, e_value, ref
	Note      string       `json:"note,omitempty"`
	Author    string       `json:"author,omitempty"`
	Commit    string       `json:"commit,omitempty"`
	Parent    string       `json:"parent,omitempty"`
	Targets   []string     `json:"targets,omitempty"`
	// TargetsFrom says what they follow from, empty where they were declared.
	TargetsFrom string               `json:"targets_from,omitempty"`
	Findings    []candidates.Finding `json:"findings,omitempty"`
	Cells       []Cell               `json:"cells"`
	Guards      []Cell               `json:"guards,omitempty"`
	Guarded     []Guarded            `json:"guard_tiers,omitempty"`
	Contrasts   []Contrast           `json:"contrasts,omitempty"`
	Funnel      []Funnel             `json:"funnel,omitempty"` // of champion and candidate
	Judge       *Judged              `json:"judge,omitempty"`  // nil where no scenario asks one
	Cost        Cost                 `json:"cost"`
	Invalid     []Invalid            `json:"invalid"`
	// Simplify: it was kept for not being worse, and Tokens says what it saves.
	Simplify bool    `json:"simplify,omitempty"`
	Tokens   *Tokens `json:"tokens,omitempty"`
	// Effect is the difference over the cells it was weighed on. What was kept was
	// chosen by it, so it is biased upward; nil while a cell lacks a rep.
	Effect *Effect          `json:"effect,omitempty"`
	Path   []loop.PathPoint `json:"path"`
	Diff   string           `json:"diff,omitempty"` // unified, of the Surface
}

// Tokens is the mean of all tokens of a valid session under the two wordings, in
// the cells both were run in.
type Tokens struct {
	Champion  float64 `json:"champion"`
	Candidate float64 `json:"candidate"`
}

// tokensOf compares the two wordings cell by cell, so that a wording is not
// called cheap for having been run in cheap cells.
func tokensOf(s *loop.State, c *loop.Comparison) *Tokens {
	type sum struct{ n, tokens float64 }
	sums := make(map[harness.Cell]*[2]sum)
	for _, t := range s.Trials {
		arm := 0
		switch {
		case t.Class != harness.Valid:
			continue
		case t.Spec.Slot.Wording == c.Wording:
			arm = 1
		case s.CandidateOf(t.Spec.Slot.Wording) != s.CandidateOf(c.Against):
			continue
		}
		if sums[t.Spec.Slot.Cell] == nil {
			sums[t.Spec.Slot.Cell] = new([2]sum)
		}
		sums[t.Spec.Slot.Cell][arm].n++
		sums[t.Spec.Slot.Cell][arm].tokens += float64(t.Usage.Input + t.Usage.Output + t.Usage.CacheRead + t.Usage.CacheWrite)
	}
	out, cells := Tokens{}, 0.0
	for _, cell := range s.Started.Objective {
		if both := sums[cell]; both != nil && both[0].n > 0 && both[1].n > 0 {
			out.Champion += both[0].tokens / both[0].n
			out.Candidate += both[1].tokens / both[1].n
			cells++
		}
	}
	if cells == 0 {
		return nil
	}
	out.Champion, out.Candidate = out.Champion/cells, out.Candidate/cells
	return &out
}

// Texts is the Surface of one wording: its text by path in the plugin.
type Texts map[string]string

// BuildCandidate makes the report of one candidate. The texts are the Surface
// of the champion it was tried against and its own; both may be nil where the
// lint refused it.
func BuildCandidate(s *loop.State, id string, before, after Texts) (Candidate, bool) {
	p := s.Find(id)
	if p == nil {
		return Candidate{}, false
	}
	c := Candidate{
		Schema: CandidateSchema, Harness: harness.Unprompted, Campaign: s.Started.Campaign, Simulated: s.Started.Simulated,
		Summary: summary(s, p), Author: p.Candidate.Author, Commit: p.Commit, Parent: p.Parent, Targets: p.Candidate.Targets, TargetsFrom: p.Candidate.TargetsFrom,
		Cells: []Cell{}, Invalid: []Invalid{}, Path: []loop.PathPoint{}, Diff: diff(before, after),
	}
	if p.Decided != nil {
		c.Note, c.Findings = p.Decided.Note, p.Decided.Findings
	}
	if p.Comparison != nil {
		c.Cells, c.Guards = comparisonCells(s, p.Comparison)
		c.Path, c.Effect = p.Comparison.Path, weighedEffect(c.Cells)
		seen, arms := until(s.Trials, id), comparisonArms(s, p.Comparison)
		c.Funnel, c.Guarded = funnelsOf(s, seen, arms), guardedOf(s, seen, arms)
		c.Contrasts = contrastsOf(s, seen, arms[1])
		c.Judge = judgedOf(s, arm{"champion", p.Comparison.Against}, arm{"candidate", p.Comparison.Wording})
		c.Simplify, c.Tokens = p.Candidate.Simplify, tokensOf(s, p.Comparison)
	}
	c.Cost = costOf(s, func(t *loop.Run) bool { return t.Subject == id })
	for _, inv := range invalidOf(s) {
		if inv.Wording == id {
			c.Invalid = append(c.Invalid, inv)
		}
	}
	return c, true
}

// Weighed returns the objective cells of a candidate's comparison and its
// difference over those it is weighed on: the part of its report that a page lists
// for every candidate. Both are nil before a comparison.
func Weighed(s *loop.State, p *loop.Progress) ([]Cell, *Effect) {
	if p.Comparison == nil {
		return nil, nil
	}
	cells, _ := comparisonCells(s, p.Comparison)
	return cells, weighedEffect(cells)
}

func comparisonCells(s *loop.State, c *loop.Comparison) (cells, guards []Cell) {
	base, own := c.Counts()
	for i, cell := range s.Started.Objective {
		cells = append(cells, Cell{
			Name: cell.String(), Champion: rate("champion", base[i]), Candidate: rate("candidate", own[i]), Target: c.Weights[i] > 0,
		})
	}
	for i, cell := range s.Started.Guards {
		guards = append(guards, Cell{
			Name: cell.String(), Champion: rate("champion", stats.Tally(c.GuardBase[i])), Candidate: rate("candidate", stats.Tally(c.GuardOwn[i])),
		})
	}
	return cells, guards
}

// weighedEffect is the difference over the cells that count for a candidate.
func weighedEffect(cells []Cell) *Effect {
	pairs, weights := make([]stats.Pair, len(cells)), make([]float64, len(cells))
	for i, c := range cells {
		pairs[i] = stats.Pair{A: c.Candidate.count(), B: c.Champion.count()}
		if c.Target {
			weights[i] = 1
		}
	}
	return effect(pairs, weights)
}

// diff renders the wording change of all files as one unified diff.
func diff(before, after Texts) string {
	var b strings.Builder
	paths := make([]string, 0, len(after))
	for p := range after {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if before[p] == after[p] {
			continue
		}
		b.WriteString("--- a/" + p + "\n+++ b/" + p + "\n")
		b.WriteString(textdiff.Unified(before[p], after[p]))
	}
	return b.String()
}

func ids(s *loop.State) []string {
	var out []string
	for _, p := range s.Progress {
		out = append(out, p.Candidate.ID)
	}
	return out
}
