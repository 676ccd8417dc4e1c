package stats

import (
	"math"
	"testing"

	"loopd/internal/testenv"
)

// unbet is a stage in which the first cell is bet on and the second is not.
func unbet(extra int, second Cell) Stage {
	return Stage{Cells: []Cell{{Weight: 1, Cand: Count{6, 6}, Full: Count{6, 6}}, second}, Extra: []int{0, extra}}
}

// TestStage_Guard wants reps where a cell has too few, a veto where it fell, and nothing where all are clear.
func TestStage_Guard(t *testing.T) {
	t.Parallel()
	fine, fell := Cell{Cand: Count{6, 6}, Full: Count{6, 6}}, Cell{Cand: Count{0, 8}, Full: Count{8, 8}}
	for name, c := range map[string]struct {
		stage      Stage
		keep, gate []Ask
		keepFalls  bool
		gateFalls  bool
	}{
		"clear":      {stage: unbet(3, fine), keep: []Ask{{}, {}}, gate: []Ask{{}, {}}},
		"no rep yet": {stage: unbet(0, Cell{Full: Count{6, 6}}), keep: []Ask{{}, {Cand: 2}}, gate: []Ask{{}, {3, 3}}},
		"one of two": {stage: unbet(1, Cell{Cand: Count{1, 1}, Full: Count{6, 6}}), keep: []Ask{{}, {Cand: 1}}, gate: []Ask{{}, {2, 2}}},
		"fell":       {stage: unbet(3, fell), keepFalls: true, gateFalls: true},
		"the cell that is bet on fell": {
			stage: Stage{Cells: []Cell{{Weight: 1, Cand: Count{0, 8}, Full: Count{8, 8}}}, Extra: []int{3}}, keepFalls: true, gate: []Ask{{}},
		},
		"in doubt, champion seen little": {
			stage: Stage{Cells: []Cell{{Weight: 1, Cand: Count{1, 2}, Full: Count{2, 2}}}, Extra: []int{0}}, keep: []Ask{{1, 1}}, gate: []Ask{{}},
		},
	} {
		asks, fall := c.stage.Guard(HarmProb)
		testenv.Same(t, name+", before a keep", c.keep, asks)
		if (fall != nil) != c.keepFalls || (fall != nil && fall.Cell != len(c.stage.Cells)-1) {
			t.Errorf("%s, before a keep: got fall %+v, want one: %v", name, fall, c.keepFalls)
		}
		asks, fall = c.stage.GuardGate(HarmProb)
		testenv.Same(t, name+", at the gate", c.gate, asks)
		if (fall != nil) != c.gateFalls {
			t.Errorf("%s, at the gate: got fall %+v, want one: %v", name, fall, c.gateFalls)
		}
	}
}

func TestSearch_Shares(t *testing.T) {
	t.Parallel()
	s := Search{Profile: Fast, Budget: 1000, GateShare: .2, KeepAt: 5, KeepFDR: .2, MaxCandidates: 60}
	if got := []int{s.Reserve(), s.Left(300), s.Share(300, 10), s.Share(300, 60), s.PilotOf(7)}; got[0] != 200 || got[1] != 500 || got[2] != 10 || got[3] != 500 || got[4] != 3 {
		t.Errorf("got reserve, left, share, share of the last and pilot %v", got)
	}
	near(t, "fast", s.NextKeepAt(9, 2), 5, 0)
	s.Profile = Certified
	near(t, "certified, the first", s.NextKeepAt(1, 0), 300, 1e-9)
	near(t, "certified, the ninth after two keeps", s.NextKeepAt(9, 2), 100, 1e-9)
	if got := s.NextKeepAt(61, 0); !math.IsInf(got, 1) {
		t.Errorf("beyond the candidates: got %v, want no end", got)
	}
	if s.Profile = Scout; s.PilotOf(7) != 7 {
		t.Error("scout keeps a pool")
	}
}
