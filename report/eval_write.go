package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"loopd/harness"
)

// EvalResults hands out the results of an Eval in their order, or an error that ends
// them. It can be asked more than once.
type EvalResults = iter.Seq2[harness.Evaluated, error]

// WriteJSON writes the report as one document, results last.
func (e Eval) WriteJSON(w io.Writer, results EvalResults) error {
	head, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON report: %w", err)
	}
	out := &writer{w: w}
	out.print("%s,\n  \"results\": [", strings.TrimSuffix(string(head), "\n}"))
	separator := "\n    "
	for r, err := range results {
		if err != nil {
			return fmt.Errorf("write JSON report: %w", err)
		}
		text, err := json.MarshalIndent(r, "    ", "  ")
		if err != nil {
			return fmt.Errorf("write JSON report: %w", err)
		}
		out.print("%s%s", separator, text)
		separator = ",\n    "
	}
	out.print("\n  ]\n}\n")
	return out.err
}

// writer keeps the first error of many writes.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) print(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

// WriteMarkdown writes the report for review in a repository: the summary, a row
// a result, and what failed in words.
func (e Eval) WriteMarkdown(w io.Writer, results EvalResults) error {
	out := &writer{w: w}
	out.print("# %s: %s\n\n| | |\n|---|---|\n", e.Title(), e.Summary.Headline())
	for _, row := range append([][]string{{"cases", tableCell(e.Cases)}, {"instrument", "`" + brief(e.Instrument) + "`"}}, e.Summary.Rows()...) {
		out.print("| %s | %s |\n", row[0], tableCell(row[1]))
	}
	out.print("\n%s", markdownTable([][]string{columnsOf(e.Harness)}, tableCell))
	for r, err := range results {
		if err != nil {
			return fmt.Errorf("write Markdown report: %w", err)
		}
		cells := cellsOf(e.Harness, r)
		for i := range cells {
			cells[i] = tableCell(cells[i])
		}
		out.print("| %s |\n", strings.Join(cells, " | "))
	}
	if e.Summary.Failed+e.Summary.Invalid+e.Summary.NotRun == 0 {
		return out.err
	}
	out.print("\n## What did not pass\n\n")
	for r, err := range results {
		if err != nil {
			return fmt.Errorf("write Markdown report: %w", err)
		}
		for _, line := range linesOf(r) {
			out.print("- %s, %s: %s\n", tableCell(r.Case), tableCell(document(r)), tableCell(line))
		}
	}
	return out.err
}

// Title says what was evaluated.
func (e Eval) Title() string {
	if e.Harness == harness.Trace {
		return "Diagnosis traces"
	}
	return "Repository tasks"
}

func columnsOf(k harness.Kind) []string {
	if k == harness.Trace {
		return []string{"case", "trace", "result", "verdict", "evidence", "tool calls", "ms", "failed checks"}
	}
	return []string{"case", "submission", "result", "differences", "failed checks"}
}

func cellsOf(k harness.Kind, r harness.Evaluated) []string {
	metric := func(name string) string {
		if v, ok := r.Metrics[name]; ok {
			return fmt.Sprintf("%.0f", v)
		}
		return "-"
	}
	failed := orDash(names(r.Failed))
	if k != harness.Trace {
		return []string{r.Case, document(r), string(r.Outcome), metric(harness.Differences), failed}
	}
	evidence := "-"
	if r.Coverage != nil {
		evidence = fmt.Sprintf("%d/%d", len(r.Coverage.Covered), len(r.Coverage.Covered)+len(r.Coverage.Uncovered))
	}
	return []string{r.Case, document(r), string(r.Outcome), orDash(r.Verdict), evidence, metric(harness.ToolCalls), metric(harness.DurationMS), failed}
}

// NotPassed lists the checks of a result that failed, and those that could not be
// looked at when nothing failed.
func NotPassed(r harness.Evaluated) []harness.Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c harness.Check) bool {
		return c.Outcome == harness.Pass || c.Outcome == harness.NotRun && len(r.Failed) > 0
	})
}

