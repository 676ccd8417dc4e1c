package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/internal/trial"
)

func newSelftest(e env) *cobra.Command {
	var o selftestOptions
	cmd := &cobra.Command{
		Use: "selftest", Short: "does the checker tell right from wrong", Args: noArgs,
		Long: "  loopd selftest\n\nRuns every scenario's oracle and nop through the stand-in agent: no model, no\ntask. Then it breaks one thing at a time in them, and makes wrong runs of them\nthat try to pass (exploits). Exits 3 when a run comes out wrong or an exploit\npasses. Without a loopd.yaml here it tests the bundled suite on the bundled plugin,\nwith --suite any bundled one on its plugin.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runSelftest(cmd.Context(), e, o) },
	}
	flagJSON(cmd, &o.json)
	flagSuite(cmd, &o.suite, "a bundled suite to test on its plugin, whatever is set up here")
	return cmd
}

type selftestOptions struct {
	json  bool
	suite string
}

// bench opens what is tested.
func (o selftestOptions) bench(ctx context.Context, e env) (bench, error) {
	if o.suite == "" {
		return openBench(ctx, e)
	}
	if err := knownSuite("loopd selftest", o.suite); err != nil {
		return bench{}, err
	}
	return bundledBench(ctx, o.suite)
}

// fewestAttempts is how many exploits must have been tried before their number
// says anything of the checker.
const fewestAttempts = 60

// selftestResult is the JSON of the verb. Exploits counts the distinct kinds
// that were tried, Attempts their runs, Skipped how often a kind did not fit a
// scenario; Passed are the attempts that all attempts, the killed ones too.
type selftestResult struct {
	Scenarios   int                    `json:"scenarios"`
	Cases       int                    `json:"cases"` // fabricated runs, each in Runs
	Runs        []rehearsal.SelfCase   `json:"runs"`
	Wrong       int                    `json:"wrong"`
	NotRun      []harness.Unrun        `json:"not_run"`
	Exploits    int                    `json:"exploits"`
	Attempts    int                    `json:"attempts"`
	Killed      int                    `json:"killed"`
	FalsePasses int                    `json:"false_passes"`
	Skipped     int                    `json:"skipped"`
	KillRate    float64                `json:"kill_rate"`
	Listed      []rehearsal.AttackCase `json:"listed"`
}

func runSelftest(ctx context.Context, e env, o selftestOptions) error {
	b, err := o.bench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	binary, err := app.StandIn()
	if err != nil {
		return err
	}
	ground := app.IsolationOrNone(ctx, e.Env, b.cfg.Rung)
	r, err := rehearsal.SelfTest(ctx, rehearsal.SelfTestOptions{
		Suite: b.sealed.Suite, Wording: b.wording, Graphs: b.graphs, Binary: binary, Isolation: ground, Parallel: 2,
	})
	if err != nil {
		return err
	}
	out := selftestOf(r)
	out.Scenarios, out.NotRun = len(b.sealed.Suite.Scenarios), campaign.GridOf(b.sealed.Suite, b.graphs, nil).NotRun
	if o.json {
		err = printJSON(e.stdout, out)
	} else {
		err = printSelftest(e, out)
	}
	if err := cmp.Or(err, out.verdict()); err != nil || o.json {
		return err
	}
	next := "loopd rehearse"
	if b.cfg.Plugin != "" {
		next = nextStep(ctx, e, b.cfg, b.home)
	}
	_, err = fmt.Fprintf(e.stdout, "\nNext: %s\n", next)
	return err
}

func selftestOf(r rehearsal.SelfReport) selftestResult {
	out := selftestResult{
		Cases: len(r.Cases), Runs: r.Cases, Exploits: r.Kinds, Attempts: len(r.Attempts), Killed: r.Killed(), Skipped: r.Skipped, Listed: r.Attempts,
	}
	out.FalsePasses = out.Attempts - out.Killed
	if out.Attempts > 0 {
		out.KillRate = float64(out.Killed) / float64(out.Attempts)
	}
	for _, c := range r.Cases {
		if !c.Right {
			out.Wrong++
		}
	}
	return out
}

