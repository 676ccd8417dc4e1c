package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"loopd/internal/hint"
	"loopd/stats"
	"loopd/stats/sim"
)

// simulateHelp is the part of the help of plan that is about --simulate.
const simulateHelp = `--simulate plays the decision procedure on made-up models and holds its error
rates and costs against fixed bounds: no account, no session, the same table for
the same seed. It exits 3 when a figure is outside its bound.

  loopd plan --simulate --grid rates.yaml --checks 5,6,10
  loopd plan --simulate --checks null --nights 2000

A grid file gives the true pass rate of each of your cells, in YAML or JSON, as
in "W1/haiku: 0.05". Cells with the same name before the slash are one scenario.
On a grid of your own only what is promised for every grid has a bound.`

type simulateOptions struct {
	json         bool
	nights       int
	grid, checks string
	seed         uint64
	share        float64
}

// flags are those of plan --simulate.
func (o *simulateOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.nights, "nights", 0, "with --simulate: number of campaigns instead of the stated ones")
	f.StringVar(&o.grid, "grid", "", "with --simulate: `file` with the true pass rates of your cells")
	f.StringVar(&o.checks, "checks", "", "with --simulate: only these checks, separated by commas: "+strings.Join(sim.CheckNames(), ", ")+"; or "+nullChecks+" alone")
	f.Uint64Var(&o.seed, "seed", 1, "with --simulate: seed of the draws")
	f.Float64Var(&o.share, "share", 1, "with --simulate: part of the stated run counts, for a quick look; bounds may then fail by chance")
}

