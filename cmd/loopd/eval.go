package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	loopd "loopd"
	"loopd/internal/atomicfile"
	"loopd/internal/hint"
	"loopd/report"
)

const evalHelp = `  loopd eval trace cases.yaml traces/
  loopd eval repo spec-close.json states/

Holds saved documents against fixed rules: traces of a diagnosis agent, or what
tasks on a repository left behind. No model, no service, no network; the same
documents always come to the same result.`

func newEval(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "eval", Short: "evaluate saved traces, or what tasks on a repository left", Args: noArgs, Long: evalHelp,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEvalTrace(e), newEvalRepo(e), newCapture(e))
	return cmd
}

// evalOptions are the flags both evaluators have.
type evalOptions struct {
	json, markdown, comment, junit, baseline string
	across, keep                             bool
	state                                    string
}

func (o *evalOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.json, "json", "", "write the report as JSON into a new `file`, or - to stdout")
	f.StringVar(&o.markdown, "markdown", "", "write it as Markdown into a new `file`, or -")
	f.StringVar(&o.comment, "comment", "", "write it as a comment for a pull request into a new `file`, or -")
	f.StringVar(&o.junit, "junit", "", "write it as JUnit XML into a new `file`, or -")
	f.StringVar(&o.baseline, "baseline", "", "compare with this `report`; a regression exits 3")
	flagAcross(cmd, &o.across)
	f.BoolVar(&o.keep, "keep", false, "keep the report, and the baseline, for the pages")
	flagState(cmd, &o.state)
}

// stdoutName is the file name that means standard output.
const stdoutName = "-"

// targets are the reports that were asked for, by form.
func (o evalOptions) targets() map[string]string {
	out := map[string]string{"json": o.json, "markdown": o.markdown, "comment": o.comment, "junit": o.junit}
	maps.DeleteFunc(out, func(_, path string) bool { return path == "" })
	return out
}

// quiet reports whether standard output belongs to a report.
func (o evalOptions) quiet() bool {
	return o.json == stdoutName || o.markdown == stdoutName || o.comment == stdoutName || o.junit == stdoutName
}

// check refuses before anything is read what could not be written after it.
func (o evalOptions) check(e env, help string) error {
	if o.state != "" && !o.keep {
		return hint.Usagef(help, "evaluate: --state goes with --keep")
	}
	if o.keep {
		if _, err := evalHome(e, o.state); err != nil {
			return err
		}
	}
	seen := make(map[string]string)
	targets := o.targets()
	for _, form := range slices.Sorted(maps.Keys(targets)) {
		path := targets[form]
		if other, twice := seen[path]; twice {
			return hint.Usagef(help, "evaluate: --%s and --%s both write %s", other, form, path)
		}
		seen[path] = form
		if path == stdoutName {
			continue
		}
		if err := writable(e, "evaluate", path); err != nil {
			return err
		}
	}
	return nil
}

// writable refuses a new file that is there, or has no directory.
func writable(e env, verb, path string) error {
	if _, err := os.Lstat(e.Path(path)); err == nil {
		return hint.Usagef("rm "+path, "%s: %s is there already and is not overwritten", verb, path)
	}
	if info, err := os.Stat(filepath.Dir(e.Path(path))); err != nil || !info.IsDir() {
		return hint.Usagef("mkdir -p "+filepath.Dir(path), "%s: no directory for %s", verb, path)
	}
	return nil
}

// instrument names the rules of an evaluator: its source, and what a file may set.
func instrument(dir string, setting, value string) (digest string, parts map[string]string, err error) {
	rules, err := loopd.SourceDigestOf(dir)
	if err != nil {
		return "", nil, err
	}
	parts = map[string]string{"rules": rules, setting: value}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(h, "%s=%s\n", name, parts[name])
	}
	return hex.EncodeToString(h.Sum(nil)), parts, nil
}

// evaluation is a run of an evaluator that is over.
type evaluation struct {
	report report.Eval
	spool  *spool
}

