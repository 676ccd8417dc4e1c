package loop

import (
	"math"
	"slices"

	"loopd/candidates"
	"loopd/harness"
	"loopd/stats"
)

// newComparison sets a candidate against the champion, whose pool it will see in
// an order of its own.
func (s *State) newComparison(subject, wording, against string, weights []float64, baseline Baseline) *Comparison {
	n := len(s.Started.Objective)
	c := &Comparison{
		Subject: subject, Wording: wording, Against: against, Weights: weights,
		Pilot: slices.Clone(baseline.Pilot), Pool: make([][]bool, n), Revealed: make([]int, n),
		Fresh: make([][]bool, n), Credited: make([]int, n), KeepAt: s.keepAt(), Own: make([][]bool, n), Extra: make([]int, n), Detours: make(map[string]int),
		GuardOwn: make([][]bool, len(baseline.Guard)), GuardBase: slices.Clone(baseline.Guard),
		Share: s.Started.Settings.Search().Share(s.Sessions(), s.decided()), Stale: baseline.Watch.Alarm,
	}
	for i, pool := range baseline.Pool {
		order := newRand(s.Started.Settings.Seed, "pool", subject, s.Started.Objective[i].String()).Perm(len(pool))
		for _, at := range order {
			c.Pool[i] = append(c.Pool[i], pool[at])
		}
	}
	return c
}

// gateComparison sets the champion against the start. Only the start's pilot is
// carried over, as a guess for the bets; every rep counted is fresh.
func (s *State) gateComparison() *Comparison {
	baseline := newBaseline(len(s.Started.Objective), len(s.Started.Guards))
	baseline.Pilot = s.startPilot
	return s.newComparison(SubjectGate, s.Champion, s.Started.Start, s.gateWeights(), baseline)
}

// gateWeights spreads the gate over the cells declared by the kept candidates,
// or over all of them when one declared none.
func (s *State) gateWeights() []float64 {
	var targets []string
	for _, id := range s.Kept {
		own := s.Find(id).Candidate.Targets
		if !s.declares(own) {
			targets = nil
			break
		}
		targets = append(targets, own...)
	}
	return targetWeights(s.Started.Objective, targets)
}

// declares reports whether targets name a cell of the grid. Where they name none,
// the whole grid was looked at.
func (s *State) declares(targets []string) bool {
	return !slices.Contains(targets, candidates.AllCells) && slices.ContainsFunc(s.Started.Objective, func(c harness.Cell) bool {
		return slices.Contains(targets, c.String())
	})
}

// targetWeights is uniform over the cells named, or over all when none is.
func targetWeights(cells []harness.Cell, targets []string) []float64 {
	named := func(c harness.Cell) bool { return slices.Contains(targets, c.String()) }
	if slices.Contains(targets, candidates.AllCells) {
		targets = nil
	}
	count := 0
	for _, c := range cells {
		if named(c) {
			count++
		}
	}
	all := count == 0
	if all {
		count = len(cells)
	}
	out := make([]float64, len(cells))
	for i, c := range cells {
		if all || named(c) {
			out[i] = 1 / float64(count)
		}
	}
	return out
}

// cells returns the counts by objective cell as the statistics want them.
func (c *Comparison) cells() []stats.Cell {
	out := make([]stats.Cell, len(c.Pilot))
	for i := range out {
		fresh := stats.Tally(c.Fresh[i])
		out[i] = stats.Cell{
			Cand:     stats.Tally(c.Own[i]),
			Base:     c.Pilot[i].Add(stats.Tally(c.Pool[i][:c.Revealed[i]])).Add(fresh),
			Full:     c.Pilot[i].Add(stats.Tally(c.Pool[i])).Add(fresh),
			Weight:   c.Weights[i],
			PoolLeft: len(c.Pool[i]) - c.Revealed[i],
		}
		if c.Concurrent || c.Stale {
			// Nothing of the pool is bet on any more, so all of it may inform the bets.
			out[i].Base, out[i].PoolLeft = out[i].Full, 0
		}
	}
	return out
}

// bets are the constants of this comparison's bets.
func (c *Comparison) bets(s *State) stats.Config {
	cfg := s.Started.Settings.Bets
	cfg.D0 = c.D0
	return cfg
}

