package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"loopd/internal/campaign"
)

// runVeto records that a person does not want what the last campaign promoted.
func runVeto(ctx context.Context, e env, o adoptOptions) error {
	why := strings.TrimSpace(o.veto)
	switch {
	case why == "":
		return usageError(`loopd adopt --veto "reads badly"`, "adopt --veto: say why")
	case o.campaign != "" || o.branch != "" || o.unconfirmed:
		return usageError("loopd adopt --help", "adopt: --veto is of the last campaign, and goes with no branch")
	}
	home, err := reviewHome(e, o.state)
	if err != nil {
		return err
	}
	if err := campaign.Veto(ctx, home, why, time.Now); err != nil {
		return &codedError{exitMeasured, fmt.Errorf("adopt --veto: %w", err), "loopd report"}
	}
	_, err = fmt.Fprintf(e.stdout, "vetoed: %s\n\nNext: loopd candidate add --patch FILE\n", why)
	return err
}
