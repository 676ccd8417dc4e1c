package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/stats"
)

// CampaignDiff compares the reports of two campaigns, and of these the champions,
// which is what each campaign came to.
type CampaignDiff struct {
	Schema    string       `json:"schema"` // DiffSchema
	Harness   harness.Kind `json:"harness"`
	A         Side         `json:"a"`
	B         Side         `json:"b"`
	Simulated bool         `json:"simulated"`
	// Differs names the parts of the instrument that are not the same; a
	// difference of rates may then be theirs.
	Differs []string `json:"differs"`
	// Metric is the mean over the cells measured in both, nil for none; Start is
	// the same for the wordings the campaigns began with.
	Metric     *Mean       `json:"metric"`
	Start      *Mean       `json:"start"`
	Cells      []Change    `json:"cells"`
	Guards     []Change    `json:"guards"`
	Detours    []Change    `json:"detours"` // by tier; more of them is worse
	Controls   []Change    `json:"controls"`
	Readings   []ReadOn    `json:"readings"`
	Invalid    []CountedOn `json:"invalid"`
	Verdicts   []CountedOn `json:"verdicts"` // of candidates
	PerSession []Amount    `json:"per_session"`
	// Regressions says each in one line; empty when nothing regressed.
	Regressions []string `json:"regressions"`
}

// Side names one of the two reports.
type Side struct {
	Name       string `json:"name"`
	Campaign   string `json:"campaign"`
	Outcome    string `json:"outcome"`
	Instrument string `json:"instrument"`
	Start      string `json:"start"`
	Champion   string `json:"champion"`
	Sessions   int    `json:"sessions"`
}

// Mean compares the mean of the cells' pass rates, B minus A, in points of 1.
type Mean struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	Effect
}

// Trend is what became of one rate.
type Trend string

// The trends. A rate rose or fell when the 95 % interval of the difference
// leaves 0 out.
const (
	Rose    Trend = "rose"
	Fell    Trend = "fell"
	Same    Trend = "same"    // or too few trials to tell
	Missing Trend = "missing" // measured in A, not in B
	New     Trend = "new"     // not in A
	Unseen  Trend = "not_run" // measured in neither
)

// Change compares one rate: passes of a cell, or detours of a tier.
type Change struct {
	Name string `json:"name"`
	A    Rate   `json:"a"`
	B    Rate   `json:"b"`
	// Difference is B minus A with its 95 % interval; nil where one has no trial.
	Difference *Effect `json:"difference"`
	Trend      Trend   `json:"trend"`
}

// ReadOn is the reading of one contrast in both reports, empty where it is not
// in one.
type ReadOn struct {
	Name string  `json:"name"`
	A    Reading `json:"a"`
	B    Reading `json:"b"`
}

// Amount is a mean per session in both reports, nil where nothing was reported.
type Amount struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"`
	A    *float64 `json:"a"`
	B    *float64 `json:"b"`
}

// intervalsText says what an interval of a comparison is worth.
const intervalsText = "Differences are B minus A with 95 % intervals, each on its own: of forty cells in which nothing changed, one falls and one rises by chance. A champion's rates are flattered: it was kept because they were high."

func compareCampaigns(docA, docB Document, differs []string) (Diff, error) {
	a, err := docA.campaign()
	if err != nil {
		return Diff{}, err
	}
	b, err := docB.campaign()
	if err != nil {
		return Diff{}, err
	}
	if a.Simulated != b.Simulated {
		word := map[bool]string{true: "simulated", false: "real"}
		return Diff{}, &IncomparableError{fmt.Sprintf("compare reports: %s is %s, %s is %s: the two are never compared", docA.Name, word[a.Simulated], docB.Name, word[b.Simulated])}
	}
	d := CampaignDiff{
		Schema: DiffSchema, Harness: a.Harness, A: sideOf(docA.Name, a), B: sideOf(docB.Name, b), Simulated: a.Simulated, Differs: differs,
		Metric: mean(championRates(a), championRates(b)), Start: mean(startRates(a), startRates(b)),
		Cells: changes(championRates(a), championRates(b)), Guards: changes(a.Guards, b.Guards),
		Detours: changes(detourRates(a), detourRates(b)), Controls: changes(a.Controls, b.Controls),
		Readings: readings(a.Contrasts, b.Contrasts), Invalid: counted(invalidByClass(a), invalidByClass(b), a.Sessions, b.Sessions),
		Verdicts: counted(verdicts(a), verdicts(b), len(a.Candidates), len(b.Candidates)), PerSession: amounts(a, b),
	}
	d.Regressions = d.regressions()
	out := Diff{Campaigns: &d, Regressions: d.Regressions, Tables: d.tables(), Notes: []string{intervalsText}}
	if d.Simulated {
		out.Notes = []string{simulatedText, intervalsText}
	}
	return out, nil
}

