package fake

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxOutput is the answer length asked for.
const maxOutput = 32_000

// request is the body of the next request, in the real CLI's shape.
func (s *session) request() object {
	user, _ := json.Marshal(object{"device_id": strings.Repeat("0", 64), "account_uuid": "", "session_id": s.id})
	system := []object{
		textBlock("x-anthropic-billing-header: cc_version=" + AgentVersion + "; cc_entrypoint=sdk-cli;"),
		textBlock("You are a coding agent that runs without a person at the keyboard."),
		textBlock("Work on the user's request in the working directory with the tools you are given, " +
			"and end with a message that says what you did and found."),
	}
	tools := s.toolSchemas()
	if s.opt.oneLine {
		system, tools = append(system[:1], textBlock(s.system)), []object{}
	}
	return object{
		"model": s.opt.model, "max_tokens": maxOutput, "stream": true, "messages": s.conversation,
		"system":   system,
		"tools":    tools,
		"metadata": object{"user_id": string(user)},
		"thinking": object{"type": "adaptive"},
	}
}

// toolSchemas is what the model is told of the tools.
func (s *session) toolSchemas() []object {
	var out []object
	for _, t := range s.tools() {
		props := object{}
		for name, kind := range t.params {
			props[name] = object{"type": kind}
		}
		out = append(out, object{"name": t.name, "description": t.about, "input_schema": object{
			"type": "object", "properties": props, "required": t.required,
		}})
	}
	return out
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

// opening is the conversation before the first answer. Models from version 5
// on get what the CLI adds as a message of role "system" after the prompt,
// earlier ones as reminders before it.
func (s *session) opening(notes []string) []sentMessage {
	var parts []string
	parts = append(parts, notes...)
	parts = append(parts, s.environmentText())
	if listing := s.skillListing(); listing != "" {
		parts = append(parts, listing)
	}
	prompt := textBlock(s.prompt)
	if takesSystemMessages(s.opt.model) {
		return []sentMessage{
			{"user", []object{prompt}},
			{"system", []object{textBlock(strings.Join(parts, "\n\n"))}},
		}
	}
	var content []object
	for _, p := range parts {
		content = append(content, textBlock("<system-reminder>\n"+p+"\n</system-reminder>"))
	}
	return []sentMessage{{"user", append(content, prompt)}}
}

func (s *session) environmentText() string {
	return "# Environment\n - Primary working directory: " + s.dir + "\n - Platform: linux\n - Shell: bash\n\n" +
		"The exact model ID is " + s.opt.model + "."
}

func (s *session) skillListing() string {
	hidden := slices.Contains(s.opt.disallowed, "Skill")
	if hidden || len(s.plugin.skills) == 0 {
		return ""
	}
	lines := []string{"The following skills are available for use with the Skill tool:\n"}
	for _, k := range s.plugin.skills {
		if k.offered {
			lines = append(lines, k.line())
		}
	}
	return strings.Join(lines, "\n")
}

// takesSystemMessages reads the major version from a model id; an id without
// one is taken for a new model.
func takesSystemMessages(model string) bool {
	major := regexp.MustCompile(`\d+`).FindString(model)
	n, err := strconv.Atoi(major)
	return err != nil || n >= 5
}