// stray names a flag of --simulate that was given without it, empty for none.
func (simulateOptions) stray(cmd *cobra.Command) string {
	for _, name := range []string{"nights", "grid", "checks", "seed", "share"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// nullChecks asks for campaigns in which no candidate changes anything.
const nullChecks = "null"

const simulateHint = "loopd plan --help"

// nullBudget is the budget of the campaigns of --checks null, in sessions.
const nullBudget = 2000

// nullNights is how many there are, nullMust how many in a hundred may promote.
const (
	nullNights = 2000
	nullMust   = 5
)

func runSimulate(ctx context.Context, e env, o simulateOptions) error {
	began := time.Now()
	bench, warnings, err := benchOptions(e, o)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(e.stderr, "loopd: warning: "+w)
	}
	if o.checks == nullChecks {
		return runNulls(ctx, e, o, bench, warnings, began)
	}
	out, err := simulate(ctx, bench)
	if err != nil {
		return err
	}
	if bench.Own != nil {
		for i := range out.Rows {
			out.Rows[i].Published = "" // which is for the grid of the program
		}
	}
	out.Seed, out.Warnings, out.Workers, out.WallSeconds = o.seed, warnings, bench.Workers, time.Since(began).Seconds()
	if o.json {
		err = printJSON(e.stdout, out)
	} else {
		err = printSimulated(e, out)
	}
	if err == nil && out.Failed > 0 {
		err = hint.New(hint.Measured, fmt.Errorf("%d of %d figures are outside their bounds", out.Failed, len(out.Rows)), "")
	}
	return err
}

// benchOptions turns flags and grid file into what to measure.
func benchOptions(e env, o simulateOptions) (sim.BenchOptions, []string, error) {
	b := sim.BenchOptions{Options: sim.Options{Seed: o.seed, Workers: runtime.GOMAXPROCS(0)}, Share: o.share, Nights: o.nights, Done: simulateProgress(e.stderr)}
	switch {
	case o.nights < 0:
		return b, nil, hint.Usagef(simulateHint, "--nights %d: a number of campaigns is not below 0", o.nights)
	case !(o.share > 0 && o.share <= 1):
		return b, nil, hint.Usagef(simulateHint, "--share %v is not within (0,1]", o.share)
	}
	for id := range strings.SplitSeq(o.checks, ",") {
		if id = strings.TrimSpace(id); id == "" || o.checks == nullChecks {
			continue
		}
		if !slices.Contains(sim.CheckNames(), id) {
			return b, nil, hint.Usagef(simulateHint, "no check is called %q: %s", id, strings.Join(sim.CheckNames(), ", "))
		}
		b.Checks = append(b.Checks, id)
	}
	if o.grid == "" {
		return b, nil, nil
	}
	g, warnings, err := readGrid(o.grid)
	b.Own = &g
	return b, warnings, err
}

// readGrid reads a user's rates: a name for each cell and its true pass rate.
func readGrid(path string) (sim.Grid, []string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return sim.Grid{}, nil, hint.Usagef(simulateHint, "read grid: %w", err)
	}
	rates := make(map[string]float64)
	if err := yaml.UnmarshalWithOptions(data, &rates, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return sim.Grid{}, nil, hint.Usagef(simulateHint, "read grid %s: %s", path, first)
	}
	var g sim.Grid
	numbers := make(map[string]int)
	names := slices.Sorted(maps.Keys(rates))
	for _, name := range names {
		scenario, _, _ := strings.Cut(name, "/")
		if _, ok := numbers[scenario]; !ok {
			numbers[scenario] = len(numbers)
		}
		g.Rates, g.Scenario = append(g.Rates, rates[name]), append(g.Scenario, numbers[scenario])
	}
	warnings, err := g.Check()
	if err != nil {
		return sim.Grid{}, nil, hint.Usagef(simulateHint, "grid %s: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return g, warnings, nil
}

// simulateProgress says what is done, where somebody is watching.
func simulateProgress(w io.Writer) func(string) {
	if !isTerminal(w) {
		return nil
	}
	return func(what string) { fmt.Fprintln(w, "loopd: simulated "+what) }
}

// simulated is the JSON of the verb.
type simulated struct {
	Seed        uint64    `json:"seed"`
	Rows        []sim.Row `json:"rows"`
	Failed      int       `json:"failed"`
	Warnings    []string  `json:"warnings,omitempty"`
	Sessions    float64   `json:"sessions_simulated"`
	Workers     int       `json:"workers"`
	WallSeconds float64   `json:"wall_seconds"`
}

func simulate(ctx context.Context, o sim.BenchOptions) (simulated, error) {
	res, err := sim.Benchmark(ctx, o)
	return simulated{Rows: res.Rows, Failed: res.Failed, Sessions: res.Sessions}, err
}

// nullResult is the JSON of --checks null.
type nullResult struct {
	Seed        uint64   `json:"seed"`
	Nights      int      `json:"nights"`
	Budget      int      `json:"budget"`
	Promoted    int      `json:"promoted"`
	Upper95     float64  `json:"upper_95_percent"`
	Upper99     float64  `json:"upper_99_percent"`
	Must        float64  `json:"must_percent"`
	OK          bool     `json:"ok"`
	Warnings    []string `json:"warnings,omitempty"`
	Sessions    float64  `json:"sessions_simulated"`
	Workers     int      `json:"workers"`
	WallSeconds float64  `json:"wall_seconds"`
}

func runNulls(ctx context.Context, e env, o simulateOptions, b sim.BenchOptions, warnings []string, began time.Time) error {
	world := sim.World{Grid: sim.From(sim.SeedGrid), Stream: sim.NullStream.Stream()}
	if b.Own != nil {
		world.Grid = sim.Of(*b.Own)
	}
	nights := o.nights
	if nights == 0 {
		nights = nullNights
	}
	sum := sim.Run(ctx, world, sim.DefaultPlan(stats.Fast, nullBudget), nights, b.Options)
	if err := ctx.Err(); err != nil {
		return err
	}
	out := nullResult{
		Seed: o.seed, Nights: nights, Budget: nullBudget, Promoted: sum.Promoted.Pass, Must: nullMust, Warnings: warnings,
		Sessions: sum.Sessions.Total, Workers: b.Workers, WallSeconds: time.Since(began).Seconds(),
	}
	upper95, upper99 := sim.UpperBounds(sum.Promoted)
	out.Upper95, out.Upper99 = 100*upper95, 100*upper99
	out.OK = out.Upper99 <= out.Must
	if err := printNulls(e, o.json, out); err != nil {
		return err
	}
	if !out.OK {
		why := fmt.Errorf("up to %.2f %% of such campaigns may promote, more than %d %%", out.Upper99, nullMust)
		return hint.New(hint.Measured, why, "loopd plan --simulate --checks null --nights 2000")
	}
	return nil
}

func printNulls(e env, asJSON bool, n nullResult) error {
	if asJSON {
		return printJSON(e.stdout, n)
	}
	fmt.Fprintf(e.stdout, "%d campaigns of %d sessions in which no candidate changes anything\n", n.Nights, n.Budget)
	fmt.Fprintf(e.stdout, "promoted: %d/%d\n", n.Promoted, n.Nights)
	_, err := fmt.Fprintf(e.stdout, "at most %.2f %% promote (exact one-sided upper 95 %% bound), %.2f %% (99 %%); must be at most %.0f %%\n", n.Upper95, n.Upper99, n.Must)
	printEffort(e, n.Sessions, n.WallSeconds)
	return err
}

func printEffort(e env, sessions, seconds float64) {
	fmt.Fprintf(e.stderr, "loopd: %.1f million sessions simulated in %.1f s\n", sessions/1e6, seconds)
}

func printSimulated(e env, s simulated) error {
	w := e.table()
	fmt.Fprintln(w, "CHECK\tWHAT\tMUST\tMEASURED\tMARGIN\tOK\tPUBLISHED")
	for _, r := range s.Rows {
		ok := yesNo(r.OK)
		if r.Sense == sim.Shown {
			ok = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Check, r.What, mustText(r), measuredText(r), marginText(r), ok, orDash(r.Published))
	}
	fmt.Fprintf(w, "\n%d figures, %d outside their bounds\n", len(s.Rows), s.Failed)
	printEffort(e, s.Sessions, s.WallSeconds)
	return w.Flush()
}

func mustText(r sim.Row) string {
	if r.Sense == sim.Shown {
		return "-"
	}
	text := fmt.Sprintf("%s %s", r.Sense, short(r.Must))
	if r.Target != 0 {
		text += fmt.Sprintf(", aim %s", short(r.Target))
	}
	return text
}

// measuredText is the figure with what was held against the bound, where that
// is not the figure itself.
func measuredText(r sim.Row) string {
	if r.Sense == sim.Shown && r.Note != "" {
		return r.Note
	}
	text := strings.TrimSpace(short(r.Measured) + " " + string(r.Unit))
	if r.Note != "" {
		text += " (" + r.Note + ")"
	}
	return text
}

func marginText(r sim.Row) string {
	if r.Margin < 1e-6 {
		return "-" // what is left is rounding
	}
	return short(r.Margin)
}

// short prints three digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
