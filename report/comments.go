package report

import (
	"fmt"
	"strconv"

	"loopd/harness"
)

// Comment renders the digest as a comment on a pull request, of at most 60,000
// bytes. Nothing in it that a person or a model wrote is read as Markdown.
func (d Digest) Comment() []byte {
	c := newComment("report", d.Plugin, d.Headline)
	if d.Simulated {
		c.line("%s", simulatedText)
	}
	c.line("%s", d.Promise)
	if d.Gate != nil {
		c.line("At the gate, fresh sessions of both wordings: %s.", d.Gate.Effect)
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
