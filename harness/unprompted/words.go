package unprompted

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"loopd/harness"
	"loopd/harness/transcript"
)

// quotedRun is the number of words in a row from which a text counts as quoted
// from the task, the note or a skill's body, and so not as the agent's own.
const quotedRun = 8

// passage is a text of the main agent, folded to plain characters and with
// what it merely quotes blanked.
type passage struct {
	line int
	text string
}

// quotable lists the texts that are not the agent's own when it repeats them:
// the task, what hooks printed and what the CLI put in.
func quotable(sc harness.Scenario, t *transcript.Transcript) quotes {
	sources := []harness.HeldOut{sc.Task, harness.NewHeldOut(sc.PracticeTask)}
	for _, h := range t.Hooks {
		sources = append(sources, harness.NewHeldOut(h.Output))
	}
	for _, b := range t.Blocks {
		if b.Kind == transcript.Injected && b.Parent == "" {
			sources = append(sources, harness.NewHeldOut(b.Text))
		}
	}
	return quotes{sources, harness.NewRuns(sources, quotedRun)}
}

// quotes are texts to be quoted from, and the runs by which most of what an
// agent says is known to quote none.
type quotes struct {
	sources []harness.HeldOut
	runs    *harness.Runs
}

// ownWords lists what the main agent said in its own words.
func ownWords(sources quotes, t *transcript.Transcript) []passage {
	var out []passage
	for _, b := range t.MainText() {
		out = append(out, passage{b.Line, unwrapLines(fold(blank(b.Text, sources)))})
	}
	return out
}

// blank overwrites the quoted runs with a mark that ends a sentence.
func blank(text string, from quotes) string {
	if !from.runs.In(text) {
		return text
	}
	for _, src := range from.sources {
		spans := src.Overlap(text, quotedRun)
		for i := len(spans) - 1; i >= 0; i-- {
			text = text[:spans[i].Start] + "\n\n" + text[spans[i].End:]
		}
	}
	return text
}

// folding makes the many dashes one and drops what cannot be seen. Wide and
// small forms and the many spaces are left to the normal form.
var folding = strings.NewReplacer(
	"\u2010", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
	"\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`,
)

func fold(text string) string { return folding.Replace(norm.NFKC.String(folding.Replace(text))) }

// softBreak is a line end inside a paragraph: what follows starts no list item,
// heading, quotation or table row and is not blank.
var softBreak = regexp.MustCompile(`([^\n])\n[ \t]*([^\s\-*+#>|\d])`)

// unwrapLines joins the lines of a paragraph, so that a sentence is not cut by
// the width of somebody's terminal.
func unwrapLines(text string) string { return softBreak.ReplaceAllString(text, "$1 $2") }

// sentenceEnd cuts a text into sentences. A full stop inside a file name has no
// space after it.
var sentenceEnd = regexp.MustCompile(`[.!?]["')\]*_]*\s+|\n+`)

func sentences(text string) []string { return sentenceEnd.Split(text, -1) }

// negator recognises a negation that governs what follows within a few words.
var negator = regexp.MustCompile(`(?i)(\b(no|not|never|without|nor|neither|hardly|cannot)|n't)\s+([\w'-]+\s+){0,2}$`)

// says holds when some pattern matches in a sentence that does not negate it:
// "this does not conflict" flags no conflict.
func (s *session) says(patterns []string) finding {
	for _, p := range s.said {
		for _, pattern := range patterns {
			if quote, ok := affirms(p.text, pattern); ok {
				return finding{ok: true, evidence: []harness.Evidence{{Line: p.line, What: "says " + quote}}}
			}
		}
	}
	reason := ReasonNotSaid
	for _, a := range s.Scenario.Expect.B {
		if a.Cites != nil {
			reason = ReasonNoConflictFlagged
		}
	}
	return finding{reason: reason, near: s.askedNotSaid(patterns)}
}

func affirms(text, pattern string) (string, bool) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	for _, at := range re.FindAllStringIndex(text, -1) {
		before := text[:at[0]]
		if ends := sentenceEnd.FindAllStringIndex(before, -1); len(ends) > 0 {
			before = before[ends[len(ends)-1][1]:]
		}
		if !negator.MatchString(before) {
			return short(text[at[0]:at[1]]), true
		}
	}
	return "", false
}

func (s *session) neverSays(patterns []string) finding {
	for _, p := range s.said {
		for _, pattern := range patterns {
			re, err := regexp.Compile(pattern)
			if err != nil {
				continue
			}
			if at := re.FindString(p.text); at != "" {
				return finding{reason: ReasonSaidForbidden, evidence: []harness.Evidence{{Line: p.line, What: "says " + short(at)}}}
			}
		}
	}
	return finding{ok: true}
}

// short keeps evidence to one readable line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}
