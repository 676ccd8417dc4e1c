package rehearsal

import (
	"math"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/testenv"
	"loopd/loop"
)

// tides is a suite and a plugin that no file was written for.
func tides(note harness.Note) (harness.Suite, map[string][]byte) {
	suite := harness.Suite{
		Checker: harness.Checker{Plugin: "tides"},
		Launch:  harness.Launch{Note: note, Tiers: []harness.Tier{{Name: "little"}, {Name: "middle"}, {Name: "big"}}},
		Scenarios: []harness.Scenario{
			{ID: "A1", Role: harness.Objective}, {ID: "A2", Role: harness.Objective}, {ID: "G1", Role: harness.Guard},
		},
	}
	return suite, map[string][]byte{
		"skills/ebb/SKILL.md": []byte("---\nname: ebb\ndescription: >-\n  Says when the water is low and\n  when a boat may leave.\n---\n" +
			"\n# Ebb\n\nRun `ebb HARBOUR`.\n\n- one\n\n```sh\nebb north\n```\n"),
		"skills/flood/SKILL.md": []byte("---\nname: flood\ndescription: 'Says when it''s high.'\n---\n\nRun `flood`.\n"),
		"hooks/note.md":         []byte("Tide tables are at hand.\nAsk ebb or flood.\n"),
		"README.md":             []byte("the tides\n"),
	}
}

func TestGenericPlan(t *testing.T) {
	t.Parallel()
	suite, files := tides(harness.Note{Kind: harness.NoteFile, File: "hooks/note.md"})
	sown, err := plantingFor(suite, files)
	testenv.Must(t, err)
	plan, err := NewPlan(sown, suite.Cells(harness.Objective), suite.Cells(harness.Guard), 0, loop.Fast, NoFault)
	testenv.Must(t, err)
	surface := candidates.NewSurface(files, "hooks/note.md")
	champion := files
	seen := map[string]string{surface.Digest(files): "start"}
	got := make(map[Kind]int)
	for _, p := range plan.Candidates {
		got[p.Kind]++
		findings := candidates.Lint(candidates.LintInput{Surface: surface, Base: champion, Candidate: candidateOf(p), Seen: seen})
		if p.FreeOfCost != (len(findings) > 0) {
			t.Errorf("%s %s: findings %v", p.ID, p.Kind, findings)
		}
		if p.FreeOfCost {
			continue
		}
		next, err := surface.Apply(champion, p.edits)
		if err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		seen[surface.Digest(next)] = p.ID
		shift := meanRate(plan, joinedFiles(surface, next)) - meanRate(plan, joinedFiles(surface, champion))
		if want := map[Kind]float64{Harmful: -.10, Large: .30}[p.Kind]; math.Abs(shift-want) > 1e-9 {
			t.Errorf("%s %s: got a shift of the mean of %v, want %v", p.ID, p.Kind, shift, want)
		}
		if p.Kind == Large {
			champion = next
		}
	}
	for kind, want := range map[Kind]int{Null: 4, Harmful: 2, Large: 1, OffSurface: 1, NoOp: 1, LongNote: 1, Duplicate: 1} {
		if got[kind] != want {
			t.Errorf("%s: got %d, want %d", kind, got[kind], want)
		}
	}
	for cell, want := range map[string]float64{"A1/little": .05, "A1/middle": .55, "A2/big": .55, "G1/big": .95} {
		id, tier, _ := strings.Cut(cell, "/")
		if rate := plan.Wording.Base[harness.Cell{Scenario: id, Tier: tier}]; rate != want {
			t.Errorf("%s starts at %v, want %v", cell, rate, want)
		}
	}
	if f := plan.faults[place{"A1/big", 3}]; len(plan.faults) != 8 || f.class != harness.Cancelled {
		t.Errorf("got faults %v, want the third in the third cell", plan.faults)
	}
}

func joinedFiles(s candidates.Surface, files map[string][]byte) string {
	var b strings.Builder
	for _, p := range s.Paths {
		b.Write(files[p])
		b.WriteByte('\n')
	}
	return b.String()
}

