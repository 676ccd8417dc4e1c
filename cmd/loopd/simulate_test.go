package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/stats"
	"loopd/stats/sim"
)

// stage is a campaign of package loop on a made-up model, without a session: the truth by commit, and the state.
type stage struct {
	rng    *rand.Rand
	state  *loop.State
	truth  map[string]sim.Grid
	stream sim.Stream
	made   int
}

func newStage(t *testing.T, seed uint64, set loop.Settings, stream sim.Stream) *stage {
	t.Helper()
	g := &stage{
		rng: rand.New(rand.NewPCG(seed, 99)), state: loop.NewState(), stream: stream,
		truth: map[string]sim.Grid{"start": sim.Named(sim.SeedGrid, nil)},
	}
	set.Seed = seed
	var cells []harness.Cell
	for i := range g.truth["start"].Rates {
		cells = append(cells, harness.Cell{Scenario: fmt.Sprintf("W%d", i), Tier: "strong"})
	}
	g.apply(t, loop.Started{Campaign: "c", Start: "start", Objective: cells, Settings: set})
	for n := range set.MaxCandidates {
		g.apply(t, loop.Queued{Candidate: candidates.Candidate{ID: fmt.Sprintf("c%03d", n+1)}})
	}
	return g
}

func (g *stage) apply(t *testing.T, payloads ...loop.Payload) {
	t.Helper()
	for _, p := range payloads {
		testenv.Must(t, g.state.Apply(loop.Event{Time: time.Unix(1, 0), Payload: p}))
	}
}

// play drives the campaign to its end by what follows from its state.
func (g *stage) play(t *testing.T) {
	t.Helper()
	for {
		step := loop.Next(g.state)
		switch {
		case step.Idle:
			return
		case step.CommitAA:
			g.truth["twin"] = g.truth["start"]
			g.apply(t, loop.Committed{Candidate: loop.SubjectAA, Commit: "twin"})
		case step.Prepare != nil:
			g.apply(t, g.prepare(step.Prepare.ID))
		case len(step.Run) > 0:
			for _, spec := range step.Run {
				g.apply(t, loop.Recorded{Trial: g.run(spec)})
			}
		default:
			g.apply(t, step.Append...)
		}
	}
}

// prepare makes the next candidate of the stream on top of the champion.
func (g *stage) prepare(id string) loop.Payload {
	champion := g.truth[g.state.Champion]
	drawn := g.stream[g.made%len(g.stream)].Effect.Draw(champion, g.rng)
	g.made++
	g.truth[id] = sim.Grid{Rates: drawn.Rates, Scenario: champion.Scenario}
	return loop.Committed{Candidate: id, Commit: id, Parent: g.state.Champion}
}

func (g *stage) run(spec harness.Spec) harness.Trial {
	var i int
	if _, err := fmt.Sscanf(spec.Slot.Cell.Scenario, "W%d", &i); err != nil {
		panic(err)
	}
	tr := harness.Trial{ID: spec.TrialID(), Spec: spec, Class: harness.Valid, Result: harness.Result{Kind: harness.Unprompted}}
	tr.Result.Outcome = harness.Fail
	if g.rng.Float64() < g.truth[spec.Slot.Wording].Rates[i] {
		tr.Result.Outcome = harness.Pass
	}
	return tr
}

// The simulator and the loop are one procedure: on the same worlds their campaigns look at as many candidates, keep and
// promote as many and cost as much, within what chance explains.
func TestSimulatorPlaysAsTheLoopDoes(t *testing.T) {
	t.Parallel()
	stream := sim.Stream{{Share: 1, Effect: sim.Effect{Kind: sim.BroadEffect, Delta: .12}}}
	for profile, runs := range map[loop.Profile]int{loop.Fast: 60, loop.Strict: 25, loop.Certified: 25, loop.Scout: 25} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			var looked, sessions, kept sim.Sum
			promoted := stats.Count{}
			for seed := range runs {
				set := loop.DefaultSettings(700).Under(profile)
				set.MaxCandidates = 8
				g := newStage(t, uint64(seed+1), set, stream)
				g.play(t)
				s := g.state
				if s.Ended == nil {
					t.Fatalf("seed %d: the campaign stands at %s, halted %+v", seed, s.Phase, s.Halted)
				}
				decided := 0
				for _, p := range s.Progress {
					if p.Decided != nil {
						decided++
					}
				}
				looked.Add(float64(decided))
				sessions.Add(float64(s.Sessions()))
				kept.Add(float64(len(s.Kept)))
				promoted = promoted.Add(stats.Tally([]bool{s.Ended.Outcome == loop.Promoted}))
			}
			plan := sim.DefaultPlan(sim.Profile(profile), 700)
			plan.MaxCandidates = 8
			w := sim.World{Grid: sim.From(sim.SeedGrid), Stream: stream}
			sum := sim.Run(t.Context(), w, plan, 4000, sim.Options{Seed: 5, Workers: 2})
			t.Logf("loop: looked %.2f, kept %.2f, %.1f sessions, %d/%d promoted", looked.Mean(), kept.Mean(), sessions.Mean(), promoted.Pass, promoted.N)
			t.Logf("sim:  looked %.2f, kept %.2f, %.1f sessions, %d/%d promoted", sum.Looked.Mean(), float64(sum.FalseKeeps.N)/4000, sum.Sessions.Mean(), sum.Promoted.Pass, sum.Promoted.N)
			alike(t, "candidates looked at", looked, sum.Looked.Mean())
			alike(t, "keeps", kept, float64(sum.FalseKeeps.N)/4000)
			alike(t, "sessions", sessions, sum.Sessions.Mean())
			share, _ := sum.Promoted.Rate()
			if iv := stats.ClopperPearson(promoted, .999); share < iv.Low || share > iv.High {
				t.Errorf("promoted: loop %d/%d, simulator %.3f", promoted.Pass, promoted.N, share)
			}
		})
	}
}

// alike wants a mean within four standard errors of the other.
func alike(t *testing.T, what string, got sim.Sum, want float64) {
	t.Helper()
	if math.Abs(got.Mean()-want) > 4*got.SE()+1e-9 {
		t.Errorf("%s: loop %.3f +- %.3f, simulator %.3f", what, got.Mean(), got.SE(), want)
	}
}
