// Package redact takes secrets out of everything loopd writes: transcripts,
// logs, reports. It works on the stream, before the first byte reaches a disk.
//
// It knows two sorts of secrets: the exact values it was given, also as they
// look in base64, in a URL and in JSON; and families recognised by their form,
// such as API keys, tokens, private keys and the value of an Authorization
// header. It refuses nothing and reports nothing: what it does not know passes
// through unchanged. Exact values shorter than six bytes are left alone, since
// taking out every "abc" would destroy the text and protect no secret.
//
// Invariants:
//   - How a text is cut into writes does not change what comes out, up to
//     secrets longer than 16 KiB, of which the rest may pass.
//   - What is redacted stays redacted, however often a text is passed.
//   - A JSON line stays a JSON line: a marker holds no quote, backslash or line
//     end, and a family never takes one from the text, except the escaped line
//     ends within a private key.
package redact

import "bytes"

// minExact is the length below which an exact value is not looked for.
const minExact = 6

// maxHold is how much text is held back to see whether a secret goes on.
const maxHold = 16 << 10

// Redactor finds secrets. It does not change after New and may be used by
// several goroutines at a time.
type Redactor struct {
	rules []rule
	// pairs leads from two bytes to the rules that can begin with them, by an
	// index into groups; 0 is none. Nearly every position of a text is passed
	// over with this one look.
	pairs  [1 << 16]uint16
	groups [][]int
	first  [256]bool
}

// New returns a Redactor for the given values and all families.
func New(secrets ...string) *Redactor {
	r := &Redactor{groups: [][]int{nil}}
	for _, form := range exactForms(secrets) {
		r.add(rule{prefix: form, label: "secret"})
	}
	for _, f := range families() {
		r.add(f)
	}
	return r
}

func (r *Redactor) add(f rule) {
	index := len(r.rules)
	r.rules = append(r.rules, f)
	for _, a := range cases(f.prefix[0], f.fold) {
		r.first[a] = true
		for _, b := range cases(f.prefix[1], f.fold) {
			pair := uint16(a)<<8 | uint16(b)
			if r.pairs[pair] == 0 {
				r.pairs[pair] = uint16(len(r.groups))
				r.groups = append(r.groups, nil)
			}
			group := &r.groups[r.pairs[pair]]
			*group = append(*group, index)
		}
	}
}

func cases(c byte, fold bool) []byte {
	if fold && 'a' <= c && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

// Bytes returns text without its secrets. Where there are none it returns text
// itself, not a copy.
func (r *Redactor) Bytes(text []byte) []byte {
	var s scanner
	out, _ := s.scan(r, make([]byte, 0, len(text)), text, true)
	if bytes.Equal(out, text) {
		return text
	}
	return out
}
