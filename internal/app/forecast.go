package app

import (
	"context"
	"fmt"
	"math"

	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
	"loopd/stats/sim"
)

// Question is what a user wants to know.
type Question struct {
	Settings loop.Settings // with budget and profile
	Cells    []harness.Cell
	Guards   int // cells beside the metric, which cost sessions too
	Controls int
	Reserve  int
	// Rates are the start's pass rates by cell, and From says where they are from.
	Rates []float64
	From  string
	// Runs is how many times each thing is simulated, at least 1.
	Runs int
}

// Plan is the answer.
type Plan struct {
	Sessions int          `json:"sessions"`
	Profile  loop.Profile `json:"profile"`
	Cells    int          `json:"cells"`
	Rates    string       `json:"rates"` // where they are from
	Pilot    int          `json:"pilot"` // sessions
	Search   int          `json:"search"`
	Gate     int          `json:"gate"` // kept for it
	Transfer int          `json:"transfer"`
	// Candidates is about how many can be looked at when most change nothing.
	Candidates float64  `json:"candidates"`
	Detects    []Detect `json:"detects"`
	// Reachable reports whether anything can be decided; Smallest is the least budget
	// in which something can, under this profile.
	Reachable bool   `json:"reachable"`
	Smallest  int    `json:"smallest"`
	Promise   string `json:"promise"`
}

// Detect is how likely one kind of candidate is found.
type Detect struct {
	What string `json:"what"`
	// Kept is the chance that the search keeps it, Confirmed that the gate confirms
	// it, Found both; in [0,1].
	Kept      float64 `json:"kept"`
	Confirmed float64 `json:"confirmed"`
	Found     float64 `json:"found"`
	// Sessions is the mean number one decision takes.
	Sessions float64 `json:"sessions"`
}

// seed makes the same question have the same answer.
const seed = 1

// Forecast simulates what the budget can find.
func Forecast(ctx context.Context, q Question) (Plan, error) {
	if err := q.check(); err != nil {
		return Plan{}, err
	}
	p := q.layOut()
	if p.Reachable = q.reachable(ctx, q.Settings.Budget); !p.Reachable {
		p.Smallest = q.smallest(ctx)
		return p, ctx.Err()
	}
	p.Smallest = q.smallest(ctx)
	p.Candidates = q.looked(ctx)
	for _, e := range effects() {
		p.Detects = append(p.Detects, q.detect(ctx, e, p.Gate))
	}
	return p, ctx.Err()
}

