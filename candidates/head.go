package candidates

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// style is how a scalar is written in YAML.
type style string

const (
	plain   style = "plain"
	single  style = "single" // in single quotes
	double  style = "double" // in double quotes
	folded  style = "folded" // below >
	literal style = "literal"
)

// scalar is where a value stands in a SKILL.md and how it is written there.
type scalar struct {
	start, end int // bytes of the file
	style      style
	header     string // of a block: what follows > or |
	indent     string // of its second and later lines
	width      int    // of its longest line; 0 for a value on a single line
	column     int    // at which it starts
	eol        string
}

// SetDescription returns a SKILL.md whose description is text, with every other
// byte as it was. See SetHead.
func SetDescription(content []byte, text string) ([]byte, error) {
	return SetHead(content, "description", text)
}

// SetHead returns a SKILL.md whose front matter says text under key, one of the
// keys that are wording. Every byte outside that value stays: line ends, byte
// order mark, other keys, comments, body. The value keeps its style where the
// text allows it, else it is quoted; read again it is exactly text. It is an
// error when the key is not there or its value is no text.
func SetHead(content []byte, key, text string) ([]byte, error) {
	if !slices.Contains(wordingKeys(), key) {
		return nil, fmt.Errorf("set %s: only %s are wording", key, strings.Join(wordingKeys(), ", "))
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("set %s: the text is not valid UTF-8", key)
	}
	head, body, err := parseSkill(string(content))
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", key, err)
	}
	if old, there := head[key]; there && old != nil {
		if _, ok := old.(string); !ok {
			return nil, fmt.Errorf("set %s: its value is no text", key)
		}
	}
	at, err := locate(string(content), key)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", key, err)
	}
	head[key] = text
	for _, value := range at.spellings(text) {
		next := string(content[:at.start]) + value + string(content[at.end:])
		got, rest, err := parseSkill(next)
		if err == nil && rest == body && reflect.DeepEqual(got, head) {
			return []byte(next), nil
		}
	}
	return nil, fmt.Errorf("set %s: no spelling of the text reads back as it is", key)
}

// locate finds the value of a key of the front matter.
func locate(text, key string) (scalar, error) {
	first, last, err := headBounds(text)
	if err != nil {
		return scalar{}, err
	}
	name := regexp.MustCompile(`^["']?` + regexp.QuoteMeta(key) + `["']?[ \t]*:(?:[ \t]|\r?\n|$)`)
	pos := first
	for line := range strings.SplitAfterSeq(text[first:last], "\n") {
		if name.MatchString(line) {
			after := pos + strings.Index(line, ":") + 1
			end := valueEnd(text[:last], pos+len(line))
			return scalarIn(text, pos, after, end)
		}
		pos += len(line)
	}
	return scalar{}, errors.New("the front matter has no such key of its own")
}

// headBounds are the bytes between the two --- lines.
func headBounds(text string) (first, last int, err error) {
	head, _, err := splitSkill(text)
	if err != nil {
		return 0, 0, err
	}
	first = strings.Index(text, "\n") + 1
	return first, first + len(head), nil
}

// valueEnd is where the lines that may belong to a value of the outermost map
// end: before the next line that is not indented.
func valueEnd(text string, pos int) int {
	for line := range strings.SplitAfterSeq(text[pos:], "\n") {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			break
		}
		pos += len(line)
	}
	return pos
}

// scalarIn reads the value in text[after:end]; its key's line begins at line.
func scalarIn(text string, line, after, end int) (scalar, error) {
	s := scalar{start: skipBlank(text[:end], after), eol: eolAt(text, after), indent: "  "}
	if s.start == end { // nothing there
		s.start, s.end, s.style = after, after, plain
		return s, nil
	}
	s.column = utf8.RuneCountInString(text[strings.LastIndex(text[:s.start], "\n")+1 : s.start])
	var err error
	switch text[s.start] {
	case '>', '|':
		s.readBlock(text[:end])
		return s, nil
	case '"':
		s.style = double
		s.end, err = closing(text[:end], s.start, '"')
	case '\'':
		s.style = single
		s.end, err = closing(text[:end], s.start, '\'')
	case '[', '{', '&', '*', '!', '%', '@', '`':
		return s, errors.New("its value is no text")
	default:
		s.style = plain
		s.end = plainEnd(text[:end], s.start)
	}
	s.measure(text[s.start:s.end])
	return s, err
}

// skipBlank goes over white space, line ends and comments.
func skipBlank(text string, pos int) int {
	for pos < len(text) {
		switch {
		case strings.IndexByte(" \t\r\n", text[pos]) >= 0:
			pos++
		case text[pos] == '#' && strings.IndexByte(" \t\n", text[pos-1]) >= 0:
			n := strings.IndexByte(text[pos:], '\n')
			if n < 0 {
				return len(text)
			}
			pos += n
		default:
			return pos
		}
	}
	return pos
}

// closing is the place behind the quote that ends a value.
func closing(text string, start int, quote byte) (int, error) {
	for i := start + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1, nil
		}
	}
	return len(text), errors.New("its quote is not closed")
}

// plainEnd is where a value without quotes ends: before a comment and the white
// space that follows the value.
func plainEnd(text string, start int) int {
	end := len(text)
	for i := start + 1; i < end; i++ {
		if text[i] == '#' && strings.IndexByte(" \t\n", text[i-1]) >= 0 {
			end = i
		}
	}
	return start + len(strings.TrimRight(text[start:end], " \t\r\n"))
}

// readBlock reads a scalar below > or |. Blank lines after it are its own only
// where the header says that they are kept.
func (s *scalar) readBlock(text string) {
	s.style = literal
	if text[s.start] == '>' {
		s.style = folded
	}
	first, rest, _ := strings.Cut(text[s.start:], "\n")
	s.header = strings.TrimRight(first[1:], " \t\r")
	s.end = s.start + len(strings.TrimRight(text[s.start:], " \t\r\n"))
	if strings.Contains(s.header, "+") {
		s.end = len(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"))
	}
	s.end = max(s.end, s.start+1+len(s.header))
	for line := range strings.Lines(rest) {
		if lead := line[:len(line)-len(strings.TrimLeft(line, " "))]; strings.TrimSpace(line) != "" {
			s.indent = lead
			break
		}
	}
	s.column = 0
	if lines := strings.TrimSpace(rest); strings.Contains(lines, "\n") {
		s.width = widest(rest)
	}
}

// narrowest is the least a value is wrapped to.
const narrowest = 40

// measure sees how wide the lines of a value are and how later ones are
// indented. One on a single line has no width.
func (s *scalar) measure(value string) {
	_, rest, several := strings.Cut(value, "\n")
	if !several {
		return
	}
	s.width = widest(strings.Repeat(" ", s.column) + value)
	for line := range strings.Lines(rest) {
		if text := strings.TrimLeft(line, " \t"); strings.TrimSpace(text) != "" {
			s.indent = line[:len(line)-len(text)]
			return
		}
	}
}

// widest is how many characters the longest line of a value has.
func widest(value string) int {
	width := narrowest
	for line := range strings.Lines(value) {
		width = max(width, utf8.RuneCountInString(strings.TrimRight(line, " \t\r\n")))
	}
	return width
}
