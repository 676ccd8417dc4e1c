package sim

import (
	"context"

	"loopd/stats"
)

// Plan is a campaign's numbers, those of package loop.
type Plan struct {
	stats.Search
	Rival     Rule // instead of the profile, unless empty
	NoGate    bool // what is kept is promoted at once; GateShare is then 0
	PilotReps int
	PoolReps  int
	TopUpReps int
	PromoteAt float64
	Guard     bool
}

// promoteAt is the evidence the gate needs.
const promoteAt = 20

// DefaultPlan returns the defaults of a profile for a budget in sessions.
func DefaultPlan(p stats.Profile, budget int) Plan {
	plan := Plan{
		Search:    stats.Search{Profile: p, Budget: budget, GateShare: .2, KeepAt: 5, MaxCandidates: 60},
		PilotReps: 2, PoolReps: 4, TopUpReps: 2, PromoteAt: promoteAt, Guard: true,
	}
	switch p {
	case stats.Certified:
		plan.KeepFDR = .2
	case stats.Scout:
		plan.GateShare, plan.PilotReps, plan.PoolReps, plan.TopUpReps = .3, 1, 0, 0
	}
	return plan
}

// World is the truth a campaign runs in.
type World struct {
	Grid   Source
	Stream Stream
	// Drift is by how much the log odds of every outcome rise once DriftAt of the budget is used.
	Drift, DriftAt float64
}

// collapseDepth is how far a cell has to fall to be called collapsed.
const collapseDepth = .40

// Campaigns is what many campaigns came to.
type Campaigns struct {
	Promoted stats.Count
	// NotBetter counts campaigns that promoted a wording whose mean is not above the start's, Worse those below it.
	NotBetter, Worse stats.Count
	// Collapsed counts campaigns that promoted a wording with a cell more than .40 below the start's.
	Collapsed stats.Count
	// Gain is the true rise of the mean of what was promoted, 0 where nothing was.
	Gain Sum
	// FalseKeeps is how many keeps in the search raised nothing; AnyFalse in how many campaigns there was one.
	FalseKeeps, AnyFalse stats.Count
	Looked, Sessions     Sum
	// GateSessions is what the gate used, of the campaigns that had one.
	GateSessions Sum
}

func (c *Campaigns) merge(o Campaigns) {
	for _, p := range []struct{ into, from *stats.Count }{
		{&c.Promoted, &o.Promoted}, {&c.NotBetter, &o.NotBetter}, {&c.Worse, &o.Worse}, {&c.Collapsed, &o.Collapsed},
		{&c.FalseKeeps, &o.FalseKeeps}, {&c.AnyFalse, &o.AnyFalse},
	} {
		*p.into = p.into.Add(*p.from)
	}
	c.Gain.merge(o.Gain)
	c.Looked.merge(o.Looked)
	c.Sessions.merge(o.Sessions)
	c.GateSessions.merge(o.GateSessions)
}

// Run plays campaigns in a world.
func Run(ctx context.Context, w World, p Plan, runs int, o Options) Campaigns {
	return collect(ctx, o, "campaign", runs, func(e *engine, sum *Campaigns) {
		n := &night{e: e, world: w, plan: p}
		n.start(w.Grid(e))
		n.run()
		n.count(sum)
	})
}

// Restart plays several campaigns one after the other, each with a pilot and a gate of its own and from what the one
// before promoted. Gain is the rise over all of them, Promoted whether any promoted.
func Restart(ctx context.Context, w World, p Plan, times, runs int, o Options) Campaigns {
	return collect(ctx, o, "campaign", runs, func(e *engine, sum *Campaigns) {
		first := w.Grid(e)
		all := &night{e: e, world: w, plan: p}
		all.start(first)
		for range times {
			n := &night{e: e, world: w, plan: p}
			n.start(all.champion)
			n.run()
			if n.promoted {
				all.champion, all.promoted = n.champion, true
			}
			all.used += n.used
			all.looked += n.looked
		}
		all.count(sum)
	})
}

// night is one campaign under way.
type night struct {
	e     *engine
	world World
	plan  Plan

	first      Grid // the start
	champion   Grid
	id         int // counts champions
	baseline   baseline
	startPilot []stats.Count
	used       int
	looked     int
	kept       int
	falseKeeps int
	parked     []*comparison
	targets    []bool // cells declared by kept candidates
	anywhere   bool   // a kept candidate declared none
	promoted   bool
	gateUsed   int
}

// slack keeps rounding of a solved effect from counting as a rise.
const slack = 1e-7

func (n *night) start(g Grid) {
	n.first, n.champion = g, g.clone()
	n.targets = make([]bool, len(g.Rates))
}

func (n *night) run() {
	if n.plan.Rival.blind() {
		n.runRival()
	} else {
		n.pilot()
		n.search()
	}
	if n.plan.NoGate {
		n.promoted = n.kept > 0
	} else if n.kept > 0 {
		n.gate()
	}
}

// pilot measures the start.
func (n *night) pilot() {
	n.baseline = n.e.record(n.champion.Rates, n.plan.PilotReps, n.plan.PoolReps)
	n.startPilot = append([]stats.Count(nil), n.baseline.pilot...)
	n.used += len(n.first.Rates) * (n.plan.PilotReps + n.plan.PoolReps)
}

// rules are those of the plan; without a gate nothing is reserved for one.
func (n *night) rules() stats.Search {
	s := n.plan.Search
	if n.plan.NoGate {
		s.GateShare = 0
	}
	return s
}