func (q Question) check() error {
	if len(q.Cells) == 0 || len(q.Rates) != len(q.Cells) || q.Runs < 1 {
		return fmt.Errorf("plan: %d cells with %d rates, simulated %d times", len(q.Cells), len(q.Rates), q.Runs)
	}
	if _, err := q.grid().Check(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return nil
}

// grid gives the cells of one scenario the same number.
func (q Question) grid() sim.Grid {
	g := sim.Grid{Rates: q.Rates}
	numbers := make(map[string]int)
	for _, c := range q.Cells {
		if _, ok := numbers[c.Scenario]; !ok {
			numbers[c.Scenario] = len(numbers)
		}
		g.Scenario = append(g.Scenario, numbers[c.Scenario])
	}
	return g
}

// layOut divides the budget.
func (q Question) layOut() Plan {
	set := q.Settings
	p := Plan{Sessions: set.Budget, Profile: set.Profile, Cells: len(q.Cells), Rates: q.From, Detects: []Detect{}}
	p.Pilot = len(q.Cells)*(set.PilotReps+set.PoolReps) + q.Guards*set.GuardReps + q.Controls*set.ControlReps
	p.Gate = set.Search().Reserve()
	p.Transfer = 2 * q.Reserve * set.TransferReps
	p.Search = max(0, set.Budget-p.Gate-p.Pilot)
	p.Promise = fmt.Sprintf("If no tried wording were truly better on the stated cells, this campaign would still have promoted one at most 1 time in %g.", set.PromoteAt)
	return p
}

// effect is one kind of candidate a plan speaks of.
type effect struct {
	what string
	sim  sim.Effect
}

func effects() []effect {
	return []effect{
		{"+.20 on the grid", sim.Effect{Kind: sim.ShiftEffect, Delta: .20}},
		{"+.08 on the grid", sim.Effect{Kind: sim.ShiftEffect, Delta: .08}},
		{"+.60 in one declared cell", sim.Effect{Kind: sim.OneCellEffect, Delta: .60}},
		{"no effect", sim.Effect{Kind: sim.NullEffect}},
	}
}

// detect plays the decision in the search and the gate, each with what is there
// for it.
func (q Question) detect(ctx context.Context, e effect, gate int) Detect {
	found := q.decide(ctx, e.sim)
	out := Detect{What: e.what, Sessions: round(found.Sessions.Mean(), 1)}
	out.Kept, _ = found.Kept.Rate()
	confirmed := sim.Confirm(ctx, sim.Of(q.grid()), e.sim, q.Settings.PilotReps, gate, q.Runs, sim.Options{Seed: seed})
	out.Confirmed, _ = confirmed.Kept.Rate()
	out.Found = round(out.Kept*out.Confirmed, 3)
	return out
}

func (q Question) decide(ctx context.Context, e sim.Effect) sim.Decisions {
	set := q.Settings
	s := sim.Setting{Pilot: set.PilotReps, Pool: set.PoolReps, Threshold: set.Search().NextKeepAt(1, 0), Guard: true}
	s.Eta, s.Cap = stats.Limits(q.layOut().Search, set.MaxCandidates)
	if set.Profile == loop.Scout {
		return sim.DetectBy(ctx, sim.Greedy1, sim.Of(q.grid()), e, s, q.Runs, sim.Options{Seed: seed})
	}
	return sim.Detect(ctx, sim.Of(q.grid()), e, s, q.Runs, sim.Options{Seed: seed})
}

// looked plays whole campaigns in which most candidates change nothing.
func (q Question) looked(ctx context.Context) float64 {
	set := q.Settings
	plan := sim.DefaultPlan(set.Profile, set.Budget)
	plan.Search, plan.PromoteAt = set.Search(), set.PromoteAt
	plan.PilotReps, plan.PoolReps, plan.TopUpReps = set.PilotReps, set.PoolReps, set.TopUpReps
	runs := min(q.Runs, 200)
	c := sim.Run(ctx, sim.World{Grid: sim.Of(q.grid()), Stream: sim.StandardStream.Stream()}, plan, runs, sim.Options{Seed: seed})
	return round(c.Looked.Mean(), 0)
}

// likely is the chance of confirming a large effect from which on a plan is
// worth its sessions.
const likely = .5

// large is an effect nobody would want to miss.
var large = []sim.Effect{{Kind: sim.ShiftEffect, Delta: .30}, {Kind: sim.OneCellEffect, Delta: .60}}

// reachable reports whether a budget has room for one decision in the search, and
// whether its gate confirms a large effect at least half of the time.
func (q Question) reachable(ctx context.Context, budget int) bool {
	q.Settings.Budget = budget
	p := q.layOut()
	first := len(q.Cells) // one rep a cell
	if q.Settings.Profile != loop.Scout {
		first = int(2 * q.Settings.Bets.R)
	}
	if q.Settings.Validate(len(q.Cells)) != nil || p.Search < first {
		return false
	}
	for _, e := range large {
		c := sim.Confirm(ctx, sim.Of(q.grid()), e, q.Settings.PilotReps, p.Gate-p.Transfer, q.Runs, sim.Options{Seed: seed})
		if share, ok := c.Kept.Rate(); ok && share >= likely {
			return true
		}
	}
	return false
}

// most is the largest budget that is looked at for the smallest.
const most = 20_000

// smallest is the least budget that is reachable, 0 when none is.
func (q Question) smallest(ctx context.Context) int {
	low, high := 0, 64
	for !q.reachable(ctx, high) {
		if low, high = high, 2*high; high > most || ctx.Err() != nil {
			return 0
		}
	}
	for high-low > 1 {
		middle := (low + high) / 2
		if q.reachable(ctx, middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func round(v float64, digits int) float64 {
	scale := math.Pow(10, float64(digits))
	return math.Round(v*scale) / scale
}
