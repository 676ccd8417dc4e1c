package sim

import (
	"math"
	"math/rand/v2"
	"slices"
)

// EffectKind says how a candidate changes the rates.
type EffectKind string

// The kinds of effects.
const (
	// NullEffect changes nothing.
	NullEffect EffectKind = "null"
	// ShiftEffect is BroadEffect or FocusedEffect, by the toss of a coin.
	ShiftEffect EffectKind = "shift"
	// BroadEffect moves every cell by the same step on the logit scale.
	BroadEffect EffectKind = "broad"
	// FocusedEffect moves five cells by the same step and leaves the others.
	FocusedEffect EffectKind = "focused"
	// SwapEffect lowers three good cells and raises the others until the mean is where it was.
	SwapEffect EffectKind = "swap"
	// CollapseEffect breaks one good scenario on every model and raises the others until the mean has risen by Delta.
	CollapseEffect EffectKind = "collapse"
	// OneCellEffect raises one weak cell by Delta and declares it.
	OneCellEffect EffectKind = "one_cell"
	// OneCellNull declares one cell and changes nothing.
	OneCellNull EffectKind = "one_cell_null"
)

// Effect is what a candidate does to the champion's rates. The mean moves by exactly Delta where the cells concerned
// have that much room, which five good ones may not: then they go as far as they can.
type Effect struct {
	Kind  EffectKind `json:"kind"`
	Delta float64    `json:"delta"`
}

// Numbers of the effects.
const (
	focusCells    = 5
	swapCells     = 3
	swapFall      = .35
	goodRate      = .6
	collapsedRate = .03
	weakRate      = .5
)

// Candidate is a drawn effect: the rates with it, and the cell it declares, or none.
type Candidate struct {
	Rates  []float64
	Target int
}

// undeclared is the target of a candidate that declares no cell.
const undeclared = -1

// Draw applies an effect to a champion, whose rates it leaves alone.
func (e Effect) Draw(champion Grid, rng *rand.Rand) Candidate {
	c := Candidate{Rates: slices.Clone(champion.Rates), Target: undeclared}
	switch e.kind(rng) {
	case BroadEffect:
		shiftTo(c.Rates, all(len(c.Rates)), Mean(champion.Rates)+e.Delta)
	case FocusedEffect:
		shiftTo(c.Rates, focus(len(c.Rates), rng), Mean(champion.Rates)+e.Delta)
	case SwapEffect:
		swap(c.Rates, rng)
	case CollapseEffect:
		collapse(c.Rates, champion, e.Delta, rng)
	case OneCellEffect:
		c.Target = pick(champion.Rates, rng, func(r float64) bool { return r+e.Delta <= 1 && r <= weakRate })
		c.Rates[c.Target] = min(1, c.Rates[c.Target]+e.Delta)
	case OneCellNull:
		c.Target = rng.IntN(len(c.Rates))
	}
	return c
}

func (e Effect) kind(rng *rand.Rand) EffectKind {
	if e.Kind != ShiftEffect {
		return e.Kind
	}
	if rng.IntN(2) == 0 {
		return BroadEffect
	}
	return FocusedEffect
}

func all(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// focus chooses five cells at random.
func focus(n int, rng *rand.Rand) []bool {
	chosen := make([]bool, n)
	for _, i := range rng.Perm(n)[:min(n, focusCells)] {
		chosen[i] = true
	}
	return chosen
}

// shiftTo multiplies the odds of the chosen cells by one number so that the mean of all comes to the goal. Rates of
// exactly 0 or 1 stay; a goal out of reach is approached.
func shiftTo(rates []float64, chosen []bool, goal float64) {
	if goal == Mean(rates) {
		return
	}
	low, high := -16.0, 16.0
	for range 50 {
		step := (low + high) / 2
		if meanShifted(rates, chosen, math.Exp(step)) < goal {
			low = step
		} else {
			high = step
		}
	}
	factor := math.Exp((low + high) / 2)
	for i := range rates {
		if chosen[i] {
			rates[i] = scaled(rates[i], factor)
		}
	}
}

func meanShifted(rates []float64, chosen []bool, factor float64) float64 {
	sum := 0.0
	for i, r := range rates {
		if chosen[i] {
			r = scaled(r, factor)
		}
		sum += r
	}
	return sum / float64(len(rates))
}

// scaled multiplies the odds of a rate.
func scaled(rate, factor float64) float64 {
	return rate * factor / (1 - rate + rate*factor)
}

// swap takes the rates of three good cells down and raises the others until the mean is the same.
func swap(rates []float64, rng *rand.Rand) {
	goal, rest := Mean(rates), all(len(rates))
	if len(rates) < 2 {
		return
	}
	for range min(swapCells, len(rates)-1) {
		i := pickFrom(rates, rest, rng)
		rest[i] = false
		rates[i] = max(0, rates[i]-swapFall)
	}
	shiftTo(rates, rest, goal)
}

// pickFrom returns a good cell among those left, or the best of them.
func pickFrom(rates []float64, left []bool, rng *rand.Rand) int {
	return pick(masked(rates, left), rng, func(r float64) bool { return r >= goodRate })
}

func masked(rates []float64, left []bool) []float64 {
	out := slices.Clone(rates)
	for i := range out {
		if !left[i] {
			out[i] = math.Inf(-1)
		}
	}
	return out
}

// pick returns one of the cells that are wanted at random; where none is, the one with the highest rate.
func pick(rates []float64, rng *rand.Rand, wanted func(float64) bool) int {
	var list []int
	best := 0
	for i, r := range rates {
		if wanted(r) {
			list = append(list, i)
		}
		if r > rates[best] {
			best = i
		}
	}
	if len(list) == 0 {
		return best
	}
	return list[rng.IntN(len(list))]
}

// collapse breaks the scenario of a good cell and raises the rest.
func collapse(rates []float64, champion Grid, delta float64, rng *rand.Rand) {
	broken := champion.Scenario[pickFrom(champion.Rates, all(len(rates)), rng)]
	rest := all(len(rates))
	for i := range rates {
		if champion.Scenario[i] == broken {
			rest[i] = false
			rates[i] = min(rates[i], collapsedRate)
		}
	}
	shiftTo(rates, rest, Mean(champion.Rates)+delta)
}
