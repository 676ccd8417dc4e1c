package sim

import (
	"fmt"

	"loopd/stats"
)

// nightRuns is the stated number of campaigns, driftRuns of those in which the model drifts.
const (
	nightRuns  = 2000
	driftRuns  = 600
	windowRuns = 600
)

// against is a rival's plan, with or without the gate.
func against(r Rule, budget int, gated bool) Plan {
	p := DefaultPlan(stats.Fast, budget)
	p.Rival, p.NoGate, p.Guard = r, !gated, r == TwoArm
	return p
}

// times is a row for how many times the gain of one is that of another.
func times(what string, s Sense, must float64, ours, theirs Sum, published string) Row {
	if !(theirs.Mean() > 0) || !(ours.Mean() > 0) {
		return Row{What: what, Sense: s, Must: must, Note: "one of the two gained nothing", Published: published}
	}
	q := ours.Mean() / theirs.Mean()
	// The errors of both, as parts of their means, add up by squares.
	a, c := ours.SE()/ours.Mean(), theirs.SE()/theirs.Mean()
	return figure(what, s, must, q, halfWidth*q*hypot(a, c), "", published)
}

func (b *bench) night2000() {
	ours := b.play(StandardStream, 0, DefaultPlan(stats.Fast, 2000), nightRuns).Gain
	b.row(mean("gain of a campaign of 2,000", AtLeast, .215, ours, "", ".230"), false)
	for _, c := range []struct {
		plan      Plan
		what      string
		must      float64
		published string
	}{
		{against(Greedy3, 2000, true), "gain / greedy with 3 reps and the gate", 1.15, "1.19"},
		{against(GSPRT, 2000, false), "gain / stratified GSPRT", 4, "4.2"},
		{against(CMHReused, 2000, false), "gain / CMH with the champion's reps reused", 4, "4.8"},
	} {
		b.row(times(c.what, AtLeast, c.must, ours, b.play(StandardStream, 0, c.plan, nightRuns).Gain, c.published), false)
	}
}

func (b *bench) night1000() {
	ours := b.play(StandardStream, 0, DefaultPlan(stats.Fast, 1000), nightRuns).Gain
	theirs := b.play(StandardStream, 0, against(Greedy3, 1000, true), nightRuns).Gain
	b.row(mean("gain of a campaign of 1,000", AtLeast, .120, ours, "", ".130"), false)
	b.row(times("gain / greedy with 3 reps and the gate", AtLeast, 1.3, ours, theirs, "1.39"), false)
}

func (b *bench) scouts() {
	for _, c := range []struct {
		budget    int
		published string
	}{{300, "3.6 without guards"}, {400, "2.4 without guards"}} {
		fast := b.play(StandardStream, 0, DefaultPlan(stats.Fast, c.budget), nightRuns)
		scout := b.play(StandardStream, 0, DefaultPlan(stats.Scout, c.budget), nightRuns)
		b.row(times(fmt.Sprintf("gain of scout / fast, campaign of %d", c.budget), AtLeast, 1.8, scout.Gain, fast.Gain, c.published), false)
		mixed := b.play(MixedStream, 0, DefaultPlan(stats.Scout, c.budget), nightRuns)
		b.row(share(fmt.Sprintf("scout campaigns of %d that end with a collapsed cell, mix2", c.budget), AtMost, 1, mixed.Collapsed, "6-17 without guards"), false)
	}
}

func (b *bench) falsePromotions() {
	fast := DefaultPlan(stats.Fast, 2000)
	for _, c := range []struct {
		what      string
		stream    StreamName
		drift     float64
		runs      int
		target    float64
		published string
	}{
		{"every candidate null", NullStream, 0, nightRuns, 2, ".4"},
		{"every candidate a swap", SwapStream, 0, nightRuns, 2, ".3"},
		{"null, the model drifts by +.7 logits", NullStream, .7, driftRuns, 2, ".7"},
		{"null, the model drifts by +1.5 logits", NullStream, 1.5, driftRuns, 2, "1.1-1.5"},
	} {
		b.row(surely("campaigns that promote what is no better, "+c.what, 5, c.target, b.play(c.stream, c.drift, fast, c.runs).NotBetter, c.published), true)
	}
}

func (b *bench) collapses() {
	b.row(share("campaigns that end with a cell down by more than .40, mix2", AtMost, 1, b.play(MixedStream, 0, DefaultPlan(stats.Fast, 2000), nightRuns).Collapsed, ".2"), false)
	greedy := b.play(MixedStream, 0, against(Greedy3, 2000, false), nightRuns)
	b.row(share("the same, greedy with 3 reps", Shown, 0, greedy.Collapsed, "36"), false)
}

func (b *bench) falseKeeps() {
	for _, c := range []struct {
		profile   stats.Profile
		must      float64
		published string
	}{{stats.Fast, 25, "18-19"}, {stats.Strict, 9, "6.0"}, {stats.Certified, 2, ".1"}} {
		p := DefaultPlan(c.profile, 2000)
		p.NoGate = c.profile == stats.Certified
		b.row(share(fmt.Sprintf("share of keeps that raise nothing, %s", c.profile), AtMost, c.must, b.play(StandardStream, 0, p, nightRuns).FalseKeeps, c.published), false)
	}
}

func (b *bench) slightHarm() {
	open := DefaultPlan(stats.Fast, 2000)
	open.NoGate = true
	b.row(share("campaigns that end worse, every candidate -.02", AtMost, .5, b.play(HarmStream, 0, DefaultPlan(stats.Fast, 2000), nightRuns).Worse, ".0"), true)
	for _, c := range []struct {
		what      string
		plan      Plan
		published string
	}{
		{"greedy with 3 reps", against(Greedy3, 2000, false), "92"},
		{"CMH with the champion's reps reused", against(CMHReused, 2000, false), "4-5"},
		{"ours without the gate", open, "21"},
	} {
		b.row(share("the same, "+c.what, Shown, 0, b.play(HarmStream, 0, c.plan, nightRuns).Worse, c.published), false)
	}
}

// Numbers of the comparison of one campaign with several.
const (
	windowBudget = 400
	windowTimes  = 3
)

func (b *bench) windows() {
	one := b.play(StandardStream, 0, DefaultPlan(stats.Fast, windowBudget*windowTimes), windowRuns)
	many := Restart(b.ctx, b.world(StandardStream, 0), DefaultPlan(stats.Fast, windowBudget), windowTimes, b.campaigns(windowRuns), b.o.Options)
	b.result.Sessions += many.Sessions.Total
	b.row(mean("gain, one campaign of 1,200", AtLeast, many.Gain.Mean(), one.Gain, "", ".155"), false)
	b.row(mean("gain, three campaigns of 400", Shown, 0, many.Gain, "", ".065"), false)
	b.row(share("one campaign of 1,200 promotes", Shown, 0, one.Promoted, "59"), false)
	b.row(share("one of three campaigns of 400 promotes", Shown, 0, many.Promoted, "27"), false)
}

// UpperBounds returns the exact one-sided upper 95 % and 99 % bounds of a rate.
func UpperBounds(c stats.Count) (upper95, upper99 float64) {
	return stats.ClopperPearson(c, .90).High, stats.ClopperPearson(c, .98).High
}
