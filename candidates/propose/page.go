package propose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"loopd/candidates"
)

// page is one file of the wording, cut where the operators may cut.
type page struct {
	file File
	head string // front matter with its --- lines; empty for a note
	body string // with line feeds alone
	crlf bool
}

// newPage cuts the front matter off a SKILL.md. A file whose front matter cannot be read has no body to change.
func newPage(f File) page {
	p := page{file: f, body: f.Text, crlf: strings.Contains(f.Text, "\r\n")}
	if !f.Note {
		p.body = candidates.ReadSkill([]byte(f.Text)).Body
		p.head = strings.TrimSuffix(f.Text, p.body)
	}
	p.body = strings.ReplaceAll(p.body, "\r\n", "\n")
	return p
}

// with is the file with another body.
func (p page) with(body string) string {
	if p.crlf {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	return p.head + body
}

// kind is what a block of Markdown is.
type kind string

const (
	heading kind = "heading"
	text    kind = "text"
	item    kind = "item" // of a list, with what is indented below it
	other   kind = "other"
)

// block is a stretch of a body: body[start:end], without the blank lines around it.
type block struct {
	kind       kind
	start, end int
	level      int  // of a heading
	numbered   bool // an item with a number
	plain      bool // no fence within: sentences may be told apart
}

var (
	headingLine  = regexp.MustCompile(`^(#{1,6})[ \t]`)
	itemLine     = regexp.MustCompile(`^(?:[-*+]|(\d{1,3})[.)])[ \t]+`)
	fenceLine    = regexp.MustCompile("^[ \t]*(?:```|~~~)")
	specialStart = regexp.MustCompile(`^(?:[|>]|<|    |\t)`)
)

// blocks cuts a body into headings, paragraphs, list items and what is left alone: fences, tables, quotes.
func blocks(body string) []block {
	var out []block
	fence := false // within a fence
	open := -1     // the block that the next line belongs to
	pos := 0
	for line := range strings.SplitAfterSeq(body, "\n") {
		start, bare := pos, strings.TrimRight(line, " \t\n")
		pos += len(line)
		end := start + len(bare)
		mark := fenceLine.MatchString(bare)
		indented := bare != strings.TrimLeft(bare, " \t")
		switch {
		case fence || mark:
			if mark && !fence && (open < 0 || !indented || out[open].kind != item) {
				out = append(out, block{kind: other, start: start})
				open = len(out) - 1
			}
			out[open].end, out[open].plain = max(out[open].end, end), false
			if mark {
				fence = !fence
				if !fence && out[open].kind == other {
					open = -1
				}
			}
		case bare == "":
			if open >= 0 && out[open].kind != item {
				open = -1
			}
		case headingLine.MatchString(bare):
			out = append(out, block{kind: heading, start: start, end: end, level: len(headingLine.FindStringSubmatch(bare)[1])})
			open = -1
		case itemLine.MatchString(bare):
			out = append(out, block{kind: item, start: start, end: end, numbered: itemLine.FindStringSubmatch(bare)[1] != "", plain: true})
			open = len(out) - 1
		case open >= 0 && (out[open].kind != item || indented || !blankBefore(body, start)):
			out[open].end = end
		default:
			k := text
			if specialStart.MatchString(bare) {
				k = other
			}
			out = append(out, block{kind: k, start: start, end: end, plain: k == text})
			open = len(out) - 1
		}
	}
	return out
}

// blankBefore says whether the line before a place is blank.
func blankBefore(body string, start int) bool {
	before := strings.TrimSuffix(body[:start], "\n")
	return strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) == ""
}

// span is a stretch of a body.
type span struct{ start, end int }

// content is a block without the mark of a list item.
func (b block) content(body string) span {
	if b.kind == item {
		return span{b.start + len(itemLine.FindString(body[b.start:b.end])), b.end}
	}
	return span{b.start, b.end}
}

// abbreviations end with a full stop that ends no sentence.
var abbreviations = []string{"e.g", "i.e", "etc", "cf", "vs", "approx", "no"}

// sentences cuts a stretch of prose at its sentence ends. Each is without the white space behind it.
func sentences(body string, in span) []span {
	var out []span
	start := in.start
	runes := body[in.start:in.end]
	code := false
	for i, r := range runes {
		if r == '`' {
			code = !code
		}
		at := in.start + i
		if code || !strings.ContainsRune(".!?", r) || !endsSentence(body[start:at], body[at+1:in.end]) {
			continue
		}
		end := at + 1
		for end < in.end && strings.IndexByte("\"')]*_", body[end]) >= 0 {
			end++
		}
		out = append(out, span{start, end})
		start = end + len(body[end:in.end]) - len(strings.TrimLeft(body[end:in.end], " \t\n"))
	}
	if strings.TrimSpace(body[min(start, in.end):in.end]) != "" {
		out = append(out, span{start, in.end})
	}
	return out
}

// endsSentence says whether a stop between two texts ends a sentence: white space and no small letter follow, and no
// abbreviation is before it.
func endsSentence(before, after string) bool {
	after = strings.TrimLeft(after, "\"')]*_")
	next := strings.TrimLeft(after, " \t\n")
	if next != "" && (next == after || unicode.IsLower([]rune(next)[0])) {
		return false
	}
	word := before[strings.LastIndexAny(before, " \t\n(")+1:]
	return !slices.Contains(abbreviations, strings.ToLower(word)) && strings.TrimSpace(before) != ""
}

// cut takes a stretch out of a body, with the white space behind it, or before it where nothing of its line follows.
func cut(body string, s span) string {
	before, after := body[:s.start], body[s.end:]
	trimmed := strings.TrimLeft(after, " \t")
	ends := trimmed == "" || trimmed[0] == '\n'
	line := before[strings.LastIndexByte(before, '\n')+1:]
	switch {
	case !ends:
		return before + trimmed
	case strings.TrimSpace(line) != "" && !itemLine.MatchString(line) || strings.TrimSpace(before) == "":
		return strings.TrimRight(before, " \t\n") + trimmed
	}
	// It filled its lines: they go, and one of the two gaps around them.
	before = strings.TrimSuffix(before, line)
	after = strings.TrimPrefix(trimmed, "\n")
	if strings.HasSuffix(before, "\n\n") {
		after = strings.TrimLeft(after, "\n")
	}
	if after == "" {
		before = strings.TrimRight(before, "\n") + "\n"
	}
	return before + after
}

// joined makes one line of a stretch: prose is wrapped in many files.
func joined(text string) string { return strings.Join(strings.Fields(text), " ") }

var number = regexp.MustCompile(`^(\d{1,3})([.)][ \t])`)

// renumbered numbers every list of a body from 1 on. A list is over at a line that is neither blank, indented nor an
// item.
func renumbered(body string) string {
	var out strings.Builder
	fence, next, inside := false, 0, false
	for line := range strings.SplitAfterSeq(body, "\n") {
		m := number.FindStringSubmatch(line)
		switch {
		case fenceLine.MatchString(line):
			fence = !fence
		case fence || strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t':
		case m == nil:
			inside = false
		default:
			if !inside {
				next, inside = 1, true
			}
			line = strconv.Itoa(next) + m[2] + line[len(m[0]):]
			next++
		}
		out.WriteString(line)
	}
	return out.String()
}
