package repostate

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"loopd/harness"
)

// unseen is what a reader of the rendered report does not see.
var unseen = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)

// facts asks for each fact of a report.
func (s Spec) facts(out *harness.Evaluated, report string) {
	lines := emphasis(harness.Bare(unseen.ReplaceAllString(strings.ToValidUTF8(report, " "), " ")))
	running := strings.Join(strings.Fields(lines), " ")
	folded := strings.ToLower(running)
	said := 0
	for i, f := range s.Facts {
		check := harness.Check{Name: fmt.Sprintf("fact_%d", i+1), Outcome: harness.Pass}
		holds := sayAny(folded, f.AnyOf) != ""
		if f.Pattern != "" {
			holds = holds || s.patterns[i].MatchString(running) || s.patterns[i].MatchString(lines)
		}
		switch against := sayAny(folded, f.NoneOf); {
		case against != "":
			check.Outcome, check.Reason = harness.Fail, "taken_back"
			check.Findings = []string{fmt.Sprintf("%s: the report says %q", f.Description, clip(against))}
		case !holds:
			check.Outcome, check.Reason = harness.Fail, "not_said"
			check.Findings = []string{fmt.Sprintf("missing fact: %s", f.Description)}
		default:
			said++
		}
		out.Checks = append(out.Checks, check)
	}
	out.Metrics = map[string]float64{harness.Differences: float64(len(s.Facts) - said)}
}

// sayAny returns the first of the phrases a folded text says, empty for none.
func sayAny(text string, phrases []string) string {
	for _, p := range phrases {
		if says(text, emphasis(harness.Fold(p))) {
			return p
		}
	}
	return ""
}

// says reports whether a text holds a phrase as whole words and whole numbers:
// #42 is not in #420, 2 is not in 12, 2.5 or -2.
func says(text, phrase string) bool {
	if phrase == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		if !goesOn(text[:i], phrase, text[i+len(phrase):]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

// goesOn reports whether the word or number at either end of a phrase is longer
// in the text around it.
func goesOn(before, phrase, after string) bool {
	first, last, prev, next := firstRune(phrase), lastRune(phrase), lastRune(before), firstRune(after)
	switch {
	case isWord(first) && isWord(prev), isWord(last) && isWord(next):
		return true
	case unicode.IsDigit(first) && continues(prev) && unicode.IsDigit(lastRune(before[:len(before)-1])):
		return true
	case unicode.IsDigit(first) && prev == '-' && !isWord(lastRune(before[:len(before)-1])):
		return true // below zero
	case unicode.IsDigit(last) && continues(next) && unicode.IsDigit(firstRune(after[1:])):
		return true
	}
	return false
}

// continues holds for what stands within a number, a date or a time.
func continues(r rune) bool { return r == '.' || r == ',' || r == ':' || r == '-' }

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// isWord holds for what makes up words that are set apart by spaces. Scripts that
// write without them have no such border.
func isWord(r rune) bool {
	return r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// emphasis takes away underscores that are not within a word.
func emphasis(text string) string {
	if !strings.Contains(text, "_") {
		return text
	}
	var b strings.Builder
	runes := []rune(text)
	inside := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		if r != '_' || inside(i-1) && inside(i+1) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
