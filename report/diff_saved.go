package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"loopd/harness"
)

// SavedDiff is the part of a Diff that is about evaluators of saved documents.
type SavedDiff struct {
	A       SavedSide    `json:"a"`
	B       SavedSide    `json:"b"`
	Summary SavedSummary `json:"summary"`
	Items   []Item       `json:"items"`
}

// SavedSide names one of the two reports.
type SavedSide struct {
	Name       string `json:"name"`
	Cases      string `json:"cases"`
	Instrument string `json:"instrument"`
	Results    int    `json:"results"`
}

// SavedSummary compares the totals.
type SavedSummary struct {
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

// EvalDocument is an Eval read back, with its results.
type EvalDocument struct {
	Eval
	Results []harness.Evaluated `json:"results"`
}

// eval reads the document as the report of an evaluator.
func (d Document) eval() (EvalDocument, error) {
	var e EvalDocument
	if err := d.decode(&e); err != nil {
		return e, err
	}
	if e.Instrument == "" || e.Results == nil {
		return e, d.bad("it lacks instrument or results")
	}
	if why := senseless([]Rate{e.Summary.Rate}); why != "" {
		return e, d.bad("%s", why)
	}
	seen := make(map[[2]string]bool)
	for _, r := range e.Results {
		key := [2]string{r.Case, document(r)}
		switch {
		case r.Case == "":
			return e, d.bad("a result names no case")
		case r.Kind != e.Harness:
			return e, d.bad("the result of %s is of kind %q, the report of kind %s", plain(r.Case), plain(string(r.Kind)), e.Harness)
		case seen[key]:
			return e, d.bad("%s %s is there twice", plain(r.Case), plain(document(r)))
		}
		seen[key] = true
	}
	return e, nil
}

// compareSaved compares two reports of one evaluator.
func compareSaved(docA, docB Document, across bool) (Diff, error) {
	a, err := docA.eval()
	if err != nil {
		return Diff{}, err
	}
	b, err := docB.eval()
	if err != nil {
		return Diff{}, err
	}
	differs := instrumentsDiffer(
		Campaign{Instrument: a.Instrument, Parts: a.Parts}, Campaign{Instrument: b.Instrument, Parts: b.Parts})
	if len(differs) > 0 && !across {
		return Diff{}, &InstrumentsError{differs}
	}
	s := &SavedDiff{A: savedSide(docA.Name, a), B: savedSide(docB.Name, b), Items: []Item{}}
	s.totals(a.Summary, b.Summary)
	s.cases(a.Results, b.Results)
	d := Diff{Schema: EvalDiffSchema, Harness: a.Harness, Differs: differs, Saved: s, Regressions: []string{}}
	for _, i := range s.Items {
		if i.Regression {
			d.Regressions = append(d.Regressions, i.Text())
		}
	}
	s.Summary.Regressions, s.Summary.Changes = len(d.Regressions), len(s.Items)-len(d.Regressions)
	return d, nil
}

func savedSide(name string, e EvalDocument) SavedSide {
	return SavedSide{Name: name, Cases: plain(e.Cases), Instrument: plain(e.Instrument), Results: len(e.Results)}
}

// SavedDocument is a comparison of evaluators as JSON.
type SavedDocument struct {
	Schema  string       `json:"schema"` // EvalDiffSchema
	Harness harness.Kind `json:"harness"`
	Differs []string     `json:"differs"`
	SavedDiff
	Regressions []string `json:"regressions"`
}

// MarshalJSON writes a comparison of evaluators without what campaigns have.
func (d Diff) MarshalJSON() ([]byte, error) {
	if d.Saved == nil {
		type campaigns Diff
		return json.Marshal(campaigns(d))
	}
	return json.Marshal(SavedDocument{d.Schema, d.Harness, d.Differs, *d.Saved, d.Regressions})
}

func figure(a, b *float64) Figure {
	f := Figure{A: a, B: b}
	if a != nil && b != nil {
		delta := *b - *a
		f.Delta = &delta
	}
	return f
}

// changed reports whether two numbers differ by more than their last bits.
func (f Figure) changed() bool {
	if f.Delta == nil {
		return (f.A == nil) != (f.B == nil)
	}
	return math.Abs(*f.Delta) > 1e-9*math.Max(1, math.Abs(*f.A))
}

// totals compares the summaries. A lower pass rate is a regression, and so is
// none where there was one; costs and verdicts are told and not judged.
func (s *SavedDiff) totals(a, b EvalSummary) {
	s.Summary.RateA, s.Summary.RateB = rate(a.Rate.Name, a.Rate.count()), rate(b.Rate.Name, b.Rate.count())
	s.Summary.PassRate = figure(s.Summary.RateA.Mean, s.Summary.RateB.Mean)
	s.Summary.ToolCalls = figure(a.MeanToolCalls, b.MeanToolCalls)
	s.Summary.DurationMS = figure(a.MeanDurationMS, b.MeanDurationMS)
	s.Summary.Tokens = figure(a.MeanCostEquivalent, b.MeanCostEquivalent)
	if f := s.Summary.PassRate; f.changed() {
		lower := f.Delta != nil && *f.Delta < 0 || f.B == nil
		s.add(Item{What: ItemPassRate, Regression: lower, A: countText(s.Summary.RateA), B: countText(s.Summary.RateB), Delta: f.Delta})
	}
	for _, c := range []struct {
		what ItemKind
		f    Figure
	}{{ItemToolCalls, s.Summary.ToolCalls}, {ItemDuration, s.Summary.DurationMS}, {ItemTokens, s.Summary.Tokens}} {
		if c.f.changed() {
			s.add(Item{What: c.what, A: amount(c.f.A), B: amount(c.f.B), Delta: c.f.Delta})
		}
	}
	s.Summary.Verdicts = counted(wordsOf(a.Verdicts), wordsOf(b.Verdicts), a.Results, b.Results)
	for _, v := range s.Summary.Verdicts {
		if v.A != v.B {
			delta := float64(v.B - v.A)
			s.add(Item{What: ItemVerdicts, Name: v.Name, A: fmt.Sprint(v.A), B: fmt.Sprint(v.B), Delta: &delta})
		}
	}
}

func wordsOf(counts map[string]int) []word {
	var out []word
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, word{plain(name), counts[name]})
	}
	return out
}

func (s *SavedDiff) add(i Item) { s.Items = append(s.Items, i) }
