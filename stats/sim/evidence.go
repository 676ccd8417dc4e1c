package sim

import (
	"fmt"
	"math"
	"strings"
)

// nulls are the two effects that leave the mean where it is.
func nulls() []Effect { return []Effect{{Kind: NullEffect}, {Kind: SwapEffect}} }

// eachPeak goes through the worlds of checks 1 and 2.
func (b *bench) eachPeak(f func(name string, p Peaks)) {
	for _, grid := range b.validityGrids() {
		for _, effect := range nulls() {
			for _, pool := range []int{0, 8, 30} {
				f(fmt.Sprintf("%s, %s, pool %d", b.named(grid), effect.Kind, pool), b.peak(grid, effect, pool))
			}
		}
	}
}

// validityGrids are the grids a promise is checked on; a user's own comes alone.
func (b *bench) validityGrids() []GridName {
	if b.o.Own != nil {
		return []GridName{SeedGrid}
	}
	return []GridName{SeedGrid, ExtremeGrid, DrawnGrid}
}

// named is what a grid is called in a row.
func (b *bench) named(g GridName) string {
	if g == SeedGrid && b.o.Own != nil {
		return "own grid"
	}
	return string(g)
}

func (b *bench) reachTwenty() {
	b.eachPeak(func(name string, p Peaks) {
		b.row(surely("P(E ever >= 20), "+name, 5, 2.2, p.Twenty, ".5-1.8"), true)
	})
}

func (b *bench) reachFive() {
	b.eachPeak(func(name string, p Peaks) {
		b.row(surely("P(E ever >= 5), "+name, 20, 10, p.Five, "4.8-8.7"), true)
	})
}

// fewRounds is how long the mean evidence is followed: later it rests on runs too rare to be drawn.
const fewRounds = 4

func (b *bench) meanEvidence() {
	for _, grid := range b.validityGrids() {
		for _, effect := range nulls() {
			for _, pool := range []int{0, 8} {
				m := MeanEvidence(b.ctx, b.source(grid), effect, Setting{Pilot: 3, Pool: pool}, fewRounds, b.runs(20_000), b.o.Options)
				b.result.Sessions += m.Sessions.Total
				r := mean(fmt.Sprintf("mean E after %d rounds, %s, %s, pool %d", fewRounds, b.named(grid), effect.Kind, pool), AtMost, 1, m.Evidence, "", "<= 1")
				r.Tested = r.Measured - 3*m.Evidence.SE()
				r.Note = "held against: mean less 3 standard errors"
				b.row(r, true)
			}
		}
	}
}

// truths are the effects the confidence sequence is checked on.
func truths() []Effect {
	return []Effect{
		{Kind: NullEffect}, {Kind: SwapEffect}, {ShiftEffect, -.10}, {ShiftEffect, .03}, {ShiftEffect, .08}, {ShiftEffect, .20}, {CollapseEffect, .08},
	}
}

// String names the effect as the tables do: its kind, or by how much it moves the mean.
// String names an effect as the tables do: by how far the mean moves, or else by its kind.
func (e Effect) String() string {
	if e.Delta == 0 || e.Kind == CollapseEffect {
		return string(e.Kind)
	}
	return strings.Replace(fmt.Sprintf("%+.2f", e.Delta), "0.", ".", 1)
}

func (b *bench) confidence() {
	grids := []GridName{SeedGrid, DrawnGrid}
	if b.o.Own != nil {
		grids = grids[:1]
	}
	for _, grid := range grids {
		for _, effect := range truths() {
			var worst Row
			for _, pool := range []int{0, 20} {
				s := Setting{Pilot: 3, Pool: pool, Threshold: 20, Cap: 500, Against: math.NaN()}
				d := b.decisions(grid, effect, s, 3000)
				r := share(fmt.Sprintf("lower confidence limit misses, %s, %s, worse of two pools", b.named(grid), effect), AtMost, 2.5, d.Kept, ".3-1.5")
				if pool == 0 || r.Measured > worst.Measured {
					worst = r
				}
			}
			b.row(worst, true)
		}
	}
}

func (b *bench) invalid() {
	b.row(Row{What: "10 % of sessions invalid at random: 1 and 6 unchanged, cost x 1.11", Note: "by construction, not simulated"}, true)
}