// Without a note nothing is planted in it, and no hook fails.
func TestGenericPlanWithoutANote(t *testing.T) {
	t.Parallel()
	suite, files := tides(harness.Note{Kind: harness.NoteNone})
	delete(files, "hooks/note.md")
	sown, err := plantingFor(suite, files)
	testenv.Must(t, err)
	plan, err := NewPlan(sown, suite.Cells(harness.Objective), nil, 0, loop.Fast, NoFault)
	testenv.Must(t, err)
	for _, p := range plan.Candidates {
		if p.Kind == LongNote || p.edits[0].Path == "" {
			t.Errorf("%s %s: edits %q", p.ID, p.Kind, p.edits[0].Path)
		}
	}
	for at, f := range plan.faults {
		if f.hook {
			t.Errorf("a hook fails at %v", at)
		}
	}
	if len(plan.Candidates) != 10 || len(plan.faults) != 7 {
		t.Errorf("got %d candidates and %d faults, want 10 and 7", len(plan.Candidates), len(plan.faults))
	}
}

// A planting that says one thing and does another would make a rehearsal lie.
func TestPlantingDamage(t *testing.T) {
	t.Parallel()
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	testenv.Must(t, err)
	at := func(p *Planting, k Kind) *Sown {
		return &p.Sown[slices.IndexFunc(p.Sown, func(s Sown) bool { return s.Kind == k })]
	}
	for want, damage := range map[string]func(p *Planting){
		"between 0 and 1":        func(p *Planting) { p.Rates["haiku"]["W1"] = 0 },
		"no such kind":           func(p *Planting) { at(p, Null).Kind = "" },
		"wrong sign":             func(p *Planting) { at(p, Harmful).Shift = .1 },
		"stands 0 times":         func(p *Planting) { at(p, Large).After = "nowhere in it" },
		"times in skills":        func(p *Planting) { at(p, Large).After = "a" },
		"not on the Surface":     func(p *Planting) { at(p, Small).Path = "bin/adr-find" },
		"is on the Surface":      func(p *Planting) { at(p, OffSurface).Path = notePath },
		"exactly one cell":       func(p *Planting) { at(p, OneCell).Cells = []string{"W3/*"} },
		"those that collapse":    func(p *Planting) { at(p, Collapse).Cells = nil },
		"phrase: missing":        func(p *Planting) { at(p, Small).Phrase = "" },
		"its phrase stands":      func(p *Planting) { at(p, Small).Phrase = at(p, Large).Phrase },
		"stands in the phrase":   func(p *Planting) { at(p, Small).Phrase = "x " + at(p, Small).After },
		"the head of the queue":  func(p *Planting) { p.Sown[0] = p.Sown[1] },
		"a known fault":          func(p *Planting) { p.Faults[0].Fault = "flood" },
		"a known fault and a re": func(p *Planting) { p.Faults[0].Rep = 0 },
	} {
		p, err := ReadPlanting(suite)
		testenv.Must(t, err)
		if damage(&p); p.validate() == nil || !strings.Contains(p.validate().Error(), want) {
			t.Errorf("got %v, want %q in it", p.validate(), want)
		}
	}
}

// Cells and faults of a bundled file are cells of its suite, and it says a rate
// for each of them.
func TestPlantingNamesCellsThereAre(t *testing.T) {
	t.Parallel()
	for _, name := range suiteNames(t) {
		suite := suiteOf(t, name)
		p, err := ReadPlanting(suite)
		testenv.Must(t, err)
		if len(p.Sown) < 18 || len(p.Faults) < 3 {
			t.Errorf("%s: %d candidates and %d faults", name, len(p.Sown), len(p.Faults))
		}
		cells := suite.Cells(harness.Objective)
		for _, f := range p.Faults {
			if !slices.ContainsFunc(cells, func(c harness.Cell) bool { return c.String() == f.Cell }) {
				t.Errorf("%s: fault %s: no cell %s", name, f.Fault, f.Cell)
			}
		}
		for _, s := range p.Sown {
			if len(s.Cells) > 0 && !slices.ContainsFunc(cells, s.matches) {
				t.Errorf("%s: %s: no cell is one of %v", name, s.Kind, s.Cells)
			}
		}
		for _, c := range cells {
			if rate, ok := ReferenceRates(suite.Checker.Plugin)(c); !ok || rate != p.rate(c) {
				t.Errorf("%s: %s: reference %v %v, planted %v", name, c, rate, ok, p.rate(c))
			}
			if rate, ok := ReferenceRates("tides")(c); ok {
				t.Errorf("%s: got a reference rate of %v for a plugin that never ran", c, rate)
			}
		}
	}
}
