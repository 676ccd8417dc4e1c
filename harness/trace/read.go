package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"loopd/harness"
)

// call is one tool call of a trace.
type call struct {
	tool   string
	failed bool // the trace says that it did not succeed
}

// object is one JSON object whose parts are not read yet.
type object map[string]json.RawMessage

// trace is what could be read of a saved trace. What has the wrong type is
// listed in faults and counts as not there.
type trace struct {
	answer   string
	calls    []call
	summed   []string // tools in the verifier's trace summary
	duration *float64
	usage    *harness.Usage
	self     object
	verifier object
	why      string // why there is no verifier's evaluation; empty when there is one
	executor object
	faults   []string
}

// Bounds of what is believed: a trace is written by a program that may be wrong.
const (
	longestMS  = 1e12 // about thirty years
	mostTokens = 1e12
)

// unreadable says why a document is no trace at all.
type unreadable struct{ reason, what string }

// read takes a trace apart. Only a document that is no JSON object cannot be.
func (c Contract) read(data []byte) (trace, *unreadable) {
	var t trace
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) == 0 {
		return t, &unreadable{"empty", "the file is empty"}
	}
	if !utf8.Valid(data) {
		return t, &unreadable{"not_utf8", "the file is no UTF-8 text"}
	}
	var top object
	if err := json.Unmarshal(data, &top); top == nil {
		if json.Valid(data) {
			return t, &unreadable{"wrong_type", "the document is " + typeOf(data) + ", want an object"}
		}
		return t, &unreadable{"not_json", harness.JSONFault(err).Error()}
	}
	n := c.Names
	t.answer = t.text(top, n.FinalAnswer)
	t.calls = t.toolCalls(top, n)
	t.duration = t.milliseconds(top, n.DurationMS)
	t.usage = t.tokens(top, n.Usage)
	t.selfEvaluation(top, n)
	t.summed = t.summary(t.verifier, n)
	for _, holder := range []object{t.verifier, t.self, top} {
		if t.executor == nil {
			t.executor = t.output(holder, n.ExecutorOutput)
		}
	}
	return t, nil
}

// part finds the first of the keys that is there and not null.
func part(o object, keys []string) (key string, raw json.RawMessage) {
	for _, k := range keys {
		if raw, ok := o[k]; ok && string(raw) != "null" {
			return k, raw
		}
	}
	return "", nil
}

// into reads a part, and lists it as a fault when it has another type.
func (t *trace) into(o object, keys []string, want string, value any) bool {
	key, raw := part(o, keys)
	if raw == nil {
		return false
	}
	if err := json.Unmarshal(raw, value); err != nil {
		is := typeOf(raw)
		if is == want {
			is = "beyond what a number holds"
		}
		t.faults = append(t.faults, fmt.Sprintf("%s is %s, want %s", key, is, want))
		return false
	}
	return true
}

func (t *trace) text(o object, keys []string) string {
	var s string
	t.into(o, keys, "text", &s)
	return s
}

func (t *trace) object(o object, keys []string) object {
	var out object
	t.into(o, keys, "an object", &out)
	return out
}

// output reads what the executor handed over; bare text is its answer.
func (t *trace) output(o object, keys []string) object {
	if _, raw := part(o, keys); raw != nil && raw[0] == '"' {
		return object{"answer": raw}
	}
	return t.object(o, keys)
}

func (t *trace) milliseconds(o object, keys []string) *float64 {
	var v float64
	if !t.into(o, keys, "a number", &v) {
		return nil
	}
	if v < 0 || v > longestMS {
		t.faults = append(t.faults, fmt.Sprintf("%s is no duration: %g", keys[0], v))
		return nil
	}
	return &v
}

// tokens reads usage under the API's names or the same in camel case.
func (t *trace) tokens(o object, keys []string) *harness.Usage {
	in := t.object(o, keys)
	if in == nil {
		return nil
	}
	count := func(keys ...string) int {
		var v float64
		t.into(in, keys, "a number", &v)
		if v < 0 || v > mostTokens {
			t.faults = append(t.faults, fmt.Sprintf("%s is no count of tokens: %g", keys[0], v))
			return 0
		}
		return int(v)
	}
	return &harness.Usage{
		Input: count("input_tokens", "inputTokens", "input"), Output: count("output_tokens", "outputTokens", "output"),
		CacheRead:  count("cache_read_input_tokens", "cacheReadInputTokens", "cache_read"),
		CacheWrite: count("cache_creation_input_tokens", "cacheCreationInputTokens", "cache_write"),
	}
}

