package sim

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
	"loopd/stats"
)

func options(workers int) Options { return Options{Seed: 7, Workers: workers} }

// The same seed gives the same bytes however many workers there are, and another seed other ones.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	run := func(o Options) string {
		b := BenchOptions{Options: o, Share: .005, Nights: 70, Checks: []string{"1", "3", "6", "8", "10", "12", "16", "windows"}}
		res, err := Benchmark(t.Context(), b)
		testenv.Must(t, err)
		for _, r := range res.Rows {
			if !slices.Contains(b.Checks, r.Check) {
				t.Errorf("check %s was not asked for", r.Check)
			}
		}
		data, err := json.Marshal(res)
		testenv.Must(t, err)
		return string(data)
	}
	one := run(options(1))
	testenv.Same(t, "four workers", one, run(options(4)))
	if one == run(Options{Seed: 8, Workers: 2}) {
		t.Error("another seed gave the same figures")
	}
}

// Every row of every check carries what it needs, and a full run of the checks in small ends without a panic.
func TestEveryCheck(t *testing.T) {
	t.Parallel()
	var done []string
	res, err := Benchmark(t.Context(), BenchOptions{Options: options(2), Share: .005, Nights: 10, Done: func(id string) { done = append(done, id) }})
	testenv.Must(t, err)
	testenv.Same(t, "checks run", CheckNames(), done)
	seen := make(map[string]bool)
	for _, r := range res.Rows {
		seen[r.Check] = true
		if r.What == "" || r.Sense == Shown && !r.OK {
			t.Errorf("row without a subject or failed without a bound: %+v", r)
		}
		if !finite(r.Measured) || !finite(r.Tested) || !finite(r.Margin) {
			t.Errorf("%s %s: got %v, %v, %v, want numbers", r.Check, r.What, r.Measured, r.Tested, r.Margin)
		}
	}
	for _, id := range CheckNames() {
		if !seen[id] {
			t.Errorf("check %s has no row", id)
		}
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func TestBenchmarkRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]BenchOptions{
		"unknown check": {Checks: []string{"99"}}, "negative campaigns": {Nights: -1}, "share above one": {Share: 1.1}, "no share": {Share: math.NaN()},
	} {
		if _, err := Benchmark(t.Context(), o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Benchmark(ctx, BenchOptions{Options: options(1), Checks: []string{"6"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// An effect moves the mean by what it says, keeps every rate a rate, and leaves the champion alone.
func TestEffects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Float64Range(.05, .95), 14, 14).Draw(t, "rates")
		e := rapid.SampledFrom([]Effect{
			{Kind: NullEffect}, {BroadEffect, .03}, {BroadEffect, -.02}, {ShiftEffect, .03}, {Kind: SwapEffect}, {Kind: OneCellNull},
		}).Draw(t, "effect")
		champion := paired(slices.Clone(rates))
		seed := rapid.Uint64().Draw(t, "seed")
		c := e.Draw(champion, rand.New(rand.NewPCG(seed, 1)))
		if !slices.Equal(champion.Rates, rates) {
			t.Fatal("the champion was changed")
		}
		for i, r := range c.Rates {
			if !(r >= 0 && r <= 1) {
				t.Fatalf("cell %d: got rate %v", i, r)
			}
		}
		// Five good cells may lack the room, and a swap of low cells the depth; elsewhere the mean is exact.
		if got := Mean(c.Rates) - Mean(rates); math.Abs(got-e.Delta) > 1e-6 && e.Kind != ShiftEffect && e.Kind != SwapEffect {
			t.Fatalf("%s: mean moved by %v, want %v", e, got, e.Delta)
		}
	})
}

func TestEffectsOnTheSeedGrid(t *testing.T) {
	t.Parallel()
	g := Named(SeedGrid, nil)
	if m := Mean(g.Rates); math.Abs(m-.352) > .001 {
		t.Errorf("mean of the seed grid: got %v", m)
	}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		swapped := Effect{Kind: SwapEffect}.Draw(g, rng).Rates
		fallen := 0
		for i, r := range swapped {
			if math.Abs(g.Rates[i]-r-swapFall) < 1e-12 {
				fallen++
			}
		}
		if fallen != swapCells || math.Abs(Mean(swapped)-Mean(g.Rates)) > 1e-9 {
			t.Fatalf("swap: %d cells fell, mean from %v to %v", fallen, Mean(g.Rates), Mean(swapped))
		}
		broken := Effect{CollapseEffect, .08}.Draw(g, rng).Rates
		deepest := 0.0
		for i, r := range broken {
			deepest = max(deepest, g.Rates[i]-r)
		}
		if deepest < .5 || math.Abs(Mean(broken)-Mean(g.Rates)-.08) > 1e-9 {
			t.Fatalf("collapse: deepest fall %v, mean from %v to %v", deepest, Mean(g.Rates), Mean(broken))
		}
		one := Effect{OneCellEffect, .6}.Draw(g, rng)
		if got := one.Rates[one.Target] - g.Rates[one.Target]; math.Abs(got-.6) > 1e-12 {
			t.Fatalf("one cell: got a rise of %v", got)
		}
	}
}

// Detection rates and costs at the default setting, as published, within the noise of 1,000 decisions.
func TestDetect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		effect               Effect
		least, most, dearest float64
	}{
		{Effect{Kind: NullEffect}, 0, .04, 29}, {Effect{Kind: SwapEffect}, 0, .035, 33}, {Effect{ShiftEffect, -.10}, 0, .008, 15},
		{Effect{ShiftEffect, .08}, .36, .50, 68}, {Effect{ShiftEffect, .20}, .88, .97, 47}, {Effect{CollapseEffect, .08}, 0, .015, 72},
	} {
		d := Detect(t.Context(), From(SeedGrid), c.effect, DefaultSetting(), 1000, options(2))
		rate, _ := d.Kept.Rate()
		if rate < c.least || rate > c.most || d.Sessions.Mean() > c.dearest {
			t.Errorf("%s: got %.3f kept at %.1f sessions, want %v to %v at no more than %v", c.effect, rate, d.Sessions.Mean(), c.least, c.most, c.dearest)
		}
	}
	// Without the guard a candidate that breaks a scenario is kept about as often as an honest one.
	open := DefaultSetting()
	open.Guard = false
	d := Detect(t.Context(), From(SeedGrid), Effect{CollapseEffect, .08}, open, 500, options(2))
	if rate, _ := d.Kept.Rate(); rate < .3 {
		t.Errorf("unguarded collapse: got %.3f kept, want over .3", rate)
	}
}

