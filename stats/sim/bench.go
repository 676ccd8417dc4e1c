package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"loopd/stats"
)

// Sense says on which side of its bound a figure has to be.
type Sense string

// The senses.
const (
	AtMost  Sense = "<="
	AtLeast Sense = ">="
	// Shown has no bound.
	Shown Sense = ""
)

// Row is one figure of a check beside its bound.
type Row struct {
	Check string `json:"check"`
	What  string `json:"what"`
	// Sense and Must are the bound, Target a stricter one that is aimed at and does not fail the check.
	Sense  Sense   `json:"sense,omitempty"`
	Must   float64 `json:"must"`
	Target float64 `json:"target,omitempty"`
	// Measured is the figure and Margin half the width of its 95 % Monte-Carlo interval.
	Measured float64 `json:"measured"`
	Margin   float64 `json:"margin"`
	// Tested is what is held against the bound: the figure, or where a bound on it is claimed that bound.
	Tested float64 `json:"tested"`
	Unit   Unit    `json:"unit,omitempty"`
	// Published is what was measured when the procedure was designed.
	Published string `json:"published,omitempty"`
	Note      string `json:"note,omitempty"`
	OK        bool   `json:"ok"`
}

// Unit says what a figure counts.
type Unit string

// The units; a figure without one is a plain number.
const (
	Percent  Unit = "%"
	Sessions Unit = "sessions"
)

// BenchOptions says what to measure.
type BenchOptions struct {
	Options
	// Share of the stated run counts; 0 is all of them. Bounds that need more runs than that leaves may fail.
	Share float64
	// Nights replaces the number of campaigns, unless 0.
	Nights int
	// Own replaces the seed grid. Bounds that were set for the seed grid are then not held against.
	Own *Grid
	// Checks are the ids to run; none means all.
	Checks []string
	// Done is told of every check that is finished.
	Done func(id string)
}

// Result is what a benchmark measured.
type Result struct {
	Rows []Row
	// Sessions is how many sessions were simulated.
	Sessions float64
	Failed   int
}

// check is one numbered check.
type check struct {
	id  string
	run func(*bench)
}

func checks() []check {
	return []check{
		{"1", (*bench).reachTwenty}, {"2", (*bench).reachFive}, {"3", (*bench).meanEvidence}, {"4", (*bench).twoArms},
		{"5", (*bench).cost}, {"6", (*bench).keepRates}, {"7", (*bench).ratios}, {"8", (*bench).night2000},
		{"8b", (*bench).scouts}, {"9", (*bench).night1000}, {"10", (*bench).falsePromotions}, {"11", (*bench).collapses},
		{"12", (*bench).falseKeeps}, {"12b", (*bench).slightHarm}, {"13", (*bench).confidence}, {"14", (*bench).invalid},
		{"15", (*bench).declared}, {"16", (*bench).declaredNulls}, {"windows", (*bench).windows},
	}
}

// CheckNames lists the ids of the checks.
func CheckNames() []string {
	var out []string
	for _, c := range checks() {
		out = append(out, c.id)
	}
	return out
}

// bench is a benchmark under way. What two checks need is measured once.
type bench struct {
	ctx    context.Context
	o      BenchOptions
	id     string
	result Result
	nights map[string]Campaigns
	peaks  map[string]Peaks
	played map[string]Decisions
}

// Benchmark runs the checks. It ends early, with the error, when ctx does.
func Benchmark(ctx context.Context, o BenchOptions) (Result, error) {
	for _, id := range o.Checks {
		if !slices.Contains(CheckNames(), id) {
			return Result{}, fmt.Errorf("no check is called %q", id)
		}
	}
	if !(o.Share >= 0 && o.Share <= 1) || o.Nights < 0 {
		return Result{}, errors.New("the share of the run counts is not within [0,1] or the number of campaigns is negative")
	}
	b := newBench(ctx, o)
	for _, c := range checks() {
		if len(o.Checks) > 0 && !slices.Contains(o.Checks, c.id) {
			continue
		}
		b.id = c.id
		c.run(b)
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if o.Done != nil {
			o.Done(c.id)
		}
	}
	return b.result, nil
}

func newBench(ctx context.Context, o BenchOptions) *bench {
	return &bench{ctx: ctx, o: o, nights: make(map[string]Campaigns), peaks: make(map[string]Peaks), played: make(map[string]Decisions)}
}

