package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"loopd/internal/hint"
	"loopd/internal/trial"
)

func newSandbox(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "lay SCENARIO DEST", Short: "lay out the project a scenario starts from", Args: theArgs("SCENARIO", "DEST"),
		Long: "  loopd scenario lay R2 /tmp/look\n\nWrites the scenario's project to a new directory, as a git repository with one\ncommit: what every session of it starts from. The task is not in it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandbox(cmd.Context(), e, args[0], args[1], asJSON)
		},
	}
	flagJSON(cmd, &asJSON)
	return cmd
}

// laidOut is the JSON of the verb.
type laidOut struct {
	Scenario string `json:"scenario"`
	Fixture  string `json:"fixture"`
	Dir      string `json:"dir"`
}

func runSandbox(ctx context.Context, e env, id, dest string, asJSON bool) error {
	b, _, err := openDraftBench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	sc, err := b.scenario(id)
	if err != nil {
		return fmt.Errorf("lay out sandbox: %w", err)
	}
	dest = e.Path(dest)
	if _, err := os.Lstat(dest); err == nil {
		return hint.Usagef("loopd scenario lay "+id+" NEWDIR", "lay out sandbox: %s exists", dest)
	}
	if err := trial.LayOut(ctx, b.sealed.Suite, sc, b.graphs, dest); err != nil {
		return err
	}
	if asJSON {
		return printJSON(e.stdout, laidOut{id, sc.Fixture, dest})
	}
	_, err = fmt.Fprintln(e.stdout, dest)
	return err
}
