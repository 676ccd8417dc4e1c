package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// keeperNote is the note of the corpus's plugin.
const keeperNote = "[keeper] This tower writes its decisions down in docs/adr. Look there before you undo one."

// expansion builds a stream from the short form of the fixtures. Each line is a
// verb with what it is about; a line that starts with "{" stands for itself.
//
//	hook                    the SessionStart hook delivers the note
//	hook: TEXT              it prints TEXT instead
//	init  result            the first and the last line of a session
//	text: T  think: T  injected: T
//	bash: CMD  read: PATH  write: PATH  edit: PATH  skill: NAME  ask: QUESTION
//	use: TOOL {INPUT}       any other tool
//	sub VERB: …             by a subagent
//	output: T  failed: T  denied: T  unanswered     what became of the last call
//	grow: 20 MiB            the last call printed so much
//	+ {KEYS}                keys to put over those of the last line, null to drop one
//	noise: T                a line that is no JSON
//	cut: N                  the stream ends N bytes early
//
// An argument that is a quoted Go string is read as one.
type expansion struct {
	project string
	lines   []any // an object, or a string that stands for itself
	last    map[string]any
	result  map[string]any // of the last call
	calls   int
	said    string
	cut     int
}

// expand returns the stream. What it does not understand is an error.
func expand(project, text string) ([]byte, error) {
	x := &expansion{project: project}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		if err := x.line(line); err != nil {
			return nil, fmt.Errorf("transcript: line %d: %w", i+1, err)
		}
	}
	return x.bytes()
}

func (x *expansion) bytes() ([]byte, error) {
	var out bytes.Buffer
	for _, l := range x.lines {
		if raw, ok := l.(string); ok {
			out.WriteString(raw + "\n")
			continue
		}
		data, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		out.Write(append(data, '\n'))
	}
	if x.cut >= out.Len() {
		return nil, fmt.Errorf("the stream has %d bytes and is cut by %d", out.Len(), x.cut)
	}
	return out.Bytes()[:out.Len()-x.cut], nil
}

func (x *expansion) line(line string) error {
	if strings.HasPrefix(line, "{") {
		x.lines, x.last = append(x.lines, line), nil
		return nil
	}
	if keys, ok := strings.CutPrefix(line, "+ "); ok {
		return x.over(keys)
	}
	parent := ""
	if rest, ok := strings.CutPrefix(line, "sub "); ok {
		line, parent = rest, "toolu_agent"
	}
	verb, arg, _ := strings.Cut(line, ":")
	arg = strings.TrimPrefix(arg, " ")
	if strings.HasPrefix(arg, `"`) {
		if s, err := strconv.Unquote(arg); err == nil {
			arg = s
		}
	}
	switch verb {
	case "hook", "init", "result":
		x.frame(verb, arg)
	case "text", "think", "injected":
		x.speech(verb, arg, parent)
	case "noise":
		x.lines, x.last = append(x.lines, arg), nil
	case "cut":
		n, err := strconv.Atoi(arg)
		x.cut = n
		return err
	case "output", "failed", "denied", "unanswered", "grow":
		return x.became(verb, arg)
	default:
		return x.call(verb, arg, parent)
	}
	return nil
}

func (x *expansion) add(line map[string]any) {
	x.lines, x.last = append(x.lines, line), line
}

// over puts keys over those of the last line.
func (x *expansion) over(keys string) error {
	var with map[string]any
	if err := json.Unmarshal([]byte(keys), &with); err != nil {
		return err
	}
	if x.last == nil {
		return fmt.Errorf("there is no line to put %s over", keys)
	}
	maps.Copy(x.last, with)
	maps.DeleteFunc(x.last, func(_ string, v any) bool { return v == nil })
	return nil
}

