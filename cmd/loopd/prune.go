package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/admission"
	"loopd/internal/campaign"
	"loopd/internal/hint"
)

type pruneOptions struct {
	older string
	dry   bool
	state string
	json  bool
}

func newPrune(e env) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use: "prune", Short: "drop transcripts of old trials; rows and digests stay", Args: noArgs,
		Long: `  loopd prune --older 30d --dry-run

Drops what was kept of trials that started longer ago: transcripts, what
sessions left, how they were launched. Ledger, tables, reports and digests
stay, and loopd verify --deep passes as before. Such a trial can no longer be
scored again: loopd verify rescore and loopd scenario transcript say since when. Nothing of a
campaign under way is dropped.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPrune(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.older, "older", "", "age from which on, such as 30d or 12h")
	f.BoolVar(&o.dry, "dry-run", false, "say what would be dropped, and drop nothing")
	flagState(cmd, &o.state)
	flagJSON(cmd, &o.json)
	return cmd
}

const pruneHint = "loopd prune --older 30d --dry-run"

func runPrune(ctx context.Context, e env, o pruneOptions) error {
	age, err := parseAge(o.older)
	if err != nil {
		return hint.Usagef(pruneHint, "prune: --older: %w", err)
	}
	r, err := openReview(ctx, e, o.state)
	if err != nil {
		return err
	}
	if _, err := r.current(); err != nil {
		return err
	}
	now := time.Now()
	p, err := r.home.Prune(r.states, now.Add(-age), now, o.dry)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(e.stdout, p)
	}
	return printPruned(e, p, o)
}

// parseAge reads a number of days, such as 30d, or a duration, such as 12h.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, errors.New("how old trials must be is not said")
	}
	var age time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(days, 64); !(n >= 0 && n <= 100*366) {
			n = -1 // no number, or one that no duration can hold
		}
		age = time.Duration(n * 24 * float64(time.Hour))
	} else {
		age, err = time.ParseDuration(text)
	}
	if err != nil || age < 0 {
		return 0, fmt.Errorf("%q is no age; write it such as 30d or 12h", text)
	}
	return age, nil
}

func printPruned(e env, p campaign.Pruned, o pruneOptions) error {
	verb, next := "dropped", "loopd verify --deep"
	if p.DryRun {
		verb, next = "would drop", "loopd prune --older "+o.older
	}
	before := p.Before.Local().Format("2006-01-02 15:04")
	if p.Trials == 0 {
		fmt.Fprintf(e.stdout, "nothing is kept of trials from before %s\n", before)
	} else {
		fmt.Fprintf(e.stdout, "%s the files of %s from before %s: %d files, %s\n", verb, counted(p.Trials, "trial"), before, p.Files, admission.Bytes(uint64(p.Bytes)))
	}
	if p.Strays > 0 {
		fmt.Fprintf(e.stdout, "%s %s that were cut short and never recorded\n", verb, counted(p.Strays, "attempt"))
	}
	fmt.Fprintf(e.stdout, "trials kept: %d younger, %d of a campaign under way; pruned before: %d\nevery row and digest stays\n", p.Kept, p.UnderWay, p.Already)
	if p.Trials == 0 && p.Strays == 0 {
		next = "loopd status"
	}
	if o.state != "" {
		next = strings.TrimSuffix(next, " --deep") + " --state " + quoted(o.state)
	}
	_, err := fmt.Fprintf(e.stdout, "\nNext: %s\n", next)
	return err
}
