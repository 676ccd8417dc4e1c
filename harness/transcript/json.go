package transcript

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value is one JSON value inside a line that json.Valid has accepted, so the
// readers below need no error paths. Slicing the line instead of decoding it
// level by level means a large tool result is copied once, when its text is
// asked for.
type value []byte

// member is one key of an object with its value.
type member struct {
	key   []byte
	value value
}

// object is the members of one JSON object in order.
type object []member

// duplicateScan is the number of keys up to which looking for a second
// occurrence by comparing is cheaper than a map.
const duplicateScan = 48

func (v value) isArray() bool { return len(v) > 0 && v[0] == '[' }

func (v value) isString() bool { return len(v) > 0 && v[0] == '"' }

// text decodes a string; anything else is the empty string. The line has been
// checked, so the plain runs between escapes are copied as they are; what is
// no UTF-8 or may be half a surrogate pair is left to encoding/json.
func (v value) text() string {
	if !v.isString() {
		return ""
	}
	body := v[1 : len(v)-1]
	if !utf8.Valid(body) {
		return v.unusualText()
	}
	var b strings.Builder
	b.Grow(len(body))
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			b.Write(body)
			return b.String()
		}
		b.Write(body[:i])
		plain := escapes[body[i+1]]
		if plain == 0 {
			return v.unusualText()
		}
		b.WriteByte(plain)
		body = body[i+2:]
	}
}

// escapes are the escapes that stand for one ASCII character.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (v value) unusualText() string {
	var s string
	_ = json.Unmarshal(v, &s) // a string of a line that has been checked
	return s
}

// is reports whether the value is the string s, without decoding it. Names the
// CLI prints as types are never escaped.
func (v value) is(s string) bool {
	return len(v) == len(s)+2 && v[0] == '"' && string(v[1:len(v)-1]) == s
}

func (v value) truth() bool { return len(v) > 0 && v[0] == 't' }

func (v value) number() (float64, bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

func (v value) int() int {
	f, _ := v.number()
	if f < -1<<53 || f > 1<<53 {
		return 0
	}
	return int(f)
}

// object lists the members; a value that is no object has none.
func (v value) object() object {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	out := make(object, 0, 8)
	for i := skipSpace(v, 1); v[i] != '}'; {
		end := valueEnd(v, i)
		key := v[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(v[i:end].text())
		}
		i = skipSpace(v, skipSpace(v, end)+1)
		end = valueEnd(v, i)
		out = append(out, member{key, v[i:end]})
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return out
}

// elements lists the elements of an array; a value that is no array has none.
func (v value) elements() []value {
	if !v.isArray() {
		return nil
	}
	var out []value
	for i := skipSpace(v, 1); v[i] != ']'; {
		end := valueEnd(v, i)
		out = append(out, v[i:end])
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return out
}

// strings decodes an array of strings, leaving out what is none.
func (v value) strings() []string {
	var out []string
	for _, e := range v.elements() {
		if e.isString() {
			out = append(out, e.text())
		}
	}
	return out
}

// get returns the value of the exactly so named key, or nil.
func (o object) get(name string) value {
	for _, m := range o {
		if string(m.key) == name {
			return m.value
		}
	}
	return nil
}

// duplicate returns a key that occurs more than once. The CLI cannot print
// one, so such an object was made by something else.
func (o object) duplicate() (string, bool) {
	if len(o) <= duplicateScan {
		for i, m := range o {
			for _, n := range o[:i] {
				if bytes.Equal(m.key, n.key) {
					return string(m.key), true
				}
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		if seen[string(m.key)] {
			return string(m.key), true
		}
		seen[string(m.key)] = true
	}
	return "", false
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n' {
		i++
	}
	return i
}

// valueEnd returns the index after the value that starts at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = stringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
	default:
		for !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(b[i])) {
			i++
		}
		return i
	}
}

// stringEnd returns the index after the string that starts at i. Quotes are
// searched, not bytes walked: most of a transcript is long strings.
func stringEnd(b []byte, i int) int {
	i++
	for {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
}