func (n *night) left() int { return n.rules().Left(n.used) }

func (n *night) share() int { return n.rules().Share(n.used, n.looked) }

// search tries candidates until the budget, or the queue and then what was parked, is used up.
func (n *night) search() {
	for n.left() >= len(n.first.Rates) {
		c := n.next()
		if c == nil {
			return
		}
		n.drift()
		left := n.left()
		before := c.sessions
		end := n.try(c, left)
		n.used += c.sessions - before
		n.looked++
		if end == Kept {
			if !n.keep(c) {
				return
			}
			continue
		}
		n.deposit(c)
		if end == Parked {
			n.parked = append(n.parked, c)
		}
	}
}

// drift lets the model change once so much of the budget is used.
func (n *night) drift() {
	if n.world.Drift != 0 && float64(n.used) >= n.world.DriftAt*float64(n.plan.Budget) {
		n.e.odds = exp(n.world.Drift)
	}
}

// next returns the next candidate of the queue, or the parked one with the most evidence.
func (n *night) next() *comparison {
	if n.looked < n.plan.MaxCandidates {
		return n.newCandidate()
	}
	best := -1
	for i, c := range n.parked {
		if best < 0 || c.LogE > n.parked[best].LogE {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := n.parked[best]
	n.parked = append(n.parked[:best], n.parked[best+1:]...)
	n.looked--
	c.began = c.sessions
	c.Rules.Eta, c.Rules.Cap = stats.Limits(n.share(), 1)
	return c
}

func (n *night) newCandidate() *comparison {
	drawn := n.world.Stream.draw(n.e.rng).Draw(n.champion, n.e.rng)
	c := newComparison(drawn.Rates, n.champion.Rates, drawn.Target, n.visible())
	c.id, c.guarded, c.strict = n.id, n.plan.Guard, n.plan.Profile == stats.Strict
	c.Rules = stats.NewRules(n.plan.NextKeepAt(n.looked+1, n.kept), n.share(), c.Cells)
	if n.plan.Rival == Bayes {
		c.posterior, c.Rules.Eta, c.Rules.Cap = true, bayesEta, bayesCap
	}
	return c
}

// visible is the baseline a candidate sees: without a pool where the rule compares two fresh arms.
func (n *night) visible() baseline {
	if n.plan.Rival == TwoArm {
		return baseline{n.baseline.pilot, make([]stats.Count, len(n.baseline.pool))}
	}
	return n.baseline
}

func (n *night) try(c *comparison, left int) Ending {
	if n.plan.Profile == stats.Scout {
		return n.e.screen(c, left)
	}
	return n.e.decide(c, left)
}

// deposit puts what was run fresh for a candidate into the champion's pool.
func (n *night) deposit(c *comparison) {
	for i := range c.fresh {
		n.baseline.pool[i] = n.baseline.pool[i].Add(c.fresh[i])
		c.fresh[i] = stats.Count{}
	}
}

// keep makes a candidate the champion. It returns false where its top-up would cost more than there is.
func (n *night) keep(c *comparison) bool {
	n.crown(c.own, c.target)
	n.baseline = newBaseline(len(c.own))
	for i := range c.Cells {
		own := c.Cells[i].Cand
		for range n.plan.PilotOf(own.N) {
			n.baseline.pilot[i] = n.baseline.pilot[i].Add(n.e.take(&own))
		}
		n.baseline.pool[i] = own
	}
	cost := n.plan.TopUpReps * len(c.own)
	if cost > n.left() {
		return false
	}
	for i, r := range c.own {
		n.baseline.pool[i] = n.baseline.pool[i].Add(n.e.outcomes(r, n.plan.TopUpReps))
	}
	n.used += cost
	return true
}

// crown moves the champion and counts the keep.
func (n *night) crown(rates []float64, target int) {
	n.kept++
	if Mean(rates) <= Mean(n.champion.Rates)+slack {
		n.falseKeeps++
	}
	n.champion = Grid{Rates: rates, Scenario: n.champion.Scenario}
	n.parked = n.parked[:0]
	n.id++
	if target == undeclared {
		n.anywhere = true
	} else {
		n.targets[target] = true
	}
}

// count adds the campaign to the sums.
func (n *night) count(sum *Campaigns) {
	rise, deepest := 0.0, 0.0
	if n.promoted {
		rise = Mean(n.champion.Rates) - Mean(n.first.Rates)
		for i, r := range n.first.Rates {
			deepest = max(deepest, r-n.champion.Rates[i])
		}
	}
	sum.Promoted = sum.Promoted.Add(tally(n.promoted))
	sum.NotBetter = sum.NotBetter.Add(tally(n.promoted && rise <= slack))
	sum.Worse = sum.Worse.Add(tally(n.promoted && rise < -slack))
	sum.Collapsed = sum.Collapsed.Add(tally(deepest > collapseDepth))
	sum.Gain.Add(rise)
	sum.FalseKeeps = sum.FalseKeeps.Add(stats.Count{Pass: n.falseKeeps, N: n.kept})
	sum.AnyFalse = sum.AnyFalse.Add(tally(n.falseKeeps > 0))
	sum.Looked.Add(float64(n.looked))
	sum.Sessions.Add(float64(n.used))
	if n.gateUsed > 0 {
		sum.GateSessions.Add(float64(n.gateUsed))
	}
}
