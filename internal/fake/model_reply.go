package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Sizes of a plausible conversation, in tokens: what the CLI sends before the
// first answer, and what a turn adds.
const (
	tokensPrefix  = 13200
	tokensPerTurn = 180
)

// reply is one answer, ready to be sent in either form.
type reply struct {
	id    string
	tool  string // id of the tool call
	model string
	turn  turn
	usage usage
	// ending is the stop reason where it is not the turn's own; uncounted leaves
	// the token counts null.
	ending    string
	uncounted bool
}

func newReply(key, model string, n int, t turn) reply {
	id := digest("message", key, n)
	u := usage{Input: 4, CacheWrite: tokensPrefix, Output: 8 + t.size()/4}
	if n > 0 {
		u.CacheRead, u.CacheWrite = tokensPrefix+(n-1)*tokensPerTurn, tokensPerTurn
	}
	return reply{id: "msg_01" + id[:22], tool: "toolu_01" + id[22:44], model: model, turn: t, usage: u}
}

// size is how much the turn says. Paths are left out: they hold the random
// names of a sandbox, and the same session must cost the same everywhere.
func (t turn) size() int {
	n := len(t.text)
	for name, v := range t.input {
		if text, ok := v.(string); ok && name != "file_path" {
			n += len(text)
		}
	}
	return n
}

// digest derives 64 hex digits that give nothing of the key away.
func digest(kind, key string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", kind, key, n))
	return hex.EncodeToString(sum[:])
}

func (r reply) stop() string {
	if r.ending != "" {
		return r.ending
	}
	if r.turn.tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

// message is the Messages API object, with or without its content.
func (r reply) message(whole bool) map[string]any {
	m := map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
	u := r.usage
	if whole {
		m["content"], m["stop_reason"] = []any{r.block(true)}, r.stop()
	} else {
		u.Output = 1
	}
	m["usage"] = u
	if r.uncounted {
		m["usage"] = nil
	}
	return m
}

func (r reply) block(whole bool) map[string]any {
	if r.turn.tool == "" {
		text := ""
		if whole {
			text = r.turn.text
		}
		return map[string]any{"type": "text", "text": text}
	}
	input := map[string]any{}
	if whole {
		input = r.turn.input
	}
	return map[string]any{"type": "tool_use", "id": r.tool, "name": r.turn.tool, "input": input}
}

// deltas cuts the content in two, as a stream would.
func (r reply) deltas() []map[string]any {
	kind, field, text := "text_delta", "text", r.turn.text
	if r.turn.tool != "" {
		input, _ := json.Marshal(r.turn.input) // strings only: cannot fail
		kind, field, text = "input_json_delta", "partial_json", string(input)
	}
	runes := []rune(text)
	half := len(runes) / 2
	var out []map[string]any
	for _, part := range []string{string(runes[:half]), string(runes[half:])} {
		out = append(out, map[string]any{"type": kind, field: part})
	}
	return out
}

// event is one frame of a stream. Its name is repeated in the data.
type event struct {
	name string
	data map[string]any
}

func (r reply) events() []event {
	out := []event{
		{"message_start", map[string]any{"message": r.message(false)}},
		{"ping", map[string]any{}},
		{"content_block_start", map[string]any{"index": 0, "content_block": r.block(false)}},
	}
	for _, d := range r.deltas() {
		out = append(out, event{"content_block_delta", map[string]any{"index": 0, "delta": d}})
	}
	counts := map[string]any{"output_tokens": any(r.usage.Output)}
	if r.uncounted {
		counts["output_tokens"] = nil
	}
	return append(out,
		event{"content_block_stop", map[string]any{"index": 0}},
		event{"message_delta", map[string]any{
			"delta": map[string]any{"stop_reason": r.stop(), "stop_sequence": nil}, "usage": counts,
		}},
		event{"message_stop", map[string]any{}})
}

// middle is the frame before which an answer that goes wrong does so.
const middle = 4

// stream writes the frames and flushes each, up to the middle where the answer
// goes wrong there.
func (r reply) stream(ctx context.Context, w http.ResponseWriter, s shape) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for i, e := range r.events() {
		if i == middle && s != "" {
			breakOff(ctx, w, s)
			return
		}
		if !e.send(w) {
			return
		}
	}
}

// breakOff is what comes instead of the second half.
func breakOff(ctx context.Context, w http.ResponseWriter, s shape) {
	switch s {
	case shapeError:
		event{"error", map[string]any{"error": map[string]any{"type": "overloaded_error", "message": "Overloaded"}}}.send(w)
	case shapeStall:
		<-ctx.Done()
	case shapeEndless:
		every := time.NewTicker(endlessPace)
		defer every.Stop()
		more := event{"content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": "and on "}}}
		for more.send(w) {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
		}
	default:
		panic(http.ErrAbortHandler) // the server's way to drop a connection
	}
}

// endlessPace is between two pieces of an answer that never ends.
const endlessPace = 20 * time.Millisecond

// send writes a frame and reports whether there is still somebody to write to.
func (e event) send(w http.ResponseWriter) bool {
	e.data["type"] = e.name
	data, err := json.Marshal(e.data)
	if err != nil {
		return false
	}
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, data); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}
