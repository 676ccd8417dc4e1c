package report

import (
	"strings"
	"unicode"

	edits "znkr.io/diff"
)

// DiffLine is one line of a wording diff, in pieces of which some changed.
type DiffLine struct {
	// Kind is file, place (of a stretch that is shown), same, removed or added.
	Kind   string  `json:"kind"`
	Pieces []Piece `json:"pieces"`
}

// Piece is a part of a line. Changed marks the words that another line has
// otherwise.
type Piece struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed"`
}

// Words reads a unified diff into lines and marks the words that changed: where
// lines were removed and others added in their place, word is compared with word.
func Words(unified string) []DiffLine {
	var out []DiffLine
	var removed, added []string
	flush := func() {
		before, after := marked(strings.Join(removed, "\n"), strings.Join(added, "\n"))
		for _, line := range before[:len(removed)] {
			out = append(out, DiffLine{"removed", line})
		}
		for _, line := range after[:len(added)] {
			out = append(out, DiffLine{"added", line})
		}
		removed, added = nil, nil
	}
	for line := range strings.Lines(unified) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "--- a/"):
			flush()
			out = append(out, DiffLine{"file", []Piece{{Text: strings.TrimPrefix(line, "--- a/")}}})
		case strings.HasPrefix(line, "+++ b/"):
		case strings.HasPrefix(line, "@@"):
			flush()
			out = append(out, DiffLine{"place", []Piece{{Text: line}}})
		case strings.HasPrefix(line, "-"):
			removed = append(removed, line[1:])
		case strings.HasPrefix(line, "+"):
			added = append(added, line[1:])
		default:
			flush()
			out = append(out, DiffLine{"same", []Piece{{Text: strings.TrimPrefix(line, " ")}}})
		}
	}
	flush()
	return out
}

// marked compares two texts word by word and returns the lines of each. A text
// without the other is not marked: all of it changed.
func marked(before, after string) (old, now [][]Piece) {
	if before == "" || after == "" {
		return split(Piece{Text: before}), split(Piece{Text: after})
	}
	old, now = [][]Piece{nil}, [][]Piece{nil}
	for _, e := range edits.Edits(tokens(before), tokens(after)) {
		switch e.Op {
		case edits.Match:
			old, now = extend(old, e.X, false), extend(now, e.Y, false)
		case edits.Delete:
			old = extend(old, e.X, true)
		case edits.Insert:
			now = extend(now, e.Y, true)
		}
	}
	return old, now
}

func split(p Piece) [][]Piece { return extend([][]Piece{nil}, p.Text, false) }

// extend appends text to the last of the lines, and begins new ones at its line
// breaks. Neighbours of one kind become one piece.
func extend(lines [][]Piece, text string, changed bool) [][]Piece {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			lines = append(lines, nil)
		}
		if part == "" {
			continue
		}
		last := len(lines) - 1
		if n := len(lines[last]); n > 0 && lines[last][n-1].Changed == changed {
			lines[last][n-1].Text += part
			continue
		}
		lines[last] = append(lines[last], Piece{part, changed})
	}
	return lines
}

// tokens cuts a text into words, runs of blanks, and single other characters.
func tokens(text string) []string {
	var out []string
	kind := func(r rune) int {
		switch {
		case r == '\n':
			return 0
		case unicode.IsSpace(r):
			return 1
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return 2
		}
		return 3
	}
	last := -1
	for _, r := range text {
		k := kind(r)
		if k == last && (k == 1 || k == 2) {
			out[len(out)-1] += string(r)
			continue
		}
		out, last = append(out, string(r)), k
	}
	return out
}
