package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/web"
	"loopd/loop"
	"loopd/report"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	state              string
	asJSON, asMarkdown bool
	comment            bool
	across             bool
	shown              shownOptions
}

func newDiff(e env) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use: "diff A B", Short: "what changed between two reports",
		Long: "  loopd diff 1a2b3c4-1 current\n  loopd diff before.json after.json --markdown\n  loopd diff before.json after.json --comment\n  loopd diff before.json after.json --open\n\nA and B are reports as JSON (loopd report --json, or campaign.json below reports/\nin the state directory), or campaigns of the ledger: an id, or \"current\" for the\nnewest. The champions are compared: pass rates by cell, guards, controls, invalid\nsessions, verdicts, and what a session took.\n\nA cell regressed when its rate fell and the 95 % interval of the difference\nleaves 0 out, or when it is not measured any more; the exit code is then 3.\n\nOf reports of loopd eval the totals and every case are compared. A lower pass\nrate, a case that passed and does not, a check that fails anew, a required tool\nno longer covered and a missing case regress; a new case, another verdict and\nother costs are told.\n\nReports of different harness kinds, and simulated beside real ones, are never\ncompared; those of different instruments only with --across.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return hint.Usagef("loopd diff --help", "loopd diff wants two reports, got %d", len(args))
			}
			if app.CountSet(o.asJSON, o.asMarkdown, o.comment, o.shown.asked()) > 1 {
				return hint.Usagef("loopd diff --help", "loopd diff has one form: --json, --markdown, --comment, --open or --html")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDiff(cmd.Context(), e, o, args[0], args[1])
		},
	}
	flagState(cmd, &o.state)
	flagJSON(cmd, &o.asJSON)
	cmd.Flags().BoolVar(&o.asMarkdown, "markdown", false, "print Markdown")
	flagComment(cmd, &o.comment)
	flagAcross(cmd, &o.across)
	o.shown.flags(cmd, "comparison")
	return cmd
}

func runDiff(ctx context.Context, e env, o diffOptions, nameA, nameB string) error {
	a, err := document(ctx, e, o.state, nameA)
	if err != nil {
		return err
	}
	b, err := document(ctx, e, o.state, nameB)
	if err != nil {
		return err
	}
	d, err := report.Compare(a, b, o.across)
	if err != nil {
		return diffRefused(err, nameA, nameB)
	}
	if o.shown.asked() {
		pages := web.Options{Opened: []web.Opened{held(a), held(b)}, Across: o.across}
		err = showOpened(ctx, e, o.shown, pages, fmt.Sprintf("loopd diff %s %s --open", nameA, nameB))
	} else {
		err = printDiff(e, o, d, nameA, nameB)
	}
	return cmp.Or(err, regressionOf(d))
}

// regressionOf is the error of a comparison in which something did, nil for none.
func regressionOf(d report.Diff) error {
	n := len(d.Regressions)
	if n == 0 {
		return nil
	}
	text := strings.Join(d.Regressions[:min(n, mostShown)], "; ")
	if n > mostShown {
		text += fmt.Sprintf("; and %d more", n-mostShown)
	}
	return hint.New(hint.Measured, errors.New("regressed: "+text), "")
}

// diffRefused gives a refusal its exit code and the command that helps.
func diffRefused(err error, nameA, nameB string) error {
	if _, ok := errors.AsType[*report.InstrumentsError](err); ok {
		return hint.New(hint.Usage, err, fmt.Sprintf("loopd diff %s %s --across", nameA, nameB))
	}
	return hint.New(hint.Usage, err, "loopd diff --help")
}

func printDiff(e env, o diffOptions, d report.Diff, nameA, nameB string) error {
	switch {
	case o.asJSON:
		return printJSON(e.stdout, d.Document())
	case o.comment:
		_, err := e.stdout.Write(d.Comment())
		return err
	}
	if o.asMarkdown {
		return e.markdown(d.Markdown())
	}
	next := fmt.Sprintf("loopd diff %s %s --comment", quoted(nameA), quoted(nameB))
	if o.across {
		next += " --across"
	}
	if o.state != "" {
		next += " --state " + quoted(o.state)
	}
	_, err := fmt.Fprintf(e.stdout, "%s\nNext: %s\n", d.Text(e.page), next)
	return err
}

// currentCampaign is the name of the newest campaign of the ledger.
const currentCampaign = "current"

// document is what one argument of diff names: a file if there is one of that
// name, else a campaign of the ledger.
func document(ctx context.Context, e env, state, name string) (report.Document, error) {
	path := e.Path(name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ledgerDocument(ctx, e, state, name)
	}
	data, err := readReport(path)
	if err != nil {
		return report.Document{}, hint.Usagef("loopd diff --help", "read report %s: %w", name, err)
	}
	return report.Document{Name: name, Data: data}, nil
}

// longestReport bounds what is read as a report; the largest ever written has a
// few hundred kilobytes.
const longestReport = 32 << 20

// readReport reads a whole file, and nothing that could keep it waiting.
func readReport(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longestReport+1))
	if err == nil && len(data) > longestReport {
		err = fmt.Errorf("over %d MiB, which no report has", longestReport>>20)
	}
	return data, err
}

// ledgerDocument makes the report of a campaign of the ledger.
func ledgerDocument(ctx context.Context, e env, state, name string) (report.Document, error) {
	r, err := openReview(ctx, e, state)
	if _, nowhere := errors.AsType[*config.NotFoundError](err); nowhere {
		return report.Document{}, hint.Usagef("loopd diff --help", "no report %s: there is no such file, and no plugin is set up here whose campaign it could be", name)
	}
	if err != nil {
		return report.Document{}, err
	}
	if _, err := r.current(); err != nil {
		return report.Document{}, hint.Usagef("loopd diff --help", "no report %s: there is no such file, and %w", name, err)
	}
	i := len(r.states) - 1
	if name != currentCampaign {
		i = slices.IndexFunc(r.states, func(s *loop.State) bool { return s.Started.Campaign == name })
	}
	if i < 0 {
		return report.Document{}, hint.Usagef("loopd diff --help", "no report %s: neither a file nor one of the campaigns %s", name, campaignIDs(r.states))
	}
	data, err := json.Marshal(report.Build(r.states[i], r.states[:i]...))
	return report.Document{Name: name, Data: data}, err
}

func campaignIDs(states []*loop.State) string {
	var out []string
	for _, s := range states {
		out = append(out, s.Started.Campaign)
	}
	return strings.Join(out, ", ")
}
