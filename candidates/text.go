package candidates

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// notText says why content is not text, or "". Another kind of line end than the file's is refused too: it rewrites
// every line for a reviewer and says nothing to a model.
func notText(base, content []byte) string {
	if !utf8.Valid(content) {
		return "not valid UTF-8"
	}
	for i, b := range content {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' || b == 0x7f {
			return fmt.Sprintf("control character 0x%02x at byte %d", b, i)
		}
	}
	switch {
	case len(bytes.TrimSpace(content)) == 0:
		return "nothing but white space"
	case bytes.IndexByte(base, '\r') < 0 && bytes.IndexByte(content, '\r') >= 0:
		return "carriage returns in a file that had none"
	case bytes.IndexByte(base, '\r') >= 0 && bareFeeds(base) == 0 && bareFeeds(content) > 0:
		return "line feeds alone in a file that had none"
	}
	return ""
}

// bareFeeds counts the line feeds without a carriage return before them.
func bareFeeds(text []byte) int {
	return bytes.Count(text, []byte("\n")) - bytes.Count(text, []byte("\r\n"))
}

// hidden reports whether a rune takes no visible room or turns the text around it: zero width, bidi controls, tags,
// variation selectors, fillers, private use and unassigned format characters.
func hidden(r rune) bool {
	switch {
	case unicode.In(r, unicode.Cf, unicode.Co):
		return true
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case r == '\u2028' || r == '\u2029' || 0x80 <= r && r <= 0x9f:
		return true
	}
	return false
}

// hiddenUnicode names the hidden runes that content has more of than base, or "". Counting each rune, not merely
// knowing it, keeps one such rune in the base from licensing a message made of them.
func hiddenUnicode(base, content string) string {
	more := hiddenCount(content)
	for r, n := range hiddenCount(base) {
		more[r] -= n
	}
	maps.DeleteFunc(more, func(_ rune, n int) bool { return n <= 0 })
	var names []string
	for _, r := range slices.Sorted(maps.Keys(more)) {
		names = append(names, fmt.Sprintf("U+%04X x%d", r, more[r]))
	}
	if len(names) > 5 {
		names = append(names[:5], "…")
	}
	return strings.Join(names, ", ")
}

func hiddenCount(text string) map[rune]int {
	counts := map[rune]int{}
	previous := ' '
	for _, r := range text {
		// One U+FE0E or U+FE0F after a visible symbol is how an ordinary emoji is written.
		emojiStyle := (r == '\uFE0E' || r == '\uFE0F') && unicode.IsSymbol(previous)
		if hidden(r) && !emojiStyle {
			counts[r]++
		}
		previous = r
	}
	return counts
}

// echoes runs the caller's search over each changed file and the rationale. What already stands in the base wording
// is exempt: only new text can have been learnt from somewhere.
func echoes(in LintInput, next map[string][]byte) []Finding {
	if in.Echo == nil {
		return nil
	}
	known := sync.OnceValue(func() []string { return baseWording(in) })
	var findings []Finding
	for _, path := range changed(in.Surface, in.Base, next) {
		n := newSpans(in.Echo, string(next[path]), known)
		for _, text := range headTexts(next[path]) {
			n += newSpans(in.Echo, text, known) // what YAML escapes hide from a search of the file
		}
		if n > 0 {
			findings = append(findings, Finding{Echo, path, fmt.Sprintf("%d stretches repeat held-out text", n)})
		}
	}
	if n := newSpans(in.Echo, in.Candidate.Rationale, known); n > 0 {
		findings = append(findings, Finding{Echo, "rationale", fmt.Sprintf("%d stretches repeat held-out text", n)})
	}
	return findings
}

// baseWording is the folded wording of the Surface, by every reading. Other files of the tree are left out on purpose:
// a suite may be kept inside the plugin's folder, and its text must not exempt itself.
func baseWording(in LintInput) []string {
	var texts []string
	for _, path := range in.Surface.Paths {
		texts = append(texts, foldCase(string(in.Base[path])))
		for _, read := range readings() {
			texts = append(texts, foldCase(read(string(in.Base[path]))))
		}
	}
	return texts
}

// newSpans counts the stretches found in a text, by the reading that shows most of them.
func newSpans(echo func(string) []Span, text string, known func() []string) int {
	most := spansIn(echo, text, known)
	for _, read := range readings() {
		if other := read(text); other != text {
			most = max(most, spansIn(echo, other, known))
		}
	}
	return most
}

func spansIn(echo func(string) []Span, text string, known func() []string) int {
	count := 0
	exempt := map[string]bool{"": true}
	for _, span := range echo(text) {
		start, end := max(0, min(span.Start, len(text))), max(0, min(span.End, len(text)))
		words := foldCase(text[start:max(start, end)])
		if _, asked := exempt[words]; !asked {
			exempt[words] = slices.ContainsFunc(known(), func(k string) bool { return containsWords(k, words) })
		}
		if !exempt[words] {
			count++
		}
	}
	return count
}

// containsWords looks for whole words, so that a short identifier is not found inside a longer one.
func containsWords(text, words string) bool {
	return strings.Contains(" "+text+" ", " "+words+" ")
}

// foldCase keeps letters and digits, in lower case, as words with single spaces between.
func foldCase(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, " ")
}
