package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/harness/trace"
	"loopd/internal/hint"
	"loopd/report"
)

const evalTraceHelp = `  loopd eval trace cases.yaml traces/
  loopd eval trace cases.yaml traces/ --baseline baseline.json --markdown now.md

CASES says in YAML or JSON what a trace must show; loopd config schema trace explains
its keys. DIR holds saved traces, one *.json each. A trace belongs to the case
whose traceFixture is its file name, else to the case whose id stands before the
first dot; a case may have several. CASES itself is passed over.

A trace that is no JSON, or has parts of the wrong type, fails by name and the
run goes on. A case without its trace, and a trace without a case, are not_run.

Exit code 0 when every trace passes and every case has one; 3 when one failed or
was not run, or something regressed beside the baseline; 2 when CASES cannot be
read, with every fault in it; 1 when no trace was evaluated.`

func newEvalTrace(e env) *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use: "trace CASES DIR", Short: "hold saved diagnosis traces against their cases", Args: theArgs("CASES", "DIR"), Long: evalTraceHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEvalTrace(cmd.Context(), e, o, args[0], args[1])
		},
	}
	o.flags(cmd)
	return cmd
}

func runEvalTrace(ctx context.Context, e env, o evalOptions, file, dir string) error {
	const help = "loopd eval trace --help"
	if err := o.check(e, help); err != nil {
		return err
	}
	data, err := readReport(e.Path(file))
	if err != nil {
		return hint.Usagef(help, "read cases %s: %w", file, err)
	}
	cases, err := trace.ParseCases(data)
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("%s: %w", file, err), "loopd config schema trace")
	}
	own, err := os.Stat(e.Path(file))
	if err != nil {
		return hint.Usagef(help, "read cases %s: %w", file, err)
	}
	base, names, err := documentNames(e, dir, []string{".json"}, sameFile(own))
	if err != nil {
		return hint.Usagef(help, "read traces: %w", err)
	}
	j := job{
		report: report.Eval{Harness: harness.Trace, Cases: filepath.Base(file)}, judge: judgeTraces(cases), dir: base, names: names,
		next: fmt.Sprintf("loopd eval trace %s %s --json report.json", file, dir),
	}
	if j.report.Instrument, j.report.Parts, err = instrument("harness/trace", "contract", cases.Contract.Digest()); err != nil {
		return err
	}
	if isDir(e.Path(dir)) { // else one trace was asked for, and no others
		for _, k := range missingTraces(cases, names) {
			j.rest = append(j.rest, trace.Missing(k))
		}
	}
	return j.run(ctx, e, o)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// judgeTraces holds each trace against its case.
func judgeTraces(cases trace.Cases) judged {
	return judged{
		bytes: func(name string, data []byte) (harness.Evaluated, error) {
			k, ok := cases.Of(name)
			if !ok {
				return trace.Orphan(name), nil
			}
			return cases.Contract.Evaluate(k, name, data), nil
		},
		unread: func(name, reason, what string) harness.Evaluated {
			k, ok := cases.Of(name)
			if !ok {
				return trace.Orphan(name)
			}
			return trace.Unread(k, name, reason, what)
		},
	}
}

// missingTraces lists the cases whose own trace is not there, or that have none.
func missingTraces(cases trace.Cases, names []string) []trace.Case {
	there, used := make(map[string]bool), make(map[string]bool)
	for _, name := range names {
		there[name] = true
		if k, ok := cases.Of(name); ok {
			used[k.ID] = true
		}
	}
	var out []trace.Case
	for _, k := range cases.Cases {
		if k.Fixture != "" && !there[k.File()] || k.Fixture == "" && !used[k.ID] {
			out = append(out, k)
		}
	}
	return out
}
