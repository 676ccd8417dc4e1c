package stats

import (
	"math"
	"slices"
)

// sequenceSteps is how many values the rise is tested against on either side of 0, a hundredth apart.
const sequenceSteps = 50

// Sequence is a confidence sequence for the weighted mean rise: an interval that covers the truth in all rounds at
// once with a chance of at least 1-alpha, so that it may be looked at and acted on at any time.
//
// It runs the e-process of a keep against every rise from -.5 to .5 by .01, and once more with passes and
// failures in each other's place, where a rise is a fall. What it needs is what a decision needs, from its first
// round on: the cells before the round, the bets the round was sampled by, and what the round showed. Both arms
// have to be fresh or a pool drawn as bets allow; guard reps are no part of it. A step places about 200 sets of
// bets, so it is for the gate and for reports, not for the inside of a simulation.
type Sequence struct {
	cfg       Config
	threshold float64
	// rise and fall hold one side each: the log evidence against every value.
	rise, fall side
	warnings   []string
}

// side is the evidence that the mean is above each value on the grid, and which values that has ruled out. All
// values up to best are.
//
// A value that is ruled out while one below it is not moves no bound: the evidence against a higher value is
// nearly always less, but every value above the truth has its own small chance to be ruled out wrongly, and
// only the one next to the truth may be counted.
type side struct {
	logE [2*sequenceSteps + 1]float64
	out  [2*sequenceSteps + 1]bool
	best int
}

// NewSequence starts a sequence that misses the truth with a chance of at most alpha. The constants are those
// the rounds are sampled by; their D0 does not matter.
func NewSequence(cfg Config, alpha float64) *Sequence {
	s := &Sequence{cfg: cfg, threshold: 2 / alpha}
	s.rise.best, s.fall.best = -1, -1
	s.cfg.D0 = 0
	if !isLevel(alpha) || !s.cfg.valid() {
		s.threshold = math.Inf(1)
		s.doubt("the level or a constant of the sequence is out of range")
	}
	return s
}

// Step takes in one completed round: the cells as they were before it, the bets placed for it and what it showed.
// A round sampled by other chances than the sequence's own constants lead to is left out, which is fair because
// the chances were known before the outcomes.
func (s *Sequence) Step(cells []Cell, placed Bets, seen []Seen) {
	if !sameChances(PlaceBets(cells, s.cfg), placed) {
		s.doubt("a round was not sampled as the constants of the sequence say and is left out")
		return
	}
	s.rise.step(cells, placed, seen, s.cfg, s.threshold)
	s.fall.step(failing(cells), placed, failingSeen(seen), s.cfg, s.threshold)
}

// Interval returns what is not ruled out. On a side where nothing is, it goes to the end of the range; where the two
// sides contradict each other it is everything.
func (s *Sequence) Interval() Interval {
	iv := Interval{Low: -1, High: 1}
	if s.rise.best >= 0 {
		iv.Low = onGrid(s.rise.best)
	}
	if s.fall.best >= 0 {
		iv.High = -onGrid(s.fall.best)
	}
	if iv.Low > iv.High {
		return Interval{Low: -1, High: 1}
	}
	return iv
}

// Warnings says what the interval is to be doubted for.
func (s *Sequence) Warnings() []string {
	out := slices.Clone(s.warnings)
	if s.rise.best >= 0 && s.fall.best >= 0 && onGrid(s.rise.best) > -onGrid(s.fall.best) {
		out = append(out, "the two bounds contradict each other: the arms may have drifted apart and back")
	}
	return out
}

func (s *Sequence) doubt(why string) {
	if !slices.Contains(s.warnings, why) {
		s.warnings = append(s.warnings, why)
	}
}

func onGrid(i int) float64 { return float64(i-sequenceSteps) / (2 * sequenceSteps) }

// step multiplies in one round. A value that has been ruled out stays so.
func (s *side) step(cells []Cell, placed Bets, seen []Seen, cfg Config, threshold float64) {
	for i := s.best + 1; i < len(s.logE); i++ {
		if s.out[i] {
			continue
		}
		cfg.D0 = onGrid(i)
		bets := PlaceBets(cells, cfg)
		// The chances are those recorded for the round, whatever the last bit of a recomputation.
		for j := range bets.Cells {
			bets.Cells[j].Pi, bets.Cells[j].A = placed.Cells[j].Pi, placed.Cells[j].A
		}
		s.logE[i] += bets.LogFactor(seen)
		s.out[i] = Reached(s.logE[i], threshold)
	}
	for s.best+1 < len(s.out) && s.out[s.best+1] {
		s.best++
	}
}

// sameChances reports whether two sets of bets sample alike.
func sameChances(a, b Bets) bool {
	return len(a.Warnings) == 0 && slices.EqualFunc(a.Cells, b.Cells, func(x, y CellBet) bool {
		return math.Abs(x.Pi-y.Pi) <= 1e-9 && math.Abs(x.A-y.A) <= 1e-9
	})
}

// failing counts failures as passes.
func failing(cells []Cell) []Cell {
	out := slices.Clone(cells)
	for i, c := range out {
		out[i].Cand.Pass, out[i].Base.Pass, out[i].Full.Pass = c.Cand.N-c.Cand.Pass, c.Base.N-c.Base.Pass, c.Full.N-c.Full.Pass
	}
	return out
}

func failingSeen(seen []Seen) []Seen {
	out := make([]Seen, len(seen))
	for i, s := range seen {
		out[i] = Seen{Cand: opposite(s.Cand), Base: opposite(s.Base)}
	}
	return out
}

func opposite(outcomes []bool) []bool {
	out := make([]bool, len(outcomes))
	for i, pass := range outcomes {
		out[i] = !pass
	}
	return out
}