// seen collects what a completed round of bets showed, by objective cell.
func (c *Comparison) seen(s *State, r Round) []stats.Seen {
	out := make([]stats.Seen, len(c.Pilot))
	for i, cell := range s.Started.Objective {
		out[i].Cand = s.outcomes(r, c.Wording, cell)
		if r.Reveals[i] > 0 {
			out[i].Base = c.Pool[i][c.Revealed[i] : c.Revealed[i]+r.Reveals[i]]
		} else {
			out[i].Base = s.outcomes(r, c.Against, cell)
		}
	}
	return out
}

// close adds a completed round to the comparison.
func (c *Comparison) close(s *State, r Round, p Closed) {
	if r.Purpose == ForBet {
		c.closeBet(s, r, p)
		return
	}
	if r.Purpose == ForScreen {
		c.Rounds++
	}
	for i, cell := range s.Started.Objective {
		c.Own[i] = append(c.Own[i], s.outcomes(r, c.Wording, cell)...)
		c.Fresh[i] = append(c.Fresh[i], s.outcomes(r, c.Against, cell)...)
	}
	for i, cell := range s.Started.Guards {
		c.GuardOwn[i] = append(c.GuardOwn[i], s.detours(r, c.Wording, cell)...)
		c.GuardBase[i] = append(slices.Clip(c.GuardBase[i]), s.detours(r, c.Against, cell)...)
	}
}

func (c *Comparison) closeBet(s *State, r Round, p Closed) {
	for i, seen := range p.Seen {
		c.Own[i] = append(c.Own[i], seen.Cand...)
		c.Revealed[i] += r.Reveals[i]
		if r.Reveals[i] == 0 {
			c.Fresh[i] = append(c.Fresh[i], seen.Base...)
			continue
		}
		c.watch(s, i, s.outcomes(r, c.Against, s.Started.Objective[i]))
	}
	c.Rounds++
	c.LogE = p.LogE
	c.Path = append(c.Path, PathPoint{Sessions: c.Sessions, LogE: p.LogE, Concurrent: c.Concurrent})
	if p.Assessment != nil {
		c.Assessment = *p.Assessment
	}
	if s.Started.Settings.Profile == Strict && c.Subject != SubjectGate && !c.Concurrent && stats.Reached(c.LogE, c.KeepAt) {
		c.beginConcurrent()
	}
}

// watch takes in the sentinels of a cell: they join the end of the pool, and the
// watch compares them with what the pool led to expect.
func (c *Comparison) watch(s *State, cell int, sentinels []bool) {
	for _, pass := range sentinels {
		reference := s.Baseline.Pilot[cell].Add(stats.Tally(s.Baseline.Pool[cell]))
		s.Baseline.Watch = stats.DefaultSentinel().Step(s.Baseline.Watch, pass, reference)
		s.Baseline.Pool[cell] = append(s.Baseline.Pool[cell], pass)
		c.Pool[cell] = append(c.Pool[cell], pass)
	}
	if s.Baseline.Watch.Alarm {
		c.Stale, s.Alarmed = true, true
	}
}

// beginConcurrent starts the evidence anew with both arms fresh: a champion
// measured hours ago may have been measured on another model.
func (c *Comparison) beginConcurrent() {
	c.Concurrent, c.Pooled = true, c.LogE
	c.LogE, c.Rounds, c.Began = 0, 0, c.Sessions
}

// E returns the evidence that the wording is better than what it is against:
// of the stage with the pooled champion where there were two.
func (c *Comparison) E() float64 {
	if c.Concurrent {
		return finite(c.Pooled)
	}
	return finite(c.LogE)
}

// finite is the evidence as a number a record can hold.
func finite(logE float64) float64 { return min(math.Exp(logE), math.MaxFloat64) }

// Counts returns both arms' counts by objective cell, all reps known.
func (c *Comparison) Counts() (champion, candidate []stats.Count) {
	for _, cell := range c.cells() {
		champion = append(champion, cell.Full)
		candidate = append(candidate, cell.Cand)
	}
	return champion, candidate
}