// runs is the stated number of runs, or the share of it asked for.
func (b *bench) runs(stated int) int {
	if b.o.Share == 0 {
		return stated
	}
	return max(1, int(math.Ceil(b.o.Share*float64(stated))))
}

func (b *bench) campaigns(stated int) int {
	if b.o.Nights > 0 {
		return b.o.Nights
	}
	return b.runs(stated)
}

// source is the grid of that name, or the user's own in place of the seed grid.
func (b *bench) source(name GridName) Source {
	if name == SeedGrid && b.o.Own != nil {
		return Of(*b.o.Own)
	}
	return From(name)
}

func (b *bench) decisions(grid GridName, effect Effect, s Setting, stated int) Decisions {
	key := fmt.Sprint(grid, effect, s, stated)
	d, ok := b.played[key]
	if !ok {
		d = Detect(b.ctx, b.source(grid), effect, s, b.runs(stated), b.o.Options)
		b.result.Sessions += d.Sessions.Total
		b.played[key] = d
	}
	return d
}

func (b *bench) peak(grid GridName, effect Effect, pool int) Peaks {
	key := fmt.Sprint(grid, effect, pool)
	p, ok := b.peaks[key]
	if !ok {
		p = Peak(b.ctx, b.source(grid), effect, Setting{Pilot: 3, Pool: pool, Cap: 600}, b.runs(6000), b.o.Options)
		b.result.Sessions += p.Sessions.Total
		b.peaks[key] = p
	}
	return p
}

// play runs campaigns on the seed grid.
func (b *bench) play(stream StreamName, drift float64, p Plan, stated int) Campaigns {
	key := fmt.Sprint(stream, drift, p, stated)
	c, ok := b.nights[key]
	if !ok {
		c = Run(b.ctx, b.world(stream, drift), p, b.campaigns(stated), b.o.Options)
		b.result.Sessions += c.Sessions.Total
		b.nights[key] = c
	}
	return c
}

// driftAt is the part of the budget after which a drifting model steps.
const driftAt = .4

func (b *bench) world(stream StreamName, drift float64) World {
	return World{Grid: b.source(SeedGrid), Stream: stream.Stream(), Drift: drift, DriftAt: driftAt}
}

// row adds a figure. On a user's grid only what is promised for every grid is held against.
func (b *bench) row(r Row, promised bool) {
	r.Check = b.id
	if b.o.Own != nil && !promised {
		r.Sense, r.Must, r.Target = Shown, 0, 0
	}
	switch r.Sense {
	case AtMost:
		r.OK = r.Tested <= r.Must
	case AtLeast:
		r.OK = r.Tested >= r.Must
	default:
		r.OK = true
	}
	if !r.OK {
		b.result.Failed++
	}
	b.result.Rows = append(b.result.Rows, r)
}

// figure is a row whose figure itself is held against the bound.
func figure(what string, s Sense, must, measured, margin float64, u Unit, published string) Row {
	return Row{What: what, Sense: s, Must: must, Measured: measured, Margin: margin, Tested: measured, Unit: u, Published: published}
}

// share is a row for a rate in percent.
func share(what string, s Sense, must float64, c stats.Count, published string) Row {
	rate, margin := percent(c)
	return figure(what, s, must, rate, margin, Percent, published)
}

// surely is a row for a rate in percent of which the exact upper 99 % bound is held against.
func surely(what string, must, target float64, c stats.Count, published string) Row {
	r := share(what, AtMost, must, c, published)
	r.Tested, r.Target = 100*upper99(c), target
	r.Note = fmt.Sprintf("upper 99 %% bound %.2f, %d/%d", r.Tested, c.Pass, c.N)
	return r
}

// upper99 is the exact one-sided upper bound.
func upper99(c stats.Count) float64 { return stats.ClopperPearson(c, .98).High }

// halfWidth is the normal quantile of a two-sided 95 % interval.
const halfWidth = 1.959964

func percent(c stats.Count) (rate, margin float64) {
	p, ok := c.Rate()
	if !ok {
		return 0, 0
	}
	return 100 * p, 100 * halfWidth * math.Sqrt(p*(1-p)/float64(c.N))
}

func mean(what string, s Sense, must float64, m Sum, u Unit, published string) Row {
	return figure(what, s, must, m.Mean(), halfWidth*m.SE(), u, published)
}
