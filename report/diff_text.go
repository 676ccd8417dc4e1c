package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Markdown renders the comparison for people.
func (d Diff) Markdown() []byte {
	if d.Saved != nil {
		return d.savedMarkdown()
	}
	return render("diff.md.tmpl", d)
}

// Headline is the comparison in one sentence.
func (d Diff) Headline() string {
	if len(d.Regressions) == 0 {
		return "nothing regressed"
	}
	if n := len(d.Regressions); n > 1 {
		return fmt.Sprintf("%d regressions", n)
	}
	return "1 regression"
}

// Text renders the comparison for a page of a width, 0 for a pipe.
func (d Diff) Text(width int) []byte {
	if d.Saved != nil {
		return d.savedText(width)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", d.Headline())
	for _, r := range d.Regressions {
		b.WriteString(Wrap("  "+r, "    ", width) + "\n")
	}
	if len(d.Regressions) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(Table(sideRows(d), width))
	if len(d.Differs) > 0 {
		fmt.Fprintf(&b, "\n%s\n", wrap(acrossText(d)))
	}
	if d.Simulated {
		b.WriteString("\nSimulated: the model behind these numbers is a program.\n")
	}
	b.WriteByte('\n')
	b.WriteString(Table(meanRows(d), width))
	for _, part := range d.parts() {
		b.WriteByte('\n')
		b.WriteString(Table(part.rows(), width))
	}
	fmt.Fprintf(&b, "\n%s\n", wrap(intervalsText))
	for _, rows := range d.tables() {
		b.WriteByte('\n')
		b.WriteString(Table(rows, width))
	}
	return b.Bytes()
}

// intervalsText says what an interval of a comparison is worth.
const intervalsText = "Differences are B minus A with 95 % intervals, each on its own: of forty cells in which nothing changed, one falls and one rises by chance. A champion's rates are flattered: it was kept because they were high."

// part is one list of changes under its heading.
type part struct {
	Name string
	List []Change
}

func (p part) rows() [][]string {
	rows := [][]string{{p.Name, "A", "B", "difference", ""}}
	for _, c := range p.List {
		rows = append(rows, []string{c.Name, countText(c.A), countText(c.B), changeText(c), string(c.Trend)})
	}
	return rows
}

func (d Diff) parts() []part {
	all := []part{{"cell", d.Cells}, {"guard", d.Guards}, {"detours", d.Detours}, {"control", d.Controls}}
	return slices.DeleteFunc(all, func(p part) bool { return len(p.List) == 0 })
}

// tables are the smaller lists that have rows, each with its heading first.
func (d Diff) tables() [][][]string {
	all := [][][]string{readingRows(d), countedRows("invalid", d.Invalid), countedRows("verdict", d.Verdicts), amountRows(d)}
	return slices.DeleteFunc(all, func(rows [][]string) bool { return len(rows) == 1 })
}

// Tables are the parts of the comparison, but for the items of evaluators, as rows
// of cells with the heading first. The first says which two were compared.
func (d Diff) Tables() [][][]string {
	if d.Saved != nil {
		return [][][]string{d.savedSides(), d.figureRows()}
	}
	out := [][][]string{sideRows(d), meanRows(d)}
	for _, p := range d.parts() {
		out = append(out, p.rows())
	}
	return append(out, d.tables()...)
}

// Notes are what has to be known beside the tables, a sentence or two each.
func (d Diff) Notes() []string {
	var out []string
	switch {
	case len(d.Differs) == 0:
	case d.Saved != nil:
		out = append(out, savedAcross(d))
	default:
		out = append(out, acrossText(d))
	}
	if d.Simulated {
		out = append(out, "Simulated: the model behind these numbers is a program.")
	}
	if d.Saved == nil {
		out = append(out, intervalsText)
	}
	return out
}

// joinCells makes one row of a Markdown table.
func joinCells(cells []string) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = tableCell(c)
	}
	return strings.Join(out, " | ")
}

func sideRows(d Diff) [][]string {
	out := [][]string{{"", "campaign", "outcome", "sessions", "start", "champion", "instrument"}}
	for i, s := range []Side{d.A, d.B} {
		out = append(out, []string{
			string(rune('A' + i)), s.Campaign, s.Outcome, fmt.Sprint(s.Sessions), brief(s.Start), brief(s.Champion), brief(s.Instrument),
		})
	}
	return out
}

// brief abbreviates a digest where seven sit in a row.
func brief(digest string) string { return digest[:min(len(digest), 8)] }

func acrossText(d Diff) string {
	return "Measured by different instruments, which differ in " + names(d.Differs) + ": a difference may be theirs and not the wording's."
}

func meanRows(d Diff) [][]string {
	return [][]string{{"mean pass rate", "A", "B", "difference", "cells"}, meanRow("champion", d.Metric), meanRow("start", d.Start)}
}

func meanRow(name string, m *Mean) []string {
	if m == nil {
		return []string{name, "-", "-", "no cell is measured in both", "0"}
	}
	return []string{
		name, fmt.Sprintf("%.3f", m.A), fmt.Sprintf("%.3f", m.B), fmt.Sprintf("%+.3f [%+.3f, %+.3f]", m.Difference, m.CI.Low, m.CI.High), fmt.Sprint(m.Cells),
	}
}

func changeText(c Change) string {
	if c.Difference == nil {
		return "-"
	}
	return differenceText(c.Difference)
}

func readingRows(d Diff) [][]string {
	out := [][]string{{"contrast", "A", "B"}}
	for _, r := range d.Readings {
		out = append(out, []string{r.Name, orDash(string(r.A)), orDash(string(r.B))})
	}
	return out
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func countedRows(name string, list []CountedOn) [][]string {
	out := [][]string{{name, "A", "B"}}
	for _, c := range list {
		out = append(out, []string{c.Name, fmt.Sprintf("%d/%d", c.A, c.OfA), fmt.Sprintf("%d/%d", c.B, c.OfB)})
	}
	return out
}

func amountRows(d Diff) [][]string {
	out := [][]string{{"per session", "A", "B", "unit"}}
	for _, a := range d.PerSession {
		out = append(out, []string{a.Name, amount(a.A), amount(a.B), a.Unit})
	}
	return out
}

func amount(v *float64) string {
	if v == nil {
		return "-"
	}
	if *v >= 100 {
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.3g", *v)
}

// longestWord is how many characters of a text from a document are shown.
const longestWord = 60

// plain keeps a text from a document within its line and free of what moves a
// terminal.
func plain(text string) string {
	clean := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	return string(clean[:min(len(clean), longestWord)])
}
