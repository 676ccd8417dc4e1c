package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Prose is the width beyond which a paragraph is no longer easy to read, however
// wide the page is.
const Prose = 80

const (
	columnGap   = 2 // cells between two columns
	columnLeast = 4 // cells that a column keeps
)

// measure is the same in every locale, so that a page is.
var measure = &runewidth.Condition{StrictEmojiNeutral: true}

// Width is how many cells of a terminal a text takes: a wide character takes two,
// a mark none.
func Width(text string) int { return measure.StringWidth(text) }

// printable is a text on one line and without what moves a terminal or turns the
// direction of what stands around it; a blank takes its place.
func printable(text string) string {
	const joiner = '\u200d' // holds an emoji together
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == joiner {
			return r
		}
		return ' '
	}, text)
}

// Wrap breaks a text at blanks so that its lines keep within the width, with
// indent before all but the first. A width of 0 stands for a pipe, in which a line
// has any length. The blanks it begins with stay. A word that is wider than a line
// stays whole.
func Wrap(text, indent string, width int) string {
	begin := leading(text)
	var b strings.Builder
	b.WriteString(begin)
	at := Width(begin)
	for i, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case i == 0:
		case width > 0 && at+1+n > width:
			b.WriteString("\n" + indent)
			at = Width(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// leading are the blanks a text begins with.
func leading(text string) string { return text[:len(text)-len(strings.TrimLeft(text, " "))] }

// Table aligns rows of cells by the cells a terminal draws, on a page of a width, 0
// for a pipe. It cuts nothing: where the rows are wider than the page, the widest
// columns are broken over several lines, between words first, and within a word
// where there is no other way.
func Table(rows [][]string, width int) string {
	var columns, words []int
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for k, cell := range row {
			if k == len(columns) {
				columns, words = append(columns, 0), append(words, columnLeast)
			}
			rows[i][k] = printable(cell)
			columns[k] = max(columns[k], Width(rows[i][k]))
			for _, word := range strings.Fields(rows[i][k]) {
				words[k] = max(words[k], Width(word))
			}
		}
	}
	if width > 0 {
		narrow(columns, words, width)
		narrow(columns, slices.Repeat([]int{columnLeast}, len(columns)), width)
	}
	var b strings.Builder
	for _, row := range rows {
		writeCells(&b, row, columns)
	}
	return b.String()
}

// narrow takes cells from the widest columns until they fit the page, from none
// below its floor.
func narrow(columns, floor []int, width int) {
	total := columnGap * (len(columns) - 1)
	for _, n := range columns {
		total += n
	}
	for ; total > width; total-- {
		widest := -1
		for k, n := range columns {
			if n > floor[k] && (widest < 0 || n > columns[widest]) {
				widest = k
			}
		}
		if widest < 0 {
			return
		}
		columns[widest]--
	}
}

// writeCells writes one row, which takes as many lines as its tallest cell. No line
// ends in blanks.
func writeCells(b *strings.Builder, row []string, columns []int) {
	cells, tallest := make([][]string, len(row)), 0
	for k, text := range row {
		cells[k] = within(text, columns[k])
		tallest = max(tallest, len(cells[k]))
	}
	for i := range tallest {
		pad := 0
		for k, lines := range cells {
			text := ""
			if i < len(lines) {
				text = lines[i]
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", pad) + text)
				pad = 0
			}
			pad += columns[k] - Width(text) + columnGap
		}
		b.WriteByte('\n')
	}
}

// within is a cell as lines of a width. A text that fits keeps its blanks.
func within(text string, width int) []string {
	if Width(text) <= width {
		return []string{strings.TrimRight(text, " ")}
	}
	var out []string
	for line := range strings.SplitSeq(Wrap(text, "", width), "\n") {
		for Width(line) > width {
			head := measure.Truncate(line, width, "")
			if head == "" {
				break // not one character fits
			}
			out, line = append(out, head), line[len(head):]
		}
		out = append(out, line)
	}
	return out
}

// TableWriter aligns the cells of lines that hold tabs, as a table for each run of
// such lines; other lines pass as they are. It writes nothing before Flush.
type TableWriter struct {
	bytes.Buffer
	to    io.Writer
	width int
}

// NewTableWriter returns a TableWriter for a page of a width, 0 for a pipe.
func NewTableWriter(to io.Writer, width int) *TableWriter { return &TableWriter{to: to, width: width} }

// Flush lays out what was written and hands it on.
func (w *TableWriter) Flush() error {
	var b strings.Builder
	var rows [][]string
	for line := range strings.Lines(w.String()) {
		if strings.Contains(line, "\t") {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
			continue
		}
		b.WriteString(Table(rows, w.width) + line)
		rows = nil
	}
	b.WriteString(Table(rows, w.width))
	w.Reset()
	_, err := io.WriteString(w.to, b.String())
	return err
}

// LayOut lays Markdown out for a page: a table becomes aligned columns, and a
// paragraph or item that is too wide is broken anew. What stands in a fence is
// kept as it is, to be copied. It reads no more of the language than the reports
// use.
func LayOut(markdown string, width int) string {
	var b strings.Builder
	var rows [][]string
	fence := ""
	flush := func() {
		if len(rows) > 1 && strings.Join(rows[0], "") == "" {
			rows = rows[1:] // a table that needs no head has an empty one
		}
		b.WriteString(Table(rows, width))
		rows = nil
	}
	for line := range strings.Lines(markdown) {
		line = printable(strings.TrimSuffix(line, "\n"))
		if fence == "" && strings.HasPrefix(line, "|") {
			if len(rows) != 1 || strings.Trim(line, "|-: ") != "" || !strings.Contains(line, "-") { // else the line below the head
				rows = append(rows, rowOf(line))
			}
			continue
		}
		flush()
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		default:
			line = unescaped.Replace(line)
			if page := min(width, Prose); page > 0 && Width(line) > page {
				line = Wrap(line, hanging(line), page)
			}
		}
		b.WriteString(line + "\n")
	}
	flush()
	return b.String()
}

// unescaped turns prose into what it is displayed as.
var unescaped = strings.NewReplacer(`\|`, "|", "&lt;", "<")

// rowOf reads a row of a Markdown table. A bar that is escaped belongs to its cell.
func rowOf(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.Trim(line, " "), `\|`, bar)
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.NewReplacer(bar, "|", "&lt;", "<", "`", "").Replace(cell))
	}
	return cells
}

// hanging is the indent below an item or a quotation.
func hanging(line string) string {
	begin := leading(line)
	switch rest := line[len(begin):]; {
	case strings.HasPrefix(rest, "- "):
		return begin + "  "
	case strings.HasPrefix(rest, "> "):
		return begin + "> "
	}
	return begin
}
