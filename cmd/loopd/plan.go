package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/loop"
	"loopd/report"
)

type planOptions struct {
	budget  int
	hours   float64
	cost    float64
	profile string

	simulate bool
	simulateOptions
}

func newPlan(e env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "plan", Short: "what a budget can find, before it is spent", Args: noArgs,
		Long: `  loopd plan --budget 400
  loopd plan --hours 8 --profile scout

Says for a budget in sessions, hours or USD which effects are likely to be kept
and confirmed, about how many candidates can be looked at, which profile fits,
what is promised and what that costs. Each figure is a simulation of the very
procedure, on the pass rates of the last pilot where there is one. A budget in
which nothing can be decided is refused with the smallest that would do.

` + simulateHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.simulate {
				return runSimulate(cmd.Context(), e, o.simulateOptions)
			}
			if flag := o.stray(cmd); flag != "" {
				return hint.Usagef("loopd plan --simulate --"+flag+" "+cmd.Flag(flag).Value.String(), "plan: --%s goes with --simulate", flag)
			}
			return runPlan(cmd.Context(), e, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.simulate, "simulate", false, "measure the decision procedure by simulation")
	o.flags(cmd)
	f.IntVar(&o.budget, "budget", 0, "in sessions")
	f.Float64Var(&o.hours, "hours", 0, "in hours")
	f.Float64Var(&o.cost, "cost", 0, "in USD at list price")
	flagProfile(cmd, &o.profile, "one that fits")
	flagJSON(cmd, &o.json)
	return cmd
}

// outlook is a plan with what it takes.
type outlook struct {
	app.Plan
	Chosen      string   `json:"chosen"` // why this profile
	Hours       float64  `json:"hours"`
	SecondsFrom string   `json:"seconds_from"`
	USD         *float64 `json:"usd"` // nil for unknown
	USDFrom     string   `json:"usd_from"`
	Billed      bool     `json:"billed"` // false on a subscription
	DiskMB      float64  `json:"disk_mb"`
}

func runPlan(ctx context.Context, e env, o planOptions) error {
	p, err := newPlanner(ctx, e)
	if err != nil {
		return err
	}
	sessions, err := p.sessions(o)
	if err != nil {
		return err
	}
	if !o.json {
		if err := p.tellQueue(e); err != nil {
			return err
		}
	}
	if sessions == 0 {
		return p.suggest(ctx, e, o.json, false)
	}
	out, err := p.outlook(ctx, sessions, loop.Profile(o.profile))
	if err != nil {
		return err
	}
	if o.json {
		err = printJSON(e.stdout, out)
	} else if out.Reachable {
		printOutlook(e, out)
		_, err = fmt.Fprintf(e.stdout, "\nNext: %s\n", p.next(out))
	}
	if err != nil || out.Reachable {
		return err
	}
	if out.Smallest == 0 {
		return hint.Usagef("loopd plan --budget 2000", "plan: no budget decides anything under the profile %s on this grid", out.Profile)
	}
	return hint.Usagef(fmt.Sprintf("loopd plan --budget %d", out.Smallest),
		"plan: nothing can be decided with %s: the smallest budget that would do under the profile %s is %d", app.Plural(out.Sessions), out.Profile, out.Smallest)
}

// planner knows the grid, what sessions cost and what the start passes.
type planner struct {
	cfg   config.Config
	paid  config.CredentialKind // empty where none is stored
	suite harness.Suite
	grid  campaign.Grid
	pace  loop.Pace
	bytes float64 // of disk a session takes
	rates []float64
	from  string
	queue queue
}

// newPlanner looks at the plugin in the working directory, or at the bundled
// suite where there is none.
func newPlanner(ctx context.Context, e env) (planner, error) {
	l, err := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		return bundledPlanner()
	}
	if err != nil {
		return planner{}, err
	}
	home, err := app.HomeOf(e.Env, l.Config)
	if err != nil {
		return planner{}, err
	}
	sealed, err := openSuite(ctx, home, l.Config)
	if err != nil {
		return planner{}, err
	}
	graphs, err := home.Graphs()
	if err != nil {
		return planner{}, err
	}
	pick, err := app.PickCells(sealed.Suite, l.Config)
	if err != nil {
		return planner{}, err
	}
	states, err := campaign.Known(ctx, home)
	if err != nil {
		return planner{}, err
	}
	p := planner{cfg: l.Config, paid: paidWith(e), suite: sealed.Suite, grid: campaign.GridOf(sealed.Suite, graphs, pick), pace: loop.PaceOf(states...)}
	if p.bytes, err = bytesPerTrial(home.Trials()); err != nil {
		return p, err
	}
	p.rates, p.from = ratesOf(sealed.Suite.Checker.Plugin, p.grid.Objective, states)
	p.queue, err = queueOf(home, sealed.Suite, p.grid.Objective, states)
	return p, err
}