func (t *trace) toolCalls(o object, n Names) []call {
	key, raw := part(o, n.ToolInvocations)
	var entries []object
	if raw == nil {
		return nil
	}
	isNull := func(o object) bool { return o == nil }
	if json.Unmarshal(raw, &entries) != nil || slices.ContainsFunc(entries, isNull) {
		entries = t.oneByOne(key, raw)
	}
	var out []call
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		c := call{tool: t.text(entry, n.ToolName)}
		if c.tool == "" {
			t.faults = append(t.faults, fmt.Sprintf("%s[%d] names no tool", key, i))
		}
		_, success := part(entry, n.ToolSuccess)
		c.failed = string(success) == "false"
		out = append(out, c)
	}
	return out
}

// oneByOne reads a list in which something is no object, nil for what is not.
func (t *trace) oneByOne(key string, raw json.RawMessage) []object {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		t.faults = append(t.faults, fmt.Sprintf("%s is %s, want a list", key, typeOf(raw)))
		return nil
	}
	out := make([]object, len(list))
	for i, raw := range list {
		_ = json.Unmarshal(raw, &out[i])
		if out[i] == nil {
			t.faults = append(t.faults, fmt.Sprintf("%s[%d] is %s, want an object", key, i, typeOf(raw)))
		}
	}
	return out
}

// selfEvaluation finds the verifier's evaluation. The self-evaluation may be
// text with the object in it.
func (t *trace) selfEvaluation(top object, n Names) {
	key, raw := part(top, n.SelfEvaluation)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
		if !json.Valid(raw) {
			t.why = "self_evaluation_not_json"
			return
		}
	}
	_ = json.Unmarshal(raw, &t.self)
	switch {
	case key == "":
		t.why = "no_self_evaluation"
	case t.self == nil:
		t.why = "self_evaluation_wrong_type"
	default:
		key, raw = part(t.self, n.VerifierEvaluation)
		switch {
		case key == "":
			t.why = "no_verifier_evaluation"
		case json.Unmarshal(raw, &t.verifier) != nil:
			t.why = "verifier_evaluation_wrong_type"
		}
	}
}

// summary lists the tools of the verifier's trace summary: names in its list of
// tools, and entries that name one. Prose is not searched: it may say that a tool
// was not called.
func (t *trace) summary(verifier object, n Names) []string {
	_, raw := part(verifier, n.TraceSummary)
	return toolsIn(raw, n, 0)
}

// summaryDepth bounds how deep a summary is looked into.
const summaryDepth = 6

func toolsIn(raw json.RawMessage, n Names, depth int) []string {
	var name string
	var list []json.RawMessage
	var o object
	switch {
	case raw == nil || depth > summaryDepth:
		return nil
	case json.Unmarshal(raw, &name) == nil:
		return []string{name}
	case json.Unmarshal(raw, &list) == nil:
		var out []string
		for _, entry := range list {
			out = append(out, toolsIn(entry, n, depth+1)...)
		}
		return out
	}
	_ = json.Unmarshal(raw, &o) // what is no object names none
	_, tools := part(o, n.SummaryTools)
	return append(toolsIn(tools, n, depth+1), textAt(o, n.ToolName...))
}

// typeOf names the type of a JSON value for a message.
func typeOf(raw []byte) string {
	switch bytes.TrimSpace(raw)[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// covered reports how a tool is shown: as a call or in the summary, and whether
// every call of it failed.
func (t trace) covered(tool string) (shown, onlyFailed bool) {
	same := func(name string) bool { return strings.TrimSpace(name) == tool }
	shown = slices.ContainsFunc(t.summed, same)
	for _, c := range t.calls {
		if same(c.tool) {
			onlyFailed = (!shown || onlyFailed) && c.failed
			shown = true
		}
	}
	return shown, onlyFailed
}
