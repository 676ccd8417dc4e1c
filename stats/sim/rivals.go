package sim

import (
	"context"
	"slices"

	"loopd/stats"
)

// Rule names what keeps candidates instead of a profile.
type Rule string

// The rules of others, and two readings of our own, to compare with.
const (
	OwnRule   Rule = ""
	Greedy1   Rule = "greedy-1"
	Greedy3   Rule = "greedy-3"
	CMHFresh  Rule = "cmh-fresh"
	CMHReused Rule = "cmh-reused"
	GSPRT     Rule = "gsprt"
	Fishtest  Rule = "gsprt-block"
	SafeTest  Rule = "safe"
	Bayes     Rule = "bayes"
	// TwoArm is our own rule without the champion's pool.
	TwoArm Rule = "two-arm"
)

// blind reports whether a rule goes without pilot and pool.
func (r Rule) blind() bool { return !slices.Contains([]Rule{OwnRule, Bayes, TwoArm}, r) }

// Numbers of the rivals.
const (
	cmhReps  = 17
	bayesEta = .30
	bayesCap = 250
	safeEta  = .30
	safeAt   = 20
	safeCap  = 500
)

// recorded is how many reps a cell of the champion a rule takes once and compares every candidate with; 0 where it
// runs the champion afresh.
func (r Rule) recorded() int {
	switch r {
	case Greedy1:
		return 1
	case Greedy3:
		return 3
	case CMHReused:
		return cmhReps
	}
	return 0
}

// judge takes one decision by a rule and reports whether it keeps, what it cost, and the candidate's counts.
func (e *engine) judge(r Rule, own, against []float64, record []stats.Count) (keep bool, cost int, cand []stats.Count) {
	switch r {
	case GSPRT, Fishtest:
		keep, cost = e.sprt(r, own, against)
		return keep, cost, nil
	case SafeTest:
		keep, cost = e.safe(own, against)
		return keep, cost, nil
	}
	reps := r.recorded()
	if r == CMHFresh {
		reps = cmhReps
		record = e.tallies(against, reps)
		cost = reps * len(own)
	}
	cand = e.tallies(own, reps)
	cost += reps * len(own)
	pairs := make([]stats.Pair, len(own))
	for i := range pairs {
		pairs[i] = stats.Pair{A: cand[i], B: record[i]}
	}
	rule := Greedy
	if r == CMHFresh || r == CMHReused {
		rule = CMH
	}
	return rule(pairs) == Keep, cost, cand
}

func (e *engine) tallies(rates []float64, reps int) []stats.Count {
	out := make([]stats.Count, len(rates))
	for i, r := range rates {
		out[i] = e.outcomes(r, reps)
	}
	return out
}

// sprt runs blocks of one pair a cell.
func (e *engine) sprt(r Rule, own, against []float64) (keep bool, cost int) {
	test, pairs, blocks := Stratified(), make([]stats.Pair, len(own)), Blocks{}
	if r == Fishtest {
		test = AsFishtest()
	}
	for {
		rise := e.block(pairs, own, against)
		cost += 2 * len(own)
		blocks.Add(float64(rise) / float64(len(own)))
		mean, variance := ByStrata(pairs)
		if r == Fishtest {
			mean, variance, _ = blocks.Moments()
		}
		if call := test.Call(test.LLR(blocks.N, mean, variance), blocks.N); call != GoOn {
			return call == Keep, cost
		}
	}
}

// block adds one pair to every cell and returns by how many passes the candidate had more.
func (e *engine) block(pairs []stats.Pair, own, against []float64) (rise int) {
	for i := range pairs {
		a, b := e.outcome(own[i]), e.outcome(against[i])
		pairs[i].A, pairs[i].B = pairs[i].A.Add(a), pairs[i].B.Add(b)
		rise += a.Pass - b.Pass
	}
	return rise
}

// safe runs the e-value for 2x2 tables, multiplied over the cells, with the futility of our own rule.
func (e *engine) safe(own, against []float64) (keep bool, cost int) {
	tables, cells, logE := make([]SafeTable, len(own)), make([]stats.Cell, len(own)), 0.0
	rules := stats.Rules{Threshold: safeAt, Eta: safeEta, Cap: safeCap}
	for rounds := 1; ; rounds++ {
		logE = 0
		for i := range own {
			a, b := e.outcome(own[i]), e.outcome(against[i])
			tables[i].Add(a.Pass == 1, b.Pass == 1)
			logE += tables[i].LogE
			cells[i].Weight = 1
			cells[i].Cand, cells[i].Base = cells[i].Cand.Add(a), cells[i].Base.Add(b)
			cells[i].Full = cells[i].Base
		}
		cost += 2 * len(own)
		look := rules.Look(stats.Progress{LogE: logE, Rounds: rounds, Sessions: cost, Assessment: stats.Assess(cells, stats.Default())})
		if look != stats.LookGoOn {
			return look == stats.LookEligible, cost
		}
	}
}

// DetectBy plays decisions by a rule. The setting is looked at by our own rule and those that play its rounds; the
// others bring their own numbers.
func DetectBy(ctx context.Context, r Rule, grid Source, effect Effect, s Setting, runs int, o Options) Decisions {
	return collect(ctx, o, "decision", runs, func(e *engine, d *Decisions) {
		c := e.candidate(grid, effect, s)
		if !r.blind() {
			c.posterior = r == Bayes
			end := e.decide(c, noLimit)
			d.add(end, c.sessions)
			return
		}
		keep, cost, _ := e.judge(r, c.own, c.against, e.tallies(c.against, r.recorded()))
		end := Futile
		if keep {
			end = Kept
		}
		d.add(end, cost)
	})
}

// runRival tries candidates by a rule that has no pilot. A keep that comes after the budget is used does not count.
func (n *night) runRival() {
	reps := n.plan.Rival.recorded()
	record := n.e.tallies(n.champion.Rates, reps)
	n.startPilot = record
	n.used = reps * len(n.first.Rates)
	for n.looked < n.plan.MaxCandidates && n.left() > 0 {
		n.drift()
		drawn := n.world.Stream.draw(n.e.rng).Draw(n.champion, n.e.rng)
		keep, cost, cand := n.e.judge(n.plan.Rival, drawn.Rates, n.champion.Rates, record)
		n.used += cost
		n.looked++
		if !keep || n.left() < 0 {
			continue
		}
		n.crown(drawn.Rates, drawn.Target)
		record = cand
		if n.plan.Rival == CMHReused {
			record = n.e.tallies(n.champion.Rates, reps)
			n.used += reps * len(n.first.Rates)
		}
	}
}
