package report

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/stats"
)

// session is what one valid session of the start came to.
type session struct {
	cell   harness.Cell
	a, b   harness.Outcome
	reason string // of axis a
	cli    string
}

// pilotOf is a state whose pilot holds exactly these sessions.
func pilotOf(t *testing.T, started loop.Started, sessions ...session) *loop.State {
	t.Helper()
	st := newStory(t)
	started.Campaign, started.Start, started.Settings = "abc1234-1", startWording, loop.DefaultSettings(40)
	round := loop.Round{N: 1, Subject: loop.SubjectStart, Purpose: loop.ForPilot}
	for _, s := range sessions {
		round.Slots = append(round.Slots, st.slot(startWording, s.cell))
	}
	st.add(started, loop.Planned{Round: round})
	for i, s := range sessions {
		st.add(loop.Recorded{Trial: s.trial(round.Slots[i])})
	}
	return st.state
}

func (s session) trial(sl harness.Slot) harness.Trial {
	spec := harness.Spec{Campaign: "abc1234-1", Slot: sl, Attempt: 1}
	r := harness.Result{Kind: harness.Unprompted, Outcome: harness.Fail, Checks: []harness.Check{
		{Name: harness.AxisA, Outcome: s.a, Reason: s.reason},
		{Name: harness.AxisB, Outcome: s.b, Evidence: []harness.Evidence{{Line: 7, What: "cites 0042"}, {Line: 9, What: `says "the tide is out"`}}},
	}}
	if s.a == harness.Pass && s.b == harness.Pass {
		r.Outcome = harness.Pass
	}
	if s.b == harness.Pass {
		r.JudgedBy = "file"
	}
	return harness.Trial{ID: spec.TrialID(), Spec: spec, Class: harness.Valid, Result: r, CLI: s.cli}
}

// times repeats a session that passes or fails on both axes.
func times(n int, c harness.Cell, cli string, o harness.Outcome) []session {
	return slices.Repeat([]session{{cell: c, a: o, b: o, cli: cli}}, n)
}

func contrastGrid() loop.Started {
	return loop.Started{
		Objective: []harness.Cell{cell("F1", "small")}, Controls: []harness.Cell{cell("F1-bare", "small")},
		Pairs: map[string]loop.Pair{"F1-bare": {Scenario: "F1", Lacks: "the chart"}},
	}
}

func TestContrastReadings(t *testing.T) { // req 36
	t.Parallel()
	pair, control := cell("F1", "small"), cell("F1-bare", "small")
	for name, c := range map[string]struct {
		pair, control stats.Count
		want          Reading
		says          string
	}{
		"carried":             {stats.Count{Pass: 6, N: 6}, stats.Count{Pass: 0, N: 4}, Carried, "the chart carried it"},
		"as often":            {stats.Count{Pass: 3, N: 4}, stats.Count{Pass: 3, N: 4}, NotNeeded, "the chart was not needed"},
		"more often":          {stats.Count{Pass: 1, N: 4}, stats.Count{Pass: 4, N: 4}, NotNeeded, "passes as often"},
		"less, maybe chance":  {stats.Count{Pass: 1, N: 1}, stats.Count{Pass: 0, N: 1}, Unclear, "may be chance"},
		"pair fails":          {stats.Count{Pass: 0, N: 4}, stats.Count{Pass: 0, N: 4}, SaysNothing, "says nothing"},
		"pair fails, it not":  {stats.Count{Pass: 0, N: 4}, stats.Count{Pass: 2, N: 4}, SaysNothing, "says nothing"},
		"control not run":     {stats.Count{Pass: 2, N: 4}, stats.Count{}, NotRead, "nothing to read"},
		"neither has a trial": {stats.Count{}, stats.Count{}, NotRead, "not run vs"},
	} {
		sessions := slices.Concat(
			times(c.pair.Pass, pair, "1.0", harness.Pass), times(c.pair.N-c.pair.Pass, pair, "1.0", harness.Fail),
			times(c.control.Pass, control, "1.0", harness.Pass), times(c.control.N-c.control.Pass, control, "1.0", harness.Fail),
		)
		rep := Build(pilotOf(t, contrastGrid(), sessions...))
		if len(rep.Contrasts) != 1 || rep.Contrasts[0].Reading != c.want || !strings.Contains(contrastText(rep.Contrasts[0]), c.says) {
			t.Errorf("%s: got %+v, want one %s", name, rep.Contrasts, c.want)
			continue
		}
		if warned := strings.Contains(strings.Join(rep.Warnings, "\n"), "F1 on small: the chart was not needed"); warned != (c.want == NotNeeded) {
			t.Errorf("%s: got warnings %q", name, rep.Warnings)
		}
		if len(rep.Cells) != 1 || rep.Cells[0].Name != "F1/small" || rep.Cells[0].Champion.N != c.pair.N {
			t.Errorf("%s: the control is in the metric: %+v", name, rep.Cells)
		}
	}
}

