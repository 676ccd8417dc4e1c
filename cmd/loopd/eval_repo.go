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
	"loopd/internal/hint"
	"loopd/report"
)

const evalRepoHelp = `  loopd eval repo spec-close.json after.json
  loopd eval repo spec-close.json submissions/

SPEC says in JSON what a task must leave behind (kind mutation: the whole state,
as loopd eval capture or a host's interface gives it) or report (kind read: facts);
loopd config schema repostate explains its keys. Of a directory, *.json are states for
a mutation, *.txt and *.md reports for a read; spec-* is passed over.

A state is compared in both directions: what is missing, and what is there that
was not expected (collateral). A changed value is both, unless "before" tells
which. Ids, times and other volatile keys are dropped, lists are compared
whatever their order.

A submission of the other kind is no failure: exit code 2, and one invalid
result where it lies among others in DIR. A state that is no JSON is not_run.
Either way the run goes on. Exit code 0 when all pass; 3 when one failed, was
invalid or was not run, or something regressed beside the baseline; 2 when SPEC
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
	data, err := readReport(e.Path(file))
	if err != nil {
		return hint.Usagef(help, "read spec %s: %w", file, err)
	}
	spec, err := repostate.ParseSpec(filepath.Base(file), data)
	if err != nil {
		return hint.New(hint.Usage, err, "loopd config schema repostate")
	}
	endings := []string{".json"}
	if spec.Kind == repostate.Read {
		endings = []string{".txt", ".md"}
	}
	isSpec := func(path string) bool { return strings.HasPrefix(filepath.Base(path), "spec-") }
	base, names, err := documentNames(e, dir, endings, isSpec)
	if err != nil {
		return hint.Usagef(help, "read submissions: %w", err)
	}
	j := job{
		report: report.Eval{Harness: harness.RepoState, Cases: filepath.Base(file)}, judge: judgeStates(spec, isDir(e.Path(dir))), dir: base, names: names,
		next: fmt.Sprintf("loopd eval repo %s %s --json report.json", file, dir),
	}
	if j.report.Instrument, j.report.Parts, err = instrument("harness/repostate", "volatile keys", strings.Join(spec.Volatile, " ")); err != nil {
		return err
	}
	err = j.run(ctx, e, o)
	if kind, ok := errors.AsType[*repostate.KindError](err); ok {
		return hint.New(hint.Usage, kind, help)
	}
	return err
}

// judgeStates holds each submission against the spec. One of the other kind ends a
// run of its own, and is one invalid result among others.
func judgeStates(spec repostate.Spec, several bool) judged {
	return judged{unread: spec.Unread, bytes: func(name string, data []byte) (harness.Evaluated, error) {
		r, err := spec.Evaluate(name, data)
		if several {
			err = nil
		}
		return r, err
	}}
}
