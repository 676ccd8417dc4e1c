package sim

import (
	"fmt"
	"math"

	"loopd/stats"
)

// decisionRuns is the stated number of decisions per effect.
const decisionRuns = 4000

func (b *bench) twoArms() {
	s := Setting{Pilot: 4, Threshold: 20, Cap: 1500}
	d := b.decisions(SeedGrid, Effect{ShiftEffect, .08}, s, decisionRuns)
	b.row(mean("sessions to find +.08, two arms, E >= 20", AtMost, 500, d.Sessions, Sessions, "453"), false)
	b.row(share("power", AtLeast, 98, d.Kept, "99.3"), false)
	power, _ := d.Kept.Rate()
	bound := stats.KL(power, .05) * b.bound(.08, 0)
	b.row(ratio("sessions / least possible at error .05", 1.7, d.Sessions, bound, "1.54"), false)
}

func ratio(what string, must float64, sessions Sum, bound float64, published string) Row {
	if !(bound > 0) || math.IsInf(bound, 1) {
		return Row{What: what, Note: "no bound for this grid"}
	}
	return figure(what, AtMost, must, sessions.Mean()/bound, halfWidth*sessions.SE()/bound, "", published)
}

// boundDraws is over how many drawn candidates the bound is averaged; it hardly differs between them.
const boundDraws = 16

// bound is the mean of the sessions per nat that any procedure with two arms needs to tell a rise of delta, or where
// delta is 0 nothing, from the boundary.
func (b *bench) bound(delta, boundary float64) float64 {
	e, sum, n := newEngine(), 0.0, 0
	for run := range boundDraws {
		e.reset(b.o.Seed, "bound", run)
		champion := b.source(SeedGrid)(e)
		effect := Effect{ShiftEffect, delta}
		if delta == 0 {
			effect = Effect{Kind: NullEffect}
		}
		lower := stats.LowerBound(champion.Rates, effect.Draw(champion, e.rng).Rates, equalWeights(len(champion.Rates)), boundary)
		if len(lower.Warnings) == 0 {
			sum, n = sum+lower.TwoArms, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

func equalWeights(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func (b *bench) decided(e Effect) Decisions {
	return b.decisions(SeedGrid, e, DefaultSetting(), decisionRuns)
}

func (b *bench) cost() {
	for _, c := range []struct {
		effect    Effect
		must      float64
		published string
	}{
		{Effect{ShiftEffect, .08}, 65, "58"}, {Effect{Kind: NullEffect}, 29, "25"}, {Effect{ShiftEffect, -.10}, 15, "13"}, {Effect{ShiftEffect, .20}, 47, "41"},
	} {
		b.row(mean(fmt.Sprintf("sessions per decision, %s", c.effect), AtMost, c.must, b.decided(c.effect).Sessions, Sessions, c.published), false)
	}
}

func (b *bench) keepRates() {
	for _, c := range []struct {
		effect    Effect
		sense     Sense
		must      float64
		published string
	}{
		{Effect{Kind: NullEffect}, AtMost, 3, "2.0"}, {Effect{Kind: SwapEffect}, AtMost, 2.5, "1.6"}, {Effect{ShiftEffect, -.10}, AtMost, .2, "0"},
		{Effect{ShiftEffect, .08}, AtLeast, 40, "42.8"}, {Effect{ShiftEffect, .20}, AtLeast, 90, "92.5"}, {Effect{CollapseEffect, .08}, AtMost, 1, ".2"},
	} {
		b.row(share(fmt.Sprintf("kept, %s", c.effect), c.sense, c.must, b.decided(c.effect).Kept, c.published), false)
	}
}

// ratios compares with what two fresh arms need at least. Below 1 is possible because the champion's record is shared
// by all candidates.
func (b *bench) ratios() {
	null, small, large := b.decided(Effect{Kind: NullEffect}), b.decided(Effect{ShiftEffect, .08}), b.decided(Effect{ShiftEffect, .20})
	alpha, _ := null.Kept.Rate()
	power, _ := small.Kept.Rate()
	powerLarge, _ := large.Kept.Rate()
	b.row(ratio("sessions / least for two fresh arms, +.08", .65, small.Sessions, stats.KL(power, alpha)*b.bound(.08, 0), ".57"), false)
	b.row(ratio("sessions / least for two fresh arms, null", .70, null.Sessions, stats.KL(alpha, power)*b.bound(0, .08), ".59"), false)
	b.row(ratio("sessions / least for two fresh arms, +.20", .75, large.Sessions, stats.KL(powerLarge, alpha)*b.bound(.20, 0), ".64"), false)
}

// gateRuns is the number of gates of checks 15 and 16.
const gateRuns = 6000

// Numbers of checks 15 and 16: what one declared cell gains, and how many sessions the gate bets.
const (
	declaredRise  = .60
	declaredGate  = 80
	declaredLimit = 800
	pilotReps     = 2
)

func (b *bench) declared() {
	d := Confirm(b.ctx, b.source(SeedGrid), Effect{OneCellEffect, declaredRise}, pilotReps, declaredGate, b.runs(gateRuns), b.o.Options)
	b.result.Sessions += d.Sessions.Total
	b.row(share("one declared cell +.60 confirmed within 80 gate sessions", AtLeast, 95, d.Kept, "99.8"), false)
	b.row(mean("gate sessions used", Shown, 0, d.Sessions, Sessions, "median 23"), false)
}

func (b *bench) declaredNulls() {
	d := Confirm(b.ctx, b.source(SeedGrid), Effect{Kind: OneCellNull}, pilotReps, declaredLimit, b.runs(gateRuns), b.o.Options)
	b.result.Sessions += d.Sessions.Total
	b.row(surely("one declared cell unchanged, confirmed within 800 gate sessions", 5, 0, d.Kept, "<= 2.8"), true)
	c := b.play(DeclaredNullStream, 0, DefaultPlan(stats.Fast, 2000), 2000)
	b.row(surely("campaigns of 2,000 that promote, every candidate a declared null", 5, 0, c.NotBetter, ""), true)
}
