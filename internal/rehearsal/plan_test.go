package rehearsal

import (
	"fmt"
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

func bundledSuite(t *testing.T) harness.Suite {
	t.Helper()
	return suiteOf(t, campaign.BundledSuite)
}

// suiteOf reads a bundled suite, suiteNames lists them.
func suiteOf(t *testing.T, name string) harness.Suite {
	t.Helper()
	suite, err := campaign.ReadBundled(name)
	testenv.Must(t, err)
	return suite
}

func suiteNames(t *testing.T) []string {
	t.Helper()
	names, err := campaign.BundledSuites()
	if err != nil || len(names) < 2 {
		t.Fatalf("got %d bundled suites (%v), want 2 and more", len(names), err)
	}
	return names
}

func wholePlan(t *testing.T) Plan {
	suite := bundledSuite(t)
	return planned(t, suite, 0)
}

// planned plants the first n candidates of a suite.
func planned(t *testing.T, suite harness.Suite, n int) Plan {
	t.Helper()
	sown, err := ReadPlanting(suite)
	testenv.Must(t, err)
	plan, err := NewPlan(sown, suite.Cells(harness.Objective), suite.Cells(harness.Guard), n, loop.Fast, NoFault)
	testenv.Must(t, err)
	return plan
}

// notePath is where the bundled plugin keeps its note.
const notePath = "hooks/session-start-note.md"

// startFiles is the first bundled plugin, which a rehearsal starts with.
func startFiles(t *testing.T) map[string][]byte {
	t.Helper()
	return filesOf(t, bundledSuite(t))
}

// filesOf is the plugin a bundled suite measures.
func filesOf(t *testing.T, suite harness.Suite) map[string][]byte {
	t.Helper()
	out, err := pluginFiles(suite.Checker.Plugin)
	if err != nil || len(out) == 0 {
		t.Fatalf("got %d files, %v", len(out), err)
	}
	return out
}

func surfaceText(files map[string][]byte) string {
	return joinedFiles(candidates.NewSurface(files, notePath), files)
}

func meanRate(p Plan, text string) float64 {
	sum := 0.0
	for _, c := range p.Wording.Objective {
		sum += p.Wording.Rate(c, text)
	}
	return sum / float64(len(p.Wording.Objective))
}

func TestPlanKinds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[Kind]int{
		"os-adr":      {Null: 6, Harmful: 2, Large: 2, Small: 1, OneCell: 1, Collapse: 1, Eager: 1, OffSurface: 1, LongNote: 1, Duplicate: 1, NoOp: 1, Leak: 1},
		"nine-skills": {Null: 6, Harmful: 2, Large: 2, Small: 1, OneCell: 1, Collapse: 1, Eager: 1, OffSurface: 2, Duplicate: 1, NoOp: 1, Leak: 1},
	} {
		got := make(map[Kind]int)
		free := 0
		for i, p := range planned(t, suiteOf(t, name), 0).Candidates {
			got[p.Kind]++
			if p.FreeOfCost {
				free++
			}
			if want := fmt.Sprintf("c%03d", i+1); p.ID != want {
				t.Errorf("%s: candidate %d: got id %s, want %s", name, i, p.ID, want)
			}
		}
		testenv.Same(t, fmt.Sprintf("%s: kinds", name), want, got)
		if free != 5 {
			t.Errorf("%s: free of cost: got %d, want 5", name, free)
		}
	}
}

// TestPlanShifts walks the queue as if every verdict were right: each candidate
// is put on the real champion's files, and the true means are compared.
func TestPlanShifts(t *testing.T) {
	t.Parallel()
	for _, name := range suiteNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite := suiteOf(t, name)
			planShifts(t, suite, planned(t, suite, 0))
		})
	}
}

func planShifts(t *testing.T, suite harness.Suite, plan Plan) {
	t.Helper()
	champion := filesOf(t, suite)
	surface := candidates.NewSurface(champion, suite.Launch.Note.File)
	mean := func(files map[string][]byte) float64 { return meanRate(plan, joinedFiles(surface, files)) }
	shift := map[Kind]float64{
		Null: 0, Harmful: -.10, Large: .30, Small: .08, Collapse: .08, Eager: .15, OneCell: .60 / float64(len(plan.Wording.Objective)),
	}
	for _, p := range plan.Candidates {
		if p.FreeOfCost {
			continue
		}
		next, err := surface.Apply(champion, p.edits)
		if err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		if got, want := mean(next)-mean(champion), shift[p.Kind]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s %s: got a shift of the mean of %v, want %v", p.ID, p.Kind, got, want)
		}
		if p.Kind == Large {
			champion = next
		}
	}
	if mean := mean(champion); mean > 1 {
		t.Errorf("got a mean of %v at the end, want room for two large ones", mean)
	}
}

