package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// nodeKind is what a node of a document is.
type nodeKind string

const (
	aScalar nodeKind = "text"
	aList   nodeKind = "list"
	aMap    nodeKind = "map"
	aNull   nodeKind = "nothing"
)

// node is a value of a YAML or JSON document. Scalars keep the text that was
// written: 007 and 1.10 are an id and a version, and no number says them.
type node struct {
	kind   nodeKind
	text   string
	quoted bool // written as a string: "true" is no truth value then
	items  []*node
	keys   []string
	vals   map[string]*node
}

func newMap() *node { return &node{kind: aMap, vals: make(map[string]*node)} }

// put adds a key; one that is there already is an error, for two readers would
// take different ones.
func (n *node) put(key string, v *node) error {
	if _, twice := n.vals[key]; twice {
		return fmt.Errorf("key %s stands twice", plainKey(key))
	}
	n.keys, n.vals[key] = append(n.keys, key), v
	return nil
}

// get returns the value of a key, nil where there is none or n is no map.
func (n *node) get(key string) *node {
	if n == nil || n.kind != aMap {
		return nil
	}
	return n.vals[key]
}

// is reports whether n is there and of a kind.
func (n *node) is(k nodeKind) bool { return n != nil && n.kind == k }

// has reports whether n is a map with all keys.
func (n *node) has(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return n.get(k) == nil })
}

// word returns the text of a scalar, "" for anything else.
func (n *node) word() string {
	if n.is(aScalar) {
		return n.text
	}
	return ""
}

// truth reads a plain true or false.
func (n *node) truth() (value, ok bool) {
	if !n.is(aScalar) || n.quoted {
		return false, false
	}
	return n.text == "true", n.text == "true" || n.text == "false"
}

// verbatim is the value as written: text for a scalar, one line of JSON for a
// list or map, in which scalars stay text.
func (n *node) verbatim() string {
	if n.kind == aScalar {
		return n.text
	}
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case aNull:
		b.WriteString("null")
	case aScalar:
		_, err := strconv.ParseFloat(n.text, 64)
		_, truth := n.truth()
		if !n.quoted && (truth || err == nil && json.Valid([]byte(n.text))) {
			b.WriteString(n.text)
			return
		}
		b.WriteString(quoteJSON(n.text))
	case aList:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	case aMap:
		b.WriteByte('{')
		for i, key := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoteJSON(key) + ":")
			n.vals[key].write(b)
		}
		b.WriteByte('}')
	}
}

// quoteJSON writes a string as JSON does, without the escapes for web pages.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxDepth bounds how deep a document may nest.
const maxDepth = 64

// parseJSON reads one JSON document.
func parseJSON(data []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(trimBOM(data)))
	dec.UseNumber()
	n, err := jsonValue(dec, 0)
	if err != nil {
		return nil, errors.New(jsonReason(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON document")
	}
	return n, nil
}

// jsonReason leaves out what a JSON error quotes of the text.
func jsonReason(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("no JSON at byte %d", syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON ends too early"
	}
	return err.Error()
}

func jsonValue(dec *json.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '[' {
			return jsonList(dec, depth)
		}
		return jsonMap(dec, depth)
	case string:
		return &node{kind: aScalar, text: v, quoted: true}, nil
	case json.Number:
		return &node{kind: aScalar, text: v.String()}, nil
	case bool:
		return &node{kind: aScalar, text: strconv.FormatBool(v)}, nil
	}
	return &node{kind: aNull}, nil
}

func jsonList(dec *json.Decoder, depth int) (*node, error) {
	n := &node{kind: aList}
	for dec.More() {
		item, err := jsonValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return n, err
}

func jsonMap(dec *json.Decoder, depth int) (*node, error) {
	n := newMap()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := jsonValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		if err := n.put(key.(string), v); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return n, err
}

// trimBOM takes the mark away that some editors begin a file with.
func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// clean is the text of a file without the mark and with plain line ends.
func clean(data []byte) []byte {
	return bytes.ReplaceAll(trimBOM(data), []byte("\r\n"), []byte("\n"))
}
