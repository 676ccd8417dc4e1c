package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

func TestWaterfill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sigma        []float64
		total, floor float64
		want         []float64
	}{
		{[]float64{.5, .5, .1, .1}, 2, 0, []float64{5. / 6, 5. / 6, 1. / 6, 1. / 6}},
		{[]float64{.5, .5, .1, .1}, 2, .25, []float64{5. / 6, 5. / 6, .25, .25}},
		// 3 of 4 parts would be 1.5: the first is full, and the other two share what is left.
		{[]float64{3, .5, .5}, 2, 0, []float64{1, .5, .5}},
		{[]float64{1, 1}, 9, 0, []float64{1, 1}},
		{[]float64{1, 0, 1}, 1, .25, []float64{.5, 0, .5}},
		{[]float64{1, 3}, 0, .25, []float64{.25, .25}},
		{nil, 3, .25, []float64{}},
	} {
		got := Waterfill(c.sigma, c.total, c.floor)
		if len(got) != len(c.want) {
			t.Fatalf("got %v, want %v", got, c.want)
		}
		for i := range got {
			near(t, fmt.Sprintf("%v cell %d", c.sigma, i), got[i], c.want[i], 1e-12)
		}
	}
}

// fixedBets are bets on cells sampled for sure.
func fixedBets(lambda float64, center ...float64) Bets {
	b := Bets{Lambda: lambda}
	for _, c := range center {
		b.Cells = append(b.Cells, CellBet{Pi: 1, A: 1, U: c, V: c, K: 1})
	}
	return b
}

func TestLogFactorOfOneRound(t *testing.T) {
	t.Parallel()
	b := fixedBets(.4, .2, .7)
	yes, no := []bool{true}, []bool{false}
	got := b.LogFactor([]Seen{{Cand: yes, Base: no}, {Cand: yes, Base: yes}})
	near(t, "factor", math.Exp(got), 1.40507136, 1e-12)
	near(t, "nothing seen", b.LogFactor([]Seen{{}, {}}), 0, 0)
	near(t, "a short round", b.LogFactor([]Seen{{Cand: yes}}), math.Log1p(.4*.8), 1e-15)
	// Two champion reps known beforehand share the bet; behind a coin only the first is bet on.
	both := []Seen{{Base: []bool{true, false}}}
	near(t, "two reps", math.Exp(b.LogFactor(both)), (1-.2*.8)*(1+.2*.2), 1e-12)
	b.Cells[0].A = .5
	near(t, "two reps behind a coin", math.Exp(b.LogFactor(both)), 1-.8*.8, 1e-12)
	b.Cells[0].A, b.Cells[0].K = 1, .5
	near(t, "half a weight", math.Exp(b.LogFactor(both[:1])), (1-.1*.8)*(1+.1*.2), 1e-12)
}

// expectation is the exact mean of the round factor at true rates p and q, over every coin and outcome.
func expectation(b Bets, p, q []float64, seen []Seen) float64 {
	i := len(seen)
	if i == len(b.Cells) {
		return math.Exp(b.LogFactor(seen))
	}
	sum := 0.0
	for _, y := range arm(b.Cells[i].Pi, q[i]) {
		for _, x := range arm(b.Cells[i].A, p[i]) {
			if chance := y.chance * x.chance; chance > 0 {
				sum += chance * expectation(b, p, q, append(seen, Seen{Cand: y.outcomes, Base: x.outcomes}))
			}
		}
	}
	return sum
}

type happening struct {
	outcomes []bool
	chance   float64
}

func arm(rate, truth float64) []happening {
	return []happening{{nil, 1 - rate}, {[]bool{true}, rate * truth}, {[]bool{false}, rate * (1 - truth)}}
}

func TestExpectedFactor(t *testing.T) {
	t.Parallel()
	p := []float64{.3, .8}
	near(t, "null", expectation(fixedBets(.5, p...), p, p, nil), 1, 1e-12)
	near(t, "swap", expectation(fixedBets(.5, p...), p, []float64{.5, .6}, nil), .99, 1e-12)
	near(t, "swap with other centers", expectation(fixedBets(.5, .4, .7), p, []float64{.5, .6}, nil), .99500625, 1e-12)
	near(t, "a rise", expectation(fixedBets(.5, p...), p, []float64{.5, .9}, nil), 1.155, 1e-12)
}

// anyCells draws cells with believable counts, from untried to sure.
func anyCells(t *rapid.T, most int) []Cell {
	cells := make([]Cell, rapid.IntRange(1, most).Draw(t, "cells"))
	for i := range cells {
		base, hidden := anyCount(t, "base"), anyCount(t, "hidden")
		cells[i] = Cell{Cand: anyCount(t, "cand"), Base: base, Full: base.Add(hidden)}
		cells[i].Weight = rapid.SampledFrom([]float64{0, .1, 1, 7, 1e-9}).Draw(t, "weight")
		if rapid.Bool().Draw(t, "pool") {
			cells[i].PoolLeft = hidden.N
		}
	}
	cells[0].Weight = 1
	return cells
}