// TestPlanRates: no true rate is cut off at 0 or 1, or the shift would not be
// what it says.
func TestPlanRates(t *testing.T) {
	t.Parallel()
	for _, name := range suiteNames(t) {
		suite := suiteOf(t, name)
		plan := planned(t, suite, 0)
		var all []string
		for _, e := range plan.Wording.Effects {
			all = append(all, e.Phrase)
		}
		for _, text := range []string{"", strings.Join(all, "\n")} {
			for cell := range plan.Wording.Base {
				if r := plan.Wording.Rate(cell, text); r <= 0 || r >= 1 {
					t.Errorf("%s: %s: got a rate of %v, want one within (0,1)", name, cell, r)
				}
			}
		}
		if start := meanRate(plan, surfaceText(filesOf(t, suite))); start > .4 || start < .3 {
			t.Errorf("%s: got a mean of %v at the start, want .3 to .4", name, start)
		}
	}
}

func TestFirstOf(t *testing.T) {
	t.Parallel()
	suite := bundledSuite(t)
	for n, want := range map[int][]Kind{
		1: {Large},
		2: {Null, Large},
		7: {Null, Duplicate, Harmful, Large, OffSurface, NoOp, LongNote},
	} {
		var got []Kind
		for _, p := range planned(t, suite, n).Candidates {
			got = append(got, p.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("first %d: got %v, want %v", n, got, want)
		}
	}
	if got := len(planned(t, suite, 99).Candidates); got != 19 {
		t.Errorf("first 99: got %d, want 19", got)
	}
}

func TestRight(t *testing.T) {
	t.Parallel()
	e := 1.5
	lint := loop.Decided{Verdict: loop.Reject, Reason: loop.ByLint}
	futile := loop.Decided{Verdict: loop.Reject, Reason: loop.ByFutility, Sessions: 9, EValue: &e}
	keep := loop.Decided{Verdict: loop.Keep, Sessions: 9, EValue: &e}
	parked := loop.Decided{Verdict: loop.Inconclusive, Reason: loop.ByBudget, Sessions: 9, EValue: &e}
	costly, numbered := lint, lint
	costly.Sessions, numbered.EValue = 1, &e
	for _, p := range wholePlan(t).Candidates {
		never := p.Kind == Null || p.Kind == Harmful || p.Kind == Collapse || p.Kind == Eager
		right := map[*loop.Decided]bool{
			nil: false, &lint: p.Kind != Large && p.Kind != OneCell, &futile: never || p.Kind == Small,
			&keep:   p.Kind == Large || p.Kind == OneCell || p.Kind == Small,
			&parked: never || p.Kind == Small || p.Kind == OneCell, {Verdict: loop.Broken}: false,
		}
		if p.FreeOfCost {
			right[&costly], right[&numbered] = false, false
		}
		for d, want := range right {
			if got := p.Right(d); got != want {
				t.Errorf("%s %s: Right(%+v): got %v, want %v", p.ID, p.Kind, d, got, want)
			}
		}
	}
}

// The start is near the reference run: the small tier passes nothing, the large
// one all but W3 and R1, over the cells that run.
func TestPlanStartsNearTheReferenceRun(t *testing.T) { // req 33, 34, 35
	t.Parallel()
	plan := wholePlan(t)
	seen := 0
	for _, cell := range plan.Wording.Objective {
		rate := plan.Wording.Rate(cell, surfaceText(startFiles(t)))
		passes := cell.Tier == "sonnet" && cell.Scenario != "W3" && cell.Scenario != "R1"
		if passes != (rate > .5) {
			t.Errorf("%s starts at %.2f, want it to pass: %v", cell, rate, passes)
		}
		seen++
	}
	if seen < 12 {
		t.Errorf("looked at %d cells, want the 12 that run everywhere", seen)
	}
}