// tell writes the reports, says what came of it and compares with a baseline.
// next is what to type when all is well.
func (v evaluation) tell(e env, o evalOptions, next string) error {
	if err := v.write(e, o); err != nil {
		return err
	}
	s := v.report.Summary
	if !o.quiet() {
		if _, err := fmt.Fprintf(e.stdout, "\n%s", s.Text()); err != nil {
			return err
		}
	}
	regressed, err := v.compare(e, o)
	if err != nil {
		return err
	}
	if o.keep {
		if err := v.keep(e, o); err != nil {
			return err
		}
	}
	switch {
	case regressed != nil:
		return regressed
	case s.Passed+s.Failed == 0:
		return hint.New(hint.Failed, errors.New("nothing measured: "+s.Headline()), "")
	case s.Failed+s.NotRun+s.Invalid > 0:
		return hint.New(hint.Measured, errors.New(failedText(s)), "")
	case o.quiet():
		return nil
	}
	if o.json != "" {
		next = "loopd diff " + o.json + " LATER.json"
	}
	_, err = fmt.Fprintf(e.stdout, "\nNext: %s\n", next)
	return err
}

// failedText says what did not pass.
func failedText(s report.EvalSummary) string {
	var out []string
	for _, part := range []struct {
		n    int
		what string
	}{{s.Failed, "failed"}, {s.Invalid, "invalid"}, {s.NotRun, "not run"}} {
		if part.n > 0 {
			out = append(out, fmt.Sprintf("%d of %d %s", part.n, s.Results, part.what))
		}
	}
	return strings.Join(out, ", ")
}

// write makes the reports that were asked for.
func (v evaluation) write(e env, o evalOptions) error {
	forms := map[string]func(io.Writer) error{
		"json":     func(w io.Writer) error { return v.report.WriteJSON(w, v.spool.all) },
		"markdown": func(w io.Writer) error { return v.report.WriteMarkdown(w, v.spool.all) },
		"comment": func(w io.Writer) error {
			text, err := v.report.Comment(v.spool.all)
			if err == nil {
				_, err = w.Write(text)
			}
			return err
		},
		"junit": func(w io.Writer) error { return v.report.WriteJUnit(w, v.spool.all) },
	}
	targets := o.targets()
	for _, form := range slices.Sorted(maps.Keys(targets)) {
		if targets[form] == stdoutName {
			if err := forms[form](e.stdout); err != nil {
				return err
			}
			continue
		}
		if err := atomicfile.CreateFile(e.Path(targets[form]), 0o644, forms[form]); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}

// compare sets the report beside the baseline, if there is one, and prints what
// changed. regressed says what did, nil for nothing.
func (v evaluation) compare(e env, o evalOptions) (regressed, err error) {
	if o.baseline == "" {
		return nil, nil
	}
	base, err := readReport(e.Path(o.baseline))
	if err != nil {
		return nil, hint.Usagef("loopd diff --help", "read baseline %s: %w", o.baseline, err)
	}
	var b bytes.Buffer
	if err := v.report.WriteJSON(&b, v.spool.all); err != nil {
		return nil, err
	}
	d, err := report.Compare(report.Document{Name: o.baseline, Data: base}, report.Document{Name: "this run", Data: b.Bytes()}, o.across)
	if err != nil {
		return nil, hint.New(hint.Usage, err, "loopd eval --help")
	}
	if !o.quiet() {
		if _, err := fmt.Fprintf(e.stdout, "\nBeside %s: %s", o.baseline, d.Text(e.page)); err != nil {
			return nil, err
		}
	}
	return regressionOf(d), nil
}

// documentNames lists the files below dir with one of the endings, in order, but
// for those that skip says. A file instead of a directory is itself.
func documentNames(e env, dir string, endings []string, skip func(path string) bool) (base string, names []string, err error) {
	path := e.Path(dir)
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if !info.IsDir() {
		return filepath.Dir(path), []string{filepath.Base(path)}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", nil, err
	}
	for _, d := range entries {
		if !d.IsDir() && slices.Contains(endings, filepath.Ext(d.Name())) && !skip(filepath.Join(path, d.Name())) {
			names = append(names, d.Name())
		}
	}
	return path, names, nil
}

// sameFile reports whether a path leads to a known file.
func sameFile(known fs.FileInfo) func(path string) bool {
	return func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(known, info)
	}
}