func anyConfig(t *rapid.T) Config {
	cfg := Default()
	cfg.R = rapid.Float64Range(.5, 20).Draw(t, "r")
	cfg.D0 = rapid.SampledFrom([]float64{0, 0, -.03, .08, -.5}).Draw(t, "d0")
	return cfg
}

// The heart of the matter: whatever has been seen, and whatever the truth, as long as the weighted mean does not
// rise by more than D0 the evidence is not expected to grow.
func TestNoNullIsExpectedToGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells, cfg := anyCells(t, 2), anyConfig(t)
		p, q := make([]float64, len(cells)), make([]float64, len(cells))
		k, _ := multipliers(cells)
		rise := 0.0
		for i := range cells {
			p[i] = rapid.Float64Range(0, 1).Draw(t, "p")
			q[i] = rapid.Float64Range(0, 1).Draw(t, "q")
			rise += k[i] * (q[i] - p[i]) / float64(len(cells))
		}
		if rise > cfg.D0 {
			t.Skip("a rise")
		}
		if e := expectation(PlaceBets(cells, cfg), p, q, nil); e > 1+1e-9 {
			t.Errorf("p %v, q %v: got expected factor %v, want at most 1", p, q, e)
		}
	})
}

func TestBetsProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells, cfg := anyCells(t, 16), anyConfig(t)
		b := PlaceBets(cells, cfg)
		k, _ := multipliers(cells)
		moved := 0.0
		for i, c := range b.Cells {
			moved += k[i] * (c.U - c.V) / float64(len(cells))
			if cells[i].Weight == 0 && (c != CellBet{}) {
				t.Errorf("cell %d has no weight but the bet %+v", i, c)
			}
			if cells[i].Weight > 0 && !(c.Pi >= .25 && c.Pi <= 1 && c.A >= .25 && c.A <= 1) {
				t.Errorf("cell %d: got rates %v and %v", i, c.Pi, c.A)
			}
			if cells[i].Weight > 0 && cells[i].PoolLeft > 0 && c.A != 1 {
				t.Errorf("cell %d: got %v for a pool rep that is sure to be revealed", i, c.A)
			}
		}
		if math.Abs(moved-cfg.D0) > 1e-9 {
			t.Errorf("the centers differ by %v, want %v", moved, cfg.D0)
		}
		if len(b.Warnings) > 0 || !(b.Lambda > 0) {
			t.Errorf("got lambda %v, warnings %q", b.Lambda, b.Warnings)
		}
		everyFactorPositive(t, b)
	})
}

func everyFactorPositive(t *rapid.T, b Bets) {
	for i := range b.Cells {
		for _, outcome := range []bool{true, false} {
			cand, base := make([]Seen, len(b.Cells)), make([]Seen, len(b.Cells))
			cand[i].Cand, base[i].Base = []bool{outcome}, []bool{outcome}
			for _, seen := range [][]Seen{cand, base} {
				if f := math.Exp(b.LogFactor(seen)); !(f >= 1-.9-1e-9) || math.IsInf(f, 1) {
					t.Errorf("cell %d, outcome %v: got factor %v, want at least .1", i, outcome, f)
				}
			}
		}
	}
}

// The bets written once more, without weights, straight from the formulas, with nothing shared but
// the sampling rates.
func TestBetsAgainstTheFormulas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells, cfg := anyCells(t, 14), anyConfig(t)
		n := float64(len(cells))
		untried := rapid.Bool().Draw(t, "untried")
		for i := range cells {
			if cells[i].Weight = 1 / n; untried {
				cells[i].Cand = Count{}
			}
		}
		got := PlaceBets(cells, cfg)
		var v, gap, m, sd2 float64
		reps := 0
		for i, c := range cells {
			p, q := rate(c.Base, .5, 1), rate(c.Cand, 4*rate(c.Base, .5, 1), 4)
			v += q*(1-q)/got.Cells[i].Pi + p*(1-p)/got.Cells[i].A
			gap += q - p
			qh, own := rate(c.Cand, .5*p, .5), 1-.5/(float64(c.Cand.N)+.5)
			m += (qh - p) / n
			sd2 += (qh*(1-qh)/(float64(c.Cand.N)+1.5) + own*own*p*(1-p)/(float64(c.Base.N)+2)) / (n * n)
			reps += c.Cand.N
		}
		s := (gap - n*cfg.D0) / v
		most := math.Inf(1)
		for i, c := range cells {
			p, q, b := rate(c.Base, .5, 1), rate(c.Cand, 4*rate(c.Base, .5, 1), 4), got.Cells[i]
			near(t, "u", b.U, q-s*q*(1-q)/b.Pi, 1e-9)
			near(t, "v", b.V, p+s*p*(1-p)/b.A, 1e-9)
			for _, edge := range [][2]float64{{b.Pi, b.U}, {b.Pi, b.U - 1}, {b.A, 1 - b.V}, {b.A, -b.V}} {
				if edge[1] > 0 {
					most = min(most, edge[0]/edge[1])
				}
			}
		}
		w := .0036 / (.0036 + sd2)
		dl := w*(m-cfg.D0) + (1-w)*.10
		if reps == 0 {
			dl = .10
		}
		want := min(n*max(dl, .02)/v, .9*most)
		near(t, "lambda", got.Lambda/want, 1, 1e-9)
	})
}

