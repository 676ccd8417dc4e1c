package exchange

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxNodes bounds what aliases may blow a small file up to.
const maxNodes = 200_000

// yamlReader turns the tree of the YAML parser into nodes.
type yamlReader struct {
	anchors map[string]*node
	left    int
}

// parseYAML reads one YAML 1.2 document. JSON is YAML, but strict readers of
// JSON see duplicates and escapes as its writers do.
func parseYAML(data []byte) (*node, error) {
	if looksLikeJSON(data) {
		if n, err := parseJSON(data); err == nil {
			return n, nil
		}
	}
	file, err := parser.ParseBytes(clean(data), 0)
	if err != nil {
		return nil, errors.New(yamlReason(err))
	}
	var docs []*ast.DocumentNode
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		return &node{kind: aNull}, nil
	}
	if len(docs) > 1 {
		return nil, errors.New("more than one YAML document")
	}
	r := yamlReader{anchors: make(map[string]*node), left: maxNodes}
	return r.read(docs[0].Body, 0)
}

func looksLikeJSON(data []byte) bool {
	text := strings.TrimSpace(string(trimBOM(data)))
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// place is where a YAML error is.
var place = regexp.MustCompile(`^\[(\d+):\d+\] ([a-z ]+)`)

// yamlReason is the place and the beginning of what is wrong: the rest quotes
// the text.
func yamlReason(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	if m := place.FindStringSubmatch(first); m != nil {
		return fmt.Sprintf("line %s: %s", m[1], strings.TrimSpace(m[2]))
	}
	return "no YAML"
}

func (r *yamlReader) read(n ast.Node, depth int) (*node, error) {
	r.left--
	if depth > maxDepth || r.left < 0 {
		return nil, errors.New("nested too deeply")
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: aList}
		for _, item := range n.Values {
			v, err := r.read(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
		return out, nil
	case *ast.AnchorNode:
		v, err := r.read(n.Value, depth+1)
		if err == nil {
			r.anchors[n.Name.String()] = v
		}
		return v, err
	case *ast.AliasNode:
		return r.alias(n)
	case *ast.TagNode:
		return nil, errors.New("a YAML tag: none is read")
	}
	return scalar(n), nil
}

func scalar(n ast.Node) *node {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return &node{kind: aNull}
	case *ast.LiteralNode:
		return &node{kind: aScalar, text: n.Value.Value, quoted: true}
	case *ast.StringNode:
		written := n.GetToken().Origin
		return &node{kind: aScalar, text: n.Value, quoted: strings.ContainsAny(strings.TrimSpace(written), `"'`)}
	}
	return &node{kind: aScalar, text: n.GetToken().Value}
}

func (r *yamlReader) alias(n *ast.AliasNode) (*node, error) {
	v, ok := r.anchors[n.Value.String()]
	if !ok {
		return nil, errors.New("an alias without its anchor")
	}
	if r.left -= v.size(); r.left < 0 {
		return nil, errors.New("aliases make it too large")
	}
	return v, nil
}

func (n *node) size() int {
	sum := 1
	for _, item := range n.items {
		sum += item.size()
	}
	for _, v := range n.vals {
		sum += v.size()
	}
	return sum
}

func (r *yamlReader) mapping(pairs []*ast.MappingValueNode, depth int) (*node, error) {
	out := newMap()
	var merged []*node
	for _, p := range pairs {
		v, err := r.read(p.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if _, merge := p.Key.(*ast.MergeKeyNode); merge {
			merged = append(merged, v)
			continue
		}
		key := p.Key.GetToken().Value
		if text, ok := p.Key.(*ast.StringNode); ok {
			key = text.Value
		}
		if err := out.put(key, v); err != nil {
			return nil, err
		}
	}
	for _, m := range merged {
		if !m.is(aMap) {
			return nil, errors.New("a merge key that names no map")
		}
		for _, key := range m.keys {
			if _, own := out.vals[key]; !own {
				_ = out.put(key, m.vals[key]) // not there, as the line before says
			}
		}
	}
	return out, nil
}

// plain is a key that is short enough and no prose.
var plain = regexp.MustCompile(`^[\w.:$/-]{1,40}$`)

// plainKey names a key in an error, unless it may be text that lost its
// indentation.
func plainKey(key string) string {
	if plain.MatchString(key) {
		return key
	}
	return "(not a word)"
}
