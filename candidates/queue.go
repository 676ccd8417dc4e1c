package candidates

import (
	"strings"
	"unicode"
)

// maxTrailer keeps a rationale from turning the commit message into a document.
const maxTrailer = 400

// Message is the commit message of a Candidate: a subject and trailers that `git interpret-trailers` reads back. Each
// value is folded to one line, so that no value can add a trailer of its own. Nothing but the arguments goes in: the
// message is published and must never carry held-out text.
func Message(c Candidate, campaign string) string {
	var b strings.Builder
	b.WriteString("loopd: candidate " + OneLine(c.ID) + "\n\n")
	for _, t := range [][2]string{
		{"Campaign", campaign},
		{"Candidate", c.ID},
		{"Source", string(c.Source)},
		{"Targets", strings.Join(c.Targets, ", ")},
		{"Targets-From", c.TargetsFrom},
		{"Simplify", map[bool]string{true: "yes"}[c.Simplify]},
		{"Rationale", c.Rationale},
	} {
		if value := OneLine(t[1]); value != "" {
			b.WriteString(t[0] + ": " + value + "\n")
		}
	}
	return b.String()
}

// OneLine folds white space to single spaces, drops what cannot be seen and cuts a long text.
func OneLine(text string) string {
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case hidden(r) || unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	runes := []rune(strings.Join(strings.Fields(visible), " "))
	if len(runes) > maxTrailer {
		return string(runes[:maxTrailer-1]) + "…"
	}
	return string(runes)
}