// paidWith is the kind of credential sessions would run on, empty for none.
func paidWith(e env) config.CredentialKind {
	c, err := config.FindCredential(e.Getenv)
	if err != nil {
		return "" // a plan needs none
	}
	return c.Kind
}

func bundledPlanner() (planner, error) {
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	if err != nil {
		return planner{}, err
	}
	p := planner{cfg: config.Default(), suite: suite, grid: campaign.GridOf(suite, nil, nil), bytes: assumedBytes}
	p.rates, p.from = ratesOf(suite.Checker.Plugin, p.grid.Objective, nil)
	return p, nil
}

// assumedRate stands for a cell nothing is known of. Near one half an outcome
// says least, so a plan on it promises too little rather than too much.
const assumedRate = .35

// ratesOf takes the start's rates from the newest campaign that measured every
// cell, else from a reference run of the plugin, else from nowhere.
func ratesOf(plugin string, cells []harness.Cell, states []*loop.State) (rates []float64, from string) {
	for i := len(states) - 1; i >= 0; i-- {
		if rates := measuredRates(cells, states[i]); rates != nil {
			return rates, "measured in campaign " + states[i].Started.Campaign
		}
	}
	from = "as built in (a weak and a strong model)"
	reference := rehearsal.ReferenceRates(plugin)
	for _, c := range cells {
		rate, ok := reference(c)
		if !ok {
			rate, from = assumedRate, fmt.Sprintf("assumed: %g where nothing is known", assumedRate)
		}
		rates = append(rates, rate)
	}
	return rates, from
}

func measuredRates(cells []harness.Cell, s *loop.State) []float64 {
	if s.Started.Simulated {
		return nil
	}
	seen := make(map[string]report.Rate)
	for _, c := range report.Build(s).Cells {
		seen[c.Name] = c.Champion
	}
	var out []float64
	for _, c := range cells {
		r := seen[c.String()]
		if r.N == 0 {
			return nil
		}
		out = append(out, (float64(r.K)+.5)/(float64(r.N)+1))
	}
	return out
}

// assumedBytes is what a session leaves on disk where none has yet.
const assumedBytes = 500_000

func bytesPerTrial(dir string) (float64, error) {
	total, trials := int64(0), 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			if filepath.Dir(path) == dir {
				trials++
			}
			return nil
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil || trials == 0 {
		return assumedBytes, err
	}
	return float64(total) / float64(trials), nil
}

// sessions turns the budget asked about into sessions, 0 for none.
func (p planner) sessions(o planOptions) (int, error) {
	if n := app.CountSet(o.budget != 0, o.hours != 0, o.cost != 0); n > 1 {
		return 0, hint.Usagef("loopd plan --budget 400", "--budget, --hours and --cost exclude each other")
	}
	switch {
	case o.budget < 0 || o.budget > maxPlanned:
		return 0, hint.Usagef("loopd plan --budget 400", "--budget %d: not within 1 to %d sessions", o.budget, maxPlanned)
	case o.hours != 0:
		if !(o.hours > 0) || o.hours > maxPlanned {
			return 0, hint.Usagef("loopd plan --hours 8", "--hours %v: not a number of hours", o.hours)
		}
		each := app.SecondsOf(p.cfg, p.pace)
		return max(1, min(maxPlanned, int(o.hours*3600/each.Value*float64(p.cfg.Parallel)))), nil
	case o.cost != 0:
		a, err := app.ForCost(o.cost, app.USDOf(p.cfg, p.pace), "plan")
		return max(1, min(maxPlanned, a.Sessions)), err
	}
	return o.budget, nil
}

// maxPlanned bounds what is simulated.
const maxPlanned = 100_000

// planRuns is how often each thing is simulated: a share is then known to about
// 3 points.
const planRuns = 1000

// fewSessions is the budget below which looking once at each candidate finds
// more than weighing each properly.
const fewSessions = 1000

