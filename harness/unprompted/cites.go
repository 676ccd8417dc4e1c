package unprompted

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/harness/transcript"
)

// citation is one record named in the main agent's text. Live says whether the
// sentence speaks of it as in force.
type citation struct {
	id   string
	line int
	live bool
	// start and end are where the sentence names it.
	start, end int
}

// citer finds citations of a suite's records.
type citer struct {
	form     harness.Citation
	dir      string
	prefixed *regexp.Regexp
	bare     *regexp.Regexp
	between  *regexp.Regexp
	upTo     *regexp.Regexp // after an id: the other end of a range
	known    map[string]bool
}

// newCiter knows the records that exist or existed and the ids the scenario
// speaks of. Only those are cited by a bare number; any other four digits are
// a year or a port.
func (s *session) newCiter() citer {
	form := s.Checker.Citation
	known := make(map[string]bool)
	for _, tree := range []harness.Tree{s.Start, s.End} {
		for _, r := range s.records(tree) {
			known[r.id] = true
		}
	}
	for _, a := range slices.Concat(s.Scenario.Expect.A, s.Scenario.Expect.B) {
		if a.Cites != nil {
			known[a.Cites.ID] = true
			for _, id := range a.Cites.NotLive {
				known[id] = true
			}
		}
	}
	return citer{
		form: form, dir: s.Checker.Records.Dir, known: known,
		prefixed: regexp.MustCompile(fmt.Sprintf(`(?i)\b_*%[1]s(?:s?[\s_:-]*#?(\d{%[2]d})|[\s-]?#?(\d{1,%[2]d}))(?:\b|_+\b)`, regexp.QuoteMeta(form.Prefix), form.Digits)),
		bare:     regexp.MustCompile(fmt.Sprintf(`\d{%d}`, form.Digits)),
		between:  between(form),
		upTo: regexp.MustCompile(fmt.Sprintf(`(?i)^[\s*_`+"`"+`]*(?:-|\.{2,3}|to|through|thru|until)[\s*_`+"`"+`]*(?:%ss?[\s_:-]*)?#?(\d{%d})(?:\b|_+\b)`,
			regexp.QuoteMeta(form.Prefix), form.Digits)),
	}
}

// findCitations reads every sentence of the passages.
func (s *session) findCitations(said []passage) []citation {
	if s.Checker.Citation.Prefix == "" || s.Checker.Citation.Digits < 1 {
		return nil
	}
	c := s.newCiter()
	var out []citation
	for _, p := range said {
		for _, sentence := range sentences(p.text) {
			found := c.find(sentence)
			c.judgeLive(sentence, found)
			for i := range found {
				found[i].line = p.line
			}
			out = append(out, found...)
		}
	}
	return out
}

// find lists the records a sentence names, in order.
func (c citer) find(sentence string) []citation {
	var out []citation
	taken := func(at int) bool {
		return slices.ContainsFunc(out, func(o citation) bool { return o.start <= at && at < o.end })
	}
	for _, m := range c.prefixed.FindAllStringSubmatchIndex(sentence, -1) {
		number := sentence[max(m[2], m[4]):max(m[3], m[5])]
		out = append(out, citation{id: c.pad(number), start: m[0], end: m[1], live: true})
	}
	for _, m := range c.bare.FindAllStringIndex(sentence, -1) {
		id := sentence[m[0]:m[1]]
		if c.known[id] && !taken(m[0]) && c.opens(sentence[:m[0]]) && closes(sentence[m[1]:]) {
			out = append(out, citation{id: id, start: m[0], end: m[1], live: true})
		}
	}
	out = append(out, c.within(sentence, out)...)
	slices.SortStableFunc(out, func(a, b citation) int { return a.start - b.start })
	return out
}

// within lists the known records that a range names without spelling them out,
// its far end included.
func (c citer) within(sentence string, found []citation) []citation {
	var out []citation
	for _, from := range found {
		m := c.upTo.FindStringSubmatch(sentence[from.end:])
		if m == nil || !c.known[m[1]] {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(c.known)) {
			if from.id < id && id <= m[1] {
				out = append(out, citation{id: id, start: from.start, end: from.end, live: true})
			}
		}
	}
	return out
}

func (c citer) pad(number string) string {
	return strings.Repeat("0", max(0, c.form.Digits-len(number))) + number
}

var (
	numberWord  = regexp.MustCompile(`(?i)\b(ports?|lines?|issue|pr|pull request|year|pid|status|code|error)\s*[:#=]?\s*$`)
	pathBefore  = regexp.MustCompile(`[^\s"'` + "`" + `(\[<|,;*]+/$`)
	recordSlash = regexp.MustCompile(`(?i)^[a-z]*[-_#]?\d+/$`)
	closing     = regexp.MustCompile(`^(?:$|[\s,;!?)\]}"'` + "`" + `*>|/]|\.(?:\D|$)|:(?:\D|$)|-(?:[^\d]|$)|_(?:\W|_|$))`)
)

// opens reports whether what stands before four digits lets them be an id.
func (c citer) opens(before string) bool {
	if before == "" {
		return true
	}
	if numberWord.MatchString(before) {
		return false
	}
	if strings.HasSuffix(before, "/") {
		dir := pathBefore.FindString(before)
		return dir == "" || recordSlash.MatchString(dir) || strings.HasSuffix("/"+strings.TrimSuffix(dir, "/"), "/"+c.dir) ||
			strings.HasSuffix("/"+c.dir, "/"+strings.TrimSuffix(dir, "/"))
	}
	return strings.ContainsAny(before[len(before)-1:], " \t([{\"'`*_#<>|,;~&+")
}

// closes reports whether what stands after them does: no further digit, no
// letter, no fraction, no date.
func closes(after string) bool { return closing.MatchString(after) }

// cited asks that the wanted record, and not a distractor or every record there
// is, is cited as the one in force.
func (s *session) cited(want harness.Cites) finding {
	live := make(map[string]bool)
	f := finding{ok: true}
	superseded := false
	for _, c := range s.cites {
		if !c.live {
			continue
		}
		live[c.id] = true
		bad := slices.Contains(want.NotLive, c.id)
		superseded = superseded || bad
		if c.id == want.ID || bad {
			f.evidence = append(f.evidence, harness.Evidence{Line: c.line, What: "cites " + c.id})
		}
	}
	limit := s.Checker.Citation.MaxLive
	switch {
	case limit > 0 && len(live) > limit:
		f.ok, f.reason = false, ReasonShotgun
	case superseded:
		f.ok, f.reason = false, ReasonCitedSuperseded
	case live[want.ID]:
	case len(live) > 0:
		f.ok, f.reason = false, ReasonWrongID
	default:
		f.ok, f.reason = false, ReasonNotCited
	}
	if !live[want.ID] {
		f.near = append(s.askedNotCited(want.ID), s.seenNotCited(want.ID)...)
	}
	return f
}

// seenNotCited points at where the session saw the record without naming it.
func (s *session) seenNotCited(id string) []harness.Evidence {
	for _, b := range s.Transcript.Blocks {
		own := b.Kind == transcript.Text && b.Parent == "" || b.Kind == transcript.Injected
		if !own && strings.Contains(b.Text, id) {
			return []harness.Evidence{{Line: b.Line, Block: b.ID, What: "seen, not cited: " + id}}
		}
	}
	return nil
}

// cites reports whether the session named the record as in force.
func (s *session) citesLive(id string) bool {
	return slices.ContainsFunc(s.cites, func(c citation) bool { return c.live && c.id == id })
}