// Cases in which a wrong engine is found: each is a fault put into the procedure, and check 1 has to see it.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	const runs = 1500
	sound := Peak(t.Context(), From(SeedGrid), Effect{Kind: NullEffect}, Setting{Pilot: 3, Cap: 600}, runs, options(2))
	if upper := upper99(sound.Twenty); upper > .05 {
		t.Errorf("the sound procedure: got an upper bound of %.3f", upper)
	}
	faults := map[string]func(e *engine, c *comparison) bool{
		"bets that have seen their round": func(e *engine, c *comparison) bool {
			for top := 0.0; c.sessions < 600; {
				c.cfg.KQ = .01
				c.sessions += e.coins(c, stats.PlaceBets(c.Cells, c.cfg))
				e.play(c)
				c.LogE += stats.PlaceBets(c.Cells, c.cfg).LogFactor(e.seen)
				if top = max(top, c.LogE); stats.Reached(top, 20) {
					return true
				}
			}
			return false
		},
		"a threshold of 2": func(e *engine, c *comparison) bool {
			for c.sessions < 600 {
				e.round(c, noLimit)
				if stats.Reached(c.LogE, 2) {
					return true
				}
			}
			return false
		},
	}
	for name, reaches := range faults {
		kept := collect(t.Context(), options(2), "fault", runs, func(e *engine, d *Decisions) {
			end := Parked
			if reaches(e, e.candidate(From(SeedGrid), Effect{Kind: NullEffect}, Setting{Pilot: 3})) {
				end = Kept
			}
			d.add(end, 0)
		}).Kept
		b := newBench(t.Context(), BenchOptions{})
		b.row(surely(name, 5, 2.2, kept, ""), true)
		if b.result.Failed != 1 {
			t.Errorf("%s: %d/%d passed check 1", name, kept.Pass, kept.N)
		}
	}
}

