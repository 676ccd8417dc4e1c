package web

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"loopd/internal/atomicfile"
	"loopd/internal/testenv"
	"loopd/stats"
	"loopd/stats/sim"
)

// TestCharts_OfTheDocuments draws the charts of docs/statistics.md again, to the byte.
func TestCharts_OfTheDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if testenv.Updating() {
		dir = filepath.Join("..", "..", "docs")
	}
	testenv.Must(t, drawCharts(t.Context(), dir, sim.BenchOptions{Options: sim.Options{Seed: 1, Workers: 2}}))
	drawn, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(drawn) != 2 {
		t.Fatalf("drew %v, %v", drawn, err)
	}
	for _, path := range drawn {
		name := filepath.Base(path)
		got, err := os.ReadFile(path)
		testenv.Must(t, err)
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		testenv.Must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the test draws: go test -run Charts -update", name)
		}
	}
}

// How much the charts are played: shares are then known to 2 to 3 points.
const (
	chartNights    = 1000
	chartDecisions = 2000
	chartBudget    = 2000
)

// drawCharts draws the two charts that say why a few reps a cell are not enough.
func drawCharts(ctx context.Context, dir string, b sim.BenchOptions) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, chart := range map[string]Chart{"false-promotions.svg": nothingHelps(ctx, b.Options), "kept.svg": keptByRise(ctx, b.Options)} {
		svg, err := chart.SVG()
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := atomicfile.WriteFile(filepath.Join(dir, name), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// nothingHelps plays nights in which no candidate changes anything.
func nothingHelps(ctx context.Context, o sim.Options) Chart {
	c := Chart{Title: "Nights in which nothing helps that still promote something", X: "share of nights, with its 95 % interval"}
	for _, r := range []struct {
		name   string
		rule   sim.Rule
		noGate bool
	}{
		{"one rep a cell", sim.Greedy1, true}, {"three reps a cell", sim.Greedy3, true}, {"a test at 5 % each", sim.CMHReused, true},
		{"loopd without its gate", sim.OwnRule, true}, {"loopd", sim.OwnRule, false},
	} {
		plan := sim.DefaultPlan(stats.Fast, chartBudget)
		plan.Rival, plan.NoGate = r.rule, r.noGate
		world := sim.World{Grid: sim.From(sim.SeedGrid), Stream: sim.NullStream.Stream()}
		promoted := sim.Run(ctx, world, plan, chartNights, o).Promoted
		share, _ := promoted.Rate()
		iv := stats.Wilson(promoted, .95)
		c.Bars = append(c.Bars, Bar{Name: r.name, Value: share, Low: iv.Low, High: iv.High})
	}
	return c
}

// keptByRise plays single decisions on candidates of known size.
func keptByRise(ctx context.Context, o sim.Options) Chart {
	c := Chart{Title: "Share of candidates kept, by what they really bring", X: "true rise of the mean pass rate", Y: "share kept"}
	three, own := Line{Name: "three reps a cell"}, Line{Name: "loopd, before its gate"}
	for _, rise := range []float64{-.10, -.05, 0, .03, .05, .08, .12, .16, .20} {
		effect := sim.Effect{Kind: sim.ShiftEffect, Delta: rise}
		if rise == 0 {
			effect = sim.Effect{Kind: sim.NullEffect}
		}
		greedy := sim.DetectBy(ctx, sim.Greedy3, sim.From(sim.SeedGrid), effect, sim.DefaultSetting(), chartDecisions, o)
		ours := sim.Detect(ctx, sim.From(sim.SeedGrid), effect, sim.DefaultSetting(), chartDecisions, o)
		for line, d := range map[*Line]sim.Decisions{&three: greedy, &own: ours} {
			share, _ := d.Kept.Rate()
			line.X, line.Y = append(line.X, rise), append(line.Y, share)
		}
	}
	c.Lines = []Line{three, own}
	return c
}