func rate(c Count, pass, n float64) float64 { return (float64(c.Pass) + pass) / (float64(c.N) + n) }

// Recorded bets are recomputed on other machines, some of which can fuse a product into a sum. The bits here are
// those of the unfused operations; a product that is not wrapped changes them where fusing happens.
func TestBetsBitForBit(t *testing.T) {
	t.Parallel()
	b := PlaceBets(grid14(), Default())
	var got []string
	for _, c := range b.Cells[:3] {
		got = append(got, fmt.Sprintf("%x %x %x %x", c.Pi, c.A, c.U, c.V))
	}
	seen := make([]Seen, len(b.Cells))
	for i := range seen {
		seen[i] = Seen{Cand: []bool{i%2 == 0}, Base: []bool{i%3 == 0}}
	}
	got = append(got, fmt.Sprintf("%x %x", b.Lambda, b.LogFactor(seen)))
	want := []string{
		"0x1.a41732d26b3fep-01 0x1p+00 0x1.09f2ef8fbf062p-02 0x1.ecf3f4322fda8p-04",
		"0x1.e4f323ff3c4d4p-01 0x1p+00 0x1.05bedd921411ap-01 0x1.75cbd51ae2c75p-02",
		"0x1.de2d866082ef3p-01 0x1p+00 0x1.b5ff2fb682c51p-02 0x1.3ae5ea8d7163bp-01",
		"0x1.c21e5258429e6p-04 0x1.2f48fe6dd7d6ep-02",
	}
	testenv.Same(t, "bits of the bets", want, got)
	testenv.Same(t, "a second time", b, PlaceBets(grid14(), Default()))
}

func TestLog1p(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(-.95, 20), rapid.Float64Range(-.3, .6), rapid.Float64()).Draw(t, "x")
		got, want := log1p(x), math.Log1p(x)
		if got == want || math.IsNaN(got) && math.IsNaN(want) {
			return
		}
		if !(math.Abs(got-want) <= 1e-15*math.Abs(want)) {
			t.Errorf("log1p(%v): got %v, want %v", x, got, want)
		}
	})
}

// grid14 is a full grid in mid-search, where half of the cells still have a pool.
func grid14() []Cell {
	cells := make([]Cell, 14)
	for i := range cells {
		base := Count{Pass: i % 4, N: 3}
		cells[i] = Cell{Cand: Count{Pass: (i + 1) % 3, N: 2 + i%2}, Base: base, Full: base, Weight: 1. / 14}
		if i%2 == 0 {
			cells[i].Full, cells[i].PoolLeft = base.Add(Count{1, 3}), 3
		}
	}
	return cells
}

func TestBetsRefuse(t *testing.T) {
	t.Parallel()
	sure := Cell{Weight: 1}
	bad := Default()
	bad.BetCap = 1
	for _, c := range []struct {
		name  string
		cells []Cell
		cfg   Config
		want  string
	}{
		{"no cells", nil, Default(), "no shares"},
		{"no weight", []Cell{{}}, Default(), "no shares"},
		{"a negative weight", []Cell{sure, {Weight: -.1}}, Default(), "no shares"},
		{"a weight that is no number", []Cell{sure, {Weight: math.NaN()}}, Default(), "no shares"},
		{"more passes than trials", []Cell{sure, {Weight: 1, Cand: Count{2, 1}}}, Default(), "cell 1: a count"},
		{"a forgotten full count", []Cell{{Weight: 1, Base: Count{1, 2}}}, Default(), "cell 0: the full count"},
		{"a full count without the failures", []Cell{{Weight: 1, Base: Count{1, 3}, Full: Count{3, 3}}}, Default(), "cell 0: the full"},
		{"a bet that could lose everything", []Cell{sure}, bad, "constant"},
	} {
		b := PlaceBets(c.cells, c.cfg)
		if b.Lambda != 0 || len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], c.want) {
			t.Errorf("%s: got lambda %v and warnings %q, want 0 and %q", c.name, b.Lambda, b.Warnings, c.want)
		}
		a := Assess(c.cells, c.cfg)
		if stop, _ := a.Stop(.5); stop || len(a.Warnings) != 1 {
			t.Errorf("%s: got assessment %+v, want a warning and no stop", c.name, a)
		}
	}
}
