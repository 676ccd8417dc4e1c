package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"loopd/harness"
)

// EvalDiff compares two reports of an evaluator of saved documents.
type EvalDiff struct {
	Schema      string       `json:"schema"` // EvalDiffSchema
	Harness     harness.Kind `json:"harness"`
	Differs     []string     `json:"differs"`
	A           EvalSide     `json:"a"`
	B           EvalSide     `json:"b"`
	Summary     EvalTotals   `json:"summary"`
	Items       []Item       `json:"items"`
	Regressions []string     `json:"regressions"`
}

// EvalSide names one of the two reports.
type EvalSide struct {
	Name       string `json:"name"`
	Cases      string `json:"cases"`
	Instrument string `json:"instrument"`
	Results    int    `json:"results"`
}

// EvalTotals compares the totals.
type EvalTotals struct {
	Regressions int         `json:"regressions"`
	Changes     int         `json:"changes"` // that are no regression
	PassRate    Figure      `json:"pass_rate"`
	RateA       Rate        `json:"pass_rate_a"`
	RateB       Rate        `json:"pass_rate_b"`
	ToolCalls   Figure      `json:"mean_tool_calls"`
	DurationMS  Figure      `json:"mean_duration_ms"`
	Tokens      Figure      `json:"mean_cost_equivalent_tokens"`
	Verdicts    []CountedOn `json:"verdicts"`
}

// Figure is one number in both reports, nil where one has none; Delta is B minus
// A.
type Figure struct {
	A     *float64 `json:"a"`
	B     *float64 `json:"b"`
	Delta *float64 `json:"delta"`
}

func figure(a, b *float64) Figure {
	f := Figure{A: a, B: b}
	if a != nil && b != nil {
		delta := *b - *a
		f.Delta = &delta
	}
	return f
}

// changed reports whether the numbers differ by more than their last bits.
func (f Figure) changed() bool {
	if f.Delta == nil {
		return (f.A == nil) != (f.B == nil)
	}
	return math.Abs(*f.Delta) > 1e-9*math.Max(1, math.Abs(*f.A))
}

// ItemKind says what an item of a comparison is about.
type ItemKind string

// The kinds of item.
const (
	ItemPassRate  ItemKind = "pass_rate"
	ItemToolCalls ItemKind = "tool_calls"
	ItemDuration  ItemKind = "duration_ms"
	ItemTokens    ItemKind = "cost_equivalent_tokens"
	ItemVerdicts  ItemKind = "verdict_count"
	ItemMissing   ItemKind = "missing_case"
	ItemNew       ItemKind = "new_case"
	ItemOutcome   ItemKind = "outcome"
	ItemCheck     ItemKind = "check"
	ItemTool      ItemKind = "evidence_tool"
	ItemVerdict   ItemKind = "verdict"
	ItemCase      ItemKind = "case_definition"
)

// Item is one thing that changed, with both values.
type Item struct {
	What       ItemKind `json:"what"`
	Regression bool     `json:"regression"`
	Case       string   `json:"case,omitempty"`     // empty for totals
	Document   string   `json:"document,omitempty"` // trace or submission, where a case has several
	Name       string   `json:"name,omitempty"`     // of the check, tool or verdict
	A          string   `json:"a"`
	B          string   `json:"b"`
	Delta      *float64 `json:"delta"`
}

func compareEvals(docA, docB Document, differs []string) (Diff, error) {
	a, err := docA.eval()
	if err != nil {
		return Diff{}, err
	}
	b, err := docB.eval()
	if err != nil {
		return Diff{}, err
	}
	d := EvalDiff{
		Schema: EvalDiffSchema, Harness: a.Harness, Differs: differs, Regressions: []string{},
		A: evalSide(docA.Name, a), B: evalSide(docB.Name, b), Summary: totals(a.Summary, b.Summary), Items: []Item{},
	}
	d.totalItems()
	d.caseItems(a.Results, b.Results)
	for _, i := range d.Items {
		if i.Regression {
			d.Regressions = append(d.Regressions, i.Text())
		}
	}
	d.Summary.Regressions, d.Summary.Changes = len(d.Regressions), len(d.Items)-len(d.Regressions)
	out := Diff{Evals: &d, Regressions: d.Regressions, Tables: d.tables()}
	if len(d.Items) == 0 {
		out.Notes = []string{"Nothing changed."}
	}
	return out, nil
}

