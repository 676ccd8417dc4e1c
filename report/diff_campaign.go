package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loopd/stats"
)

// compareCampaigns compares two campaign reports.
func compareCampaigns(docA, docB Document, across bool) (Diff, error) {
	a, err := docA.campaign()
	if err != nil {
		return Diff{}, err
	}
	b, err := docB.campaign()
	if err != nil {
		return Diff{}, err
	}
	if a.Simulated != b.Simulated {
		return Diff{}, &IncomparableError{fmt.Sprintf("compare reports: %s is %s, %s is %s: the two are never compared", docA.Name, realOrNot(a), docB.Name, realOrNot(b))}
	}
	differs := instrumentsDiffer(a, b)
	if len(differs) > 0 && !across {
		return Diff{}, &InstrumentsError{differs}
	}
	d := Diff{
		Schema: DiffSchema, Harness: a.Harness, A: side(docA.Name, a), B: side(docB.Name, b), Simulated: a.Simulated, Differs: differs,
		Metric: mean(championRates(a.Cells), championRates(b.Cells)), Start: mean(startRates(a.Cells), startRates(b.Cells)),
		Cells: changes(championRates(a.Cells), championRates(b.Cells)), Guards: changes(a.Guards, b.Guards),
		Detours: changes(detourRates(a), detourRates(b)), Controls: changes(a.Controls, b.Controls),
		Readings: readings(a.Contrasts, b.Contrasts), Invalid: counted(invalidWords(a), invalidWords(b), a.Sessions, b.Sessions),
		Verdicts: counted(verdictWords(a), verdictWords(b), len(a.Candidates), len(b.Candidates)), PerSession: amounts(a, b),
	}
	d.Regressions = regressions(d)
	return d, nil
}

func realOrNot(c Campaign) string {
	if c.Simulated {
		return "simulated"
	}
	return "real"
}

func side(name string, c Campaign) Side {
	return Side{
		Name: name, Campaign: c.ID, Outcome: cmp.Or(string(c.Outcome), "open: "+string(c.Phase)), Instrument: c.Instrument,
		Start: c.Start, Champion: c.Champion, Sessions: c.Sessions,
	}
}

func (r Rate) count() stats.Count { return stats.Count{Pass: r.K, N: r.N} }

// changes pairs the rates of two reports by name, in A's order, then what is new.
func changes(a, b []Rate) []Change {
	out := []Change{}
	find := func(rates []Rate, name string) (Rate, bool) {
		i := slices.IndexFunc(rates, func(r Rate) bool { return r.Name == name })
		if i < 0 {
			return rate(name, stats.Count{}), false
		}
		return rate(name, rates[i].count()), true
	}
	for _, r := range a {
		before, _ := find(a, r.Name)
		after, _ := find(b, r.Name)
		out = append(out, change(before, after, true))
	}
	for _, r := range b {
		if before, known := find(a, r.Name); !known {
			after, _ := find(b, r.Name)
			out = append(out, change(before, after, false))
		}
	}
	return out
}

// change compares one rate. The intervals are computed again: a document may say
// anything.
func change(a, b Rate, known bool) Change {
	c := Change{Name: a.Name, A: a, B: b, Difference: effect([]stats.Pair{{A: b.count(), B: a.count()}}, []float64{1}), Trend: Same}
	switch {
	case !known:
		c.Trend = New
	case a.N == 0 && b.N == 0:
		c.Trend = Unseen
	case b.N == 0:
		c.Trend = Missing
	case a.N == 0:
		c.Trend = New
	case c.Difference.CI.High < 0:
		c.Trend = Fell
	case c.Difference.CI.Low > 0:
		c.Trend = Rose
	}
	return c
}

// mean compares the mean rate over the cells measured in both, nil for none.
func mean(a, b []Rate) *Mean {
	var pairs []stats.Pair
	var all []float64
	var before, after []stats.Count
	for _, c := range changes(a, b) {
		if c.A.N > 0 && c.B.N > 0 {
			pairs, all = append(pairs, stats.Pair{A: c.B.count(), B: c.A.count()}), append(all, 1)
			before, after = append(before, c.A.count()), append(after, c.B.count())
		}
	}
	d, iv, ok := stats.MeanInterval(pairs, all, level)
	if !ok {
		return nil
	}
	return &Mean{A: *meanRate(before), B: *meanRate(after), Cells: len(pairs), Difference: d, CI: iv}
}

// readings pairs what the contrasts say, by pair, control, tier and version.
func readings(a, b []Contrast) []ReadOn {
	out := []ReadOn{}
	at := func(name string) *ReadOn {
		i := slices.IndexFunc(out, func(r ReadOn) bool { return r.Name == name })
		if i < 0 {
			out = append(out, ReadOn{Name: name})
			i = len(out) - 1
		}
		return &out[i]
	}
	for _, c := range a {
		at(contrastName(c)).A = c.Reading
	}
	for _, c := range b {
		at(contrastName(c)).B = c.Reading
	}
	return out
}

func contrastName(c Contrast) string {
	return strings.TrimSpace(fmt.Sprintf("%s vs %s on %s %s", c.Pair, c.Control, c.Tier, c.CLI))
}

// word is a word and how often it was counted.
type word struct {
	name string
	n    int
}

func invalidWords(c Campaign) []word {
	var out []word
	for _, i := range c.Invalid {
		out = append(out, word{string(i.Class), i.Count})
	}
	return out
}

func verdictWords(c Campaign) []word {
	var out []word
	for _, s := range c.Candidates {
		out = append(out, word{cmp.Or(string(s.Verdict), "none yet"), 1})
	}
	return out
}

// counted adds the words up, sorted by name.
func counted(a, b []word, ofA, ofB int) []CountedOn {
	out := []CountedOn{}
	at := func(name string) *CountedOn {
		i, ok := slices.BinarySearchFunc(out, name, func(c CountedOn, n string) int { return strings.Compare(c.Name, n) })
		if !ok {
			out = slices.Insert(out, i, CountedOn{Name: name, OfA: ofA, OfB: ofB})
		}
		return &out[i]
	}
	for _, w := range a {
		at(w.name).A += w.n
	}
	for _, w := range b {
		at(w.name).B += w.n
	}
	return out
}

// amounts are what a session took on average.
func amounts(a, b Campaign) []Amount {
	of := func(sum float64, n int) *float64 {
		if n <= 0 {
			return nil
		}
		v := sum / float64(n)
		return &v
	}
	one := func(name, unit string, value func(c Campaign) *float64) Amount {
		return Amount{Name: name, Unit: unit, A: value(a), B: value(b)}
	}
	return []Amount{
		one("cost", "USD", func(c Campaign) *float64 { return of(c.Cost.USD, c.Sessions-c.Cost.Unreported) }),
		one("tokens in", "tokens", func(c Campaign) *float64 { return of(float64(c.Cost.InputTokens), c.Sessions) }),
		one("tokens out", "tokens", func(c Campaign) *float64 { return of(float64(c.Cost.OutputToken), c.Sessions) }),
		one("tokens, cost-equivalent", "tokens", func(c Campaign) *float64 {
			if c.Cost.CostEquivalent == 0 && c.Cost.InputTokens > 0 {
				return nil // a report from before it was counted
			}
			return of(c.Cost.CostEquivalent, c.Sessions)
		}),
		one("time", "seconds", func(c Campaign) *float64 { return of(c.Cost.Seconds, c.Sessions) }),
	}
}

// regressions lists what got worse beyond chance, and what is not measured any
// more. Controls are read, not judged: a fall of one may be what was wanted.
func regressions(d Diff) []string {
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
