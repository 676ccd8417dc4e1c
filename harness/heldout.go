package harness

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"unicode"
)

// redacted stands where held-out text would have been shown.
const redacted = "[held-out]"

// ErrHeldOut is returned when something tries to serialise held-out text.
var ErrHeldOut = errors.New("held-out text cannot be serialised")

// HeldOut is text that may reach a model only through a trial. It prints as
// [held-out], refuses to be marshalled, and leaves through Reveal alone. The
// text is behind a pointer because package fmt asks no method of what a struct
// keeps in a field of its own, and would print a string there.
type HeldOut struct{ text *string }

// NewHeldOut seals a text.
func NewHeldOut(text string) HeldOut { return HeldOut{text: &text} }

// sealed is the text, empty for the zero value.
func (h HeldOut) sealed() string {
	if h.text == nil {
		return ""
	}
	return *h.text
}

// Reveal returns the text itself. Only the package that runs trials, and the
// pages of a daemon started with --reveal, may call it; a test holds that.
func (h HeldOut) Reveal() string { return h.sealed() }

// IsZero reports whether there is no text.
func (h HeldOut) IsZero() bool { return strings.TrimSpace(h.sealed()) == "" }

// String returns the placeholder, never the text.
func (h HeldOut) String() string { return redacted }

// GoString returns the placeholder, never the text.
func (h HeldOut) GoString() string { return redacted }

// Format writes the placeholder for every verb and flag.
func (h HeldOut) Format(s fmt.State, _ rune) { io.WriteString(s, redacted) }

// LogValue hides the text from structured logs.
func (h HeldOut) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON always fails with ErrHeldOut.
func (h HeldOut) MarshalJSON() ([]byte, error) { return nil, ErrHeldOut }

// MarshalText always fails with ErrHeldOut.
func (h HeldOut) MarshalText() ([]byte, error) { return nil, ErrHeldOut }

// MarshalYAML always fails with ErrHeldOut.
func (h HeldOut) MarshalYAML() (any, error) { return nil, ErrHeldOut }

// GobEncode always fails with ErrHeldOut.
func (h HeldOut) GobEncode() ([]byte, error) { return nil, ErrHeldOut }

// Span is a half-open byte range of a text.
type Span struct{ Start, End int }

// Overlap returns the parts of text that share a run of at least n words with
// the held-out text. The spans index text, so nothing is given away.
func (h HeldOut) Overlap(text string, n int) []Span {
	if n < 1 {
		return nil
	}
	own, theirs := words(h.sealed()), words(text)
	begins := make(map[string][]int) // where each word begins a run of the held-out text
	for i := 0; i+n <= len(own) && n <= len(theirs); i++ {
		begins[own[i].text] = append(begins[own[i].text], i)
	}
	var spans []Span
	for i := 0; i+n <= len(theirs); i++ {
		same := func(at int) bool { return sameRun(own[at:at+n], theirs[i:i+n]) }
		if !slices.ContainsFunc(begins[theirs[i].text], same) {
			continue
		}
		next := Span{theirs[i].span.Start, theirs[i+n-1].span.End}
		if last := len(spans) - 1; last >= 0 && next.Start <= spans[last].End {
			spans[last].End = next.End
			continue
		}
		spans = append(spans, next)
	}
	return spans
}

type word struct {
	text string
	span Span
}

// words splits on everything that is neither letter nor digit, so punctuation,
// case and line breaks cannot hide a copied run.
func words(text string) []word {
	var out []word
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, word{strings.ToLower(text[start:end]), Span{start, end}})
			start = -1
		}
	}
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		flush(i)
	}
	flush(len(text))
	return out
}

func sameRun(a, b []word) bool {
	return slices.EqualFunc(a, b, func(x, y word) bool { return x.text == y.text })
}
