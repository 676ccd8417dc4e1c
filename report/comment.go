package report

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// longestComment is how many bytes a comment may have. GitHub takes 65,536
// characters and refuses the whole comment beyond.
const longestComment = 60_000

// How much of a thing stands in a comment.
const (
	commentRows = 30  // of the table that is seen at once
	foldedRows  = 100 // of a table or list that is folded in
	commentWord = 120 // characters of a text that somebody else wrote
	headWord    = 300 // characters of a headline
)

// comment is Markdown for a pull request: the verdict, one table, and the rest
// folded in. It begins with a marker that stays the same from run to run, by which
// a bot finds its last comment. Whatever somebody else wrote goes through shown.
type comment struct {
	b    bytes.Buffer
	left []string // what would have been too long
}

// newComment begins a comment about a subject: a plugin, or a file of cases.
func newComment(kind, subject, headline string) *comment {
	c := &comment{}
	fmt.Fprintf(&c.b, "<!-- loopd %s %s -->\n## %s\n\n", kind, markerName(subject), shown(headline, headWord))
	return c
}

// markerName is a name as it can stand in a marker: other names have others, and
// none ends it.
func markerName(name string) string {
	const most = 40
	plain := regexp.MustCompile(`[^A-Za-z0-9._]+`).ReplaceAllString(name, "-")
	if plain == name && name != "" && len(name) <= most {
		return name
	}
	return strings.Trim(plain[:min(len(plain), most)], "-") + "." + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:8]
}

// line writes a sentence of our own.
func (c *comment) line(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n\n", args...) }

// fold puts a part behind its summary, or leaves it out where the comment would
// get too long.
func (c *comment) fold(summary, body string) {
	if body == "" {
		return
	}
	const kept = 2_000 // for what comes last
	text := fmt.Sprintf("<details>\n<summary>%s</summary>\n\n%s\n\n</details>\n\n", summary, strings.TrimRight(body, "\n"))
	if c.b.Len()+len(text) > longestComment-kept {
		c.left = append(c.left, summary)
		return
	}
	c.b.WriteString(text)
}

// bytes ends the comment with the command that shows all of it.
func (c *comment) bytes(rest string) []byte {
	if len(c.left) > 0 {
		c.line("Too long for a comment: %s.", names(c.left))
	}
	c.b.WriteString(rest + "\n")
	return c.b.Bytes()
}

// commentTable is a table of at most so many rows below its head, which is ours.
func commentTable(rows [][]string, most int) string {
	if len(rows) < 2 {
		return ""
	}
	text := markdownTable(rows[:min(len(rows), most+1)], func(cell string) string { return shown(cell, commentWord) })
	if more := len(rows) - 1 - most; more > 0 {
		text += fmt.Sprintf("\nand %d more\n", more)
	}
	return text
}

// commentList is a list of the first items of a number.
func commentList(items []string, of int) string {
	var b strings.Builder
	items = items[:min(len(items), foldedRows)]
	for _, text := range items {
		fmt.Fprintf(&b, "- %s\n", shown(text, headWord))
	}
	if more := of - len(items); more > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", more)
	}
	return b.String()
}

// harmless is text that means nothing in Markdown as GitHub reads it; meant is what
// it would make a link or a picture of all the same.
var (
	harmless = regexp.MustCompile(`^[A-Za-z0-9_ .,;:=()\[\]+%/'"…-]+$`)
	meant    = regexp.MustCompile(`(?i)://|www\.|\bgh-|:[a-z0-9+-]+:|\]\(|\]:|\]\[|\b_|_\b`)
)

// shown is a text that somebody else wrote, on one line and cut at so many
// characters. What could mean anything stands in a code span, in which nothing is
// looked for: no mention, no issue, no HTML, no picture. A bar would end a cell
// there as well, so another stands for it.
func shown(text string, most int) string {
	text = strings.Join(strings.Fields(printable(strings.ToValidUTF8(text, "\ufffd"))), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	switch {
	case text == "":
		return "-"
	case harmless.MatchString(text) && !meant.MatchString(text):
		return text
	}
	text = strings.ReplaceAll(text, "|", "¦")
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// longestRun is the length of the longest run of backticks in a text.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// commentDiff is a wording diff in a fence, cut after a line where it is long.
func commentDiff(diff string) string {
	if diff == "" {
		return ""
	}
	const most = 20_000
	var b strings.Builder
	lines := slices.Collect(strings.Lines(strings.ToValidUTF8(diff, "\ufffd")))
	shownLines := 0
	for _, line := range lines {
		line = strings.ReplaceAll(printable(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")), "\u200d", "")
		if b.Len()+len(line) > most {
			break
		}
		b.WriteString(line + "\n")
		shownLines++
	}
	text := b.String()
	f := fence(text)
	out := f + "diff\n" + text + f + "\n"
	if more := len(lines) - shownLines; more > 0 {
		out += fmt.Sprintf("\nand %d more lines\n", more)
	}
	return out
}

// fence returns a code fence longer than any run of backticks in the text.
func fence(text string) string { return strings.Repeat("`", max(longestRun(text), 2)+1) }
