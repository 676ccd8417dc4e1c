// Package columns lays text out for people: it wraps prose and aligns tables by
// the cells a terminal draws, of which a wide character takes two and a mark
// none. It cuts nothing: what does not fit goes on in the next line.
//
// It knows no terminal. Whoever prints says how wide the page is; 0 stands for a
// pipe, in which a line has any length.
package columns

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Prose is the width beyond which a paragraph is no longer easy to read, however
// wide the page is.
const Prose = 80

const (
	gap     = 2 // cells between two columns
	fewest  = 4 // cells that a column keeps
	joiner  = '\u200d'
	nothing = ""
)

// measure is the same in every locale, so that a page is.
var measure = &runewidth.Condition{StrictEmojiNeutral: true}

// Width is how many cells of a terminal a text takes.
func Width(text string) int { return measure.StringWidth(text) }

// Plain is a text on one line and without what moves a terminal or turns the
// direction of what stands around it; a blank takes its place.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == joiner {
			return r
		}
		return ' '
	}, text)
}

// Wrap breaks a text at blanks so that its lines keep within the width, with
// indent before all but the first. The blanks it begins with stay. A word that is
// wider than a line stays whole.
func Wrap(text, indent string, width int) string {
	begin := text[:len(text)-len(strings.TrimLeft(text, " "))]
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

// Table aligns rows of cells. Where they are wider than the page, the widest
// columns are broken over several lines: between words first, and within a word
// where there is no other way.
func Table(rows [][]string, width int) string {
	var longest, words []int
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for k, cell := range row {
			if k == len(longest) {
				longest, words = append(longest, 0), append(words, fewest)
			}
			rows[i][k] = Plain(cell)
			longest[k] = max(longest[k], Width(rows[i][k]))
			for _, word := range strings.Fields(rows[i][k]) {
				words[k] = max(words[k], Width(word))
			}
		}
	}
	fit(longest, words, width)
	var b strings.Builder
	for _, row := range rows {
		writeRow(&b, row, longest)
	}
	return b.String()
}

// fit narrows the columns until they fit the page, none below its longest word
// if that can be helped.
func fit(columns, words []int, width int) {
	if width <= 0 {
		return
	}
	least := slices.Repeat([]int{fewest}, len(columns))
	for _, floor := range [][]int{words, least} {
		for total(columns) > width {
			widest := -1
			for k, n := range columns {
				if n > floor[k] && (widest < 0 || n > columns[widest]) {
					widest = k
				}
			}
			if widest < 0 {
				break
			}
			columns[widest]--
		}
	}
}

func total(columns []int) int {
	sum := gap * (len(columns) - 1)
	for _, n := range columns {
		sum += n
	}
	return sum
}

// writeRow writes one row, which takes as many lines as its tallest cell. No line
// ends in blanks.
func writeRow(b *strings.Builder, row []string, columns []int) {
	cells := make([][]string, len(row))
	for k, text := range row {
		cells[k] = within(text, columns[k])
	}
	tallest := slices.MaxFunc(append(cells, []string{nothing}), func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	for i := range tallest {
		line, pad := "", 0
		for k, lines := range cells {
			text := nothing
			if i < len(lines) {
				text = lines[i]
			}
			if text != nothing {
				line += strings.Repeat(" ", pad) + text
				pad = 0
			}
			pad += columns[k] - Width(text) + gap
		}
		b.WriteString(line + "\n")
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
