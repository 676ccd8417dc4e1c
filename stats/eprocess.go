package stats

import (
	"fmt"
	"math"
)

// Config holds the constants of the e-process and of futility. Default has the measured ones.
type Config struct {
	// R is how many candidate sessions a round expects, and how many fresh champion sessions at most.
	R float64 `json:"r"`
	// Floor is the least chance of a weighted cell to be sampled in a round.
	Floor float64 `json:"floor"`
	// KQ is how many reps the champion's rate counts for in a guess of the candidate's.
	KQ float64 `json:"kq"`
	// PriorMean and PriorSD say what rise a candidate is expected to bring before it has been tried.
	PriorMean float64 `json:"prior_mean"`
	PriorSD   float64 `json:"prior_sd"`
	// MinShift is the smallest rise a bet is sized for, so that evidence keeps growing after a poor start.
	MinShift float64 `json:"min_shift"`
	// BetCap is the part of the largest admissible bet that is ever used; below 1 it keeps every factor above zero.
	BetCap float64 `json:"bet_cap"`
	// D0 is the rise the evidence speaks against: 0 for a keep, below 0 for non-inferiority.
	D0 float64 `json:"d0"`
	// MinGain is the rise over D0 worth paying for: futility stops when it has become improbable.
	MinGain float64 `json:"min_gain"`
}

// Default returns the constants the procedure was measured with.
func Default() Config {
	return Config{R: 12, Floor: .25, KQ: 4, PriorMean: .10, PriorSD: .06, MinShift: .02, BetCap: .9, MinGain: .04}
}

// Cell is what one cell has shown before a round.
type Cell struct {
	// Cand counts the candidate's reps.
	Cand Count `json:"cand"`
	// Base counts the champion's reps visible to the bets: the pilot and what has been revealed or run since.
	Base Count `json:"base"`
	// Full counts the champion's pilot and whole pool, revealed or not. Futility and guards may use it, bets may not.
	Full Count `json:"full"`
	// Weight is the cell's share in the mean; 0 for a cell outside the declared targets.
	Weight float64 `json:"weight"`
	// PoolLeft is how many pool reps are still unrevealed; while there are some, one is revealed each round.
	PoolLeft int `json:"pool_left"`
}

// CellBet is one cell's part of a round: how likely it is sampled and what is bet on its outcomes.
type CellBet struct {
	// Pi is the chance of a candidate session.
	Pi float64 `json:"pi"`
	// A is 1 where a pool rep is revealed, else the chance of a fresh champion session.
	A float64 `json:"a"`
	// U and V are what the candidate's and the champion's outcome are measured against.
	U float64 `json:"u"`
	V float64 `json:"v"`
	// K is the number of cells times the cell's weight: the cell's bet is Lambda times K.
	K float64 `json:"k"`
}

// Bets is one round's bets. They are to be recorded before the first session of the round starts.
type Bets struct {
	Cells  []CellBet `json:"cells"`
	Lambda float64   `json:"lambda"`
	// Warnings says why no bet could be placed; Lambda is then 0 and no cell is to be sampled.
	Warnings []string `json:"warnings,omitempty"`
}

// PlaceBets returns the bets of the next round, from the visible counts of the rounds before.
//
// One Lambda for all cells is what makes the test speak about the mean: a candidate that raises some cells and
// lowers others by as much gains nothing on average. Bets sized cell by cell would call such a swap progress.
func PlaceBets(cells []Cell, cfg Config) Bets {
	bets := Bets{Cells: make([]CellBet, len(cells))}
	k, why := doubts(cells, cfg)
	if bets.Warnings = why; len(why) > 0 {
		return bets
	}
	guess := guesses(cells, k, cfg)
	allocate(bets.Cells, guess, cells, cfg)
	v := center(bets.Cells, guess, cfg.D0)
	wish := mul(float64(len(cells)), max(expectedShift(cells, k, cfg), cfg.MinShift)) / v
	bets.Lambda = min(wish, mul(cfg.BetCap, largestLambda(bets.Cells)))
	return bets
}

// guess is the plug-in for one cell: its multiplier and the two rates as far as they are known.
type guess struct{ k, p, q float64 }

func guesses(cells []Cell, k []float64, cfg Config) []guess {
	out := make([]guess, len(cells))
	for i, c := range cells {
		p := shrunk(c.Base)
		q := (float64(c.Cand.Pass) + mul(cfg.KQ, p)) / (float64(c.Cand.N) + cfg.KQ)
		out[i] = guess{k: k[i], p: p, q: q}
	}
	return out
}

// shrunk is a rate that is never 0 or 1.
func shrunk(c Count) float64 { return (float64(c.Pass) + .5) / (float64(c.N) + 1) }

