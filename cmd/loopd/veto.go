package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"loopd/internal/campaign"
	"loopd/internal/hint"
)

// runVeto records that a person does not want what the last campaign promoted.
func runVeto(ctx context.Context, e env, o adoptOptions) error {
	if o.campaign != "" || o.branch != "" || o.unconfirmed {
		return hint.Usagef("loopd adopt --help", "adopt: --veto is of the last campaign, and goes with no branch")
	}
	home, err := reviewHome(e, o.state)
	if err != nil {
		return err
	}
	if err := veto(ctx, home, o.veto); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "vetoed: %s\n\nNext: loopd candidate add --patch FILE\n", strings.TrimSpace(o.veto))
	return err
}

// veto records it where there is something that is not wanted.
func veto(ctx context.Context, home campaign.Home, why string) error {
	why = strings.TrimSpace(why)
	if why == "" {
		return hint.Usagef(`loopd adopt --veto "reads badly"`, "adopt --veto: say why")
	}
	if err := campaign.Veto(ctx, home, why, time.Now); err != nil {
		return hint.New(hint.Measured, fmt.Errorf("adopt --veto: %w", err), "loopd report")
	}
	return nil
}