func TestContrastWithoutWordsIsGeneral(t *testing.T) {
	t.Parallel()
	grid := contrastGrid()
	grid.Pairs = map[string]loop.Pair{"F1-bare": {Scenario: "F1"}}
	rep := Build(pilotOf(t, grid, slices.Concat(times(6, cell("F1", "small"), "", harness.Pass), times(4, cell("F1-bare", "small"), "", harness.Fail))...))
	if got := contrastText(rep.Contrasts[0]); !strings.HasSuffix(got, "F1 passes and F1-bare does not: what F1-bare lacks carried it.") {
		t.Errorf("got %q", got)
	}
}

// Trials of two versions of the agent CLI, or of two tiers, are not pooled.
func TestContrastDoesNotPoolVersions(t *testing.T) {
	t.Parallel()
	pair, control, large := cell("F1", "small"), cell("F1-bare", "small"), cell("F1", "large")
	rep := Build(pilotOf(t, contrastGrid(), slices.Concat(
		times(3, pair, "1.0", harness.Pass), times(5, pair, "1.1", harness.Pass), times(2, large, "1.0", harness.Pass),
		times(4, control, "1.0", harness.Fail), times(2, control, "1.1", harness.Pass),
	)...))
	if len(rep.Contrasts) != 2 {
		t.Fatalf("got %d contrasts, want one a version", len(rep.Contrasts))
	}
	for i, want := range []struct {
		cli          string
		passes, none int
		reading      Reading
	}{{"1.0", 3, 4, Carried}, {"1.1", 5, 2, NotNeeded}} {
		c := rep.Contrasts[i]
		if c.CLI != want.cli || c.Passes.N != want.passes || c.Without.N != want.none || c.Reading != want.reading {
			t.Errorf("got %+v, want %+v", c, want)
		}
	}
}

// A pass of what cannot be passed is named with its trial and what the checker
// saw; what the session said stays in its transcript.
func TestLeakNamesTrialAndEvidence(t *testing.T) {
	t.Parallel()
	sealed := cell("Z1", "small")
	grid := loop.Started{Objective: []harness.Cell{cell("F1", "small")}, Controls: []harness.Cell{sealed}, Impossible: []harness.Cell{sealed}}
	calm := Build(pilotOf(t, grid, times(3, sealed, "", harness.Fail)...))
	if len(calm.Impossible) != 1 || calm.Impossible[0].AxisB.K != 0 || calm.Impossible[0].AxisB.N != 3 || len(calm.Impossible[0].Leaks) != 0 {
		t.Errorf("got %+v, want 0/3", calm.Impossible)
	}
	if text := string(calm.Markdown()); !strings.Contains(text, "- Z1/small: 0/3 [") {
		t.Errorf("the page does not show 0/3:\n%s", text)
	}
	s := pilotOf(t, grid, append(times(2, sealed, "", harness.Fail), session{cell: sealed, a: harness.Fail, b: harness.Pass})...)
	step := loop.Next(s)
	if len(step.Append) != 1 || step.Append[0].Kind() != loop.KindHalted {
		t.Fatalf("got %+v, want a halt", step)
	}
	testenv.Must(t, s.Apply(loop.Event{Payload: step.Append[0]}))
	rep := Build(s)
	id := s.Trials[2].ID
	if im := rep.Impossible[0]; im.AxisB.K != 1 || len(im.Leaks) != 1 || im.Leaks[0].Trial != id || im.Leaks[0].Wording != "start" {
		t.Fatalf("got %+v, want trial %s", rep.Impossible, id)
	}
	text := strings.Join(strings.Fields(string(rep.Markdown())), " ")
	for _, want := range []string{"halted: Z1/small passed axis b", "**It passed:** trial " + id + " under start, decided by the files it left", "line 7 of the transcript: cites 0042", "line 9 of the transcript: says so"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "tide") {
		t.Error("the page repeats what the session said")
	}
}