// verdict is the error the verb ends with. That too little was tried is no
// finding about the checker.
func (r selftestResult) verdict() error {
	switch {
	case r.Wrong > 0:
		return hint.New(hint.Measured, fmt.Errorf("%d of %d fabricated runs came out wrong", r.Wrong, r.Cases), "")
	case r.FalsePasses > 0:
		return hint.New(hint.Measured, fmt.Errorf("%d of %d exploits pass", r.FalsePasses, r.Attempts), "")
	case r.Attempts < fewestAttempts:
		return fmt.Errorf("self-test: %d exploits fit this suite, want %d", r.Attempts, fewestAttempts)
	}
	return nil
}

func printSelftest(e env, r selftestResult) error {
	w := e.table()
	fmt.Fprintln(w, "scenario\trun\twant\tgot\ta\tb\treasons")
	damaged := 0
	for _, c := range r.Runs {
		run, want := string(c.Run), string(c.Want)
		if c.Run == rehearsal.DamageRun {
			if damaged++; c.Right {
				continue
			}
			run = c.Damage
			if c.WantClass != harness.Valid {
				want = string(c.WantClass)
			}
		}
		got := string(c.Got)
		if c.Class != harness.Valid {
			got = string(c.Class)
		}
		if !c.Right {
			got += " WRONG"
		}
		reasons := strings.Join(c.Reasons, ",")
		if !c.Right && len(c.Failed) > 0 {
			reasons += " at " + strings.Join(c.Failed, ", ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Scenario, run, want, got, c.AxisA, c.AxisB, reasons)
	}
	for _, a := range r.Listed {
		got := string(a.Got)
		switch {
		case a.Class != harness.Valid:
			got = string(a.Class)
		case !a.Killed:
			got += " FALSE PASS"
		}
		fmt.Fprintf(w, "%s\t%s\tnot pass\t%s\t\t\t%s\n", a.Scenario, a.Kind, got, strings.Join(a.Reasons, ","))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, u := range r.NotRun {
		fmt.Fprint(e.stdout, notRunLine(e, u))
	}
	_, err := fmt.Fprintf(e.stdout, "\n%d runs (%d of them damaged), %d wrong\nexploits: %d kinds, %d attempts, %d killed (%.1f%%), %d false passes;\n%d more did not fit a scenario\n",
		r.Cases, damaged, r.Wrong, r.Exploits, r.Attempts, r.Killed, 100*r.KillRate, r.FalsePasses, r.Skipped)
	return err
}

// notRunLine says why a scenario was not run, and what would help.
func notRunLine(e env, u harness.Unrun) string {
	return fitted(fmt.Sprintf("%s  not run: %s (%s)", orSuite(u.Scenario), u.Reason, u.Hint), "    ", e.page)
}

// bench is what single sessions outside a campaign are run with.
type bench struct {
	home    campaign.Home
	cfg     config.Config
	sealed  campaign.Sealed
	wording trial.Wording
	commit  string
	graphs  map[string]harness.Tree
	close   func()
}

// openBench opens the suite and plugin of the settings, or the bundled ones
// where there are none.
func openBench(ctx context.Context, e env) (bench, error) { return benchWith(ctx, e, openSuite) }

// benchWith does the same with a suite that is opened in another way.
func benchWith(ctx context.Context, e env, open func(context.Context, campaign.Home, config.Config) (campaign.Sealed, error)) (bench, error) {
	l, err := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		return bundledBench(ctx, campaign.BundledSuite)
	}
	if err != nil {
		return bench{}, err
	}
	b := bench{cfg: l.Config, close: func() {}}
	if b.home, err = app.HomeOf(e.Env, l.Config); err != nil {
		return bench{}, err
	}
	if b.sealed, err = open(ctx, b.home, l.Config); err != nil {
		return bench{}, err
	}
	if b.graphs, err = b.home.Graphs(); err != nil {
		return bench{}, err
	}
	b.commit, b.wording, err = campaign.PluginAt(l.Config.Plugin, b.sealed, ownSuite)
	return b, err
}

func bundledBench(ctx context.Context, suite string) (bench, error) {
	dir, err := os.MkdirTemp("", "loopd-bundled-")
	if err != nil {
		return bench{}, err
	}
	b := bench{home: campaign.Home{Dir: dir}, commit: "bundled", close: func() { os.RemoveAll(dir) }}
	if b.sealed, err = b.home.OpenBundledSuite(ctx, suite); err != nil {
		b.close()
		return bench{}, err
	}
	if b.wording, err = rehearsal.BundledPlugin(b.sealed.Suite); err != nil {
		b.close()
		return bench{}, err
	}
	return b, nil
}
