package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// Document is a report as it was handed in: its bytes, and a name for messages.
type Document struct {
	Name string
	Data []byte
}

// Diff is what changed from report A to report B of one harness kind. Of
// campaigns the champions are compared, which is what each came to.
type Diff struct {
	Schema    string       `json:"schema"` // DiffSchema, or EvalDiffSchema with Saved
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
	// Saved is set where the reports are those of an evaluator of saved documents;
	// of the rest schema, kind, Differs and Regressions are then in use.
	Saved *SavedDiff `json:"-"`
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
	A          float64        `json:"a"`
	B          float64        `json:"b"`
	Cells      int            `json:"cells"`
	Difference float64        `json:"difference"`
	CI         stats.Interval `json:"ci95"`
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

// CountedOn counts one word in both reports, of all there are.
type CountedOn struct {
	Name string `json:"name"`
	A    int    `json:"a"`
	OfA  int    `json:"of_a"`
	B    int    `json:"b"`
	OfB  int    `json:"of_b"`
}

// Amount is a mean per session in both reports, nil where nothing was reported.
type Amount struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"`
	A    *float64 `json:"a"`
	B    *float64 `json:"b"`
}

// IncomparableError says why two reports cannot be set side by side at all.
type IncomparableError struct{ Why string }

// Error gives the reason.
func (e *IncomparableError) Error() string { return e.Why }

// InstrumentsError says that two reports were measured by different instruments.
type InstrumentsError struct{ Differs []string }

// Error names the parts that differ.
func (e *InstrumentsError) Error() string {
	return "compare reports: measured by different instruments, which differ in " + names(e.Differs)
}

// Compare says what changed from one report to the other. Reports of different
// kinds, and simulated beside real ones, are refused; those of different
// instruments are unless across is set.
func Compare(a, b Document, across bool) (Diff, error) {
	headA, err := a.head()
	if err != nil {
		return Diff{}, err
	}
	headB, err := b.head()
	if err != nil {
		return Diff{}, err
	}
	if headA.Harness != headB.Harness {
		return Diff{}, &IncomparableError{fmt.Sprintf("compare reports: %s is of kind %s, %s of kind %s: kinds are never mixed", a.Name, headA.Harness, b.Name, headB.Harness)}
	}
	if headA.Harness == harness.Unprompted {
		return compareCampaigns(a, b, across)
	}
	return compareSaved(a, b, across)
}

// head is what every report of this program begins with.
type head struct {
	Schema  string       `json:"schema"`
	Harness harness.Kind `json:"harness"`
}

// head reads schema and kind and refuses what it does not know.
func (d Document) head() (head, error) {
	var h head
	if err := d.decode(&h); err != nil {
		return head{}, err
	}
	if !slices.Contains([]harness.Kind{harness.Unprompted, harness.Trace, harness.RepoState}, h.Harness) {
		return head{}, d.bad("its harness is %q, want one of unprompted, trace, repostate", h.Harness)
	}
	want := EvalSchema
	if h.Harness == harness.Unprompted {
		want = CampaignSchema
	}
	if h.Schema != want {
		return head{}, d.bad("its schema is %q, this program reads %s", plain(h.Schema), want)
	}
	return h, nil
}

// decode reads the document as one JSON object.
func (d Document) decode(into any) error {
	if len(bytes.TrimSpace(d.Data)) == 0 {
		return d.bad("it is empty")
	}
	err := json.Unmarshal(d.Data, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return d.bad("%s is a %s, which it cannot be", orDocument(wrong.Field), wrong.Value)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return d.bad("not one whole JSON document: byte %d: %s", syntax.Offset, syntax.Error())
	}
	if err != nil {
		return d.bad("%s", err.Error())
	}
	return nil
}

func orDocument(field string) string {
	if field == "" {
		return "the document"
	}
	return field
}

// bad says what is wrong with the document.
func (d Document) bad(format string, args ...any) error {
	return &IncomparableError{"read report " + d.Name + ": " + fmt.Sprintf(format, args...)}
}

