package repostate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"loopd/harness"
)

// state reads a state: volatile keys are dropped, and with them what is empty,
// which is the same as not there; numbers and line ends get one spelling.
func (s Spec) state(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not JSON: it is no UTF-8")
	}
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff"))
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, harness.JSONFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: more than one document")
	}
	if state, ok := v.(map[string]any); ok {
		if name, _ := state["schema"].(string); strings.HasPrefix(name, ownSchemas) {
			delete(state, "schema")
		}
	}
	return normaliser{s.Volatile, make(map[string]bool)}.value(v), nil
}

// ownSchemas begins what a document of loopd's own, such as one of loopd eval capture,
// says of its shape. That is no part of the state.
const ownSchemas = "loopd:"

// normaliser remembers of each key whether it is volatile: states have few keys
// many times.
type normaliser struct {
	volatile []string
	known    map[string]bool
}

func (n normaliser) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if part = n.value(part); n.drops(key) || empty(part) {
				delete(v, key)
			} else {
				v[key] = part
			}
		}
	case []any:
		for i := range v {
			v[i] = n.value(v[i])
		}
	case string:
		return strings.ReplaceAll(v, "\r\n", "\n")
	case json.Number:
		return spell(v)
	}
	return v
}

func (n normaliser) drops(key string) bool {
	drops, known := n.known[key]
	if !known {
		for _, glob := range n.volatile {
			if ok, _ := path.Match(glob, key); ok { // the spec has only globs
				drops = true
			}
		}
		n.known[key] = drops
	}
	return drops
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// spell makes 1, 1.0 and 1e0 one number. What no float holds stays as it is
// written.
func spell(n json.Number) json.Number {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		return json.Number(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return json.Number(text)
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// canonical is a value as text, the same for equal values.
func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("marshal a JSON value: " + err.Error()) // it was JSON before
	}
	return string(text)
}
