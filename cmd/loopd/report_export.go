package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loopd/internal/campaign"
	"loopd/internal/hint"
	"loopd/internal/store"
)

func newExport(e env) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "export [CAMPAIGN]", Short: "a campaign's events, for a stranger to recompute",
		Long: "  loopd report export > campaign.jsonl\n\nPrints every event of a campaign, the newest unless one is named, as JSON lines\nwith their hashes. \"loopd verify --export FILE\" derives every bet, e-value and\nverdict from them again, anywhere. No task text is in it, and wording that\nrepeats one is withheld.",
		Args: atMostOne("campaign"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			return runExport(cmd.Context(), e, state, id)
		},
	}
	flagState(cmd, &state)
	return cmd
}

func runExport(ctx context.Context, e env, state, id string) error {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return err
	}
	s, err := r.current()
	if err != nil {
		return err
	}
	if id == "" {
		id = s.Started.Campaign
	}
	l, err := store.OpenReadOnly(r.home.Dir)
	if err != nil {
		return err
	}
	defer l.Close()
	var text bytes.Buffer
	if err := campaign.Export(ctx, l, id, &text); err != nil {
		if _, unknown := errors.AsType[*campaign.NoCampaignError](err); unknown {
			return hint.Usagef("loopd report export", "export: %w", err)
		}
		return err
	}
	_, err = e.stdout.Write(text.Bytes())
	return err
}
