package sim

import (
	"math/rand/v2"

	"loopd/stats"
)

// Ending is how a decision ended.
type Ending string

// The endings of a decision.
const (
	Kept    Ending = "keep"
	Futile  Ending = "futile"
	Harmful Ending = "harm"
	Vetoed  Ending = "veto"
	Parked  Ending = "limit"  // its own share of the sessions is spent
	Broke   Ending = "budget" // the budget is spent
)

// noLimit is a budget that no decision comes to the end of.
const noLimit = 1 << 40

// baseline is what is known of a champion: Pilot from the start, Pool rep by rep to each candidate in its own order. Which
// rep is revealed next is as good as drawn blindly, so counts are enough.
type baseline struct{ pilot, pool []stats.Count }

func newBaseline(n int) baseline { return baseline{make([]stats.Count, n), make([]stats.Count, n)} }

// comparison is one comparison, in counts.
type comparison struct {
	own, against []float64 // true rates, used for nothing but drawing outcomes
	target       int
	hidden       []stats.Count // pool reps not revealed yet
	fresh        []stats.Count // champion reps run for this comparison, as far as its baseline lacks them
	cfg          stats.Config
	guarded      bool
	strict       bool
	posterior    bool // keep by posterior probability instead of evidence
	id           int  // of the champion it is against

	stats.Stage     // its Sessions are set for a look
	sessions    int // of all stages
	began       int // of them, those before this stage, or before it was gone on with
}

// newComparison sets rates against a champion of which the baseline is known. A target of undeclared weights all cells alike.
func newComparison(own, against []float64, target int, b baseline) *comparison {
	n := len(own)
	c := &comparison{
		own: own, against: against, target: target, hidden: make([]stats.Count, n), fresh: make([]stats.Count, n), cfg: stats.Default(),
		Stage: stats.Stage{Cells: make([]stats.Cell, n), Extra: make([]int, n)},
	}
	copy(c.hidden, b.pool)
	for i := range c.Cells {
		weight := 1 / float64(n)
		if target != undeclared {
			weight = 0
		}
		if target == i {
			weight = 1
		}
		c.Cells[i] = stats.Cell{Base: b.pilot[i], Full: b.pilot[i].Add(b.pool[i]), Weight: weight, PoolLeft: b.pool[i].N}
	}
	return c
}

// engine plays comparisons. One belongs to one goroutine; what it keeps between two runs changes no result.
type engine struct {
	source *rand.PCG
	rng    *rand.Rand
	// odds multiplies the odds of every outcome: 1, or more once the model has drifted.
	odds float64
	harm map[harmKey]float64
	seen []stats.Seen
	took []draws
}

// draws is what the coins of a round say for one cell.
type draws struct{ own, base, reveal bool }

func newEngine() *engine {
	source := rand.NewPCG(0, 0)
	return &engine{source: source, rng: rand.New(source), odds: 1, harm: make(map[harmKey]float64)}
}

// The outcomes of one rep, shared by all rounds and never written to.
var passed, missed = []bool{true}, []bool{false}

// outcome runs one session.
func (e *engine) outcome(rate float64) stats.Count {
	if e.odds != 1 {
		rate = scaled(rate, e.odds)
	}
	if e.rng.Float64() < rate {
		return stats.Count{Pass: 1, N: 1}
	}
	return stats.Count{N: 1}
}

func (e *engine) outcomes(rate float64, n int) stats.Count {
	var c stats.Count
	for range n {
		c = c.Add(e.outcome(rate))
	}
	return c
}

// take draws one of the reps without putting it back.
func (e *engine) take(from *stats.Count) stats.Count {
	one := stats.Count{N: 1}
	if e.rng.IntN(from.N) < from.Pass {
		one.Pass = 1
	}
	*from = stats.Count{Pass: from.Pass - one.Pass, N: from.N - 1}
	return one
}

