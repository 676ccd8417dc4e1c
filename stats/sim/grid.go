package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Grid is a champion's true pass rate by cell.
type Grid struct {
	Rates []float64 `json:"rates"`
	// Scenario says which cells are the same scenario on different models: those with the same number.
	Scenario []int `json:"scenario"`
}

// GridName names a grid that comes with the program.
type GridName string

// The grids. Seven scenarios on a weak and a strong model each.
const (
	// SeedGrid is a weak model that nearly always fails beside a strong one that mostly passes.
	SeedGrid GridName = "seed"
	// ExtremeGrid is the seed grid with its poor cells at nearly never and its good ones at nearly always.
	ExtremeGrid GridName = "extreme"
	// MidGrid has cells around one half, where an outcome says least.
	MidGrid GridName = "mid"
	// DrawnGrid draws every rate anew for each run, most of them near 0 or 1.
	DrawnGrid GridName = "U"
)

// scenarios is how many scenarios the grids have.
const scenarios = 7

// drawnShape is the shape of the beta distribution the drawn grid comes from.
const drawnShape = .4

// Named returns a grid by name; the drawn one is drawn from rng.
func Named(name GridName, rng *rand.Rand) Grid {
	switch name {
	case ExtremeGrid:
		return paired([]float64{.001, .001, .001, .05, .10, .05, .001, .98, .98, .15, .20, .98, .98, .98})
	case MidGrid:
		return paired([]float64{.35, .40, .45, .40, .50, .45, .35, .60, .65, .50, .55, .65, .60, .60})
	case DrawnGrid:
		return paired(drawnRates(rng))
	}
	return paired([]float64{.02, .02, .02, .05, .10, .05, .02, .85, .90, .15, .20, .90, .80, .85})
}

func drawnRates(rng *rand.Rand) []float64 {
	out := make([]float64, 2*scenarios)
	d := distuv.Beta{Alpha: drawnShape, Beta: drawnShape}
	for i := range out {
		// A rate of exactly 0 or 1 could not be moved by any effect.
		out[i] = min(.9999, max(.0001, d.Quantile(rng.Float64())))
	}
	return out
}

// paired takes the second half of the cells for the scenarios of the first on another model.
func paired(rates []float64) Grid {
	g := Grid{Rates: rates, Scenario: make([]int, len(rates))}
	for i := range g.Scenario {
		g.Scenario[i] = i % scenarios
	}
	return g
}

// Mean returns the mean rate.
func Mean(rates []float64) float64 {
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / float64(len(rates))
}

// maxCells bounds a grid: a campaign of a few thousand sessions measures nothing on more.
const maxCells = 300

// Check reports what makes a grid unusable, and what makes results from it say little.
func (g Grid) Check() (warnings []string, err error) {
	if len(g.Rates) == 0 {
		return nil, errors.New("the grid has no cells")
	}
	if len(g.Rates) > maxCells {
		return nil, fmt.Errorf("the grid has %d cells, more than %d", len(g.Rates), maxCells)
	}
	if len(g.Scenario) != len(g.Rates) {
		return nil, fmt.Errorf("the grid has %d rates and %d scenarios", len(g.Rates), len(g.Scenario))
	}
	var errs []error
	fixed := 0
	for i, r := range g.Rates {
		if math.IsNaN(r) || r < 0 || r > 1 {
			errs = append(errs, fmt.Errorf("cell %d: rate %v is not within [0,1]", i+1, r))
		}
		if r == 0 || r == 1 {
			fixed++
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(g.Rates) == 1 {
		warnings = append(warnings, "one cell: no other can show a collapse, and a swap is impossible")
	}
	if fixed > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d rates are exactly 0 or 1: no effect moves them", fixed, len(g.Rates)))
	}
	return warnings, nil
}

func (g Grid) clone() Grid {
	return Grid{Rates: slices.Clone(g.Rates), Scenario: g.Scenario}
}