// linesOf says of each check that did not pass what was found.
func linesOf(r harness.Evaluated) []string {
	var out []string
	for _, c := range NotPassed(r) {
		line := c.Name + " (" + c.Reason + ")"
		if len(c.Findings) > 0 {
			line += ": " + strings.Join(c.Findings, "; ")
		}
		out = append(out, line)
	}
	return out
}

// Headline is the summary in a few words.
func (s EvalSummary) Headline() string {
	text := fmt.Sprintf("%d of %d pass", s.Passed, s.Rate.N)
	for _, more := range []struct {
		n    int
		what string
	}{{s.Invalid, "invalid"}, {s.NotRun, "not run"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return text
}

// Rows are the lines of the summary that have something to say, each a name and a
// text.
func (s EvalSummary) Rows() [][]string {
	out := [][]string{{"pass rate", rateText(s.Rate)}}
	add := func(name, text string) {
		if text != "" {
			out = append(out, []string{name, text})
		}
	}
	add("verdicts", countsText(s.Verdicts))
	add("failed checks", countsText(s.FailedChecks))
	for _, m := range []struct {
		name, format string
		v            *float64
	}{
		{"mean tool calls", "%.2f", s.MeanToolCalls}, {"mean duration", "%.0f ms", s.MeanDurationMS},
		{"mean cost-equivalent tokens", "%.0f", s.MeanCostEquivalent},
	} {
		if m.v != nil {
			add(m.name, fmt.Sprintf(m.format, *m.v))
		}
	}
	if u := s.Usage; u != nil {
		add("tokens", fmt.Sprintf("%d in, %d out, %d read from a cache, %d written to one", u.Input, u.Output, u.CacheRead, u.CacheWrite))
	}
	return out
}

func countsText(counts map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return names(out)
}

// Text renders the summary for a terminal of 80 columns.
func (s EvalSummary) Text() []byte {
	out := []byte(s.Headline() + "\n")
	for _, row := range s.Rows() {
		out = append(out, []byte(wrap(row[0]+": "+row[1])+"\n")...)
	}
	return out
}

// junitCase is a result as JUnit has it.
type junitCase struct {
	XMLName   xml.Name      `xml:"testcase"`
	ClassName string        `xml:"classname,attr"`
	Name      string        `xml:"name,attr"`
	Seconds   string        `xml:"time,attr,omitempty"`
	Failure   *junitMessage `xml:"failure"`
	Error     *junitMessage `xml:"error"`
	Skipped   *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML: a failure is a failure, invalid an
// error, not run skipped.
func (e Eval) WriteJUnit(w io.Writer, results EvalResults) error {
	s, out := e.Summary, &writer{w: w}
	out.print("%s<testsuites>\n<testsuite name=\"loopd %s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n",
		xml.Header, e.Harness, s.Results, s.Failed, s.Invalid, s.NotRun)
	for r, err := range results {
		if err != nil {
			return fmt.Errorf("write JUnit report: %w", err)
		}
		text, err := xml.MarshalIndent(junitOf(r), "  ", "  ")
		if err != nil {
			return fmt.Errorf("write JUnit report: %w", err)
		}
		out.print("%s\n", text)
	}
	out.print("</testsuite>\n</testsuites>\n")
	return out.err
}

func junitOf(r harness.Evaluated) junitCase {
	c := junitCase{ClassName: r.Case, Name: document(r)}
	if ms, ok := r.Metrics[harness.DurationMS]; ok {
		c.Seconds = fmt.Sprintf("%.3f", ms/1000)
	}
	lines := linesOf(r)
	what := &junitMessage{Message: names(r.Failed), Text: strings.Join(lines, "\n")}
	if what.Message == "" {
		what.Message = strings.Join(lines, "; ")
	}
	switch r.Outcome {
	case harness.Pass:
	case harness.Fail:
		c.Failure = what
	case harness.Invalid:
		c.Error = what
	default:
		c.Skipped = what
	}
	return c
}
