package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// tool is one tool the stand-in has.
type tool struct {
	name, about string
	params      map[string]string // name and JSON type
	required    []string
	run         func(context.Context, input) toolResult
}

// input is the decoded arguments of any tool.
type input struct {
	Command    string  `json:"command"`
	Timeout    float64 `json:"timeout"` // milliseconds
	FilePath   string  `json:"file_path"`
	Offset     int     `json:"offset"`
	Limit      int     `json:"limit"`
	Content    string  `json:"content"`
	OldString  string  `json:"old_string"`
	NewString  string  `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
	Skill      string  `json:"skill"`
	Args       string  `json:"args"`
}

// toolResult is what a call came to.
type toolResult struct {
	content  string
	result   any    // tool_use_result of the stream
	failed   bool   // is_error
	flag     bool   // say is_error even when false, as Bash does
	ran      bool   // the call was permitted, so its decision is told
	injected string // user text added after the result
}

// refuse is a call that never ran.
func refuse(format string, args ...any) toolResult {
	text := fmt.Sprintf(format, args...)
	return toolResult{content: "<tool_use_error>" + text + "</tool_use_error>", result: "Error: " + text, failed: true}
}

// failed is a call that ran and went wrong.
func failed(format string, args ...any) toolResult {
	text := fmt.Sprintf(format, args...)
	return toolResult{content: text, result: "Error: " + text, failed: true, ran: true}
}

// tools lists what may be called in this session.
func (s *session) tools() []tool {
	all := []tool{
		{"Bash", "Run a shell command in the working directory.",
			map[string]string{"command": "string", "timeout": "number", "description": "string"}, []string{"command"}, s.bash},
		{"Edit", "Replace one exact text in a file that was read before.",
			map[string]string{"file_path": "string", "old_string": "string", "new_string": "string", "replace_all": "boolean"},
			[]string{"file_path", "old_string", "new_string"}, s.edit},
		{"Read", "Read a file, with line numbers.",
			map[string]string{"file_path": "string", "offset": "number", "limit": "number"}, []string{"file_path"}, s.read},
		{"Skill", "Load a skill by its name.",
			map[string]string{"skill": "string", "args": "string"}, []string{"skill"}, s.useSkill},
		{"Write", "Write a whole file.",
			map[string]string{"file_path": "string", "content": "string"}, []string{"file_path", "content"}, s.write},
	}
	return slices.DeleteFunc(all, func(t tool) bool { return slices.Contains(s.opt.disallowed, t.name) })
}

// runTool executes one call.
func (s *session) runTool(ctx context.Context, c call) toolResult {
	tools := s.tools()
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == c.name })
	if i < 0 {
		return refuse("Error: No such tool available: %s", c.name)
	}
	if problems := tools[i].problems(c.input); len(problems) > 0 {
		return refuse("InputValidationError: %s failed due to the following issues:\n%s", c.name, strings.Join(problems, "\n"))
	}
	var in input
	if err := json.Unmarshal(c.input, &in); err != nil {
		return refuse("InputValidationError: %s: %v", c.name, err)
	}
	return tools[i].run(ctx, in)
}

// problems names missing and unexpected parameters.
func (t tool) problems(raw json.RawMessage) []string {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return []string{"The input is not a JSON object"}
	}
	var out []string
	for _, name := range t.required {
		if _, ok := given[name]; !ok {
			out = append(out, fmt.Sprintf("The required parameter `%s` is missing", name))
		}
	}
	for name := range given {
		if _, ok := t.params[name]; !ok {
			out = append(out, fmt.Sprintf("An unexpected parameter `%s` was provided", name))
		}
	}
	slices.Sort(out)
	return out
}

// useSkill loads a skill: its body follows the result as injected text.
func (s *session) useSkill(_ context.Context, in input) toolResult {
	k, ok := s.plugin.skill(in.Skill)
	if !ok {
		return refuse("Unknown skill: %s", in.Skill)
	}
	body := k.body
	if strings.Contains(body, "$ARGUMENTS") {
		body = strings.ReplaceAll(body, "$ARGUMENTS", in.Args)
	} else if in.Args != "" {
		body += "\n\nARGUMENTS: " + in.Args
	}
	return toolResult{
		content: "Launching skill: " + in.Skill, ran: true,
		result:   object{"success": true, "commandName": in.Skill},
		injected: "Base directory for this skill: " + k.dir + "\n\n" + strings.TrimLeft(body, "\n"),
	}
}