func sideOf(name string, c Campaign) Side {
	return Side{
		Name: name, Campaign: plain(c.ID), Outcome: plain(cmp.Or(string(c.Outcome), "open: "+string(c.Phase))), Instrument: plain(c.Instrument),
		Start: plain(c.Start), Champion: plain(c.Champion), Sessions: c.Sessions,
	}
}

// championRates are the champion's rates under the name of their cell.
func championRates(c Campaign) []Rate {
	var out []Rate
	for _, cell := range c.Cells {
		cell.Candidate.Name = cell.Name
		out = append(out, cell.Candidate)
	}
	return out
}

// startRates are the start's rates under the name of their cell.
func startRates(c Campaign) []Rate {
	var out []Rate
	for _, cell := range c.Cells {
		cell.Champion.Name = cell.Name
		out = append(out, cell.Champion)
	}
	return out
}

// detourRates are the champion's detours under the name of their tier.
func detourRates(c Campaign) []Rate {
	var out []Rate
	for _, g := range c.Guarded {
		for _, r := range g.Detours {
			if r.Name == championName {
				r.Name = g.Tier
				out = append(out, r)
			}
		}
	}
	return out
}

// orNone is the count of a rate, of nothing for none.
func (r *Rate) orNone() stats.Count {
	if r == nil {
		return stats.Count{}
	}
	return r.count()
}

// changes compares two lists of rates by name. The intervals are computed again: a
// document may say anything.
func changes(a, b []Rate) []Change {
	out := []Change{}
	for _, p := range paired(a, b, func(r Rate) string { return r.Name }) {
		known := cmp.Or(p.A, p.B)
		c := Change{Name: plain(known.Name), Trend: Same}
		c.A, c.B = rate(c.Name, p.A.orNone()), rate(c.Name, p.B.orNone())
		c.Difference = difference(c.B.count(), c.A.count())
		switch {
		case p.A == nil:
			c.Trend = New
		case c.A.N == 0 && c.B.N == 0:
			c.Trend = Unseen
		case c.B.N == 0:
			c.Trend = Missing
		case c.A.N == 0:
			c.Trend = New
		case c.Difference.CI.High < 0:
			c.Trend = Fell
		case c.Difference.CI.Low > 0:
			c.Trend = Rose
		}
		out = append(out, c)
	}
	return out
}

