package fake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// usage is the tokens of one answer, or the sum over a session.
type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

// answer is one message of the model.
type answer struct {
	id, model  string
	requestID  string
	stopReason string
	first      usage // as the start of the message reported it
	output     int   // final output tokens
	blocks     []object
}

func (a answer) total() usage {
	u := a.first
	u.Output = a.output
	return u
}

// text is the answer's own text.
func (a answer) text() string {
	var b strings.Builder
	for _, block := range a.blocks {
		if block["type"] == "text" {
			text, _ := block["text"].(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

// readAnswer reads a streamed or a plain message.
func readAnswer(resp *http.Response) (answer, error) {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return readPlain(resp.Body)
	}
	return readStream(resp.Body)
}

func readPlain(r io.Reader) (answer, error) {
	var m struct {
		ID, Model  string
		StopReason string `json:"stop_reason"`
		Content    []object
		Usage      usage
	}
	if err := json.NewDecoder(r).Decode(&m); err != nil {
		return answer{}, fmt.Errorf("read message: %w", err)
	}
	return answer{id: m.ID, model: m.Model, stopReason: m.StopReason, first: m.Usage, output: m.Usage.Output, blocks: m.Content}, nil
}

// readStream reads server-sent events to the end. A stream that ends without
// message_stop is accepted, as the CLI does; one that breaks off is an error.
func readStream(r io.Reader) (answer, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var b builder
	name := ""
	for {
		line, err := in.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if v, ok := strings.CutPrefix(line, "event:"); ok {
			name = strings.TrimSpace(v)
		} else if v, ok := strings.CutPrefix(line, "data:"); ok {
			if err := b.event(name, []byte(v)); err != nil {
				return answer{}, fmt.Errorf("read stream: %w", err)
			}
			name = ""
		}
		switch {
		case errors.Is(err, io.EOF) && b.answer.id == "":
			return answer{}, errors.New("read stream: ended before the message began")
		case errors.Is(err, io.EOF):
			return b.answer, nil
		case err != nil:
			return answer{}, fmt.Errorf("read stream: %w", err)
		}
	}
}

// builder puts an answer together from its events.
type builder struct {
	answer answer
	block  object
	input  strings.Builder
}

// frame is every field of every event; an event sets few of them.
type frame struct {
	Message struct {
		ID, Model string
		Usage     usage
	}
	ContentBlock object `json:"content_block"`
	Delta        struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     string `json:"partial_json"`
		StopReason                      string `json:"stop_reason"`
	}
	Usage *struct {
		Output int `json:"output_tokens"`
	}
	Error struct{ Type, Message string }
}

func (b *builder) event(name string, data []byte) error {
	var f frame
	if name == "" {
		return errors.New("a frame without event name")
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch name {
	case "message_start":
		b.answer.id, b.answer.model, b.answer.first = f.Message.ID, f.Message.Model, f.Message.Usage
	case "content_block_start":
		b.block = f.ContentBlock
		b.input.Reset()
	case "content_block_delta":
		b.add("text", f.Delta.Text)
		b.add("thinking", f.Delta.Thinking)
		b.add("signature", f.Delta.Signature)
		b.input.WriteString(f.Delta.PartialJSON)
	case "content_block_stop":
		b.finish()
	case "message_delta":
		b.answer.stopReason = f.Delta.StopReason
		if f.Usage != nil {
			b.answer.output = f.Usage.Output
		}
	case "error":
		return fmt.Errorf("%s: %s", f.Error.Type, f.Error.Message)
	}
	return nil
}

func (b *builder) add(key, text string) {
	if text == "" || b.block == nil {
		return
	}
	have, _ := b.block[key].(string)
	b.block[key] = have + text
}

// finish closes a block. The input of a tool call is what the deltas spelled;
// what does not parse stays text, and the tool will refuse it.
func (b *builder) finish() {
	if b.block == nil {
		return
	}
	if b.block["type"] == "tool_use" {
		b.block["input"] = object{}
		if text := b.input.String(); json.Valid([]byte(text)) {
			b.block["input"] = json.RawMessage(text)
		} else if text != "" {
			b.block["input"] = text
		}
	}
	b.answer.blocks = append(b.answer.blocks, b.block)
	b.block = nil
}
