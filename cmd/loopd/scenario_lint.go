package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/setup"
)

func newScenarioLint(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "lint [NAME...]", Short: "what is wrong with scenarios, before anything is sealed",
		Long: "  loopd scenario lint\n  loopd scenario lint W4\n\nReads the suite as it lies there, sealed or not, and the plugin as HEAD has it,\nand plays each scenario's oracle and nop through the stand-in agent: no model, no\ntask. One line a finding; of a task only which rule it breaks. Exit code 0 when\nnothing was found, 3 when something was, 2 when the suite cannot be read. Without\na loopd.yaml here it is the bundled suite on the bundled plugin.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScenarioLint(cmd.Context(), e, args, asJSON)
		},
	}
	flagJSON(cmd, &asJSON)
	return cmd
}

// linted is the JSON of the verb.
type linted struct {
	Suite     string          `json:"suite"`
	Scenarios int             `json:"scenarios"`
	Runs      int             `json:"runs"` // oracles and nops that were played
	Findings  []setup.Finding `json:"findings"`
	NotRun    []harness.Unrun `json:"not_run"`
}

func runScenarioLint(ctx context.Context, e env, ids []string, asJSON bool) error {
	w, err := openWorkbench(ctx, e)
	if err != nil {
		return err
	}
	defer w.close()
	known := w.subject.IDs()
	for _, id := range ids {
		if !slices.Contains(known, id) {
			command := "loopd scenario lint"
			if meant := nearest(id, known); meant != "" {
				command += " " + meant
			}
			return hint.Usagef(command, "lint scenarios: the suite has no scenario %q", id)
		}
	}
	static := setup.Lint(w.subject)
	played, err := w.play(ctx, e, static, ids)
	if err != nil {
		return err
	}
	out := linted{Suite: w.dir, Scenarios: len(known), Runs: played.Runs, NotRun: played.NotRun}
	if len(ids) > 0 {
		out.Scenarios = len(ids)
	}
	out.Findings = append(setup.OfScenarios(static, ids), played.Findings...)
	if asJSON {
		err = printJSON(e.stdout, out)
	} else {
		err = w.printLint(e, out)
	}
	if err != nil || len(out.Findings) == 0 {
		return err
	}
	return hint.New(hint.Measured, fmt.Errorf("lint scenarios: %s", findings(len(out.Findings))), w.mend(out.Findings))
}

// mend is the command that opens what the first finding is about.
func (w workbench) mend(found []setup.Finding) string {
	at := shownPath(w.from, w.dir)
	if found[0].Scenario != "" {
		at = filepath.Join(at, "scenarios", found[0].Scenario+".md")
	}
	return "$EDITOR " + at
}

func (w workbench) play(ctx context.Context, e env, static []setup.Finding, ids []string) (setup.Played, error) {
	binary, err := app.StandIn()
	if err != nil {
		return setup.Played{}, err
	}
	ground := app.IsolationOrNone(ctx, e.Env, w.cfg.Rung)
	return setup.Play(ctx, w.subject, static, ids, setup.Stage{Binary: binary, Isolation: ground, Parallel: 2})
}

func findings(n int) string { return counted(n, "finding") }

func (w workbench) printLint(e env, out linted) error {
	longest := 0
	for _, f := range out.Findings {
		longest = max(longest, len(orSuite(f.Scenario)))
	}
	var b strings.Builder
	for _, f := range out.Findings {
		b.WriteString(fitted(fmt.Sprintf("%-*s  %s", longest, orSuite(f.Scenario), f), strings.Repeat(" ", longest+4), e.page))
	}
	for _, u := range out.NotRun {
		if u.Scenario != "" && slices.ContainsFunc(out.Findings, func(f setup.Finding) bool { return f.Scenario == u.Scenario }) {
			continue // what it lacks stands above
		}
		b.WriteString(notRunLine(e, u))
	}
	if len(out.Findings) == 0 {
		fmt.Fprintf(&b, "%s, %s played: nothing found\n\nNext: %s\n", counted(out.Scenarios, "scenario"), counted(out.Runs, "run"), w.next())
	}
	_, err := io.WriteString(e.stdout, b.String())
	return err
}

func orSuite(id string) string {
	if id == "" {
		return "suite"
	}
	return id
}

// next is what follows scenarios in which nothing was found; others of the suite
// may be unfilled.
func (w workbench) next() string {
	if w.cfg.Plugin == "" {
		return "loopd rehearse"
	}
	return cmp.Or(w.lacks(), "loopd plan")
}

// staticFindings counts what can be said of a suite without playing a run. That
// it could not be counted is no reason not to seal.
func staticFindings(ctx context.Context, e env) (int, error) {
	w, err := openWorkbench(ctx, e)
	if err != nil {
		return 0, err
	}
	defer w.close()
	return len(setup.Lint(w.subject)), nil
}
