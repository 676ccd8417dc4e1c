package harness

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold makes texts that read alike equal: compatibility forms, case, kinds of
// dash and quote, runs of white space, characters that are not seen, and the asterisks and
// backticks Markdown sets text off with.
func Fold(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(Bare(text)), " "))
}

// Bare is a text without asterisks, backticks and characters that are not seen,
// with one kind of dash, quote and line end. Case and lines stay as they are.
func Bare(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '*', r == '`', r == '\r', unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		case r == '\u2018', r == '\u2019':
			return '\''
		case r == '\u201c', r == '\u201d':
			return '"'
		case unicode.Is(unicode.Pd, r), r == '\u2212':
			return '-'
		}
		return r
	}, norm.NFKC.String(text))
}
