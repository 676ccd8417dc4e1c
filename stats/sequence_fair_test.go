package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Every value at or above the truth is a null, and on neither side is evidence against one expected to grow: the
// exact mean over all coins and outcomes of one round.
func TestSequenceIsFairInOneRound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells := anyCells(t, 1)
		p, q := rapid.Float64Range(0, 1).Draw(t, "p"), rapid.Float64Range(0, 1).Draw(t, "q")
		bets := PlaceBets(cells, Default())
		var rise, fall [2*sequenceSteps + 1]float64
		for _, y := range arm(bets.Cells[0].Pi, q) {
			for _, x := range arm(bets.Cells[0].A, p) {
				// A level this small rules nothing out, so that every value is followed.
				s := NewSequence(Default(), 1e-300)
				s.Step(cells, bets, []Seen{{Cand: y.outcomes, Base: x.outcomes}})
				for i := range rise {
					rise[i] += y.chance * x.chance * math.Exp(s.rise.logE[i])
					fall[i] += y.chance * x.chance * math.Exp(s.fall.logE[i])
				}
			}
		}
		for i := range rise {
			if q-p <= onGrid(i) && rise[i] > 1+1e-9 {
				t.Errorf("a rise of at most %v: got expected evidence %v", onGrid(i), rise[i])
			}
			if p-q <= onGrid(i) && fall[i] > 1+1e-9 {
				t.Errorf("a fall of at most %v: got expected evidence %v", onGrid(i), fall[i])
			}
		}
	})
}

// A bound moves only up to the first value that is still possible, and a value once ruled out stays so.
func TestSequenceStopsAtTheFirstPossibleValue(t *testing.T) {
	t.Parallel()
	s, cells := NewSequence(Default(), .05), grid14()
	for i := range s.rise.out {
		s.rise.out[i] = i != 40 && i < 60
	}
	bets, seen := PlaceBets(cells, Default()), make([]Seen, len(cells))
	s.Step(cells, bets, seen)
	near(t, "below the gap", s.Interval().Low, onGrid(39), 0)
	s.rise.logE[40] = math.Log(40)
	s.Step(cells, bets, seen)
	near(t, "the gap closed", s.Interval().Low, onGrid(59), 0)
}

func TestSequenceOfContradiction(t *testing.T) {
	t.Parallel()
	s := NewSequence(Default(), .05)
	s.rise.best, s.fall.best = 60, 30
	if got := s.Interval(); got.Low != onGrid(60) || got.High != -onGrid(30) || len(s.Warnings()) > 0 {
		t.Errorf("bounds in order: got %v and %q", got, s.Warnings())
	}
	s.fall.best = 60
	if got := s.Interval(); got != (Interval{-1, 1}) || len(s.Warnings()) != 1 {
		t.Errorf("bounds out of order: got %v and %q, want everything and a warning", got, s.Warnings())
	}
}

// The sequence is about every rise, so the one its constants speak against makes no difference, whatever it is.
func TestSequenceDoesNotDependOnD0(t *testing.T) {
	t.Parallel()
	cells, odd := grid14(), Default()
	odd.D0 = math.NaN()
	a, b, bets := NewSequence(Default(), .05), NewSequence(odd, .05), PlaceBets(grid14(), Default())
	seen := make([]Seen, len(cells))
	for i := range seen {
		seen[i] = Seen{Cand: []bool{true}, Base: []bool{i%3 == 0}}
	}
	a.Step(cells, bets, seen)
	b.Step(cells, bets, seen)
	if a.rise != b.rise || a.fall != b.fall || a.rise.logE[sequenceSteps] == 0 || len(b.Warnings()) > 0 {
		t.Errorf("got other evidence, or none, with warnings %q", b.Warnings())
	}
}
