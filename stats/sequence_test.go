package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// step is one round of a sequence.
type step struct {
	cells []Cell
	bets  Bets
	seen  []Seen
}

// steps plays rounds with both arms fresh, as a gate does.
func steps(r *rand.Rand, p, q []float64, pilot, rounds int) []step {
	cells, hidden := make([]Cell, len(p)), make([]Count, len(p))
	for i := range p {
		base := draws(r, p[i], pilot)
		cells[i] = Cell{Base: base, Full: base, Weight: 1 / float64(len(p))}
	}
	out := make([]step, rounds)
	for n := range out {
		out[n] = step{slices.Clone(cells), PlaceBets(cells, Default()), make([]Seen, len(p))}
		for i := range p {
			out[n].seen[i], _ = playCell(r, p[i], q[i], &cells[i], &hidden[i], out[n].bets.Cells[i])
		}
	}
	return out
}

// The sequence rules out a value exactly when the e-process against it has reached twice 1/alpha in some round.
func TestSequenceIsTheEProcessAgainstEveryValue(t *testing.T) {
	t.Parallel()
	p := seedGrid()
	s, cfg, alpha := NewSequence(Default(), .05), Default(), .05
	logE, low := map[int]float64{}, -1.0
	for _, x := range steps(rand.New(rand.NewPCG(3, 1)), p, lifted(p, .25), 3, 40) {
		s.Step(x.cells, x.bets, x.seen)
		for d := -50; d <= 50; d++ {
			cfg.D0 = float64(d) / 100
			if logE[d] += PlaceBets(x.cells, cfg).LogFactor(x.seen); logE[d] >= math.Log(2/alpha) {
				low = max(low, cfg.D0)
			}
		}
		if got := s.Interval().Low; got != low {
			t.Fatalf("got a lower bound of %v, want %v", got, low)
		}
	}
	if low <= 0 || low > .25 || len(s.Warnings()) > 0 {
		t.Errorf("got a lower bound of %v and %q, want one between 0 and the truth", low, s.Warnings())
	}
}

// A rise becomes a fall where every pass is a failure, bit for bit, because no sum changes its order.
func TestSequenceOfFailuresMirrors(t *testing.T) {
	t.Parallel()
	p := seedGrid()
	there, back := NewSequence(Default(), .1), NewSequence(Default(), .1)
	for _, x := range steps(rand.New(rand.NewPCG(4, 1)), p, lifted(p, .3), 3, 30) {
		there.Step(x.cells, x.bets, x.seen)
		back.Step(failing(x.cells), x.bets, failingSeen(x.seen))
		a, b := there.Interval(), back.Interval()
		if a.Low != -b.High || a.High != -b.Low {
			t.Fatalf("got %v, of failures %v", a, b)
		}
	}
	if iv := there.Interval(); iv == (Interval{-1, 1}) {
		t.Error("nothing was ruled out, which mirrors anything")
	}
}

// Rounds keep what was ruled out, and the truth is missed in few runs though every round is looked at.
func TestSequenceCovers(t *testing.T) {
	t.Parallel()
	p := seedGrid()
	for _, delta := range []float64{0, .2} {
		r, q, missed := rand.New(rand.NewPCG(9, 2)), lifted(p, delta), Count{N: 200}
		for range missed.N {
			s, before := NewSequence(Default(), .1), Interval{-1, 1}
			for _, x := range steps(r, p, q, 3, 12) {
				s.Step(x.cells, x.bets, x.seen)
				iv := s.Interval()
				if iv.Low < before.Low || iv.High > before.High {
					t.Fatalf("got %v after %v", iv, before)
				}
				before = iv
			}
			if before.Low > delta+1e-9 || before.High < delta-1e-9 {
				missed.Pass++
			}
		}
		t.Logf("rise %v: missed in %d/%d", delta, missed.Pass, missed.N)
		if bound := ClopperPearson(missed, .98).Low; bound > .1 {
			t.Errorf("rise %v: missed in %d/%d, want at most a tenth", delta, missed.Pass, missed.N)
		}
	}
}

// An invalid trial is no outcome: a round of nothing else changes nothing.
func TestSequenceOfInvalidRounds(t *testing.T) {
	t.Parallel()
	s, cells := NewSequence(Default(), .1), grid14()
	for range 500 {
		s.Step(cells, PlaceBets(cells, Default()), make([]Seen, len(cells)))
	}
	if got := s.Interval(); got != (Interval{-1, 1}) || len(s.Warnings()) > 0 {
		t.Errorf("got %v and %q, want everything and no doubt", got, s.Warnings())
	}
}

func TestSequenceOfDoubt(t *testing.T) {
	t.Parallel()
	cells, bad := grid14(), grid14()
	bad[3].Cand = Count{Pass: 2, N: 1}
	seen := make([]Seen, len(cells))
	for i := range seen {
		seen[i] = Seen{Cand: []bool{true}, Base: []bool{false}}
	}
	other := Default()
	other.R = 5
	for name, c := range map[string]struct {
		alpha float64
		cfg   Config
		cells []Cell
		bets  Bets
	}{
		"no level":          {0, Default(), cells, PlaceBets(cells, Default())},
		"a level of NaN":    {math.NaN(), Default(), cells, PlaceBets(cells, Default())},
		"no constants":      {.1, Config{}, cells, PlaceBets(cells, Default())},
		"other chances":     {.1, Default(), cells, PlaceBets(cells, other)},
		"a damaged count":   {.1, Default(), bad, PlaceBets(bad, Default())},
		"no cells":          {.1, Default(), nil, Bets{}},
		"bets for too few":  {.1, Default(), cells, Bets{Cells: PlaceBets(cells, Default()).Cells[:3]}},
		"no bets for cells": {.1, Default(), cells, Bets{}},
	} {
		s := NewSequence(c.cfg, c.alpha)
		for range 50 {
			s.Step(c.cells, c.bets, seen)
		}
		if got := s.Interval(); got != (Interval{-1, 1}) || len(s.Warnings()) == 0 {
			t.Errorf("%s: got %v and %q, want everything and a doubt", name, got, s.Warnings())
		}
	}
}

// Passes of sure cells and failures of hopeless ones leave every bound finite and in order.
func TestSequenceOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, cells := NewSequence(Default(), .3), anyCells(t, 3)
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			seen := make([]Seen, len(cells))
			for i := range seen {
				seen[i].Cand = rapid.SliceOfN(rapid.Bool(), 0, 2).Draw(t, "candidate")
				seen[i].Base = rapid.SliceOfN(rapid.Bool(), 0, 2).Draw(t, "champion")
			}
			s.Step(cells, PlaceBets(cells, Default()), seen)
		}
		if iv := s.Interval(); !(iv.Low >= -1 && iv.Low <= iv.High && iv.High <= 1) {
			t.Errorf("got %v", iv)
		}
	})
}

func BenchmarkSequenceStep(b *testing.B) {
	cells := grid14()
	bets, seen := PlaceBets(cells, Default()), make([]Seen, len(cells))
	for i := range seen {
		seen[i] = Seen{Cand: []bool{i%2 == 0}, Base: []bool{i%3 == 0}}
	}
	b.ReportAllocs()
	for b.Loop() {
		// A new one every time: what has been ruled out is not computed again.
		NewSequence(Default(), .05).Step(cells, bets, seen)
	}
}
