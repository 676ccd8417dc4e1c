package redact

import "bytes"

// rule recognises one sort of secret where it begins.
type rule struct {
	prefix string // at least two bytes; lower case when fold is set
	fold   bool   // upper and lower case are the same in prefix
	label  string // what the marker says
	// rest says what to redact after the prefix; nil means the prefix alone.
	rest func(t *text, start, after int) match
}

// match is the part of a text to redact; to <= from is none. more says that the
// text ended before the answer was certain.
type match struct {
	from, to int
	more     bool
}

// scanner is the state between two pieces of a stream. Its offsets count from
// the first byte that was held back.
type scanner struct {
	covered int   // up to here the text is already replaced by a marker
	ahead   match // a part that begins later: the value after a key
	label   string
}

// scan appends to out what of data can be let out and returns how many bytes of
// data are done with; the rest must be presented again with more behind it.
// When final is set there is nothing behind, and all is done with.
func (s *scanner) scan(r *Redactor, out, data []byte, final bool) ([]byte, int) {
	t := &text{data: data}
	p, done := 0, 0 // position looked at; everything before done is written
	for {
		p = r.skip(data, p)
		if s.ahead.to > 0 && s.ahead.from <= p {
			out, done = s.cover(out, data, done, s.ahead, s.label)
			p, s.ahead = s.ahead.from, match{}
		}
		if p >= len(data) {
			break
		}
		m, label := r.at(t, p)
		if m.more && !final && len(data)-p < maxHold {
			break
		}
		switch {
		case m.to <= m.from:
		case m.from > p:
			s.expect(m, label)
		default:
			out, done = s.cover(out, data, done, m, label)
		}
		p++
	}
	if done = max(done, s.covered); done < p {
		out = append(out, data[done:p]...)
	}
	s.covered = max(0, s.covered-p)
	if s.ahead.to > 0 {
		s.ahead.from, s.ahead.to = s.ahead.from-p, s.ahead.to-p
	}
	return out, p
}

// skip returns the next position at which a rule may begin, or the end.
func (r *Redactor) skip(data []byte, p int) int {
	for ; p+1 < len(data); p++ {
		if r.pairs[uint16(data[p])<<8|uint16(data[p+1])] != 0 {
			return p
		}
	}
	if p+1 == len(data) && !r.first[data[p]] {
		p++
	}
	return p
}

// cover writes the text before m and a marker for it, unless m continues what a
// marker already stands for.
func (s *scanner) cover(out, data []byte, done int, m match, label string) ([]byte, int) {
	if m.from >= s.covered {
		done = max(done, s.covered)
		out = append(out, data[done:m.from]...)
		out = append(out, "[redacted:"...)
		out = append(out, label...)
		out = append(out, ']')
		done = m.from
	}
	s.covered = max(s.covered, m.to)
	return out, max(done, s.covered)
}

// expect notes a match that begins after its key. Two of them become one.
func (s *scanner) expect(m match, label string) {
	if s.ahead.to == 0 {
		s.ahead, s.label = match{from: m.from, to: m.to}, label
		return
	}
	s.ahead.from, s.ahead.to = min(s.ahead.from, m.from), max(s.ahead.to, m.to)
}

// at joins what all rules say about position p.
func (r *Redactor) at(t *text, p int) (match, string) {
	rest := t.data[p:]
	if len(rest) < 2 {
		return match{more: true}, ""
	}
	var joined match
	var label string
	for _, i := range r.groups[r.pairs[uint16(rest[0])<<8|uint16(rest[1])]] {
		m := r.rules[i].at(t, p)
		joined.more = joined.more || m.more
		if m.to <= m.from {
			continue
		}
		if label == "" {
			label, joined.from = r.rules[i].label, m.from
		}
		joined.from, joined.to = min(joined.from, m.from), max(joined.to, m.to)
	}
	return joined, label
}

func (f *rule) at(t *text, p int) match {
	have := t.data[p:min(p+len(f.prefix), len(t.data))]
	want := f.prefix[:len(have)]
	if string(have) != want && !(f.fold && bytes.EqualFold(have, []byte(want))) {
		return match{}
	}
	after := p + len(f.prefix)
	switch {
	case len(have) < len(f.prefix):
		return match{more: true}
	case f.rest == nil:
		return match{from: p, to: after}
	}
	return f.rest(t, p, after)
}

// text is the data of one scan with the ends of runs already measured, so that
// a long run in which many rules begin is not measured from each of them.
type text struct {
	data []byte
	runs [classCount]struct{ from, to int }
}

// run returns the end of the run of class c that begins at from.
func (t *text) run(c class, from int) int {
	known := &t.runs[c]
	if known.from <= from && from < known.to {
		return known.to
	}
	to, member := from, &members[c]
	for to < len(t.data) && member[t.data[to]] {
		to++
	}
	known.from, known.to = from, to
	return to
}
