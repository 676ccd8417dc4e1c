package unprompted

import (
	"regexp"
	"strings"
	"unicode"

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
		sources = append(sources, harness.NewHeldOut(h.Text()))
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
		out = append(out, passage{b.Line, unwrapLines(fold(blank(visible(b.Text), sources)))})
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

// comment is text that Markdown does not show; one left open hides the rest.
var comment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)

// visible leaves out what a reader of the rendered text does not see.
func visible(text string) string { return comment.ReplaceAllString(text, "\n\n") }

// folding makes the many dashes and quotes one. Wide and small forms and the
// many spaces are left to the normal form.
var folding = strings.NewReplacer(
	"\u2010", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`,
)

func fold(text string) string {
	return folding.Replace(norm.NFKC.String(folding.Replace(strings.Map(dropUnseen, text))))
}

// dropUnseen drops the characters that have no picture of their own, such as
// joiners, marks of direction and variation selectors.
func dropUnseen(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	return r
}

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

// A pattern that matches says nothing where the words around it take it back:
// a negation that governs what follows within a few words, a condition, or a
// negation right after it.
var (
	negator  = regexp.MustCompile(`(?i)(\b(no|not|never|without|nor|neither|hardly|cannot|nothing|none|unlikely|free of)|n't)\s+([\w'-]+\s+){0,2}$`)
	supposed = regexp.MustCompile(`(?i)\b(whether\s+([\w'-]+\s+){0,3}|if\s+((it|this|that|they|anything|something|there|the|a|an|any|some|is|are|was|were|` +
		`do|does|did|would|should|could|might|change|request|your|my)\s+)*)$`)
	takenBack = regexp.MustCompile(`(?i)^\w*[*_]*(-free\b|\s*[:=-]\s*[*_]*(none|nothing|n/a|0)\b|\s+with\s+(nothing|none)\b|` +
		`\s+(is|are|was|were)(n't|\s+not)\s+(needed|required|necessary|applicable|relevant|wanted|used)\b|\s+do(es)?(n't|\s+not)\s+(apply|exist|arise|matter)\b)`)
	// declined is read only where the patterns are the answer itself: "rather
	// than violate the record" does speak of a conflict.
	declined = regexp.MustCompile(`(?i)\b(instead of|rather than)\s+([\w'-]+\s+){0,2}$`)
	// otherConflict is a conflict that no decision is a party to.
	otherConflict = regexp.MustCompile(`(?i)\b(merge|git|rebase|version|dependency|naming|scheduling)[\s_-]+conflict`)
)

// says holds when some pattern matches in a sentence that does not negate it:
// "this does not conflict" flags no conflict.
func (s *session) says(patterns []string) finding {
	reason := ReasonNotSaid
	for _, a := range s.Scenario.Expect.B {
		if a.Cites != nil {
			reason = ReasonNoConflictFlagged
		}
	}
	res := compiled(patterns)
	for _, p := range s.said {
		for _, re := range res {
			if quote, ok := affirms(p.text, re, reason == ReasonNotSaid); ok {
				return finding{ok: true, evidence: []harness.Evidence{{Line: p.line, What: "says " + quote}}}
			}
		}
	}
	return finding{reason: reason, near: s.askedNotSaid(res)}
}

// compiled leaves out what is no pattern: it matches nothing.
func compiled(patterns []string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range patterns {
		if re, err := regexp.Compile(p); err == nil {
			out = append(out, re)
		}
	}
	return out
}

// affirms finds a match that the words around it let stand. An answer is also
// taken back by naming what is done instead.
func affirms(text string, re *regexp.Regexp, answer bool) (string, bool) {
	for _, at := range re.FindAllStringIndex(text, -1) {
		before, match := text[:at[0]], text[at[0]:at[1]]
		if ends := sentenceEnd.FindAllStringIndex(before, -1); len(ends) > 0 {
			before = before[ends[len(ends)-1][1]:]
		}
		switch {
		case negator.MatchString(before), supposed.MatchString(before), otherConflict.MatchString(match), takenBack.MatchString(text[at[1]:]):
		case answer && declined.MatchString(before):
		default:
			return short(match), true
		}
	}
	return "", false
}

func (s *session) neverSays(patterns []string) finding {
	res := compiled(patterns)
	for _, p := range s.said {
		for _, re := range res {
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
