package candidates

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Skill is a SKILL.md as the agent CLI takes it, which is more than valid YAML:
// many public skills are no YAML as they stand.
type Skill struct {
	Head map[string]any // nil where it could not be read
	Body string
	// Bare: there is no front matter. The CLI does not offer such a skill.
	Bare bool
	// Lenient says why the front matter is no valid YAML, where the CLI reads it
	// all the same; a candidate cannot edit such a file. Empty otherwise.
	Lenient string
	// Fault says why the front matter cannot be read at all.
	Fault string
}

// ReadSkill reads a SKILL.md. It gives no error: what is wrong is told by Bare,
// Lenient and Fault.
func ReadSkill(content []byte) Skill {
	text := string(content)
	raw, body, err := splitSkill(text)
	if err != nil {
		return Skill{Body: strings.TrimPrefix(text, bom), Bare: true}
	}
	head, _, strict := parseSkill(text)
	if strict == nil {
		return Skill{Head: head, Body: body}
	}
	if head, _, err = parseSkill("---\n" + inQuotes(raw) + "---\n"); err == nil {
		return Skill{Head: head, Body: body, Lenient: strict.Error()}
	}
	return Skill{Body: body, Fault: strict.Error()}
}

// plainLine is a key of the outermost map with a value that has no quotes and
// ends on its line. The CLI puts such values in quotes when the YAML is broken.
var plainLine = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)[ \t]*:[ \t]+([^"'|>\s].*)$`)

// inQuotes puts the values of plain lines in quotes, and blanks for tabs that
// indent.
func inQuotes(raw string) string {
	var out strings.Builder
	for line := range strings.Lines(raw) {
		line = strings.TrimRight(line, " \t\r\n")
		text := strings.TrimLeft(line, " \t")
		line = strings.ReplaceAll(line[:len(line)-len(text)], "\t", "  ") + text
		if m := plainLine.FindStringSubmatch(line); m != nil {
			line = m[1] + ": '" + strings.ReplaceAll(m[2], "'", "''") + "'"
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// Text is the value of a key as text, on one line as in the CLI's list of
// skills; empty for a key that is not there or holds a list or map.
func (s Skill) Text(key string) string {
	switch v := s.Head[key].(type) {
	case string:
		return breaks.ReplaceAllString(v, " ")
	case nil, []any, map[string]any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// breaks is what the CLI makes a single blank of when it lists a skill.
var breaks = regexp.MustCompile(`[\x00-\x1f\x7f-\x{9f}\x{2028}\x{2029}]+`)

// Description is the description as the list of skills shows it.
func (s Skill) Description() string { return strings.TrimSpace(s.Text("description")) }

// Offered reports whether the CLI lists the skill for the model: not without
// any text to list, and not when only a user may start it.
func (s Skill) Offered() bool {
	only := slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(s.Text("disable-model-invocation")))
	return !only && (s.Description() != "" || strings.TrimSpace(s.Text("when_to_use")) != "")
}

// Listing is the text that the list of skills shows for this one: the
// description, and when to use it. It is empty for a skill that is not offered
// or for which the CLI takes a line of the body.
func (s Skill) Listing() string {
	if !s.Offered() || s.Description() == "" {
		return ""
	}
	if when := strings.TrimRight(s.Text("when_to_use"), " "); when != "" {
		return s.Description() + " - " + when
	}
	return s.Description()
}
