package report

import (
	"fmt"
	"strconv"
	"strings"

	"loopd/harness"
)

// Comment renders the digest as a comment on a pull request, of at most 60,000
// bytes. Nothing in it that a person or a model wrote is read as Markdown.
func (d Digest) Comment() []byte {
	c := newComment("report", d.Plugin, d.Headline)
	if d.Simulated {
		c.line("Simulated: the model behind these numbers is a program.")
	}
	c.line("%s", d.Promise)
	if d.Gate != nil {
		c.line("At the gate, fresh sessions of both wordings: %s.", effectText(d.Gate.Effect))
	}
	c.b.WriteString(commentTable(candidateRows(d.Candidates), commentRows))
	if len(d.Candidates) > 0 {
		c.b.WriteByte('\n')
	}
	if d.Gate != nil {
		c.fold("The gate by cell", commentTable(cellRows(d.Gate.Cells), foldedRows))
	}
	c.fold("Every session by cell", commentTable(cellRows(d.Cells), foldedRows))
	c.fold("Wording that changed", commentDiff(d.Diff))
	c.fold("Sessions that are no evidence", commentList(lostLines(d.Lost), len(d.Lost)))
	c.fold("Warnings", commentList(d.Warnings, len(d.Warnings)))
	return c.bytes(fmt.Sprintf("Campaign %s on %s, %s of %d. `loopd report` has the rest.", shown(d.ID, commentWord), shown(d.Plugin, commentWord), plural(d.Sessions), d.Budget))
}

func candidateRows(list []Summary) [][]string {
	rows := [][]string{{"candidate", "verdict", "sessions", "E", "why it was tried"}}
	for _, s := range list {
		rows = append(rows, []string{s.ID, verdictText(s), strconv.Itoa(s.Sessions), evidence(s.EValue), s.Rationale})
	}
	return rows
}

func cellRows(cells []Cell) [][]string {
	rows := [][]string{{"cell", "start", "champion"}}
	for _, c := range cells {
		rows = append(rows, []string{c.Name, rateText(c.Champion), rateText(c.Candidate)})
	}
	return rows
}

func lostLines(list []Lost) []string {
	var out []string
	for _, l := range list {
		out = append(out, fmt.Sprintf("%d %s%s", l.Count, l.Class, because(l.Why)))
	}
	return out
}

// Comment renders the comparison as a comment on a pull request, of at most
// 60,000 bytes.
func (d Diff) Comment() []byte {
	if d.Saved != nil {
		return d.savedComment()
	}
	c := newComment("diff", string(d.Harness), d.Headline())
	if d.Simulated {
		c.line("Simulated: the model behind these numbers is a program.")
	}
	c.line("From %s to %s, the mean pass rate over the cells measured in both:", shown(d.A.Campaign, commentWord), shown(d.B.Campaign, commentWord))
	c.b.WriteString(commentTable([][]string{{"wording", "A", "B", "difference", "cells"}, meanRow("champion", d.Metric), meanRow("start", d.Start)}, commentRows) + "\n")
	if len(d.Differs) > 0 {
		c.line("Measured by different instruments, which differ in %s: a difference may be theirs and not the wording's.", shown(names(d.Differs), headWord))
	}
	c.fold("Regressions", commentList(d.Regressions, len(d.Regressions)))
	for _, part := range d.parts() {
		rows := [][]string{{part.Name, "A", "B", "difference", ""}}
		for _, ch := range part.List {
			rows = append(rows, []string{ch.Name, rateText(ch.A), rateText(ch.B), changeText(ch), string(ch.Trend)})
		}
		c.fold(titled(part.Name), commentTable(rows, foldedRows))
	}
	for _, rows := range d.tables() {
		c.fold(titled(rows[0][0]), commentTable(rows, foldedRows))
	}
	return c.bytes(intervalsText)
}

// titled is a heading of ours as it begins a line.
func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (d Diff) savedComment() []byte {
	c := newComment("diff", string(d.Harness), d.Headline())
	c.line("From %s to %s:", shown(d.Saved.A.Name, commentWord), shown(d.Saved.B.Name, commentWord))
	c.b.WriteString(commentTable(d.figureRows(), commentRows) + "\n")
	if len(d.Differs) > 0 {
		c.line("Evaluated by different instruments, which differ in %s: a change may be the rules' and not the documents'.", shown(names(d.Differs), headWord))
	}
	c.fold("Regressions", commentList(d.Regressions, len(d.Regressions)))
	others := d.others()
	c.fold("Changed, and no regression", commentList(others, len(others)))
	return c.bytes("`loopd diff --markdown` has the rest.")
}

// Comment renders the report as a comment on a pull request, of at most 60,000
// bytes.
func (e Eval) Comment(results EvalResults) ([]byte, error) {
	c := newComment("eval "+string(e.Harness), e.Cases, e.Summary.Headline())
	c.line("%s, cases %s:", e.Title(), shown(e.Cases, commentWord))
	c.b.WriteString(commentTable(append([][]string{{"what", "measured"}}, e.Summary.Rows()...), commentRows) + "\n")
	var failed []string
	n := 0
	for r, err := range results {
		if err != nil {
			return nil, fmt.Errorf("write comment: %w", err)
		}
		lines := failedLines(r)
		n += len(lines)
		failed = append(failed, lines[:min(len(lines), foldedRows-len(failed))]...)
	}
	c.fold("What did not pass", commentList(failed, n))
	return c.bytes(fmt.Sprintf("Instrument `%s`.", brief(e.Instrument))), nil
}

// failedLines says of each check of a result that did not pass what was found.
func failedLines(r harness.Evaluated) []string {
	var out []string
	for _, line := range linesOf(r) {
		out = append(out, fmt.Sprintf("%s, %s: %s", r.Case, document(r), line))
	}
	return out
}