// campaign reads the document as a campaign report whose numbers make sense.
func (d Document) campaign() (Campaign, error) {
	var c Campaign
	if err := d.decode(&c); err != nil {
		return Campaign{}, err
	}
	c.plain()
	if c.ID == "" || c.Phase == "" || c.Instrument == "" {
		return Campaign{}, d.bad("no report of a campaign: it lacks campaign, phase or instrument")
	}
	if c.Sessions < 0 || c.Cost.Unreported < 0 || c.Cost.Unreported > c.Sessions {
		return Campaign{}, d.bad("it counts %d sessions, of which %d reported no cost", c.Sessions, c.Cost.Unreported)
	}
	for _, rates := range [][]Rate{championRates(c.Cells), startRates(c.Cells), c.Guards, c.Controls, detourRates(c)} {
		if why := senseless(rates); why != "" {
			return Campaign{}, d.bad("%s", why)
		}
	}
	return c, nil
}

// plain cleans every text of the report that a comparison shows.
func (c *Campaign) plain() {
	for _, text := range []*string{&c.ID, (*string)(&c.Outcome), (*string)(&c.Phase), &c.Instrument, &c.Start, &c.Champion} {
		*text = plain(*text)
	}
	for i := range c.Cells {
		c.Cells[i].Name = plain(c.Cells[i].Name)
	}
	for _, rates := range [][]Rate{c.Guards, c.Controls} {
		for i := range rates {
			rates[i].Name = plain(rates[i].Name)
		}
	}
	for i := range c.Guarded {
		c.Guarded[i].Tier = plain(c.Guarded[i].Tier)
	}
	for i := range c.Contrasts {
		x := &c.Contrasts[i]
		for _, text := range []*string{&x.Pair, &x.Control, &x.Tier, &x.CLI, (*string)(&x.Reading)} {
			*text = plain(*text)
		}
	}
	for i := range c.Invalid {
		c.Invalid[i].Class = harness.Class(plain(string(c.Invalid[i].Class)))
	}
	for i := range c.Candidates {
		c.Candidates[i].Verdict = loop.Verdict(plain(string(c.Candidates[i].Verdict)))
	}
}

// most is the largest number of trials of a cell that is believed.
const most = 1_000_000

// senseless says what is wrong with a list of rates, if anything.
func senseless(rates []Rate) string {
	seen := make(map[string]bool)
	for _, r := range rates {
		switch {
		case r.Name == "":
			return "a rate has no name"
		case seen[r.Name]:
			return fmt.Sprintf("%s is there twice", r.Name)
		case r.K < 0 || r.K > r.N || r.N > most:
			return fmt.Sprintf("%s counts %d of %d", r.Name, r.K, r.N)
		}
		seen[r.Name] = true
	}
	return ""
}

// championRates names the champion's rates by cell.
func championRates(cells []Cell) []Rate {
	var out []Rate
	for _, c := range cells {
		c.Candidate.Name = c.Name
		out = append(out, c.Candidate)
	}
	return out
}

// startRates names the start's rates by cell.
func startRates(cells []Cell) []Rate {
	var out []Rate
	for _, c := range cells {
		c.Champion.Name = c.Name
		out = append(out, c.Champion)
	}
	return out
}

// detourRates names the champion's detours by tier.
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

// instrumentsDiffer names the parts of two instruments that are not the same.
func instrumentsDiffer(a, b Campaign) []string {
	out := []string{}
	if a.Instrument == b.Instrument {
		return out
	}
	parts := maps.Clone(a.Parts)
	if parts == nil {
		parts = make(map[string]string)
	}
	maps.Copy(parts, b.Parts)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if a.Parts[name] != b.Parts[name] {
			out = append(out, plain(name))
		}
	}
	if len(out) == 0 {
		out = append(out, fmt.Sprintf("parts that the reports do not name (%s, %s)", short(a.Instrument), short(b.Instrument)))
	}
	return out
}