func evalSide(name string, e EvalDocument) EvalSide {
	return EvalSide{Name: name, Cases: plain(e.Cases), Instrument: plain(e.Instrument), Results: len(e.Results)}
}

func totals(a, b EvalSummary) EvalTotals {
	rateA, rateB := rate(a.Rate.Name, a.Rate.count()), rate(b.Rate.Name, b.Rate.count())
	return EvalTotals{
		RateA: rateA, RateB: rateB, PassRate: figure(rateA.Mean, rateB.Mean), ToolCalls: figure(a.MeanToolCalls, b.MeanToolCalls),
		DurationMS: figure(a.MeanDurationMS, b.MeanDurationMS), Tokens: figure(a.MeanCostEquivalent, b.MeanCostEquivalent),
		Verdicts: counted(a.Verdicts, b.Verdicts, a.Results, b.Results),
	}
}

func (d *EvalDiff) add(i Item) { d.Items = append(d.Items, i) }

// totalItems lists the totals that changed. A lower pass rate is a regression, and
// so is none where there was one; costs and verdicts are told and not judged.
func (d *EvalDiff) totalItems() {
	s := d.Summary
	if f := s.PassRate; f.changed() {
		lower := f.Delta != nil && *f.Delta < 0 || f.B == nil
		d.add(Item{What: ItemPassRate, Regression: lower, A: countText(s.RateA), B: countText(s.RateB), Delta: f.Delta})
	}
	for _, c := range []struct {
		what ItemKind
		f    Figure
	}{{ItemToolCalls, s.ToolCalls}, {ItemDuration, s.DurationMS}, {ItemTokens, s.Tokens}} {
		if c.f.changed() {
			d.add(Item{What: c.what, A: amount(c.f.A), B: amount(c.f.B), Delta: c.f.Delta})
		}
	}
	for _, v := range s.Verdicts {
		if delta := float64(v.B - v.A); delta != 0 {
			d.add(Item{What: ItemVerdicts, Name: v.Name, A: fmt.Sprint(v.A), B: fmt.Sprint(v.B), Delta: &delta})
		}
	}
}

// caseItems compares the results case by case. Where both reports have one result
// of a case they are compared whatever their documents are called, else by
// document.
func (d *EvalDiff) caseItems(a, b []harness.Evaluated) {
	results := func(list []harness.Evaluated) map[string]int {
		out := make(map[string]int)
		for _, r := range list {
			out[r.Case]++
		}
		return out
	}
	inA, inB := results(a), results(b)
	key := func(r harness.Evaluated) string {
		if inA[r.Case] == 1 && inB[r.Case] == 1 {
			return r.Case
		}
		return r.Case + "\x00" + document(r)
	}
	for _, p := range paired(a, b, key) {
		r := p.A
		if r == nil {
			r = p.B
		}
		at := Item{Case: plain(r.Case)}
		if inA[r.Case] > 1 || inB[r.Case] > 1 {
			at.Document = plain(document(*r))
		}
		switch {
		case p.B == nil:
			at.What, at.Regression, at.A, at.B = ItemMissing, true, string(r.Outcome), "missing"
			d.add(at)
		case p.A == nil:
			at.What, at.A, at.B = ItemNew, "not there", string(r.Outcome)
			d.add(at)
		default:
			d.resultItems(at, *p.A, *p.B)
		}
	}
}

// resultItems compares two results of one case.
func (d *EvalDiff) resultItems(at Item, a, b harness.Evaluated) {
	add := func(what ItemKind, regression bool, name, was, is string) {
		i := at
		i.What, i.Regression, i.Name, i.A, i.B = what, regression, plain(name), orDash(plain(was)), orDash(plain(is))
		d.add(i)
	}
	if a.CaseDigest != b.CaseDigest {
		add(ItemCase, false, "", a.CaseDigest, b.CaseDigest)
	}
	if a.Outcome != b.Outcome {
		worse := a.Outcome == harness.Pass || b.Outcome == harness.NotRun || b.Outcome == harness.Invalid
		add(ItemOutcome, worse, "", string(a.Outcome), string(b.Outcome))
	}
	var seen []string
	for _, c := range slices.Concat(a.Checks, b.Checks) {
		was, is := a.Check(c.Name).Outcome, b.Check(c.Name).Outcome
		if !slices.Contains(seen, c.Name) && was != is && (was == harness.Fail || is == harness.Fail) {
			add(ItemCheck, is == harness.Fail, c.Name, string(was), string(is))
		}
		seen = append(seen, c.Name)
	}
	if a.Coverage != nil && b.Coverage != nil { // a tool that only one of the cases asks for is no change of the trace
		for _, tool := range a.Coverage.Covered {
			if slices.Contains(b.Coverage.Uncovered, tool) {
				add(ItemTool, true, tool, "covered", "uncovered")
			}
		}
		for _, tool := range a.Coverage.Uncovered {
			if slices.Contains(b.Coverage.Covered, tool) {
				add(ItemTool, false, tool, "uncovered", "covered")
			}
		}
	}
	if a.Verdict != b.Verdict {
		add(ItemVerdict, false, "", a.Verdict, b.Verdict)
	}
	if was, is := a.Metrics[harness.ToolCalls], b.Metrics[harness.ToolCalls]; was != is {
		delta := is - was
		add(ItemToolCalls, false, "", fmt.Sprintf("%.0f", was), fmt.Sprintf("%.0f", is))
		d.Items[len(d.Items)-1].Delta = &delta
	}
}

