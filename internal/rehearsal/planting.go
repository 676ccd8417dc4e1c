package rehearsal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"loopd/candidates"
	"loopd/fixtures"
	"loopd/harness"
	"loopd/internal/fake"
	"loopd/scenarios"
)

// Planting is what a rehearsal of one plugin plants, read from its file and
// checked against the plugin's wording.
type Planting struct {
	// Rates are the start's true pass rates by tier and scenario. Tiers are those
	// of a cell without one, by the place of its tier; the last is for all beyond.
	Rates  map[string]map[string]float64 `yaml:"rates"`
	Tiers  []float64                     `yaml:"tiers"`
	Guards float64                       `yaml:"guards"` // pass rate of every guard cell
	Sown   []Sown                        `yaml:"candidates"`
	Faults []SownFault                   `yaml:"faults"`

	tiers []string // names, in the order of the suite
	note  string   // path of the note's text; empty for none
	hook  bool     // a hook delivers a note
	files map[string][]byte
}

// Place is a part of the wording that any plugin has.
type Place string

// The places a phrase can be put at the end of.
const (
	AtDescription Place = "description" // of the first skill
	AtBody        Place = "body"        // of the first skill
	AtNote        Place = "note"        // of the hook; of the body where there is none
)

// Sown is one planted candidate: a phrase put behind a text that stands in a
// file exactly once.
type Sown struct {
	Kind   Kind    `yaml:"kind"`
	Place  Place   `yaml:"place"`
	Path   string  `yaml:"path"`
	After  string  `yaml:"after"`
	Phrase string  `yaml:"phrase"`
	Shift  float64 `yaml:"shift"` // of the mean pass rate; of the one cell for one_cell
	// Cells are globs over SCENARIO/TIER: the one cell raised, those that collapse, or
	// those won by what games the metric.
	Cells []string `yaml:"cells"`
	// First and Last are what every session under the wording does and says besides.
	First []harness.Step `yaml:"first"`
	Last  string         `yaml:"last"`
}

func (s Sown) habit() fake.Habit {
	return fake.Habit{Phrase: s.Phrase, First: s.First, Last: s.Last}
}

// SownFault is one fault of a single session.
type SownFault struct {
	Fault FaultName `yaml:"fault"`
	Cell  string    `yaml:"cell"` // empty for the cell of the fault's own number
	Rep   int       `yaml:"rep"`
}

// ReadPlanting reads what is planted for the plugin of a bundled suite: candidates
// of the kinds given, or all but those that are planted only where asked for.
func ReadPlanting(suite harness.Suite, kinds ...Kind) (Planting, error) {
	files, err := pluginFiles(suite.Checker.Plugin)
	if err != nil {
		return Planting{}, err
	}
	p, err := plantingFor(suite, files)
	if err != nil {
		return Planting{}, fmt.Errorf("read what to plant for %s: %w", suite.Checker.Plugin, err)
	}
	p.Sown = slices.DeleteFunc(p.Sown, func(s Sown) bool {
		return len(kinds) == 0 && s.Kind.gaming() || len(kinds) > 0 && !slices.Contains(kinds, s.Kind)
	})
	if len(p.Sown) == 0 || p.Sown[0].Kind == Duplicate {
		return Planting{}, fmt.Errorf("plant in %s: no candidate of the kinds %v that can stand alone", suite.Checker.Plugin, kinds)
	}
	return p, nil
}

// ReferenceRates returns the start's pass rate by cell near a reference run of
// the plugin; false for a cell that was not in one.
func ReferenceRates(plugin string) func(harness.Cell) (rate float64, ok bool) {
	p, own, err := readPlanting(plugin)
	return func(c harness.Cell) (float64, bool) {
		rate, ok := p.Rates[c.Tier][c.Scenario]
		return rate, ok && own && err == nil
	}
}

// readPlanting parses the plugin's file, or the generic one.
func readPlanting(plugin string) (p Planting, own bool, err error) {
	data, err := scenarios.Rehearsal(plugin + ".yaml")
	own = err == nil
	if !own {
		data, err = scenarios.Rehearsal("any.yaml")
	}
	if err != nil {
		return p, own, err
	}
	return p, own, yaml.UnmarshalWithOptions(data, &p, yaml.Strict())
}

func plantingFor(suite harness.Suite, files map[string][]byte) (Planting, error) {
	p, _, err := readPlanting(suite.Checker.Plugin)
	if err != nil {
		return p, err
	}
	p.files, p.note, p.hook = files, suite.Launch.Note.File, suite.Launch.Note.Kind != harness.NoteNone
	for _, t := range suite.Launch.Tiers {
		p.tiers = append(p.tiers, t.Name)
	}
	if err := p.resolve(); err != nil {
		return p, err
	}
	return p, p.validate()
}

