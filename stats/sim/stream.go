package sim

import "math/rand/v2"

// Stream is the mix of effects the candidates of a campaign have, each against the champion of its time.
type Stream []Part

// Part is one effect and how often it comes, in proportion to the others.
type Part struct {
	Share  float64
	Effect Effect
}

// StreamName names a stream.
type StreamName string

// The streams.
const (
	// StandardStream is eight candidates in ten that change nothing, one that harms, one that helps.
	StandardStream StreamName = "std"
	// SlightStream is mostly candidates that harm too little to be seen.
	SlightStream StreamName = "slight"
	// MixedStream also has candidates that break a scenario or trade one cell for another.
	MixedStream StreamName = "mix2"
	// NullStream changes nothing.
	NullStream StreamName = "null"
	// SwapStream trades cells only.
	SwapStream StreamName = "swap"
	// HarmStream is candidates that all harm a little.
	HarmStream StreamName = "harm"
	// DeclaredNullStream declares one cell each and changes nothing.
	DeclaredNullStream StreamName = "declared_null"
)

// Numbers of the streams.
const (
	harmShift   = -.10
	slightShift = -.02
	brokenRise  = .08
)

// Stream returns the stream of that name; an unknown name gives the standard one.
func (n StreamName) Stream() Stream {
	null, slight := Effect{Kind: NullEffect}, Effect{ShiftEffect, slightShift}
	harm := Effect{ShiftEffect, harmShift}
	switch n {
	case SlightStream:
		return append(Stream{{70, slight}, {10, null}, {10, harm}}, good(10)...)
	case MixedStream:
		return append(Stream{{60, null}, {15, harm}, {5, Effect{CollapseEffect, brokenRise}}, {5, Effect{Kind: SwapEffect}}}, good(15)...)
	case NullStream:
		return Stream{{1, null}}
	case SwapStream:
		return Stream{{1, Effect{Kind: SwapEffect}}}
	case HarmStream:
		return Stream{{1, slight}}
	case DeclaredNullStream:
		return Stream{{1, Effect{Kind: OneCellNull}}}
	}
	return append(Stream{{80, null}, {10, harm}}, good(10)...)
}

// good is small, middling and large gains, the large ones rarer.
func good(share float64) Stream {
	return Stream{
		{.4 * share, Effect{ShiftEffect, .03}}, {.4 * share, Effect{ShiftEffect, .08}}, {.2 * share, Effect{ShiftEffect, .20}},
	}
}

// draw chooses the effect of the next candidate.
func (s Stream) draw(rng *rand.Rand) Effect {
	total := 0.0
	for _, p := range s {
		total += p.Share
	}
	at := rng.Float64() * total
	for _, p := range s {
		if at -= p.Share; at < 0 {
			return p.Effect
		}
	}
	return s[len(s)-1].Effect
}
