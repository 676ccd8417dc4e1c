package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/config"
	"loopd/internal/trial"
	"loopd/report"
)

func newScore(e env) *cobra.Command {
	var tsv string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "score SCENARIO DIR", Short: "score a run that is on disk", Args: cobra.ExactArgs(2),
		Long: "  loopd score R2 runs/R2-sonnet-1\n  loopd score R2 runs/R2-sonnet-1 --tsv sonnet\n\nDIR holds transcript.jsonl and either changes.json or the project as the session\nleft it. Exit code 0 pass, 3 fail, 1 when the run is no evidence. A question to a\njudge goes to LOOPD_JUDGE_CMD.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScore(cmd.Context(), e, args[0], args[1], tsv, asJSON)
		},
	}
	cmd.Flags().StringVar(&tsv, "tsv", "", "print one row for this model, as results.tsv has it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// scored is the JSON of the verb.
type scored struct {
	Scenario string         `json:"scenario"`
	Class    harness.Class  `json:"class"`
	Why      string         `json:"why,omitempty"`
	Result   harness.Result `json:"result"`
}

func runScore(ctx context.Context, e env, id, dir, tsv string, asJSON bool) error {
	b, err := openBench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	sc, ok := b.sealed.Suite.Scenario(id)
	if !ok {
		return usageError("loopd selftest", "score run: the suite has no scenario %q", id)
	}
	start, err := trial.StartOf(b.sealed.Suite, sc, b.graphs)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.dir, dir)
	}
	run, err := trial.ReadStored(ctx, dir, start)
	if err != nil {
		return &codedError{exitUsage, err, "loopd score --help"}
	}
	judge, err := storedJudge(e, b.cfg, b.sealed.Suite)
	if err != nil {
		return err
	}
	out := scored{Scenario: id}
	out.Class, out.Why, out.Result = run.Score(ctx, b.sealed.Suite, sc, start, judge)
	if err := printScored(e, out, tsv, asJSON); err != nil {
		return err
	}
	switch {
	case out.Class != harness.Valid:
		return &codedError{exitFailed, fmt.Errorf("nothing measured: %s: %s", out.Class, out.Why), ""}
	case out.Result.Outcome != harness.Pass:
		return &codedError{exitMeasured, fmt.Errorf("%s failed", id), ""}
	}
	return nil
}

// storedJudge is the judge where one is set; without one a question stays open.
func storedJudge(e env, cfg config.Config, s harness.Suite) (trial.Judge, error) {
	if cfg.Judge == "" && e.getenv("LOOPD_JUDGE_CMD") == "" && e.getenv("ADR_EVAL_B_JUDGE_CMD") == "" {
		return nil, nil
	}
	return judgeOf(e, cfg, s)
}

func printScored(e env, s scored, tsv string, asJSON bool) error {
	switch {
	case asJSON:
		return printJSON(e.stdout, s)
	case tsv != "":
		_, err := e.stdout.Write(report.Row(s.Scenario, tsv, s.Class, s.Result))
		return err
	}
	if s.Class != harness.Valid {
		_, err := fmt.Fprintf(e.stdout, "invalid: %s\n", s.Class)
		return err
	}
	fmt.Fprintln(e.stdout, s.Result.Outcome)
	for _, c := range s.Result.Checks {
		fmt.Fprintf(e.stdout, "%s %s", c.Name, c.Outcome)
		if c.Reason != "" {
			fmt.Fprintf(e.stdout, " (%s)", c.Reason)
		}
		fmt.Fprintln(e.stdout)
		for _, ev := range c.Evidence {
			fmt.Fprintf(e.stdout, "  line %d: %s\n", ev.Line, ev.What)
		}
		for _, ev := range c.NearMisses {
			fmt.Fprintf(e.stdout, "  near miss, line %d: %s\n", ev.Line, ev.What)
		}
	}
	return nil
}

func newSandbox(e env) *cobra.Command {
	return &cobra.Command{
		Use: "sandbox SCENARIO DEST", Short: "lay out the project a scenario starts from", Args: cobra.ExactArgs(2),
		Long: "  loopd sandbox R2 /tmp/look\n\nWrites the scenario's project to a new directory, as a git repository with one\ncommit: what every session of it starts from. The task is not in it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandbox(cmd.Context(), e, args[0], args[1])
		},
	}
}

func runSandbox(ctx context.Context, e env, id, dest string) error {
	b, err := openBench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	sc, ok := b.sealed.Suite.Scenario(id)
	if !ok {
		return usageError("loopd selftest", "lay out sandbox: the suite has no scenario %q", id)
	}
	if !filepath.IsAbs(dest) {
		dest = filepath.Join(e.dir, dest)
	}
	if _, err := os.Lstat(dest); err == nil {
		return usageError("loopd sandbox "+id+" NEWDIR", "lay out sandbox: %s exists", dest)
	}
	if err := trial.LayOut(ctx, b.sealed.Suite, sc, b.graphs, dest); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.stdout, dest)
	return err
}
