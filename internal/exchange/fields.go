package exchange

import (
	"fmt"
	"strconv"

	"loopd/harness"
)

// notes collect what a draft says of its source, and how each field fared.
type notes struct {
	flags     []string
	questions []string
	meta      []harness.SourceField
	unmapped  []harness.SourceField
}

func (s *notes) flag(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, have := range s.flags {
		if have == text {
			return
		}
	}
	s.flags = append(s.flags, text)
}

func (s *notes) question(text string) {
	for _, have := range s.questions {
		if have == text {
			return
		}
	}
	s.questions = append(s.questions, text)
}

func (s *notes) lose(field string, n *node) {
	s.unmapped = append(s.unmapped, harness.SourceField{Field: field, Value: n.verbatim()})
}

func (s *notes) remark(field, value string) {
	s.meta = append(s.meta, harness.SourceField{Field: field, Value: value})
}

// fields reads a map key by key and remembers which were carried; what is left
// over at the end goes to the unmapped list, so that no field is dropped by
// being forgotten.
type fields struct {
	n    *node
	at   string // place of the map, as in graders[2]
	used map[string]bool
}

func fieldsOf(n *node, at string) *fields { return &fields{n: n, at: at, used: make(map[string]bool)} }

// name is the place of a key.
func (f *fields) name(key string) string {
	if f.at == "" {
		return key
	}
	return f.at + "." + key
}

// text takes the text of a scalar; another kind of value stays unmapped.
func (f *fields) text(key string) string {
	v := f.n.get(key)
	if !v.is(aScalar) {
		return ""
	}
	f.used[key] = true
	return v.text
}

// truth takes a plain true or false.
func (f *fields) truth(key string) (value, ok bool) {
	value, ok = f.n.get(key).truth()
	if ok {
		f.used[key] = true
	}
	return value, ok
}

// number takes a whole number.
func (f *fields) number(key string, otherwise int) int {
	n, err := strconv.Atoi(f.n.get(key).word())
	if err != nil {
		return otherwise
	}
	f.used[key] = true
	return n
}

// textsOf reads a scalar or a list of scalars.
func textsOf(n *node) ([]string, bool) {
	if n.is(aScalar) {
		return []string{n.text}, true
	}
	if !n.is(aList) {
		return nil, false
	}
	var out []string
	for _, item := range n.items {
		if !item.is(aScalar) {
			return nil, false
		}
		out = append(out, item.text)
	}
	return out, true
}

// list takes a list; its entries are the caller's to carry or to lose.
func (f *fields) list(key string) []*node {
	v := f.n.get(key)
	if !v.is(aList) {
		return nil
	}
	f.used[key] = true
	return v.items
}

// node takes any value; it is the caller's to carry or to lose.
func (f *fields) node(key string) *node {
	v := f.n.get(key)
	if v != nil {
		f.used[key] = true
	}
	return v
}

// meta moves keys to the list of what binds nothing.
func (f *fields) meta(to *notes, keys ...string) {
	for _, key := range keys {
		if v := f.node(key); v != nil {
			to.remark(f.name(key), v.verbatim())
		}
	}
}

// rest puts whatever nobody took on the unmapped list.
func (f *fields) rest(to *notes) {
	if !f.n.is(aMap) {
		return
	}
	for _, key := range f.n.keys {
		if !f.used[key] {
			to.lose(f.name(key), f.n.vals[key])
		}
	}
}
