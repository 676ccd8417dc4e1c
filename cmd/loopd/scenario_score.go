package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/trial"
	"loopd/report"
)

func newScore(e env) *cobra.Command {
	var tsv string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "score SCENARIO DIR", Short: "score a run that is on disk", Args: theArgs("SCENARIO", "DIR"),
		Long: "  loopd scenario score R2 runs/R2-sonnet-1\n  loopd scenario score R2 runs/R2-sonnet-1 --tsv sonnet\n\nDIR holds transcript.jsonl and either changes.json or the project as the session\nleft it. Exit code 0 pass, 3 fail, 1 when the run is no evidence. A question to a\njudge goes to LOOPD_JUDGE_CMD.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScore(cmd.Context(), e, args[0], args[1], tsv, asJSON)
		},
	}
	cmd.Flags().StringVar(&tsv, "tsv", "", "print one row for this model, as results.tsv has it")
	flagJSON(cmd, &asJSON)
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
	sc, err := b.scenario(id)
	if err != nil {
		return fmt.Errorf("score run: %w", err)
	}
	start, err := trial.StartOf(b.sealed.Suite, sc, b.graphs)
	if err != nil {
		return err
	}
	dir = e.Path(dir)
	run, err := trial.ReadStored(ctx, dir, start)
	if err != nil {
		return hint.New(hint.Usage, err, "loopd scenario score --help")
	}
	out := scored{Scenario: id}
	out.Class, out.Why, out.Result = run.Score(ctx, b.sealed.Suite, sc, start, storedJudge(e, b.cfg, b.sealed.Suite))
	if err := printScored(e, out, tsv, asJSON); err != nil {
		return err
	}
	switch {
	case out.Class != harness.Valid:
		return hint.New(hint.Failed, fmt.Errorf("nothing measured: %s: %s", out.Class, out.Why), "")
	case out.Result.Outcome != harness.Pass:
		return hint.New(hint.Measured, fmt.Errorf("%s failed", id), "")
	}
	return nil
}

// storedJudge is the command that judges; without one a question stays open.
func storedJudge(e env, cfg config.Config, s harness.Suite) trial.Judge {
	if command := app.JudgeCommand(e.Env, cfg, s.Launch.Judge); command != "" {
		return trial.CommandJudge{Command: command, Rubric: s.Rubric}
	}
	return nil
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

// scenario finds one of the suite's. One that needs a code graph is no use
// without it: its project would not be what a session starts from.
func (b bench) scenario(id string) (harness.Scenario, error) {
	sc, ok := b.sealed.Suite.Scenario(id)
	if !ok {
		return sc, hint.Usagef("loopd selftest", "the suite has no scenario %q", id)
	}
	if sc.Graph && len(b.graphs[sc.Fixture]) == 0 {
		return sc, hint.Usagef("loopd freeze graph build", "%s needs the code graph of %s, which has not been built", id, sc.Fixture)
	}
	return sc, nil
}

// theArgs wants exactly the arguments named.
func theArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return hint.Usagef(cmd.CommandPath()+" --help", "%s wants %s, got %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
	}
}
