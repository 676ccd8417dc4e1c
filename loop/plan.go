package loop

import (
	"fmt"

	"loopd/harness"
	"loopd/stats"
)

// planPilot measures the start before anything is compared with it.
func planPilot(s *State) Round {
	set := s.Started.Settings
	taken := make(map[string]int)
	var slots []harness.Slot
	for _, cell := range s.Started.Objective {
		slots = append(slots, s.nextSlots(s.Champion, cell, set.PilotReps+set.PoolReps, taken)...)
	}
	for _, cell := range s.Started.Guards {
		slots = append(slots, s.nextSlots(s.Champion, cell, set.GuardReps, taken)...)
	}
	for _, cell := range s.Started.Controls {
		slots = append(slots, s.nextSlots(s.Champion, cell, set.ControlReps, taken)...)
	}
	return s.shuffled(Round{Subject: SubjectStart, Purpose: ForPilot, Slots: slots})
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
func planBet(s *State, c *Contest) Round {
	cells := c.cells()
	bets := stats.PlaceBets(cells, s.Started.Settings.Bets)
	n := len(s.Rounds) + 1
	rng := newRand(s.Started.Settings.Seed, "coins", fmt.Sprint(n))
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
		case baseCoin < bets.Cells[i].A:
			slots = append(slots, s.nextSlots(c.Against, cell, 1, taken)...)
		}
	}
	return s.shuffled(Round{Subject: c.Subject, Purpose: ForBet, Slots: slots, Bets: &bets, Reveals: reveals})
}

func planGuard(s *State, c *Contest, slots []harness.Slot) Round {
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
	c := s.Contest
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
	a := stats.Assess(after, s.Started.Settings.Bets)
	out.Assessment = &a
	return out
}