// itemLabels say in words what an item is about. The name of a check stands for
// itself.
var itemLabels = map[ItemKind]string{
	ItemPassRate: "pass rate", ItemToolCalls: "tool calls", ItemDuration: "mean duration in ms", ItemTokens: "mean cost-equivalent tokens",
	ItemVerdicts: "verdict", ItemMissing: "missing", ItemNew: "new", ItemOutcome: "outcome", ItemTool: "tool", ItemVerdict: "verdict", ItemCase: "definition",
}

// where names the case of an item, and the document where the case has several.
func (i Item) where() string {
	if i.Document != "" {
		return i.Case + " (" + i.Document + ")"
	}
	return i.Case
}

// Subject is what an item is about, without its values.
func (i Item) Subject() string {
	label := strings.TrimSpace(itemLabels[i.What] + " " + i.Name)
	switch {
	case i.Case != "":
		return i.where() + ": " + label
	case i.What == ItemToolCalls:
		return "mean " + label
	}
	return label
}

// Change is the difference of an item that is a number, empty for another.
func (i Item) Change() string {
	if i.Delta == nil {
		return ""
	}
	return fmt.Sprintf("%+.4g", *i.Delta)
}

// Text is the item in one line.
func (i Item) Text() string {
	change := fmt.Sprintf("%s, was %s", i.B, i.A)
	if i.Delta != nil {
		change += " (" + i.Change() + ")"
	}
	switch i.What {
	case ItemMissing:
		return fmt.Sprintf("%s is missing, was %s", i.where(), i.A)
	case ItemNew:
		return fmt.Sprintf("%s is new: %s", i.where(), i.B)
	case ItemOutcome:
		return i.where() + ": " + change
	case ItemCase:
		return i.where() + ": the case itself has changed"
	}
	return i.Subject() + ": " + change
}

// tables are the two reports and their totals.
func (d EvalDiff) tables() [][][]string {
	s := d.Summary
	rows := [][]string{{"", "A", "B", "change"}, {"pass rate", countText(s.RateA), countText(s.RateB), s.PassRate.text()}}
	for _, f := range []struct {
		name string
		Figure
	}{{"mean tool calls", s.ToolCalls}, {"mean duration, ms", s.DurationMS}, {"mean cost-equivalent tokens", s.Tokens}} {
		if f.A != nil || f.B != nil {
			rows = append(rows, []string{f.name, amount(f.A), amount(f.B), f.text()})
		}
	}
	for _, v := range s.Verdicts {
		a, b := float64(v.A), float64(v.B)
		rows = append(rows, []string{"verdict " + v.Name, fmt.Sprint(v.A), fmt.Sprint(v.B), figure(&a, &b).text()})
	}
	side := func(name string, s EvalSide) []string {
		return []string{name, s.Name, s.Cases, fmt.Sprint(s.Results), brief(s.Instrument)}
	}
	out := [][][]string{{{"", "report", "cases", "results", "instrument"}, side("A", d.A), side("B", d.B)}, rows}
	if len(d.Items) == 0 {
		return out
	}
	return append(out, table([]string{"changed", "A", "B", "change", ""}, d.Items, func(i Item) []string {
		mark := ""
		if i.Regression {
			mark = "regression"
		}
		return []string{i.Subject(), i.A, i.B, i.Change(), mark}
	}))
}

// text is the change of a figure.
func (f Figure) text() string {
	if f.Delta == nil || !f.changed() {
		return "-"
	}
	return fmt.Sprintf("%+.4g", *f.Delta)
}
