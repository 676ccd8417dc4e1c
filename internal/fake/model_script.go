package fake

import (
	"path"
	"strings"

	"loopd/harness"
)

// turn is one answer of the model: final text, or one tool call.
type turn struct {
	text  string
	tool  string
	input map[string]any
}

// script turns the steps of a fabricated run into turns. A file is read before
// it is edited, because the CLI refuses to edit what the session has not read;
// after a shell command it is read again, for the command may have changed it.
func script(steps []harness.Step, p place) []turn {
	var out []turn
	known := make(map[string]bool)
	for _, s := range steps {
		if s.Edit != nil && !known[s.Edit.Path] {
			out = append(out, readTurn(p, s.Edit.Path))
		}
		out = append(out, turnOf(s, p))
		switch {
		case s.Bash != "":
			clear(known)
		case s.Read != "":
			known[s.Read] = true
		case s.Write != nil:
			known[s.Write.Path] = true
		case s.Edit != nil:
			known[s.Edit.Path] = true
		}
	}
	return out
}

func turnOf(s harness.Step, p place) turn {
	switch {
	case s.Skill != "":
		return turn{tool: "Skill", input: map[string]any{"skill": p.skill(s.Skill)}}
	case s.Bash != "":
		return bashTurn(s.Bash)
	case s.Read != "":
		return readTurn(p, s.Read)
	case s.Write != nil:
		return turn{tool: "Write", input: map[string]any{"file_path": p.abs(s.Write.Path), "content": s.Write.Content}}
	case s.Edit != nil:
		return turn{tool: "Edit", input: map[string]any{
			"file_path": p.abs(s.Edit.Path), "old_string": s.Edit.Old, "new_string": s.Edit.New,
		}}
	default:
		return turn{text: s.Text}
	}
}

func bashTurn(command string) turn {
	return turn{tool: "Bash", input: map[string]any{"command": command}}
}

func readTurn(p place, file string) turn {
	return turn{tool: "Read", input: map[string]any{"file_path": p.abs(file)}}
}

// abs makes a path absolute, as the file tools demand.
func (p place) abs(file string) string {
	if p.dir == "" || path.IsAbs(file) {
		return file
	}
	return path.Join(p.dir, file)
}

// skill returns the plugin-qualified name when the request offers one.
func (p place) skill(name string) string {
	for _, s := range p.skills {
		if s == name || strings.HasSuffix(s, ":"+name) {
			return s
		}
	}
	return name
}
