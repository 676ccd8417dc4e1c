package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/loop"
	"loopd/report"
)

func newReport(e env) *cobra.Command {
	var asJSON, judged, digest, comment, reveal bool
	var state, labels string
	var shown shownOptions
	cmd := &cobra.Command{
		Use: "report [candidate|FILE.json]", Short: "what came of a campaign, one candidate or an evaluator",
		Long: "  loopd report\n  loopd report --digest\n  loopd report --comment\n  loopd report --open\n  loopd report c003\n  loopd report --judged\n  loopd report --judged --labels judged.yaml\n  loopd report now.json --open\n\nPrints the report in Markdown, verdict first. The same files lie below reports/\nin the state directory. Of FILE.json, a report that loopd eval wrote, it prints\nthat, or shows it with --open or --html.\n\nWith --comment it prints the digest for a pull request: short, with what is long\nfolded in, and with nothing in it that calls people or loads anything. The first\nline stays the same, so that a bot finds its last comment and replaces it.\n\nWith --judged it writes the messages a judge was asked about to judged.yaml there,\nor in a directory given that lies in no repository: in random order, and without\nanything that tells the wordings apart, for a person to label. With --labels it\nprints how often the labels are the judge's answers; they change no verdict.",
		Args: atMostOne("candidate"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			if filepath.Ext(name) == ".json" {
				if asJSON || judged || digest || reveal || labels != "" || state != "" {
					return hint.Usagef("loopd report "+name+" --open", "report: a file goes with --open and --html alone")
				}
				return runSavedReport(cmd.Context(), e, shown, name)
			}
			switch {
			case labels != "" && (!judged || name != ""):
				return hint.Usagef("loopd report --judged --labels judged.yaml", "report: --labels goes with --judged and no argument")
			case labels != "":
				return runLabels(cmd.Context(), e, state, labels, asJSON)
			case judged:
				return runSheet(cmd.Context(), e, state, name)
			}
			switch {
			case shown.asked() && name != "":
				return hint.Usagef("loopd report --open", "report: --open and --html are of the campaign, and go with no argument")
			case shown.html != "":
				return writePage(cmd.Context(), e, state, shown.html, reveal)
			case shown.open:
				return openPages(cmd.Context(), e, state, 0, reveal)
			}
			switch {
			case (digest || comment) && name != "":
				return hint.Usagef("loopd report --digest", "report: --digest and --comment are of the campaign, and go with no argument")
			case comment && (digest || asJSON):
				return hint.Usagef("loopd report --comment", "report: --comment, --digest and --json are not printed at once")
			case comment:
				return runComment(cmd.Context(), e, state)
			case digest:
				return runDigest(cmd.Context(), e, state, asJSON)
			}
			name = cmp.Or(name, campaignReport)
			return runReport(cmd.Context(), e, state, name, asJSON)
		},
	}
	flagJSON(cmd, &asJSON)
	flagState(cmd, &state)
	shown.flags(cmd, "campaign")
	flagReveal(cmd, &reveal)
	cmd.Flags().BoolVar(&digest, "digest", false, "print what to read in the morning")
	flagComment(cmd, &comment)
	cmd.Flags().BoolVar(&judged, "judged", false, "write the judged messages for a person to label")
	cmd.Flags().StringVar(&labels, "labels", "", "read the labels in this `file` and print how often they agree")
	cmd.AddCommand(newExport(e))
	return cmd
}

// runReport prints a report without taking the state directory's lock: the
// campaign's from the ledger, a candidate's as it was projected beside it,
// because its wording diff needs the private repository.
func runReport(ctx context.Context, e env, state, name string, asJSON bool) error {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return err
	}
	s, err := r.current()
	if err != nil {
		return err
	}
	if name == campaignReport {
		if err := printReport(e, report.Build(s, r.states[:len(r.states)-1]...), asJSON); err != nil || asJSON {
			return err
		}
		return printNext(e, s, state)
	}
	if s.Find(name) == nil {
		return hint.Usagef(withState("loopd candidate list", state), "campaign %s has no candidate %q", s.Started.Campaign, name)
	}
	ext := ".md"
	if asJSON {
		ext = ".json"
	}
	data, err := os.ReadFile(filepath.Join(r.home.Report(s.Started.Campaign), name+ext))
	if err != nil {
		return hint.New(hint.Failed, fmt.Errorf("read report of %s: %w", name, err), "loopd verify")
	}
	if err := e.kept(data, asJSON); err != nil || asJSON {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\nNext: %s\n", withState(nextAfter(s), state))
	return err
}

// printNext says what to type after a report.
func printNext(e env, s *loop.State, state string) error {
	_, err := fmt.Fprintf(e.stdout, "\nNext: %s\n", withState(nextAfterReport(s), state))
	return err
}

// conclude prints the report and what to type next: as the hint of an error
// where the campaign did not get to its end.
func conclude(e env, n *app.Night, asJSON bool) error {
	s := n.Campaign.Current()
	if err := printReport(e, report.Build(s, n.Campaign.Before()...), asJSON); err != nil {
		return err
	}
	if err := stop(s); err != nil || asJSON {
		return err
	}
	return printNext(e, s, "")
}

// withState names the state directory in a command that looks into one, where
// the user did.
func withState(command, state string) string {
	switch command {
	case "loopd adopt", "loopd report", "loopd candidate list":
		if state != "" {
			return command + " --state " + quoted(state)
		}
	}
	return command
}

// campaignReport is the name of the report that is about no candidate.
const campaignReport = "campaign"

func printReport(e env, c report.Campaign, asJSON bool) error {
	if asJSON {
		return printJSON(e.stdout, c)
	}
	return e.markdown(c.Markdown())
}

// kept prints a report as it was projected: a document, or Markdown.
func (e env) kept(data []byte, asJSON bool) error {
	if !asJSON {
		return e.markdown(data)
	}
	_, err := e.stdout.Write(data)
	return err
}
