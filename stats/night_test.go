package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// seedGrid is the champion's rates the procedure was measured on: seven scenarios with a weak and a strong model.
func seedGrid() []float64 {
	return []float64{.02, .02, .02, .05, .10, .05, .02, .85, .90, .15, .20, .90, .80, .85}
}

// lifted moves every rate by the same step on the logit scale until the mean has risen by delta.
func lifted(p []float64, delta float64) []float64 {
	q, low, high := make([]float64, len(p)), -20.0, 20.0
	for range 60 {
		step, rise := (low+high)/2, 0.0
		for i, x := range p {
			q[i] = 1 / (1 + (1-x)/x*math.Exp(-step))
			rise += (q[i] - x) / float64(len(p))
		}
		if rise < delta {
			low = step
		} else {
			high = step
		}
	}
	return q
}

// swapped lowers three good cells by .35 and raises the weak ones by as much together: the mean stays.
func swapped(p []float64) []float64 {
	q, weak := append([]float64(nil), p...), 0.0
	for i, x := range p {
		if i == 8 || i == 11 || i == 13 {
			q[i] -= .35
		} else if x < .5 {
			weak++
		}
	}
	for i, x := range p {
		if x < .5 {
			q[i] += 3 * .35 / weak
		}
	}
	return q
}

// setting is how one decision is played.
type setting struct {
	p, q        []float64
	pilot, pool int
	rules       Rules
}

// decide plays one decision as a campaign would and returns how it ended and what it cost.
func decide(r *rand.Rand, s setting) (Look, int) {
	cells, hidden := make([]Cell, len(s.p)), make([]Count, len(s.p))
	for i, p := range s.p {
		base := draws(r, p, s.pilot)
		hidden[i] = draws(r, p, s.pool)
		cells[i] = Cell{Base: base, Full: base.Add(hidden[i]), Weight: 1 / float64(len(s.p)), PoolLeft: s.pool}
	}
	seen, progress := make([]Seen, len(cells)), Progress{}
	for {
		bets := PlaceBets(cells, Default())
		for i := range cells {
			var cost int
			seen[i], cost = playCell(r, s.p[i], s.q[i], &cells[i], &hidden[i], bets.Cells[i])
			progress.Sessions += cost
		}
		progress.LogE += bets.LogFactor(seen)
		progress.Rounds++
		progress.Assessment = Assess(cells, Default())
		if look := s.rules.Look(progress); look != LookGoOn {
			return look, progress.Sessions
		}
	}
}

// playCell runs one cell for a round. A pool rep is drawn from those still hidden and costs nothing.
func playCell(r *rand.Rand, p, q float64, c *Cell, hidden *Count, bet CellBet) (seen Seen, cost int) {
	if r.Float64() < bet.Pi {
		y := draws(r, q, 1)
		c.Cand = c.Cand.Add(y)
		seen.Cand = []bool{y.Pass == 1}
		cost++
	}
	if c.PoolLeft > 0 {
		x := draws(r, float64(hidden.Pass)/float64(hidden.N), 1)
		*hidden = hidden.Add(Count{Pass: -x.Pass, N: -1})
		c.Base = c.Base.Add(x)
		c.PoolLeft--
		seen.Base = []bool{x.Pass == 1}
	} else if r.Float64() < bet.A {
		x := draws(r, p, 1)
		c.Base, c.Full = c.Base.Add(x), c.Full.Add(x)
		seen.Base = []bool{x.Pass == 1}
		cost++
	}
	return seen, cost
}

// keeps plays a decision many times and returns how often it ended in a keep, and its mean cost.
func keeps(runs int, s setting) (Count, float64) {
	r, kept, cost := rand.New(rand.NewPCG(20, 5)), Count{N: runs}, 0
	for range runs {
		look, sessions := decide(r, s)
		if cost += sessions; look == LookEligible {
			kept.Pass++
		}
	}
	return kept, float64(cost) / float64(runs)
}

// However often one looks, a candidate that raises nothing reaches 20 at most once in 20 times.
func TestNullRarelyReachesTwenty(t *testing.T) {
	t.Parallel()
	p := seedGrid()
	for name, q := range map[string][]float64{"null": p, "swap": swapped(p)} {
		for _, pool := range []int{0, 8} {
			t.Run(fmt.Sprintf("%s pool %d", name, pool), func(t *testing.T) {
				t.Parallel()
				kept, _ := keeps(3000, setting{p: p, q: q, pilot: 3, pool: pool, rules: Rules{Threshold: 20, Cap: 600}})
				bound := ClopperPearson(kept, .98).High
				t.Logf("%d/%d, at most %.4f", kept.Pass, kept.N, bound)
				if bound > .05 {
					t.Errorf("got %d/%d reaching 20, which may be %.3f, want at most .05", kept.Pass, kept.N, bound)
				}
			})
		}
	}
}

// The keep rates and costs of the procedure without its guards, within the noise of 2,000 decisions.
func TestDecisions(t *testing.T) {
	t.Parallel()
	p := seedGrid()
	for _, c := range []struct {
		name            string
		delta           float64
		low, high, cost float64
		pool            int
	}{
		{"null", 0, 0, .04, 29, 6},
		{"harmful", -.10, 0, .005, 15, 6},
		{"small", .08, .38, .50, 65, 6},
		{"large", .20, .90, 1, 47, 6},
		{"very large, short pool", .30, .95, 1, 47, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := setting{p: p, q: lifted(p, c.delta), pilot: 2, pool: c.pool, rules: Rules{Threshold: 5, Eta: .3, Cap: 250}}
			kept, cost := keeps(2000, s)
			rate, _ := kept.Rate()
			t.Logf("keep %.4f at %.1f sessions", rate, cost)
			if rate < c.low || rate > c.high || cost > c.cost {
				t.Errorf("got keep %.4f at %.1f sessions, want %v to %v at no more than %v", rate, cost, c.low, c.high, c.cost)
			}
		})
	}
}

// BenchmarkDecision is one update of a full grid: the next bets, the evidence of a round, the assessment.
func BenchmarkDecision(b *testing.B) {
	cells, cfg := grid14(), Default()
	seen := make([]Seen, len(cells))
	for i := range seen {
		seen[i] = Seen{Cand: []bool{i%2 == 0}, Base: []bool{i%3 == 0}}
	}
	b.ReportAllocs()
	for b.Loop() {
		PlaceBets(cells, cfg).LogFactor(seen)
		Assess(cells, cfg)
	}
}