func (x *expansion) frame(verb, arg string) {
	switch verb {
	case "hook":
		if arg == "" {
			document, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "SessionStart", "additionalContext": keeperNote}})
			if err != nil {
				panic(err)
			}
			arg = string(document)
		}
		x.add(map[string]any{
			"type": "system", "subtype": "hook_response", "hook_name": "SessionStart:startup", "hook_event": "SessionStart",
			"stdout": arg, "exit_code": 0, "outcome": "success",
		})
	case "init":
		x.add(map[string]any{
			"type": "system", "subtype": "init", "cwd": x.project, "session_id": "s-1", "model": "model-mini-7", "claude_code_version": "7.4.1",
			"tools": []string{"Task", "Bash", "Read", "Skill"}, "skills": []string{"keeper:find", "keeper:record", "tidy"}, "mcp_servers": []string{},
			"plugins": []any{
				map[string]any{"name": "keeper", "path": "/box/k3/keeper", "source": "keeper@inline", "version": "1.0.0"},
				map[string]any{"name": "core-pages", "path": "builtin", "source": "core-pages@builtin"},
			},
		})
	case "result":
		x.add(map[string]any{
			"type": "result", "subtype": "success", "is_error": false, "num_turns": 3, "result": x.said, "terminal_reason": "completed",
			"total_cost_usd": 0.01, "modelUsage": map[string]any{"model-mini-7": map[string]any{"inputTokens": 100, "outputTokens": 10}},
		})
	}
}

func (x *expansion) assistant(parent string, block map[string]any) {
	line := map[string]any{"type": "assistant", "message": map[string]any{
		"id": fmt.Sprintf("msg_%d", len(x.lines)), "model": "model-mini-7", "role": "assistant", "content": []any{block},
	}}
	if parent != "" {
		line["parent_tool_use_id"] = parent
	}
	x.add(line)
}

func (x *expansion) speech(verb, arg, parent string) {
	switch verb {
	case "text":
		x.assistant(parent, map[string]any{"type": "text", "text": arg})
		if parent == "" {
			x.said = arg
		}
	case "think":
		x.assistant(parent, map[string]any{"type": "thinking", "thinking": arg})
	case "injected":
		x.add(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": arg}})
	}
}

// call adds a tool call and its result, which is empty and no error.
func (x *expansion) call(verb, arg, parent string) error {
	tool, input := "", map[string]any{}
	switch verb {
	case "bash":
		tool, input["command"] = "Bash", arg
	case "read":
		tool, input["file_path"] = "Read", arg
	case "write":
		tool, input["file_path"], input["content"] = "Write", arg, "x"
	case "edit":
		tool, input["file_path"] = "Edit", arg
	case "skill":
		tool, input["skill"] = "Skill", arg
	case "ask":
		tool, input["questions"] = "AskUserQuestion", []any{map[string]any{"question": arg}}
	case "use":
		name, document, _ := strings.Cut(arg, " ")
		if err := json.Unmarshal([]byte(document), &input); err != nil {
			return fmt.Errorf("the input of %s: %w", name, err)
		}
		tool = name
	default:
		return fmt.Errorf("no verb %q", verb)
	}
	x.calls++
	id := fmt.Sprintf("toolu_%d", x.calls)
	x.assistant(parent, map[string]any{"type": "tool_use", "id": id, "name": tool, "input": input})
	use := x.last
	x.result = map[string]any{"type": "tool_result", "tool_use_id": id, "content": ""}
	answer := map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{x.result}}}
	if parent != "" {
		answer["parent_tool_use_id"] = parent
	}
	x.add(answer)
	x.last = use
	return nil
}

// became changes the result of the last call.
func (x *expansion) became(verb, arg string) error {
	if x.result == nil {
		return fmt.Errorf("there is no call for %s", verb)
	}
	answer := x.lines[len(x.lines)-1].(map[string]any)
	switch verb {
	case "output":
		x.result["content"] = arg
	case "failed":
		x.result["content"], x.result["is_error"] = arg, true
	case "denied":
		x.result["content"], x.result["is_error"] = arg, true
		answer["tool_result_meta"] = []any{map[string]any{"id": x.result["tool_use_id"], "non_execution_kind": "permission-rule"}}
	case "unanswered":
		x.lines, x.result = x.lines[:len(x.lines)-1], nil
	case "grow":
		n, unit, _ := strings.Cut(arg, " ")
		size, err := strconv.Atoi(n)
		scale, ok := map[string]int{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]
		if err != nil || !ok {
			return fmt.Errorf("%q is no size", arg)
		}
		x.result["content"] = strings.Repeat("w", size*scale)
	}
	return nil
}
