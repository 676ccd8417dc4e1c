package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A round is a set: neither the order of its cells nor that of a cell's reps known beforehand moves the evidence.
func TestTheOrderInsideARoundDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells := anyCells(t, 5)
		bets, seen, order := PlaceBets(cells, Default()), make([]Seen, len(cells)), make([]int, len(cells))
		for i := range seen {
			seen[i] = Seen{Cand: []bool{rapid.Bool().Draw(t, "candidate")}, Base: []bool{rapid.Bool().Draw(t, "champion")}}
			if bets.Cells[i].A == 1 {
				seen[i].Base = append(seen[i].Base, rapid.Bool().Draw(t, "second"))
			}
			order[i] = i
		}
		other, moved, movedSeen := Bets{Lambda: bets.Lambda}, make([]Cell, len(cells)), make([]Seen, len(cells))
		for to, from := range rapid.Permutation(order).Draw(t, "order") {
			other.Cells = append(other.Cells, bets.Cells[from])
			moved[to], movedSeen[to] = cells[from], Seen{Cand: seen[from].Cand, Base: slices.Clone(seen[from].Base)}
			slices.Reverse(movedSeen[to].Base)
		}
		for i, c := range bets.Cells {
			if c.A < 1 && len(seen[i].Base) > 1 {
				t.Fatal("a second rep behind a coin")
			}
		}
		near(t, "evidence", other.LogFactor(movedSeen), bets.LogFactor(seen), 1e-9)
		near(t, "mean", Assess(moved, Default()).Mean, Assess(cells, Default()).Mean, 1e-9)
		near(t, "chance of a gain", Assess(moved, Default()).PGain, Assess(cells, Default()).PGain, 1e-9)
	})
}

// A slot that stayed invalid has the factor 1 and adds to no count.
func TestAnInvalidTrialChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells := anyCells(t, 4)
		bets, seen := PlaceBets(cells, Default()), make([]Seen, len(cells))
		sum := 0.0
		for i := range seen {
			valid := Seen{Cand: []bool{rapid.Bool().Draw(t, "candidate")}, Base: []bool{rapid.Bool().Draw(t, "champion")}}
			if rapid.Bool().Draw(t, "candidate invalid") {
				valid.Cand = nil
			}
			if rapid.Bool().Draw(t, "champion invalid") {
				valid.Base = nil
			}
			alone := make([]Seen, len(cells))
			alone[i], seen[i] = valid, valid
			sum += bets.LogFactor(alone)
			if c := cells[i].Cand.Add(Tally(valid.Cand)); c.N-cells[i].Cand.N != len(valid.Cand) {
				t.Errorf("got %v after %v", c, cells[i].Cand)
			}
		}
		near(t, "the valid trials one by one", sum, bets.LogFactor(seen), 1e-9)
	})
}

// Swapping the arms negates an estimate of the mean and mirrors its interval.
func TestSwappingArmsMirrorsTheMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pairs := anyPairs(t, 5)
		back, weights := make([]Pair, len(pairs)), make([]float64, len(pairs))
		for i, c := range pairs {
			back[i], weights[i] = Pair{A: c.B, B: c.A}, rapid.Float64Range(0, 2).Draw(t, "weight")
		}
		d, iv, ok := MeanInterval(pairs, weights, .9)
		e, mirror, okBack := MeanInterval(back, weights, .9)
		near(t, "difference", d, -e, 1e-12)
		near(t, "low", iv.Low, -mirror.High, 1e-12)
		near(t, "high", iv.High, -mirror.Low, 1e-12)
		if ok != okBack {
			t.Errorf("got %v, the other way %v", ok, okBack)
		}
		if ok && (d < iv.Low-1e-12 || d > iv.High+1e-12) {
			t.Errorf("got %v outside %v", d, iv)
		}
	})
}

// A single cell, no rep, everything passed or failed, nothing valid: values and doubts, never a keep.
func TestThinInput(t *testing.T) {
	t.Parallel()
	one := func(cand, base Count) []Cell { return []Cell{{Cand: cand, Base: base, Full: base, Weight: 1}} }
	for name, cells := range map[string][]Cell{
		"no reps": one(Count{}, Count{}), "all passed": one(Count{9, 9}, Count{9, 9}), "all failed": one(Count{0, 9}, Count{0, 9}),
		"as good as can be": one(Count{9, 9}, Count{0, 9}), "as bad as can be": one(Count{0, 9}, Count{9, 9}),
	} {
		bets, a := PlaceBets(cells, Default()), Assess(cells, Default())
		if len(bets.Warnings) > 0 || !(bets.Lambda > 0) || math.IsInf(bets.Lambda, 1) {
			t.Errorf("%s: got bets %+v", name, bets)
		}
		if !(a.SD > 0) || !(a.PGain >= 0 && a.PGain <= 1) || !(a.PHarm >= 0 && a.PHarm <= 1) {
			t.Errorf("%s: got %+v", name, a)
		}
		if logE := bets.LogFactor([]Seen{{}}); logE != 0 || Reached(logE, 5) {
			t.Errorf("%s: evidence %v from nothing valid", name, logE)
		}
	}
	for _, w := range []float64{math.NaN(), math.Inf(1), -1} {
		cells := append(one(Count{9, 9}, Count{0, 9}), Cell{Weight: w})
		cells[0].Weight = 3
		if bets, a := PlaceBets(cells, Default()), Assess(cells, Default()); bets.Lambda != 0 || len(bets.Warnings) == 0 || len(a.Warnings) == 0 {
			t.Errorf("weight %v: got bets %+v and %+v, want none and a doubt", w, bets, a)
		}
	}
}