func outcomesOf(c stats.Count) []bool {
	if c.Pass > 0 {
		return passed
	}
	return missed
}

// decide plays a comparison to its end, as far as left sessions go.
func (e *engine) decide(c *comparison, left int) Ending {
	for {
		cost := 0
		switch c.look() {
		case stats.LookEligible:
			asks, end := e.guard(c)
			if end != "" {
				return end
			}
			if cost = sessions(asks); cost > left {
				return Broke
			}
			e.runGuards(c, asks)
		case stats.LookFutile:
			return Futile
		case stats.LookHarm:
			return Harmful
		case stats.LookSpent:
			return Parked
		default:
			var ok bool
			if cost, ok = e.round(c, left); !ok {
				return Broke
			}
		}
		left -= cost
	}
}

// look asks the statistics what a completed round calls for.
func (c *comparison) look() stats.Look {
	stage := c.Stage
	stage.Sessions = c.sessions - c.began
	if c.posterior && c.Rounds > 0 {
		if Posterior(c.Assessment) == Keep {
			return stats.LookEligible
		}
		stage.Rules.Threshold = 0
	}
	return stage.Look()
}

// round places bets, draws the coins and plays the sessions, if the budget covers them and a bet is possible.
func (e *engine) round(c *comparison, left int) (cost int, ok bool) {
	bets := stats.PlaceBets(c.Cells, c.cfg)
	if cost = e.coins(c, bets); cost > left || len(bets.Warnings) > 0 {
		return 0, false
	}
	e.play(c)
	c.LogE += bets.LogFactor(e.seen)
	c.Rounds++
	c.sessions += cost
	c.Assessment = stats.Assess(c.Cells, c.cfg)
	if c.strict && !c.Concurrent && stats.Reached(c.LogE, c.Rules.Threshold) {
		c.beginConcurrent()
	}
	return cost, true
}

// coins decides which sessions the round has and counts them.
func (e *engine) coins(c *comparison, bets stats.Bets) (cost int) {
	e.took = e.took[:0]
	for i, b := range bets.Cells {
		own, base := e.rng.Float64(), e.rng.Float64()
		d := draws{own: own < b.Pi}
		switch {
		case c.Cells[i].Weight == 0:
		case c.Cells[i].PoolLeft > 0:
			d.reveal = true
		default:
			d.base = base < b.A
		}
		if d.own {
			cost++
		}
		if d.base {
			cost++
		}
		e.took = append(e.took, d)
	}
	return cost
}

// play draws the round's outcomes and counts them.
func (e *engine) play(c *comparison) {
	e.seen = e.seen[:0]
	for i, d := range e.took {
		var seen stats.Seen
		cell := &c.Cells[i]
		if d.own {
			y := e.outcome(c.own[i])
			cell.Cand = cell.Cand.Add(y)
			seen.Cand = outcomesOf(y)
		}
		switch {
		case d.reveal:
			b := e.take(&c.hidden[i])
			cell.Base = cell.Base.Add(b)
			cell.PoolLeft--
			seen.Base = outcomesOf(b)
		case d.base:
			b := e.outcome(c.against[i])
			c.addFresh(i, b)
			seen.Base = outcomesOf(b)
		}
		e.seen = append(e.seen, seen)
	}
}

func (c *comparison) addFresh(i int, b stats.Count) {
	c.Cells[i].Base, c.Cells[i].Full = c.Cells[i].Base.Add(b), c.Cells[i].Full.Add(b)
	c.fresh[i] = c.fresh[i].Add(b)
}

// beginConcurrent starts the evidence anew with both arms fresh. Nothing of the pool is bet on any more, so all of it
// may inform the bets.
func (c *comparison) beginConcurrent() {
	c.Concurrent, c.LogE, c.Rounds, c.began = true, 0, 0, c.sessions
	for i := range c.Cells {
		c.Cells[i].Base, c.Cells[i].PoolLeft = c.Cells[i].Full, 0
	}
}
