package loop

import (
	"fmt"
	"slices"

	"loopd/harness"
	"loopd/stats"
)

// planPilot measures the start before anything is compared with it.
func planPilot(s *State) Round {
	set := s.Started.Settings
	taken := make(map[string]int)
	var slots []harness.Slot
	for _, cell := range s.Started.Objective {
		for rep := range set.PilotReps + set.PoolReps {
			slots = append(slots, s.nextSlots(s.label(rep), cell, 1, taken)...)
		}
	}
	for _, cell := range s.Started.Guards {
		slots = append(slots, s.nextSlots(s.Champion, cell, set.GuardReps, taken)...)
	}
	for _, cell := range s.Started.Controls {
		slots = append(slots, s.nextSlots(s.Champion, cell, set.ControlReps, taken)...)
	}
	for _, cell := range s.Started.Practice {
		slots = append(slots, s.nextSlots(s.Champion, cell, 1, taken)...)
	}
	return s.shuffled(Round{Subject: SubjectStart, Purpose: ForPilot, Slots: slots})
}

// label alternates between the two labels of the start's bytes.
func (s *State) label(rep int) string {
	if rep%2 == 1 && s.AAArm != "" {
		return s.AAArm
	}
	return s.Started.Start
}

// planScreen is one rep of every weighted cell.
func planScreen(s *State, c *Comparison) Round {
	taken := make(map[string]int)
	var slots []harness.Slot
	for i, cell := range s.Started.Objective {
		if c.Weights[i] > 0 {
			slots = append(slots, s.nextSlots(c.Wording, cell, 1, taken)...)
		}
	}
	return s.shuffled(Round{Subject: c.Subject, Purpose: ForScreen, Slots: slots})
}

// planTransfer runs start and champion on the reserve scenarios.
func planTransfer(s *State) Round {
	taken := make(map[string]int)
	var slots []harness.Slot
	for _, cell := range s.Started.Reserve {
		for _, wording := range []string{s.Started.Start, s.Champion} {
			slots = append(slots, s.nextSlots(wording, cell, s.Started.Settings.TransferReps, taken)...)
		}
	}
	return s.shuffled(Round{Subject: SubjectTransfer, Purpose: ForTransfer, Slots: slots})
}

// planTopUp adds fresh reps of a new champion, whose record so far is what got
// it chosen.
func planTopUp(s *State) Round {
	taken := make(map[string]int)
	var slots []harness.Slot
	for _, cell := range s.Started.Objective {
		slots = append(slots, s.nextSlots(s.Champion, cell, s.Started.Settings.TopUpReps, taken)...)
	}
	return s.shuffled(Round{Subject: s.Kept[len(s.Kept)-1], Purpose: ForTopUp, Slots: slots})
}

// planBet places the bets of the next round, draws the coins and fixes the
// sessions, all from what earlier rounds showed.
func planBet(s *State, c *Comparison) Round {
	cells := c.cells()
	bets := stats.PlaceBets(cells, c.bets(s))
	n := len(s.Rounds) + 1
	rng, watch := newRand(s.Started.Settings.Seed, "coins", fmt.Sprint(n)), newRand(s.Started.Settings.Seed, "sentinels", fmt.Sprint(n))
	taken := make(map[string]int)
	reveals := make([]int, len(cells))
	var slots []harness.Slot
	for i, cell := range s.Started.Objective {
		ownCoin, baseCoin := rng.Float64(), rng.Float64()
		if ownCoin < bets.Cells[i].Pi {
			slots = append(slots, s.nextSlots(c.Wording, cell, 1, taken)...)
		}
		switch {
		case c.Weights[i] == 0:
		case cells[i].PoolLeft > 0:
			reveals[i] = 1
			if watch.Float64() < s.Started.Settings.Sentinels {
				slots = append(slots, s.nextSlots(c.Against, cell, 1, taken)...)
			}
		case baseCoin < bets.Cells[i].A:
			slots = append(slots, s.nextSlots(c.Against, cell, 1, taken)...)
		}
	}
	return s.shuffled(Round{Subject: c.Subject, Purpose: ForBet, Slots: slots, Bets: &bets, Reveals: reveals})
}

func planGuard(s *State, c *Comparison, slots []harness.Slot) Round {
	return s.shuffled(Round{Subject: c.Subject, Purpose: ForGuard, Slots: slots})
}

// shuffled numbers the round and interleaves its sessions at random, so that a
// drift of the model during the round hits both arms alike.
func (s *State) shuffled(r Round) Round {
	r.N = len(s.Rounds) + 1
	rng := newRand(s.Started.Settings.Seed, "order", fmt.Sprint(r.N))
	rng.Shuffle(len(r.Slots), func(i, j int) { r.Slots[i], r.Slots[j] = r.Slots[j], r.Slots[i] })
	return r
}

// closing computes what a completed round adds.
func closing(s *State, r Round) Closed {
	out := Closed{Round: r.N}
	if r.Purpose == ForPilot && s.AAArm != "" {
		aa := stats.PermutationAA(s.labels(r), aaLevel)
		out.AA = &aa
	}
	c := s.Comparison
	if c == nil {
		return out
	}
	out.LogE = c.LogE
	if r.Purpose != ForBet {
		return out
	}
	out.Seen = c.seen(s, r)
	out.LogE = c.LogE + r.Bets.LogFactor(out.Seen)
	after := c.cells()
	for i, seen := range out.Seen {
		after[i].Cand = after[i].Cand.Add(stats.Tally(seen.Cand))
		if r.Reveals[i] == 0 {
			after[i].Full = after[i].Full.Add(stats.Tally(seen.Base))
		}
	}
	a := stats.Assess(after, c.bets(s))
	out.Assessment = &a
	return out
}

// aaLevel is the two-sided level at which the A/A pilot halts: the same bytes
// must not behave differently under two labels.
const aaLevel = .001

// labels counts the pilot by objective cell under both labels.
func (s *State) labels(r Round) []stats.Pair {
	out := make([]stats.Pair, len(s.Started.Objective))
	for _, sl := range r.Slots {
		i := slices.Index(s.Started.Objective, sl.Cell)
		rec := s.slotOf(sl)
		if i < 0 || !rec.valid {
			continue
		}
		one := stats.Tally([]bool{rec.pass})
		if sl.Wording == s.AAArm {
			out[i].B = out[i].B.Add(one)
		} else {
			out[i].A = out[i].A.Add(one)
		}
	}
	return out
}
