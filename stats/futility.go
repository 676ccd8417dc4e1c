package stats

import "math"

// Assessment is the plain posterior view of a candidate on everything known, used to stop early. It is no
// evidence for a keep and stopping by it costs the evidence nothing.
type Assessment struct {
	// Mean and SD describe the weighted mean rise over the champion.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// PGain is the chance that the rise is over D0 by more than MinGain.
	PGain float64 `json:"p_gain"`
	// PHarm is the chance that there is a fall.
	PHarm float64 `json:"p_harm"`
	// Warnings says why nothing could be assessed; PGain is then 1 and PHarm 0, which stops nothing.
	Warnings []string `json:"warnings,omitempty"`
}

// harmLevel is how probable a fall has to be for a stop to be labelled harm.
const harmLevel = .975

// Assess looks at a candidate with the full counts of the champion.
func Assess(cells []Cell, cfg Config) Assessment {
	k, why := doubts(cells, cfg)
	if len(why) > 0 {
		return Assessment{PGain: 1, Warnings: why}
	}
	m, sd := shift(cells, k, func(c Cell) Count { return c.Full })
	return Assessment{
		Mean:  m,
		SD:    sd,
		PGain: normalCDF((m - cfg.D0 - cfg.MinGain) / sd),
		PHarm: normalCDF(-m / sd),
	}
}

// shift returns mean and standard deviation of the weighted rise, each candidate rate drawn a little towards the
// champion's so that a cell without reps says "no change" rather than "unknown".
func shift(cells []Cell, k []float64, champion func(Cell) Count) (mean, sd float64) {
	n, v := float64(len(cells)), 0.0
	for i, c := range cells {
		if k[i] == 0 {
			continue
		}
		base, reps := champion(c), float64(c.Cand.N)
		p := shrunk(base)
		q := (float64(c.Cand.Pass) + mul(.5, p)) / (reps + .5)
		own := 1 - .5/(reps+.5)
		mean += mul(k[i], q-p)
		v += mul(mul(k[i], k[i]), variance(q)/(reps+1.5)+mul(mul(own, own), variance(p)/(float64(base.N)+2)))
	}
	return mean / n, math.Sqrt(v) / n
}

// Limits returns how quick futility is to stop and how many sessions one candidate may cost, from the sessions
// and the candidates that are left: where many wait for little, each gets a short look.
func Limits(budgetLeft, candidatesLeft int) (eta float64, limit int) {
	each := max(0, float64(budgetLeft)) / float64(max(1, candidatesLeft))
	eta = min(.5, max(.04, .4*math.Pow(20/each, 1.5)))
	return eta, int(min(500, max(100, 6*each)))
}

// Stop reports whether to stop a candidate, and whether the stop is to be labelled harm.
func (a Assessment) Stop(eta float64) (stop, harm bool) {
	stop = a.PGain < eta
	return stop, stop && a.PHarm >= harmLevel
}