func (p planner) outlook(ctx context.Context, sessions int, profile loop.Profile) (outlook, error) {
	chosen := "as asked for"
	if profile == "" {
		profile, chosen = loop.Fast, "1,000 or more"
		if sessions < fewSessions {
			return p.fewOutlook(ctx, sessions)
		}
	}
	set := loop.DefaultSettings(sessions).Under(profile)
	set.MaxCandidates = p.cfg.MaxCandidates
	if err := set.Validate(0); err != nil {
		return outlook{}, hint.Usagef("loopd plan --budget 400", "plan: %w", err)
	}
	plan, err := app.Forecast(ctx, app.Question{
		Settings: set, Cells: p.grid.Objective, Guards: len(p.grid.Guards), Controls: len(p.grid.Controls), Reserve: len(p.grid.Reserve),
		Rates: p.rates, From: p.from, Runs: planRuns,
	})
	if err != nil {
		return outlook{}, err
	}
	seconds, usd := app.SecondsOf(p.cfg, p.pace), app.USDOf(p.cfg, p.pace)
	out := outlook{
		Plan: plan, Chosen: chosen, SecondsFrom: seconds.From, USDFrom: usd.From, Billed: p.paid != config.OAuthToken,
		Hours:  math.Round(float64(sessions)*seconds.Value/3600/float64(p.cfg.Parallel)*10) / 10,
		DiskMB: math.Round(float64(sessions) * p.bytes / 1e6),
	}
	if usd.Value > 0 {
		total := math.Round(float64(sessions)*usd.Value*100) / 100
		out.USD = &total
	}
	return out, nil
}

func printOutlook(e env, o outlook) {
	e.sentence(fmt.Sprintf("%d sessions under the profile %s: %s.", o.Sessions, o.Profile, o.Chosen), "")
	e.sentence(fmt.Sprintf("The metric is over %d cells; pass rates %s.", o.Cells, o.Rates), "")
	fmt.Fprintln(e.stdout)
	w := e.table()
	fmt.Fprintln(w, "a candidate with\tis kept in\tand confirmed in\tdecided after")
	for _, d := range o.Detects {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f sessions\n", d.What, ofTen(d.Kept), ofTen(d.Found), d.Sessions)
	}
	w.Flush() // what cannot be printed is said once, by the last line
	fmt.Fprintf(e.stdout, "\nAbout %.0f candidates can be looked at. Of the sessions %d are for the pilot, %d\nfor the search, %d for the gate (%d of them for the reserve scenarios).\n",
		o.Candidates, o.Pilot, o.Search, o.Gate, o.Transfer)
	fmt.Fprintf(e.stdout, "\n%sThat promise costs %d of the %d sessions.\n\n", wrap(o.Promise, ""), o.Gate, o.Sessions)
	price := "unknown; set session_usd"
	if o.USD != nil {
		price = fmt.Sprintf("about %.2f USD (price of a session: %s)", *o.USD, o.USDFrom)
		if !o.Billed {
			price = fmt.Sprintf("about %.2f USD at list price, not billed (price of a session: %s)", *o.USD, o.USDFrom)
		}
	}
	e.sentence(fmt.Sprintf("Time: about %.1f h (length of a session: %s).", o.Hours, o.SecondsFrom), "  ")
	e.sentence("Cost: "+price+".", "  ")
	fmt.Fprintf(e.stdout, "Disk: about %.0f MB.\nThe smallest budget under this profile is %d sessions.\n", o.DiskMB, o.Smallest)
}

// next is what to type after a plan: what has to be there first, and else the run.
func (p planner) next(o outlook) string {
	switch {
	case p.cfg.Plugin == "":
		return "loopd init"
	case p.queue.waiting == 0:
		return addCandidate
	}
	return fmt.Sprintf("loopd run --sessions %d --profile %s", o.Sessions, o.Profile)
}

// tellQueue says that nothing waits to be measured, where there is a plugin to
// measure.
func (p planner) tellQueue(e env) error {
	if p.cfg.Plugin == "" || p.queue.waiting > 0 {
		return nil
	}
	_, err := fmt.Fprint(e.stdout, "0 candidates wait.\n\n")
	return err
}

// warnOfNone says that a campaign has nothing to compare the start with. It goes
// on: the pilot is of use, and a candidate may come any time.
func warnOfNone(e env, n *app.Night) {
	s := n.Campaign.Current()
	if n.Proposes() || s.Phase == loop.Gate || s.Phase == loop.Transfer || len(s.Waiting()) > 0 || len(s.Kept) > 0 {
		return
	}
	spooled, err := n.Campaign.Home.Spooled()
	if err == nil && !slices.ContainsFunc(spooled, func(f campaign.Spooled) bool { return f.Err == nil }) {
		fmt.Fprintf(e.stderr, "loopd: warning: 0 candidates wait, so only the start is measured;\nloopd: add one, also while it runs: %s\n", addCandidate)
	}
}

// ofTen says a share in whole tenths; what is not quite nothing is not called 0.
func ofTen(share float64) string {
	n := int(math.Round(share * 10))
	switch {
	case n == 0 && share > 0:
		return "under 1 of 10"
	case n == 10 && share < .995:
		return "over 9 of 10"
	}
	return fmt.Sprintf("%d of 10", n)
}
