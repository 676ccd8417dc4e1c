package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

// TestRequestTexts: what is no text, or of a form unknown here, hides nothing
// that stands beside it.
func TestRequestTexts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"plain":        {`{"system":"s","messages":[{"role":"user","content":"u"}]}`, []string{"s", "u"}},
		"blocks":       {`{"system":[{"type":"text","text":"s"}],"messages":[{"role":"system","content":[{"type":"text","text":"u"}]}]}`, []string{"s", "u"}},
		"the model's":  {`{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"u"}]}`, []string{"u"}},
		"a tool's":     {`{"messages":[{"role":"user","content":[{"type":"tool_result","content":"r","text":"r"},{"type":"text","text":"u"}]}]}`, []string{"u"}},
		"not a block":  {`{"messages":[{"role":"user","content":[7,"x",null,[],{"type":"text","text":"u"}]}]}`, []string{"u"}},
		"not a text":   {`{"messages":[{"role":"user","content":[{"type":{},"text":"x"},{"type":"new","text":[1]},{"type":"text","text":"u"}]}]}`, []string{"u"}},
		"neither form": {`{"system":{"text":"x"},"messages":[{"role":"user","content":5},{"role":"user","content":null},{"role":"user","content":"u"}]}`, []string{"u"}},
		"escaped":      {`{"system":"a\u00e9\n","messages":[]}`, []string{"aé\n"}},
	} {
		read, err := parseRequest([]byte(c.body))
		if got := read.texts(); err != nil || cmp.Diff(c.want, got) != "" {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := parseRequest([]byte(`{"system":"s"`)); err == nil {
		t.Error("half a request: no error")
	}
}

// BenchmarkInspect is a request of the usual size: tools, a long system prompt
// and what a session has read so far.
func BenchmarkInspect(b *testing.B) {
	var tools, messages []any
	for i := range 20 {
		tools = append(tools, map[string]any{"name": fmt.Sprintf("Tool%d", i), "description": strings.Repeat("It does \"this\" and that.\n", 100)})
		messages = append(messages, map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": "t", "content": strings.Repeat("def pause(hour)\n", 200)},
			map[string]any{"type": "text", "text": strings.Repeat("A reminder. ", 40)},
		}})
	}
	body, err := json.Marshal(map[string]any{"system": strings.Repeat("You are careful. ", 1500), "tools": tools, "messages": messages})
	testenv.Must(b, err)
	t := newProxy(nil, Session{Note: "a note that is not there", Descriptions: []string{"nor this"}})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		read, err := parseRequest(body)
		if err != nil || t.inspect(read.texts(), body, "") {
			b.Fatal("exposed")
		}
	}
}
