package candidates

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spellings are the ways to write a text in the place of a scalar, the most
// faithful to its style first. The caller takes the first that reads back.
func (s scalar) spellings(text string) []string {
	var out []string
	lead := ""
	if s.start == s.end { // the value was empty: nothing stands between it and the colon
		lead = " "
	}
	flow := func(values ...string) {
		for _, v := range values {
			if s.width > 0 {
				out = append(out, lead+s.wrap(v))
			}
			out = append(out, lead+v)
		}
	}
	switch {
	case s.style == folded && blockText(text):
		out = append(out, s.block('>', text, s.foldLines(text)))
	case s.style == literal && blockText(text):
		out = append(out, s.block('|', text, strings.Split(strings.TrimSuffix(text, "\n"), "\n")))
	case s.style == plain && plainText(text):
		flow(text)
	}
	if (s.style == plain || s.style == single) && printable(text) {
		flow("'" + strings.ReplaceAll(text, "'", "''") + "'")
	}
	flow(quoted(text))
	return out
}

// block writes a text below its header. The header's chomping is changed only
// where the text ends otherwise than it says.
func (s scalar) block(mark byte, text string, lines []string) string {
	header, comment, _ := strings.Cut(s.header, " ")
	if strings.HasSuffix(text, "\n") {
		header = strings.ReplaceAll(header, "-", "")
	} else {
		header = strings.NewReplacer("+", "", "-", "").Replace(header) + "-"
	}
	if comment != "" {
		header += " " + comment
	}
	var b strings.Builder
	b.WriteByte(mark)
	b.WriteString(header)
	for _, line := range lines {
		b.WriteString(s.eol)
		if line != "" {
			b.WriteString(s.indent + line)
		}
	}
	return b.String()
}

// foldLines breaks a text for a folded block: a line break of the text is an
// empty line more there.
func (s scalar) foldLines(text string) []string {
	var out []string
	for i, paragraph := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if i > 0 {
			out = append(out, "")
		}
		if paragraph == "" {
			continue
		}
		width := s.width
		if width == 0 {
			width = len(text) + len(s.indent)
		}
		out = append(out, broken(paragraph, len(s.indent), len(s.indent), width)...)
	}
	return out
}

// wrap breaks a value that stood on several lines again.
func (s scalar) wrap(value string) string {
	return strings.Join(broken(value, s.column, len(s.indent), s.width), s.eol+s.indent)
}

// broken cuts a text into lines of at most width columns, at single spaces
// before a letter or a digit: whatever else starts a line may mean something.
func broken(text string, first, indent, width int) []string {
	var lines []string
	start, last, column := 0, -1, first
	for i, r := range text {
		if r == ' ' && i > 0 && foldable(text, i) {
			last = i
		}
		column++
		if column > width && last > start {
			lines = append(lines, text[start:last])
			start = last + 1
			column = indent + utf8.RuneCountInString(text[start:i+utf8.RuneLen(r)])
		}
	}
	return append(lines, text[start:])
}

// foldable says whether the space at i may become a line break.
func foldable(text string, i int) bool {
	next, _ := utf8.DecodeRuneInString(text[i+1:])
	return text[i-1] != ' ' && text[i-1] != '\\' && (unicode.IsLetter(next) || unicode.IsDigit(next))
}

// printable says whether a text can stand in a file without escapes, on one line.
func printable(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// blockText says whether a text can stand in a block: no line begins or ends
// with white space, and there is a line.
func blockText(text string) bool {
	text = strings.TrimSuffix(text, "\n")
	if strings.TrimSpace(text) == "" {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !printable(line) || line != strings.TrimSpace(line) {
			return false
		}
	}
	return !strings.HasPrefix(text, "\n") && !strings.HasSuffix(text, "\n")
}

// notPlain finds what ends or begins something else in a value without quotes.
var notPlain = regexp.MustCompile(`^[-?:,\[\]{}#&*!|>'"%@` + "`" + `~=]|^<<|: |:$| #|^[.+\d][^ ]*$|^(?i:true|false|null|yes|no|on|off|y|n)$`)

// plainText says whether a text needs no quotes, by any reader of YAML.
func plainText(text string) bool {
	return text != "" && printable(text) && text == strings.TrimSpace(text) && !notPlain.MatchString(text)
}

// quoted writes any text in double quotes.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
