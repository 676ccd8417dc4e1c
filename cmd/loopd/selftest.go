package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/rehearsal"
	"loopd/internal/trial"
)

func newSelftest(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "selftest", Short: "does the checker tell right from wrong: a perfect and an idle run of every scenario", Args: noArgs,
		Long: "  loopd selftest\n\nRuns every scenario's oracle and nop through the stand-in agent: no model, no\ntask. Exits 3 when one comes out wrong. Without a loopd.yaml here it tests the\nbundled suite on the bundled plugin.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runSelftest(cmd.Context(), e, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// selftestResult is the JSON of the verb.
type selftestResult struct {
	Scenarios int                  `json:"scenarios"`
	Cases     []rehearsal.SelfCase `json:"cases"`
	Wrong     int                  `json:"wrong"`
	NotRun    []harness.Unrun      `json:"not_run"`
}

func runSelftest(ctx context.Context, e env, asJSON bool) error {
	b, err := openBench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	binary, err := standInBinary()
	if err != nil {
		return err
	}
	ground := groundOrOpen(ctx, e, b.cfg.Rung)
	cases, err := rehearsal.SelfTest(ctx, rehearsal.SelfTestOptions{
		Suite: b.sealed.Suite, Wording: b.wording, Graphs: b.graphs, Binary: binary, Walls: ground.walls, UID: ground.uid, Parallel: 2,
	})
	if err != nil {
		return err
	}
	out := selftestResult{Scenarios: len(b.sealed.Suite.Scenarios), Cases: cases, NotRun: campaign.GridOf(b.sealed.Suite, b.graphs, nil).NotRun}
	for _, c := range cases {
		if !c.Right {
			out.Wrong++
		}
	}
	if asJSON {
		err = printJSON(e.stdout, out)
	} else {
		err = printSelftest(e, out)
	}
	if err == nil && out.Wrong > 0 {
		err = &codedError{exitMeasured, fmt.Errorf("%d of %d fabricated runs came out wrong", out.Wrong, len(cases)), ""}
	}
	return err
}

func printSelftest(e env, r selftestResult) error {
	w := tabwriter.NewWriter(e.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\trun\twant\tgot\ta\tb\treasons")
	for _, c := range r.Cases {
		got := string(c.Got)
		if c.Class != harness.Valid {
			got = string(c.Class)
		}
		if !c.Right {
			got += " WRONG"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Scenario, c.Run, c.Want, got, c.AxisA, c.AxisB, strings.Join(c.Reasons, ","))
	}
	for _, u := range r.NotRun {
		fmt.Fprintf(w, "%s\tnot run\t\t\t\t\t%s (%s)\n", u.Scenario, u.Reason, u.Hint)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "\n%d runs, %d wrong\n", len(r.Cases), r.Wrong)
	return err
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
func openBench(ctx context.Context, e env) (bench, error) {
	l, err := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		return bundledBench(ctx)
	}
	if err != nil {
		return bench{}, err
	}
	b := bench{cfg: l.Config, close: func() {}}
	if b.home, err = homeOf(e, l.Config); err != nil {
		return bench{}, err
	}
	if b.sealed, err = openSuite(ctx, b.home, l.Config); err != nil {
		return bench{}, err
	}
	if b.graphs, err = b.home.Graphs(); err != nil {
		return bench{}, err
	}
	b.commit, b.wording, err = campaign.PluginAt(l.Config.Plugin, b.sealed.Suite.Launch.Note, config.FileName, ownSuite)
	return b, err
}

func bundledBench(ctx context.Context) (bench, error) {
	dir, err := os.MkdirTemp("", "loopd-bundled-")
	if err != nil {
		return bench{}, err
	}
	b := bench{home: campaign.Home{Dir: dir}, commit: "bundled", close: func() { os.RemoveAll(dir) }}
	if b.sealed, err = b.home.OpenBundled(ctx); err != nil {
		b.close()
		return bench{}, err
	}
	if b.wording, err = rehearsal.BundledPlugin(b.sealed.Suite.Launch.Note); err != nil {
		b.close()
		return bench{}, err
	}
	return b, nil
}
