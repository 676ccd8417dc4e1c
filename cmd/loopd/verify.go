package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/hint"
	"loopd/internal/store"
	"loopd/loop"
)

func newVerify(e env) *cobra.Command {
	var asJSON, deep bool
	var file, state string
	cmd := &cobra.Command{
		Use: "verify", Short: "check ledger, seal, branches and projections", Args: noArgs,
		Long: "  loopd verify\n  loopd verify --deep\n  loopd verify --state rehearsal/state\n  loopd verify --export campaign.jsonl\n\nRecomputes every hash of the ledger, replays it, compares the suite with its\nseal, the branches with the ledger, and every projection with what the ledger\ngives. Lost branches and projections are made again. Says which files of the\nstate directory other users could read.\n\nWith --deep every bet, coin, e-value and verdict is derived again, bit for bit,\nfrom the events before it, and what is kept of each trial is compared with its\ndigests; with --export the same is done to an exported file, without the ledger\nit came from.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				return verifyExport(e, file, asJSON)
			}
			if state != "" {
				return verifyState(cmd.Context(), e, state, asJSON)
			}
			return runVerify(cmd.Context(), e, deep, asJSON)
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "derive every bet, e-value and verdict again")
	flagState(cmd, &state)
	cmd.Flags().StringVar(&file, "export", "", "check this `file`, written by loopd report export, instead")
	flagJSON(cmd, &asJSON)
	cmd.AddCommand(newRescore(e))
	return cmd
}

func runVerify(ctx context.Context, e env, deep, asJSON bool) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	home, err := app.HomeOf(e.Env, l.Config)
	if err != nil {
		return err
	}
	if err := openIn(home); err != nil {
		return err
	}
	sealed, sealErr := openSuite(ctx, home, l.Config)
	if drifted, ok := errors.AsType[*campaign.NotSealedError](sealErr); sealErr != nil && (!ok || drifted.Drift == nil) {
		return sealErr
	}
	found, err := campaign.Check(ctx, campaign.Options{Home: home, Plugin: l.Config.Plugin, Sealed: sealed, Now: time.Now, Log: logger(e), Look: look}, deep)
	if err != nil {
		return errors.Join(sealErr, err)
	}
	if asJSON {
		err = printJSON(e.stdout, found)
	} else {
		err = printFound(e, found)
	}
	return errors.Join(err, sealErr, wrongIn(found.Audits...), lostIn(found))
}

// openIn turns what other users could reach of the state into an error that names
// it, with the command that shuts it.
func openIn(home campaign.Home) error {
	open, err := home.Open(true)
	if err != nil || len(open) == 0 {
		return err
	}
	const most = 5
	var lines []string
	for _, a := range open[:min(len(open), most)] {
		lines = append(lines, fmt.Sprintf("%v: %s", a, a.Hint()))
	}
	if more := len(open) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return hint.New(hint.Usage, errors.New(strings.Join(lines, "\n")), open[0].Hint())
}

// lostIn turns what is gone or damaged of the trials into an error: their rows and
// verdicts stand, and they cannot be scored again.
func lostIn(f campaign.Found) error {
	if len(f.Lost) == 0 {
		return nil
	}
	return hint.New(hint.Failed, fmt.Errorf("lost: %s\nof the files of %s; rows and verdicts stand, and these cannot be scored again",
		strings.Join(f.Lost, "\nlost: "), counted(len(f.Lost), "trial")), "loopd verify rescore")
}

// wrongIn turns what a deep check found into an error.
func wrongIn(audits ...loop.Audit) error {
	var lines []string
	for _, a := range audits {
		for _, w := range a.Wrong {
			lines = append(lines, "campaign "+a.Campaign+": "+w)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return hint.New(hint.Failed, errors.New(strings.Join(lines, "\n")), "")
}

// audited is the JSON of --state.
type audited struct {
	Audits []loop.Audit `json:"audits"`
}

// verifyState checks a ledger without its plugin and suite: every hash, and
// every campaign derived again.
func verifyState(ctx context.Context, e env, dir string, asJSON bool) error {
	l, err := store.OpenReadOnly(e.Path(dir))
	if err != nil {
		return hint.New(hint.Usage, err, "loopd status --state "+dir)
	}
	defer l.Close()
	if err := l.Verify(ctx); err != nil {
		return err
	}
	audits, err := campaign.Audits(ctx, l)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(e.stdout, audited{audits})
	} else {
		fmt.Fprintln(e.stdout, "ledger: every hash right")
		for _, a := range audits {
			err = errors.Join(err, printAudit(e, a))
		}
		if err == nil && wrongIn(audits...) == nil {
			_, err = fmt.Fprintf(e.stdout, "\nNext: loopd report --state %s\n", quoted(dir))
		}
	}
	return errors.Join(err, wrongIn(audits...))
}

// verifyExport checks a file someone else may have sent.
func verifyExport(e env, file string, asJSON bool) error {
	f, err := os.Open(e.Path(file))
	if err != nil {
		return hint.New(hint.Usage, err, "loopd report export")
	}
	defer f.Close()
	found, err := campaign.CheckExport(f)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(e.stdout, found)
	} else {
		fmt.Fprintf(e.stdout, "export: %d events, every hash right; %d withheld\n", found.Events, found.Withheld)
		err = printAudit(e, found.Audit)
		if !found.Whole {
			fmt.Fprintln(e.stdout, "the campaign has no end in this file: it was cut short, or exported while under way")
		}
	}
	if !found.SameChecks {
		fmt.Fprintln(e.stderr, "loopd: the export was written by another version of the measuring code, which may decide otherwise")
	}
	return errors.Join(err, wrongIn(found.Audit))
}

func printAudit(e env, a loop.Audit) error {
	_, err := fmt.Fprintf(e.stdout, "campaign %s: rounds %d, verdicts %d, derived again from %d trials;\n  %d differ; each round was planned before its sessions\n",
		a.Campaign, a.Rounds, a.Verdicts, a.Trials, len(a.Wrong))
	return err
}

func printFound(e env, f campaign.Found) error {
	fmt.Fprintf(e.stdout, "ledger: %d events, every hash right\n", f.Events)
	fmt.Fprintf(e.stdout, "campaigns: %d, %d trials\n", f.Campaigns, f.Trials)
	for _, a := range f.Audits {
		if err := printAudit(e, a); err != nil {
			return err
		}
	}
	if f.Seal != "" {
		fmt.Fprintf(e.stdout, "seal: %s holds\n", f.Seal)
	}
	for _, ref := range f.Moved {
		branch := strings.TrimPrefix(ref, "refs/heads/")
		fmt.Fprintf(e.stdout, "moved or held by someone else: %s\n  to have it as recorded: git branch -D %s && loopd verify\n", branch, branch)
	}
	if f.Kept > 0 {
		fmt.Fprintf(e.stdout, "kept: the files of %s, as they were recorded\n", counted(f.Kept, "trial"))
	}
	if f.Pruned > 0 {
		fmt.Fprintf(e.stdout, "pruned: the files of %s, on purpose\n", counted(f.Pruned, "trial"))
	}
	for _, r := range f.Mended {
		fmt.Fprintf(e.stdout, "made again: %s\n", r)
	}
	_, err := fmt.Fprintf(e.stdout, "projections: %d made again\n\nNext: loopd status\n", len(f.Mended))
	return err
}
