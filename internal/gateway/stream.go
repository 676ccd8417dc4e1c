package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"loopd/harness"
)

const (
	maxEvent = 8 << 20  // of a stream
	maxPlain = 64 << 20 // of an answer that is one JSON object
)

// served is what a part of an answer names.
type served struct {
	message, model string
	tools          []string
	blocks         int  // content blocks that begin in it
	ends           bool // the message is complete with it
	usage          *usage
}

// usage is tokens as an answer counts them. Later counts of a message replace
// earlier ones.
type usage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

// over lays the later counts over the earlier ones.
func (u usage) over(was usage) usage {
	return usage{
		cmp.Or(u.Input, was.Input), cmp.Or(u.Output, was.Output), cmp.Or(u.CacheRead, was.CacheRead), cmp.Or(u.CacheWrite, was.CacheWrite),
	}
}

func (u usage) tokens() harness.Usage {
	n := func(p *int) int {
		if p == nil || *p < 0 {
			return 0
		}
		return *p
	}
	return harness.Usage{Input: n(u.Input), Output: n(u.Output), CacheRead: n(u.CacheRead), CacheWrite: n(u.CacheWrite)}
}

// answer is one of the API's on its way to the session.
type answer struct {
	proxy   *Proxy
	looked  func() // waits until the request it answers has been looked at, for the next two
	asked   string // the model the request asked for
	exposed bool   // the request held the wording
	names   served // all that it named
	ended   bool   // its message came to its end
	usage   usage  // of its message, as counted last
}

// begin puts a reader between the API's answer and the session.
func (a *answer) begin(resp *http.Response) error {
	a.proxy.gateway.tell(resp.StatusCode, resp.Header)
	a.proxy.record(func(r *Report) {
		if r.LastActivity = time.Now(); resp.StatusCode == http.StatusTooManyRequests {
			r.Limited = resp.Header.Clone()
		}
	})
	b := &recordedBody{ReadCloser: resp.Body, proxy: a.proxy}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	encoding := resp.Header.Get("Content-Encoding")
	switch {
	case resp.StatusCode != http.StatusOK: // an error names no id
	case encoding != "" && encoding != "identity":
		a.unread()
	case kind == "text/event-stream":
		b.part = &eventReader{answer: a}
	case kind == "application/json":
		b.part = &plainReader{answer: a}
	}
	resp.Body = b
	return nil
}

func (a *answer) unread() { a.proxy.record(func(r *Report) { r.Unread++ }) }

// saw writes down what a part named.
func (a *answer) saw(s served) {
	a.looked()
	if s.message != "" {
		a.names.message, a.names.model = s.message, s.model
	}
	a.names.tools = append(a.names.tools, s.tools...)
	a.ended = a.ended || s.ends
	a.proxy.record(func(r *Report) {
		r.MessageIDs = addNew(r.MessageIDs, s.message)
		if s.message != "" {
			r.ExposedTo[s.message] = a.exposed
		}
		r.Served.Add(a.asked, s.model)
		for _, id := range s.tools {
			r.ToolIDs = addNew(r.ToolIDs, id)
		}
		if a.names.message != "" && s.blocks > 0 {
			r.Blocks[a.names.message] += s.blocks
		}
	})
	if s.usage != nil {
		now := s.usage.over(a.usage)
		a.proxy.counts(a.names.model, a.usage.tokens(), now.tokens())
		a.usage = now
	}
}

// arrived is called when the session has taken the whole answer.
func (a *answer) arrived() {
	if !a.ended {
		return
	}
	a.proxy.record(func(r *Report) {
		for _, id := range append(a.names.tools, a.names.message) {
			if id != "" {
				r.Whole[id] = true
			}
		}
	})
}

// reader is fed an answer as it passes.
type reader interface {
	feed(p []byte)
	end()
}

type recordedBody struct {
	io.ReadCloser
	proxy *Proxy
	part  reader
}