// allocate fills in K, Pi and A.
func allocate(bets []CellBet, guess []guess, cells []Cell, cfg Config) {
	// One allocation for all four: a simulation places many millions of bets.
	n := len(guess)
	buffer := make([]float64, 4*n)
	sigmaQ, sigmaP, pi, a := buffer[:n], buffer[n:2*n], buffer[2*n:3*n], buffer[3*n:]
	for i, g := range guess {
		sigmaQ[i], sigmaP[i] = mul(g.k, spread(g.q)), mul(g.k, spread(g.p))
	}
	fill(pi, sigmaQ, cfg.R, cfg.Floor)
	fill(a, sigmaP, cfg.R, cfg.Floor)
	for i, g := range guess {
		if g.k > 0 && cells[i].PoolLeft > 0 {
			a[i] = 1
		}
		bets[i] = CellBet{Pi: pi[i], A: a[i], K: g.k}
	}
}

// spread is the standard deviation of one outcome, kept off zero so that a cell that always passed stays watched.
func spread(x float64) float64 { return math.Sqrt(variance(x) + .0004) }

func variance(x float64) float64 { return mul(x, 1-x) }

// center fills in U and V, the guessed rates moved together until their weighted difference is d0, and returns
// the variance of the round. Each rate moves in proportion to how little is known about it.
func center(bets []CellBet, guess []guess, d0 float64) (v float64) {
	gap := mul(-d0, float64(len(bets)))
	for i, g := range guess {
		if g.k == 0 {
			continue
		}
		v += mul(mul(g.k, g.k), variance(g.q)/bets[i].Pi+variance(g.p)/bets[i].A)
		gap += mul(g.k, g.q-g.p)
	}
	s := gap / v
	for i, g := range guess {
		if g.k == 0 {
			continue
		}
		bets[i].U = g.q - mul(mul(s, g.k), variance(g.q)/bets[i].Pi)
		bets[i].V = g.p + mul(mul(s, g.k), variance(g.p)/bets[i].A)
	}
	return v
}

// expectedShift is the posterior mean of the rise over D0. Before the first rep it is the prior's.
func expectedShift(cells []Cell, k []float64, cfg Config) float64 {
	reps := 0
	for i, c := range cells {
		if k[i] > 0 {
			reps += c.Cand.N
		}
	}
	if reps == 0 {
		return cfg.PriorMean
	}
	m, sd := shift(cells, k, func(c Cell) Count { return c.Base })
	tau := mul(cfg.PriorSD, cfg.PriorSD)
	w := tau / (tau + mul(sd, sd))
	return mul(w, m-cfg.D0) + mul(1-w, cfg.PriorMean)
}

// largestLambda is the bet at which some outcome would bring a factor down to zero.
func largestLambda(bets []CellBet) float64 {
	least := math.Inf(1)
	for _, b := range bets {
		if b.K == 0 {
			continue
		}
		// The deepest loss of the candidate's factor is at a fail or, with U above 1, at a pass; of the
		// champion's at a pass or, with V below 0, at a fail.
		lossQ, lossP := max(b.U, b.U-1), max(1-b.V, -b.V)
		least = min(least, limit(b.Pi, b.K, lossQ), limit(b.A, b.K, lossP))
	}
	return least
}

func limit(rate, k, loss float64) float64 {
	if loss <= 0 {
		return math.Inf(1)
	}
	return rate / mul(k, loss)
}

// multipliers returns the number of cells times each cell's share in the weights, and false where the weights
// are no shares: none above zero, one below zero or not a number.
func multipliers(cells []Cell) ([]float64, bool) {
	sum := 0.0
	for _, c := range cells {
		if !(c.Weight >= 0) || math.IsInf(c.Weight, 1) {
			return nil, false
		}
		sum += c.Weight
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return nil, false
	}
	k := make([]float64, len(cells))
	for i, c := range cells {
		k[i] = mul(float64(len(cells)), c.Weight/sum)
	}
	return k, true
}

// doubts lists what makes it impossible to say anything from these cells, and returns their multipliers.
func doubts(cells []Cell, cfg Config) (k []float64, out []string) {
	if !cfg.valid() {
		out = append(out, "a constant of the e-process is out of range")
	}
	k, ok := multipliers(cells)
	if !ok {
		out = append(out, "the weights of the cells are no shares")
	}
	for i, c := range cells {
		if !c.Cand.valid() || !c.Base.valid() || !c.Full.valid() {
			out = append(out, fmt.Sprintf("cell %d: a count is out of range", i))
		} else if !c.Full.contains(c.Base) {
			out = append(out, fmt.Sprintf("cell %d: the full count lacks reps that are visible", i))
		}
	}
	return k, out
}

func (cfg Config) valid() bool {
	return within(cfg.R, 1e-3, maxCount) && within(cfg.Floor, 1e-3, 1) && within(cfg.KQ, 1e-3, maxCount) &&
		within(cfg.PriorMean, 0, 1) && within(cfg.PriorSD, 1e-3, 1) && within(cfg.MinShift, 1e-3, 1) &&
		within(cfg.BetCap, 1e-3, .99) && within(cfg.D0, -.99, .99) && within(cfg.MinGain, 0, 1)
}

func within(x, low, high float64) bool { return x >= low && x <= high }

// mul is a product that no compiler fuses into a following sum, so that a recorded bet can be recomputed bit
// for bit on another machine.
func mul(a, b float64) float64 { return float64(a * b) }