// pluginFiles are the bytes of a bundled plugin by path.
func pluginFiles(plugin string) (map[string][]byte, error) {
	sub, err := fs.Sub(fixtures.Plugins(), plugin)
	if err != nil {
		return nil, err
	}
	tree, err := harness.ReadTree(sub)
	if err != nil {
		return nil, fmt.Errorf("read the bundled plugin %s: %w", plugin, err)
	}
	out := make(map[string][]byte, len(tree))
	for name, f := range tree {
		out[name] = f.Data
	}
	return out, nil
}

// rate is the start's pass rate of a cell.
func (p Planting) rate(c harness.Cell) float64 {
	if rate, ok := p.Rates[c.Tier][c.Scenario]; ok || len(p.Tiers) == 0 {
		return rate
	}
	return p.Tiers[min(max(slices.Index(p.tiers, c.Tier), 0), len(p.Tiers)-1)]
}

func (p Planting) surface() candidates.Surface { return candidates.NewSurface(p.files, p.note) }

// validate reports everything that would make a planted candidate something
// else than it says.
func (p Planting) validate() error {
	var errs []error
	rates := append(slices.Clone(p.Tiers), p.Guards)
	for _, byScenario := range p.Rates {
		for _, r := range byScenario {
			rates = append(rates, r)
		}
	}
	if slices.Min(rates) <= 0 || slices.Max(rates) >= 1 {
		errs = append(errs, errors.New("rates: one is not between 0 and 1"))
	}
	said := make(map[string]bool)
	for i, s := range p.Sown {
		if err := p.validSown(s, i); err != nil {
			errs = append(errs, fmt.Errorf("candidates[%d]: %s: %w", i, s.Kind, err))
		}
		if s.Shift != 0 && said[s.Phrase] {
			errs = append(errs, fmt.Errorf("candidates[%d]: %s: its phrase stands twice", i, s.Kind))
		}
		said[s.Phrase] = true
	}
	for i, f := range p.Faults {
		if _, ok := faultsByName()[f.Fault]; !ok || f.Rep < 1 {
			errs = append(errs, fmt.Errorf("faults[%d]: want a known fault and a rep from 1 on", i))
		}
	}
	return errors.Join(errs...)
}

// sign is what a kind does to the mean: 1 raises it, -1 lowers it.
func sign(k Kind) (int, bool) {
	n, ok := map[Kind]int{
		Null: 0, Harmful: -1, Large: 1, Small: 1, OneCell: 1, Collapse: 1, Eager: 1, OffSurface: 0, LongNote: 0, Duplicate: 0, NoOp: 0, Leak: 0, Shotgun: 1, AlwaysWrite: 1,
	}[k]
	return n, ok
}

func (p Planting) validSown(s Sown, i int) error {
	want, known := sign(s.Kind)
	switch {
	case !known:
		return errors.New("no such kind (null wants quotes)")
	case cmp.Compare(s.Shift, 0) != want:
		return fmt.Errorf("shift: %g has the wrong sign", s.Shift)
	case s.Kind == OneCell && (len(s.Cells) != 1 || strings.ContainsAny(s.Cells[0], "*?[")):
		return errors.New("cells: want exactly one cell")
	case s.Kind == Collapse && len(s.Cells) == 0:
		return errors.New("cells: want those that collapse")
	case s.Kind.gaming() && (len(s.Cells) == 0 || len(s.First) == 0):
		return errors.New("cells, first: want those that are won, and what every session does")
	case s.Kind == Duplicate && (i == 0 || p.Sown[0].lint()):
		return errors.New("want a candidate that costs sessions at the head of the queue, to repeat it")
	case s.Kind == Duplicate || s.Kind == LongNote:
		return nil
	case s.Phrase == "" && s.Kind != NoOp:
		return errors.New("phrase: missing")
	case s.Kind == OffSurface:
		if slices.Contains(p.surface().Paths, s.Path) {
			return fmt.Errorf("path: %s is on the Surface", s.Path)
		}
		return nil
	}
	return p.fits(s)
}

// fits wants the place of a phrase on the Surface, once, and in no other phrase.
func (p Planting) fits(s Sown) error {
	if !slices.Contains(p.surface().Paths, s.Path) {
		return fmt.Errorf("path: %q is not on the Surface", s.Path)
	}
	if n := strings.Count(string(p.files[s.Path]), s.After); s.After == "" || n != 1 {
		return fmt.Errorf("after: stands %d times in %s, want once", n, s.Path)
	}
	for _, other := range p.Sown {
		if other.Phrase != "" && strings.Contains(other.Phrase, s.After) {
			return fmt.Errorf("after: stands in the phrase %q as well", other.Phrase)
		}
	}
	return nil
}

// lint says whether a candidate must be refused before any session.
func (s Sown) lint() bool {
	return slices.Contains([]Kind{OffSurface, LongNote, Duplicate, NoOp, Leak}, s.Kind)
}

// matches says whether a candidate names a cell.
func (s Sown) matches(c harness.Cell) bool {
	return slices.ContainsFunc(s.Cells, func(glob string) bool {
		ok, err := path.Match(glob, c.String())
		return ok && err == nil
	})
}
