package fake

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/google/uuid"
)

// object is a JSON object whose keys are not worth a type.
type object = map[string]any

// printer writes the stream, one line a write.
type printer struct{ w io.Writer }

// line writes one line. A reader that has gone away ends the process by signal
// or makes every later write fail; there is nobody left to tell.
func (p printer) line(v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) == nil {
		_, _ = p.w.Write(buf.Bytes())
	}
}

func (p printer) uuid() string { return uuid.NewString() }

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

type hookStartedLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	HookID    string `json:"hook_id"`
	HookName  string `json:"hook_name"`
	HookEvent string `json:"hook_event"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id"`
}

type hookResponseLine struct {
	Type      string      `json:"type"`
	Subtype   string      `json:"subtype"`
	HookID    string      `json:"hook_id"`
	HookName  string      `json:"hook_name"`
	HookEvent string      `json:"hook_event"`
	Output    string      `json:"output"`
	Stdout    string      `json:"stdout"`
	Stderr    string      `json:"stderr"`
	ExitCode  int         `json:"exit_code"`
	Outcome   hookOutcome `json:"outcome"`
	UUID      string      `json:"uuid"`
	SessionID string      `json:"session_id"`
}

type retryLine struct {
	Type         string `json:"type"`
	Subtype      string `json:"subtype"`
	Attempt      int    `json:"attempt"`
	MaxRetries   int    `json:"max_retries"`
	RetryDelayMS int64  `json:"retry_delay_ms"`
	ErrorStatus  *int   `json:"error_status"`
	Error        string `json:"error"`
	SessionID    string `json:"session_id"`
	UUID         string `json:"uuid"`
}

// assistantLine carries one content block; the lines of one API message share
// its id.
type assistantLine struct {
	Type      string  `json:"type"`
	Message   object  `json:"message"`
	Parent    *string `json:"parent_tool_use_id"`
	SessionID string  `json:"session_id"`
	UUID      string  `json:"uuid"`
	Timestamp string  `json:"timestamp"`
	*failure
	RequestID string `json:"request_id,omitempty"`
}

// failure is what a synthetic assistant line says about the API's error.
type failure struct {
	Error   string `json:"error"`
	IsError bool   `json:"is_api_error_message"`
	Status  int    `json:"api_error_status,omitempty"`
	Kind    string `json:"api_error_type,omitempty"`
	Detail  string `json:"api_error,omitempty"`
}

type userLine struct {
	Type       string   `json:"type"`
	Message    object   `json:"message"`
	Parent     *string  `json:"parent_tool_use_id"`
	SessionID  string   `json:"session_id"`
	UUID       string   `json:"uuid"`
	Timestamp  string   `json:"timestamp"`
	ToolResult any      `json:"tool_use_result,omitempty"`
	ToolMeta   []object `json:"tool_result_meta,omitempty"`
	Synthetic  bool     `json:"isSynthetic,omitempty"`
}

func (s *session) printRetry(attempt int, delay time.Duration, e *apiError) {
	l := retryLine{
		Type: "system", Subtype: "api_retry", Attempt: attempt, MaxRetries: s.client.retries,
		RetryDelayMS: delay.Milliseconds(), Error: e.retryName(), SessionID: s.id, UUID: s.out.uuid(),
	}
	if e.status != 0 {
		l.ErrorStatus = &e.status
	}
	s.out.line(l)
}

func (s *session) printAnswer(a answer) {
	for _, b := range a.blocks {
		s.out.line(assistantLine{Type: "assistant", SessionID: s.id, UUID: s.out.uuid(), Timestamp: now(),
			RequestID: a.requestID, Message: object{
				"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": []object{b},
				"stop_reason": nil, "stop_sequence": nil, "usage": a.first, "context_management": nil,
			}})
	}
}

func (s *session) printUser(block object, result any, meta []object, synthetic bool) {
	s.userLines++
	s.out.line(userLine{
		Type: "user", Message: object{"role": "user", "content": []object{block}}, SessionID: s.id,
		UUID: s.out.uuid(), Timestamp: now(), ToolResult: result, ToolMeta: meta, Synthetic: synthetic,
	})
}

// printFailure prints the line the CLI makes up when the API gave no answer.
func (s *session) printFailure(e *apiError, text string) {
	f := &failure{Error: e.name(), IsError: true, Status: e.status, Kind: e.kind, Detail: e.detail()}
	s.out.line(assistantLine{Type: "assistant", SessionID: s.id, UUID: s.out.uuid(), Timestamp: now(),
		RequestID: e.requestID, failure: f, Message: object{
			"id": s.out.uuid(), "type": "message", "role": "assistant", "model": "<synthetic>",
			"content":     []object{{"type": "text", "text": text}},
			"stop_reason": "stop_sequence", "stop_sequence": "", "stop_details": nil, "container": nil,
			"diagnostics": nil, "context_management": nil, "usage": usageReport(usage{}, false),
		}})
}
