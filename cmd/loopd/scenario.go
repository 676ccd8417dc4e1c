package main

import (
	"github.com/spf13/cobra"
)

func newScenario(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenario", Short: "bring scenarios in from other suites, or take them out", Args: noArgs,
		Long: "  loopd scenario import evals/evals.json\n  loopd scenario export --plugin-eval cases",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScenarioImport(e), newScenarioExport(e))
	return cmd
}
