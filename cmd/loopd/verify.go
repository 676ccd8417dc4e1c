package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/campaign"
)

func newVerify(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify", Short: "check ledger, seal, branches and projections", Args: noArgs,
		Long: "  loopd verify\n\nRecomputes every hash of the ledger, replays it, compares the suite with its\nseal, the branches with the ledger, and every projection with what the ledger\ngives. Lost branches and projections are made again.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runVerify(cmd.Context(), e, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func runVerify(ctx context.Context, e env, asJSON bool) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	home, err := homeOf(e, l.Config)
	if err != nil {
		return err
	}
	sealed, sealErr := openSuite(ctx, home, l.Config)
	if drifted, ok := errors.AsType[*campaign.NotSealedError](sealErr); sealErr != nil && (!ok || drifted.Drift == nil) {
		return sealErr
	}
	found, err := campaign.Check(ctx, campaign.Options{Home: home, Plugin: l.Config.Plugin, Sealed: sealed, Now: time.Now, Log: logger(e)})
	if err != nil {
		return errors.Join(sealErr, err)
	}
	if asJSON {
		err = printJSON(e.stdout, found)
	} else {
		err = printFound(e, found)
	}
	return errors.Join(err, sealErr)
}

func printFound(e env, f campaign.Found) error {
	fmt.Fprintf(e.stdout, "ledger: %d events, every hash right\n", f.Events)
	fmt.Fprintf(e.stdout, "campaigns: %d, %d trials\n", f.Campaigns, f.Trials)
	if f.Seal != "" {
		fmt.Fprintf(e.stdout, "seal: %s holds\n", f.Seal)
	}
	for _, r := range f.Mended {
		fmt.Fprintf(e.stdout, "made again: %s\n", r)
	}
	_, err := fmt.Fprintf(e.stdout, "projections: %d made again\n", len(f.Mended))
	return err
}