// A detour and a task that was not done are two findings.
func TestGuardsTellDetourFromDone(t *testing.T) {
	t.Parallel()
	g := []harness.Cell{cell("N1", "small"), cell("N2", "small"), cell("N1", "large")}
	rep := Build(pilotOf(t, loop.Started{Objective: []harness.Cell{cell("F1", "small")}, Guards: g},
		session{cell: g[0], a: harness.Fail, b: harness.Pass, reason: unprompted.ReasonDetour},
		session{cell: g[1], a: harness.Pass, b: harness.Fail, reason: unprompted.ReasonNotDone},
		session{cell: g[1], a: harness.Pass, b: harness.Pass},
		session{cell: g[2], a: harness.Pass, b: harness.Fail},
	))
	for i, want := range []struct {
		tier             string
		detours, done, n int
	}{{"small", 1, 2, 3}, {"large", 0, 0, 1}} {
		got := rep.Guarded[i]
		for arm := range 2 { // start and champion are one wording here
			if got.Tier != want.tier || got.Detours[arm].K != want.detours || got.Done[arm].K != want.done || got.Done[arm].N != want.n || got.Detours[arm].CI.High == 0 {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
}

// Whatever comes of guards, controls, reserve and practice, the metric, the
// gate's effect, the funnel and the metric of loop-results.tsv stay as they are.
func TestOnlyObjectiveCellsEnterTheMetric(t *testing.T) { // req 77
	t.Parallel()
	outside := []harness.Cell{cell("N1", "haiku"), cell("X1", "haiku"), cell("R8", "haiku"), cell("P1", "haiku")}
	build := func(rt *rapid.T, pass []bool) (Campaign, string) {
		st := newStory(t)
		st.outside = make(map[harness.Cell]bool)
		for i, c := range outside {
			st.outside[c] = pass[i]
		}
		st.begin()
		st.compare("c001")
		st.gate()
		st.transfer()
		rep, table := Build(st.state), string(LoopResults(st.state))
		if n := len(rep.Guarded) + len(rep.Controls) + len(rep.Transfer); n != 3 {
			rt.Fatalf("%d of guards, controls and reserve were run, want all", n)
		}
		return rep, table
	}
	none := make([]bool, len(outside))
	rapid.Check(t, func(rt *rapid.T) {
		flipped := rapid.SliceOfN(rapid.Bool(), len(outside), len(outside)).Draw(rt, "passes")
		want, wantTable := build(rt, none)
		got, gotTable := build(rt, flipped)
		same(rt, "cells", want.Cells, got.Cells)
		same(rt, "gate", want.Gate, got.Gate)
		same(rt, "funnel", want.Funnel, got.Funnel)
		same(rt, "loop-results.tsv", wantTable, gotTable)
		if flipped[0] && got.Guarded[0].Detours[0].K == want.Guarded[0].Detours[0].K {
			rt.Fatal("flipping the guard changed nothing: the test looks at nothing")
		}
	})
}
