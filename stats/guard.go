package stats

import "math"

// GuardAction is what a guard asks for.
type GuardAction string

// The answers of a guard.
const (
	// GuardAsk wants one more candidate rep in the cell.
	GuardAsk GuardAction = "ask"
	// GuardAskBoth wants one more rep of each arm, because the champion has been seen too little there.
	GuardAskBoth GuardAction = "ask_both"
	// GuardVeto forbids the keep.
	GuardVeto GuardAction = "veto"
	// GuardClear lets the keep pass as far as this cell goes.
	GuardClear GuardAction = "clear"
)

// Guard holds the constants of a guard. It looks at one cell of a candidate that is about to be kept and asks
// for reps until it is clear whether the cell has fallen by more than Margin. Its reps are counted, never bet.
type Guard struct {
	Margin float64 `json:"margin"`
	// ClearAt is the chance of such a fall at or below which the cell is let through.
	ClearAt float64 `json:"clear_at"`
	// VetoAt is the chance at or above which the keep is forbidden at once, given VetoReps candidate reps.
	VetoAt   float64 `json:"veto_at"`
	VetoReps int     `json:"veto_reps"`
	// EndVeto is the chance above which the keep is forbidden when MaxExtra reps have been asked for.
	EndVeto  float64 `json:"end_veto"`
	MaxExtra int     `json:"max_extra"`
	// BaseReps is how many champion reps a cell should have; while it has fewer, asking asks for both arms.
	BaseReps int `json:"base_reps"`
}

// CollapseGuard returns the guard against a cell that breaks down while the mean rises.
func CollapseGuard() Guard {
	return Guard{Margin: .40, ClearAt: .10, VetoAt: .90, VetoReps: 4, EndVeto: .40, MaxExtra: 8, BaseReps: 6}
}

// OverTriggerGuard returns the guard against a candidate that goes through decision records where none is
// relevant. Its cell is all negative scenarios of a tier together, with "no detour" as the pass. It may veto on
// few reps: such scenarios pass nearly always, and .90 is out of reach of a single failure beside a short pilot.
func OverTriggerGuard() Guard {
	return Guard{Margin: .25, ClearAt: .10, VetoAt: .90, EndVeto: .40, MaxExtra: 8}
}

// Step returns the next action for a cell that has got extra reps so far, and the chance of a fall it rests on.
// Counts that make no sense are a veto.
func (g Guard) Step(cand, base Count, extra int) (action GuardAction, chance float64) {
	if !cand.valid() || !base.valid() {
		return GuardVeto, 1
	}
	chance = HarmProb(cand, base, g.Margin)
	return g.At(chance, cand, base, extra), chance
}

// At returns the next action where the chance of a fall is known already. It is for who looks at the same counts
// again and again; chance must be what HarmProb gives for them.
func (g Guard) At(chance float64, cand, base Count, extra int) GuardAction {
	switch {
	case !cand.valid() || !base.valid():
		return GuardVeto
	case chance <= g.ClearAt:
		return GuardClear
	case chance >= g.VetoAt && cand.N >= g.VetoReps:
		return GuardVeto
	case extra < g.MaxExtra && base.N < g.BaseReps:
		return GuardAskBoth
	case extra < g.MaxExtra:
		return GuardAsk
	case chance <= g.EndVeto:
		return GuardClear
	}
	return GuardVeto
}

// harmPoints is the size of the grid in HarmProb. It is part of the procedure whose error rates were measured.
const harmPoints = 200

// HarmProb returns the chance that the candidate's rate lies more than margin below the champion's, both with
// independent Jeffreys posteriors laid on the same grid of midpoints. A difference of exactly margin is no fall,
// so the answer is up to half a percentage point under the integral; the guards' constants were measured with
// it. Counts that make no sense give 1.
func HarmProb(cand, base Count, margin float64) float64 {
	if !cand.valid() || !base.valid() || !within(margin, -1, 1) {
		return 1
	}
	q, p := gridPosterior(cand), gridPosterior(base)
	offset := margin * harmPoints
	below, next, sum := 0.0, 0, 0.0
	for j := range p {
		// The slack keeps a difference of exactly margin out whatever margin times the grid rounds to.
		for next < harmPoints && float64(next) < float64(j)-offset-1e-9 {
			below += q[next]
			next++
		}
		sum += mul(p[j], below)
	}
	return min(1, sum)
}

// gridPosterior spreads the Jeffreys posterior of a count over the midpoints of the grid. The densest point is
// scaled to 1 first, so that a sharp posterior does not vanish between the points.
func gridPosterior(c Count) []float64 {
	a, b := jeffreysShape(c)
	mass, peak := make([]float64, harmPoints), math.Inf(-1)
	for i := range mass {
		x := (float64(i) + .5) / harmPoints
		mass[i] = mul(a-1, math.Log(x)) + mul(b-1, math.Log1p(-x))
		peak = max(peak, mass[i])
	}
	sum := 0.0
	for i, l := range mass {
		mass[i] = math.Exp(l - peak)
		sum += mass[i]
	}
	for i := range mass {
		mass[i] /= sum
	}
	return mass
}
