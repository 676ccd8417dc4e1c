package fake

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// session is one headless session.
type session struct {
	opt      options
	env      environment
	dir      string
	prompt   string
	id       string
	started  time.Time
	plugin   plugin
	client   client
	out      printer
	files    map[string]time.Time // files the model has seen, with their time of change
	shellDir string               // where the next shell command starts
	fault    AgentFault

	system       string // prompt of a session without tools
	conversation []sentMessage
	userLines    int // user lines printed: a turn of the CLI's count each
	spent        spending
}

// sentMessage is one message of the conversation, as sent.
type sentMessage struct {
	Role    string   `json:"role"`
	Content []object `json:"content"`
}

// run is the session: hook, init, then answer and tools in turn until the
// model calls no tool, a limit is reached or the API gives no answer.
func (s *session) run(ctx context.Context) int {
	if s.fault == AgentFaultRoot {
		return s.startFails()
	}
	notes := s.runHooks(ctx)
	if ctx.Err() != nil {
		return exitTerminated
	}
	if s.fault != AgentFaultNoInit {
		s.out.line(s.initLine())
	}
	if s.client.header == "" {
		return s.fail(&apiError{word: "authentication_failed"}, "Not logged in · Please run /login")
	}
	s.conversation = s.opening(notes)
	resumed := 0
	for turn := 1; ; turn++ {
		a, apiErr := s.ask(ctx)
		if ctx.Err() != nil {
			return exitTerminated
		}
		if apiErr != nil {
			return s.fail(apiErr, apiErr.text())
		}
		s.spent.add(a)
		s.printAnswer(a)
		if a.stopReason == "max_tokens" && resumed < maxResumes {
			resumed++
			s.resume(a)
			continue
		}
		if a.stopReason == "max_tokens" || a.stopReason == "refusal" {
			return s.fail(unfinished(a.stopReason))
		}
		calls := a.calls()
		if len(calls) == 0 {
			return s.finish(ctx, a)
		}
		results := s.runTools(ctx, calls)
		if ctx.Err() != nil {
			return exitTerminated
		}
		if turn == 1 {
			if code, over := s.afterTool(ctx); over {
				return code
			}
		}
		s.conversation = append(s.conversation, sentMessage{"assistant", a.blocks}, sentMessage{"user", results})
		if stop, ok := s.limit(turn); ok {
			s.out.line(s.result(a.stopReason, stop))
			return exitFailed
		}
	}
}

func (s *session) ask(ctx context.Context) (answer, *apiError) {
	body, err := json.Marshal(s.request())
	if err != nil {
		return answer{}, &apiError{cause: err}
	}
	start := time.Now()
	a, apiErr := s.client.send(ctx, body, s.printRetry)
	s.spent.api += time.Since(start)
	return a, apiErr
}

// limit reports the limit that ends the session after a turn.
func (s *session) limit(turn int) (ending, bool) {
	switch {
	case s.opt.maxTurns > 0 && turn >= s.opt.maxTurns:
		return endMaxTurns(s.opt.maxTurns), true
	case s.opt.maxBudget > 0 && s.spent.cost() >= s.opt.maxBudget:
		return endBudget(s.opt.maxBudget), true
	default:
		return ending{}, false
	}
}

// finish prints the result of a session that came to its end, unless a signal
// came first.
func (s *session) finish(ctx context.Context, a answer) int {
	if ctx.Err() != nil {
		return exitTerminated
	}
	return s.atEnd(ctx, s.result(a.stopReason, ending{subtype: "success", reason: "completed", text: a.text()}))
}

func (s *session) fail(e *apiError, text string) int {
	s.printFailure(e, text)
	s.out.line(s.result("stop_sequence", ending{subtype: "success", reason: "api_error", text: text, api: e}))
	return exitFailed
}

// call is one tool_use block.
type call struct {
	id, name string
	input    json.RawMessage
}

func (a answer) calls() []call {
	var out []call
	for _, b := range a.blocks {
		if b["type"] != "tool_use" {
			continue
		}
		input, err := json.Marshal(b["input"])
		if err != nil {
			input = nil
		}
		id, _ := b["id"].(string)
		name, _ := b["name"].(string)
		out = append(out, call{id, name, input})
	}
	return out
}

// runTools executes the calls in order, prints their results and returns the
// content of the next user message.
func (s *session) runTools(ctx context.Context, calls []call) []object {
	var content, extra []object
	for _, c := range calls {
		r := s.runTool(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		block := object{"type": "tool_result", "tool_use_id": c.id, "content": r.content}
		if r.failed || r.flag {
			block["is_error"] = r.failed
		}
		var meta []object
		if r.ran {
			meta = []object{{"id": c.id, "permission_decision": object{
				"decision": "accept", "source": "config", "reason_type": "mode",
			}}}
		}
		s.printUser(block, r.result, meta, false)
		content = append(content, block)
		if r.injected != "" {
			text := object{"type": "text", "text": r.injected}
			s.printUser(text, nil, nil, true)
			extra = append(extra, text)
		}
	}
	return slices.Concat(content, extra)
}
