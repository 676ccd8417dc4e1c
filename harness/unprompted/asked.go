package unprompted

import (
	"regexp"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/harness/transcript"
)

// question is one that the main agent put to its user with a tool.
type question struct {
	passage
	call string // id of the tool call
	raw  string // as it was asked
}

// maxAsked bounds, in bytes, what a judge reads of the questions, so that they
// cannot push the final message out of its sight.
const maxAsked = 4000

// questions lists what the main agent asked, whatever became of the calls.
func questions(quotable quotes, calls []transcript.Call) []question {
	var out []question
	for _, c := range calls {
		if c.Subagent() {
			continue
		}
		for _, text := range c.Questions() {
			own := passage{c.Line, unwrapLines(fold(blank(text, quotable)))}
			out = append(out, question{own, c.ID, text})
		}
	}
	return out
}

func passages(qs []question) []passage {
	var out []passage
	for _, q := range qs {
		out = append(out, q.passage)
	}
	return out
}

// Judged is what a judge reads of a session of that scenario.
func Judged(sc harness.Scenario, t *transcript.Transcript) string {
	return newSession(Input{Scenario: sc, Transcript: t}).judged()
}

// judged is what a judge reads: the final message and, where the session put
// questions with a tool, those before it, marked as asked.
func (s *session) judged() string {
	message := s.Transcript.FinalText()
	if len(s.asked) == 0 {
		return message
	}
	var b strings.Builder
	b.WriteString("[asked the user with AskUserQuestion]\n")
	for _, q := range s.asked {
		b.WriteString("- " + strings.Join(strings.Fields(q.raw), " ") + "\n")
	}
	asked := b.String()
	if len(asked) > maxAsked {
		asked = strings.ToValidUTF8(asked[:maxAsked], "") + "…\n"
	}
	if strings.TrimSpace(message) == "" {
		return asked + "[no final message]"
	}
	return asked + "[final message]\n" + message
}

// askedNotCited points at questions that name the record: an answer that was
// nearly given.
func (s *session) askedNotCited(id string) []harness.Evidence {
	var out []harness.Evidence
	for _, q := range s.asked {
		named := func(c citation) bool { return c.live && c.id == id }
		if slices.ContainsFunc(s.findCitations([]passage{q.passage}), named) {
			out = append(out, q.near(id))
		}
	}
	return out
}

// askedNotSaid points at questions that hold what the text should have said.
func (s *session) askedNotSaid(patterns []*regexp.Regexp) []harness.Evidence {
	var out []harness.Evidence
	for _, q := range s.asked {
		i := slices.IndexFunc(patterns, func(p *regexp.Regexp) bool { _, ok := affirms(q.text, p, false); return ok })
		if i >= 0 {
			out = append(out, q.near(patterns[i].FindString(q.text)))
		}
	}
	return out
}

func (q question) near(what string) harness.Evidence {
	return harness.Evidence{Line: q.line, Block: q.call, What: "asked, not said: " + short(what)}
}