// Read writes down what has come before handing it on.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.proxy.record(func(r *Report) { r.LastActivity = time.Now() })
	if b.part != nil {
		b.part.feed(p[:n])
		if err != nil {
			b.part.end()
			b.part = nil
		}
	}
	return n, err
}

// eventReader reads server-sent events piece by piece. It keeps one event's
// data at most, and of one over maxEvent nothing.
type eventReader struct {
	answer  *answer
	line    []byte
	lineLen int // of the line, also when it is not kept
	last    byte
	data    []byte
	long    bool
}

func (e *eventReader) feed(p []byte) {
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte("\n"))
		if e.lineLen += len(piece); len(piece) > 0 {
			e.last = piece[len(piece)-1]
		}
		if e.long = e.long || len(e.line)+len(e.data)+len(piece) > maxEvent; e.long {
			e.line, e.data = e.line[:0], e.data[:0]
		} else {
			e.line = append(e.line, piece...)
		}
		if whole {
			e.endLine()
		}
		p = rest
	}
}

// endLine ends an event at a blank line. A carriage return makes a line blank
// too, when it is all there is.
func (e *eventReader) endLine() {
	line := bytes.TrimSuffix(e.line, []byte("\r"))
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		e.data = append(append(e.data, bytes.TrimPrefix(data, []byte(" "))...), '\n')
	}
	if e.lineLen == 0 || e.lineLen == 1 && e.last == '\r' {
		e.endEvent()
	}
	e.line, e.lineLen = e.line[:0], 0
}

func (e *eventReader) endEvent() {
	if e.long {
		e.answer.unread()
	} else if s, ok := readEvent(e.data); ok {
		e.answer.saw(s)
	}
	e.data, e.long = e.data[:0], false
}

func (e *eventReader) end() {
	if e.lineLen > 0 {
		e.endLine()
	}
	e.endEvent()
}

// readEvent takes the ids from the two events that carry any, the tokens from
// the two that count them, and the end from the one that says it. All others are
// told by their bytes and not parsed.
func readEvent(data []byte) (served, bool) {
	if !slices.ContainsFunc([]string{"message_start", "content_block_start", "message_delta", "message_stop"}, func(kind string) bool {
		return bytes.Contains(data, []byte(kind))
	}) {
		return served{}, false
	}
	var event struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
		Block   block   `json:"content_block"`
		Usage   *usage  `json:"usage"`
	}
	if json.Unmarshal(data, &event) != nil {
		return served{}, false
	}
	switch event.Type {
	case "message_start":
		return event.Message.served(), true
	case "content_block_start":
		return served{tools: event.Block.tools(), blocks: 1}, true
	case "message_delta":
		return served{usage: event.Usage}, event.Usage != nil
	case "message_stop":
		return served{ends: true}, true
	}
	return served{}, false
}

type message struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Content []block `json:"content"`
	Usage   *usage  `json:"usage"`
}

type block struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func (m message) served() served {
	s := served{message: m.ID, model: m.Model, blocks: len(m.Content), usage: m.Usage}
	for _, b := range m.Content {
		s.tools = append(s.tools, b.tools()...)
	}
	return s
}

func (b block) tools() []string {
	if b.Type != "tool_use" {
		return nil
	}
	return []string{b.ID}
}

// plainReader reads an answer that is one JSON object.
type plainReader struct {
	answer *answer
	data   []byte
	long   bool
}

func (r *plainReader) feed(p []byte) {
	if r.long = r.long || len(r.data)+len(p) > maxPlain; r.long {
		r.data = nil
		return
	}
	r.data = append(r.data, p...)
}

func (r *plainReader) end() {
	var m struct {
		Type string `json:"type"`
		message
	}
	switch {
	case r.long:
		r.answer.unread()
	case json.Unmarshal(r.data, &m) == nil && m.Type == "message":
		s := m.message.served()
		s.ends = true
		r.answer.saw(s)
	}
}
