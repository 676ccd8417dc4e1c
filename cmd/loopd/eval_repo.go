package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/harness/repostate"
	"loopd/report"
)

const evalRepoHelp = `  loopd eval repo spec-close.json after.json
  loopd eval repo spec-close.json submissions/

SPEC says in JSON what a task must leave behind (kind mutation: the whole state,
as loopd capture or a host's interface gives it) or report (kind read: facts);
loopd schema repostate explains its keys. Of a directory, *.json are states for
a mutation, *.txt and *.md reports for a read; spec-* is passed over.

A state is compared in both directions: what is missing, and what is there that
was not expected (collateral). Ids, times and other volatile keys are dropped,
lists are compared whatever their order.

A submission of the other kind is exit code 2 and no failure. A state that is no
JSON is not_run, and the run goes on. Exit code 0 when all pass; 3 when one
failed or was not run, or something regressed beside the baseline; 2 when SPEC
cannot be read, a pattern that does not compile included; 1 when nothing was
evaluated.`

func newEvalRepo(e env) *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use: "repo SPEC SUBMISSION|DIR", Short: "compare what a task left or reported with its spec", Args: theArgs("SPEC", "SUBMISSION|DIR"), Long: evalRepoHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEvalRepo(cmd.Context(), e, o, args[0], args[1])
		},
	}
	o.flags(cmd)
	return cmd
}

func runEvalRepo(ctx context.Context, e env, o evalOptions, file, dir string) error {
	const help = "loopd eval repo --help"
	if err := o.check(e, help); err != nil {
		return err
	}
	data, err := readReport(e.path(file))
	if err != nil {
		return usageError(help, "read spec %s: %w", file, err)
	}
	spec, err := repostate.ParseSpec(filepath.Base(file), data)
	if err != nil {
		return &codedError{exitUsage, err, "loopd schema repostate"}
	}
	endings := []string{".json"}
	if spec.Kind == repostate.Read {
		endings = []string{".txt", ".md"}
	}
	isSpec := func(path string) bool { return strings.HasPrefix(filepath.Base(path), "spec-") }
	base, names, err := documentNames(e, dir, endings, isSpec)
	if err != nil {
		return usageError(help, "read submissions: %w", err)
	}
	v := evaluation{report: report.Eval{Schema: report.EvalSchema, Harness: harness.RepoState, Cases: filepath.Base(file)}}
	if v.report.Instrument, v.report.Parts, err = instrument("harness/repostate", "volatile keys", strings.Join(spec.Volatile, " ")); err != nil {
		return err
	}
	none := func(func(harness.Evaluated) error) error { return nil }
	v.spool, err = evaluate(ctx, e, o, judged{bytes: spec.Evaluate, unread: spec.Unread}, base, names, none)
	if kind, ok := errors.AsType[*repostate.KindError](err); ok {
		return &codedError{exitUsage, kind, help}
	}
	if err != nil {
		return err
	}
	defer v.spool.close()
	v.report.Summary = v.spool.sum.Summary()
	return v.tell(e, o, fmt.Sprintf("loopd eval repo %s %s --json report.json", file, dir))
}
