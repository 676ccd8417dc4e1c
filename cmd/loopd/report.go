package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newReport(e env) *cobra.Command {
	var asJSON bool
	var state string
	cmd := &cobra.Command{
		Use: "report [candidate]", Short: "what came of a campaign or of one candidate",
		Long: "  loopd report\n  loopd report c003\n\nPrints the report in Markdown, verdict first. The same files lie below reports/\nin the state directory.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "campaign"
			if len(args) == 1 {
				name = args[0]
			}
			return runReport(cmd.Context(), e, state, name, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&state, "state", "", stateFlag)
	return cmd
}

// runReport prints the projection kept beside the ledger, so that looking never
// takes the state directory's lock.
func runReport(ctx context.Context, e env, state, name string, asJSON bool) error {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return err
	}
	s, err := r.current()
	if err != nil {
		return err
	}
	if name != "campaign" && s.Find(name) == nil {
		return usageError("loopd candidate list", "campaign %s has no candidate %q", s.Started.Campaign, name)
	}
	ext := ".md"
	if asJSON {
		ext = ".json"
	}
	data, err := os.ReadFile(filepath.Join(r.home.Report(s.Started.Campaign), name+ext))
	if err != nil {
		return &codedError{exitFailed, err, "loopd verify"}
	}
	_, err = e.stdout.Write(data)
	return err
}