// mean compares the mean rate over the cells measured in both, nil for none.
func mean(a, b []Rate) *Mean {
	var pairs []stats.Pair
	var before, after []stats.Count
	for _, c := range changes(a, b) {
		if c.Difference != nil {
			pairs = append(pairs, stats.Pair{A: c.B.count(), B: c.A.count()})
			before, after = append(before, c.A.count()), append(after, c.B.count())
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return &Mean{*meanRate(before), *meanRate(after), *effect(pairs, slices.Repeat([]float64{1}, len(pairs)))}
}

// readings pairs what the contrasts say, by pair, control, tier and version.
func readings(a, b []Contrast) []ReadOn {
	name := func(c Contrast) string {
		return strings.TrimSpace(fmt.Sprintf("%s vs %s on %s %s", plain(c.Pair), plain(c.Control), plain(c.Tier), plain(c.CLI)))
	}
	out := []ReadOn{}
	for _, p := range paired(a, b, name) {
		r := ReadOn{Name: name(*cmp.Or(p.A, p.B))}
		if p.A != nil {
			r.A = Reading(plain(string(p.A.Reading)))
		}
		if p.B != nil {
			r.B = Reading(plain(string(p.B.Reading)))
		}
		out = append(out, r)
	}
	return out
}

func invalidByClass(c Campaign) map[string]int {
	out := make(map[string]int)
	for _, i := range c.Invalid {
		out[string(i.Class)] += i.Count
	}
	return out
}

func verdicts(c Campaign) map[string]int {
	out := make(map[string]int)
	for _, s := range c.Candidates {
		out[cmp.Or(string(s.Verdict), "none yet")]++
	}
	return out
}

// amounts are what a session took on average.
func amounts(a, b Campaign) []Amount {
	of := func(name, unit string, value func(c Campaign) (sum float64, n int)) Amount {
		mean := func(c Campaign) *float64 {
			sum, n := value(c)
			if n <= 0 {
				return nil
			}
			sum /= float64(n)
			return &sum
		}
		return Amount{name, unit, mean(a), mean(b)}
	}
	return []Amount{
		of("cost", "USD", func(c Campaign) (float64, int) { return c.Cost.USD, c.Sessions - c.Cost.Unreported }),
		of("tokens in", "tokens", func(c Campaign) (float64, int) { return float64(c.Cost.InputTokens), c.Sessions }),
		of("tokens out", "tokens", func(c Campaign) (float64, int) { return float64(c.Cost.OutputToken), c.Sessions }),
		of("tokens, cost-equivalent", "tokens", func(c Campaign) (float64, int) {
			if c.Cost.CostEquivalent == 0 && c.Cost.InputTokens > 0 {
				return 0, 0 // a report from before it was counted
			}
			return c.Cost.CostEquivalent, c.Sessions
		}),
		of("time", "seconds", func(c Campaign) (float64, int) { return c.Cost.Seconds, c.Sessions }),
	}
}

// regressions lists what got worse beyond chance, and what is not measured any
// more. Controls are read, not judged: a fall of one may be what was wanted.
func (d CampaignDiff) regressions() []string {
	out := []string{}
	if d.Metric != nil && d.Metric.CI.High < 0 {
		out = append(out, fmt.Sprintf("the mean pass rate fell from %.3f to %.3f, cells measured in both: %d", d.Metric.A, d.Metric.B, d.Metric.Cells))
	}
	worse := func(what string, list []Change, bad Trend) {
		for _, c := range list {
			switch c.Trend {
			case bad:
				out = append(out, fmt.Sprintf("%s%s %s: %s, was %s", what, c.Name, c.Trend, countText(c.B), countText(c.A)))
			case Missing:
				out = append(out, fmt.Sprintf("%s%s is missing, was %s", what, c.Name, countText(c.A)))
			}
		}
	}
	worse("", d.Cells, Fell)
	worse("guard ", d.Guards, Fell)
	worse("detours on ", d.Detours, Rose)
	return out
}

// tables are the parts of the comparison that have rows.
func (d CampaignDiff) tables() [][][]string {
	side := func(name string, s Side) []string {
		return []string{name, s.Campaign, s.Outcome, fmt.Sprint(s.Sessions), brief(s.Start), brief(s.Champion), brief(s.Instrument)}
	}
	out := [][][]string{
		{{"", "campaign", "outcome", "sessions", "start", "champion", "instrument"}, side("A", d.A), side("B", d.B)},
		{{"mean pass rate", "A", "B", "difference", "cells"}, d.Metric.row(championName), d.Start.row("start")},
	}
	rates := func(name string, list []Change) [][]string {
		return table([]string{name, "A", "B", "difference", ""}, list, func(c Change) []string {
			return []string{c.Name, rateText(c.A), rateText(c.B), c.Difference.short(), string(c.Trend)}
		})
	}
	counts := func(name string, list []CountedOn) [][]string {
		return table([]string{name, "A", "B"}, list, func(c CountedOn) []string {
			return []string{c.Name, fmt.Sprintf("%d/%d", c.A, c.OfA), fmt.Sprintf("%d/%d", c.B, c.OfB)}
		})
	}
	out = append(out,
		rates("cell", d.Cells), rates("guard", d.Guards), rates("detours", d.Detours), rates("control", d.Controls),
		table([]string{"contrast", "A", "B"}, d.Readings, func(r ReadOn) []string { return []string{r.Name, orDash(string(r.A)), orDash(string(r.B))} }),
		counts("invalid", d.Invalid), counts("verdict", d.Verdicts),
		table([]string{"per session", "A", "B", "unit"}, d.PerSession, func(a Amount) []string { return []string{a.Name, amount(a.A), amount(a.B), a.Unit} }),
	)
	return slices.DeleteFunc(out, func(rows [][]string) bool { return len(rows) == 1 })
}

func (m *Mean) row(name string) []string {
	if m == nil {
		return []string{name, "-", "-", "no cell is measured in both", "0"}
	}
	return []string{
		name, fmt.Sprintf("%.3f", m.A), fmt.Sprintf("%.3f", m.B), m.Effect.text(), fmt.Sprint(m.Cells),
	}
}

func amount(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 100:
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.3g", *v)
}