// A campaign never spends more than its budget, under every profile, and counts every session.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultPlan(rapid.SampledFrom([]stats.Profile{stats.Fast, stats.Strict, stats.Certified, stats.Scout}).Draw(t, "profile"), rapid.IntRange(100, 1500).Draw(t, "budget"))
		p.MaxCandidates = rapid.IntRange(1, 60).Draw(t, "candidates")
		stream := rapid.SampledFrom([]StreamName{StandardStream, MixedStream, SlightStream, DeclaredNullStream}).Draw(t, "stream")
		e := newEngine()
		e.reset(rapid.Uint64().Draw(t, "seed"), "budget", 0)
		n := &night{e: e, world: World{Grid: From(SeedGrid), Stream: stream.Stream()}, plan: p}
		n.start(n.world.Grid(e))
		n.run()
		if n.used > p.Budget {
			t.Fatalf("used %d of %d", n.used, p.Budget)
		}
		if n.promoted && n.kept == 0 {
			t.Fatal("promoted without a keep")
		}
		for i, c := range n.baseline.pilot {
			if c.N < 0 || n.baseline.pool[i].N < 0 || c.Pass > c.N {
				t.Fatalf("cell %d: baseline %v, %v", i, c, n.baseline.pool[i])
			}
		}
	})
}

// Promotions where nothing helps, in small.
func TestNullCampaigns(t *testing.T) {
	t.Parallel()
	w := World{Grid: From(SeedGrid), Stream: NullStream.Stream()}
	sum := Run(t.Context(), w, DefaultPlan(stats.Fast, 2000), 300, options(2))
	if _, upper := UpperBounds(sum.Promoted); upper > .05 || sum.Promoted != sum.NotBetter {
		t.Errorf("got %d promoted, %d no better of %d, upper bound %.3f", sum.Promoted.Pass, sum.NotBetter.Pass, sum.Promoted.N, upper)
	}
	greedy := Run(t.Context(), w, against(Greedy3, 2000, false), 300, options(2))
	if rate, _ := greedy.NotBetter.Rate(); rate < .9 {
		t.Errorf("greedy: got %.3f, want over .9", rate)
	}
}

// Grids that have no room, no second cell, or no chance: values, and no keep that nothing can justify.
func TestOddGrids(t *testing.T) {
	t.Parallel()
	for name, rates := range map[string][]float64{
		"one cell": {.4}, "two cells": {.1, .9}, "never": {0, 0, 0}, "always": {1, 1, 1, 1}, "mixed ends": {0, 1, .5}, "one sure cell": {1},
	} {
		g := Grid{Rates: rates, Scenario: make([]int, len(rates))}
		if _, err := g.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		res, err := Benchmark(t.Context(), BenchOptions{Options: options(2), Share: .003, Nights: 3, Own: &g, Checks: []string{"1", "3", "4", "5", "7", "8", "8b", "10", "11", "13", "15", "16"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := json.Marshal(res); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, rates := range map[string][]float64{"empty": nil, "not a number": {.2, math.NaN()}, "below": {-.1}, "above": {1.1}, "many": make([]float64, 301)} {
		if _, err := (Grid{Rates: rates, Scenario: make([]int, len(rates))}).Check(); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	var a, b, both Sum
	for i, x := range []float64{1, 2, 4, 8} {
		both.Add(x)
		if i < 2 {
			a.Add(x)
		} else {
			b.Add(x)
		}
	}
	a.merge(b)
	if a != both || both.Mean() != 3.75 || math.Abs(both.SE()-math.Sqrt(28.75/12)) > 1e-12 {
		t.Errorf("got %+v, mean %v, SE %v", a, both.Mean(), both.SE())
	}
	if (Sum{}).Mean() != 0 || (Sum{}).SE() != 0 {
		t.Error("a sum of nothing is not 0")
	}
}

// BenchmarkDecision is one whole decision on a candidate that changes nothing.
func BenchmarkDecision(b *testing.B) {
	e := newEngine()
	b.ReportAllocs()
	for run := 0; b.Loop(); run++ {
		e.reset(1, "benchmark", run)
		e.decide(e.candidate(From(SeedGrid), Effect{Kind: NullEffect}, DefaultSetting()), noLimit)
	}
}

// BenchmarkCampaign is one whole campaign of 2,000 sessions.
func BenchmarkCampaign(b *testing.B) {
	e, w := newEngine(), World{Grid: From(SeedGrid), Stream: StandardStream.Stream()}
	b.ReportAllocs()
	for run := 0; b.Loop(); run++ {
		e.reset(1, "benchmark", run)
		n := &night{e: e, world: w, plan: DefaultPlan(stats.Fast, 2000)}
		n.start(w.Grid(e))
		n.run()
	}
}
