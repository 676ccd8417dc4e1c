package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"loopd/harness"
)

const (
	hooksFile  = "hooks/hooks.json"
	startEvent = "SessionStart"
	maxRead    = 20 // commands, and words of one, that are followed to files
)

// hook finds what runs when a session starts: hooks/hooks.json and what the
// manifest adds.
func (r *reader) hook(m manifest) {
	r.plugin.Hook.Commands = []string{}
	if data, err := read(r.fsys, hooksFile); err == nil {
		r.hooksIn(hooksFile, trimMark(data))
	} else if !errors.Is(err, fs.ErrNotExist) {
		r.block(hooksFile, "mend it", "cannot be read: %v", err)
	}
	if len(m.Hooks) > 0 && m.Hooks[0] == '{' {
		r.hooksIn(ManifestPath, slices.Concat([]byte(`{"hooks":`), inner(m.Hooks), []byte(`}`)))
	}
	for _, name := range paths(m.Hooks) {
		at, ok := r.below("hooks", name)
		if !ok || at == hooksFile {
			continue
		}
		data, err := read(r.fsys, at)
		if err != nil {
			r.missing("hooks", name)
			continue
		}
		r.hooksIn(at, trimMark(data))
	}
	if n := len(r.plugin.Hook.Commands); n > 1 {
		r.block(hooksFile, "make them one", "%d programs run when a session starts, and loopd can prove the text of one alone", n)
	}
	r.guess()
}

// inner is the events of hooks that stand in the manifest, with or without the
// key that a file has around them.
func inner(raw []byte) []byte {
	var file struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	if json.Unmarshal(raw, &file) == nil && len(file.Hooks) > 0 {
		return file.Hooks
	}
	return raw
}

// hooksIn reads a hooks file. One that is broken is an error of the whole
// plugin; smaller faults the CLI passes over in silence.
func (r *reader) hooksIn(file string, data []byte) {
	var doc struct {
		Hooks   map[string]json.RawMessage `json:"hooks"`
		Modules json.RawMessage            `json:"modules"`
	}
	err := json.Unmarshal(data, &doc)
	if err == nil && doc.Hooks == nil && doc.Modules == nil {
		err = errors.New("hooks: missing")
	} else if err != nil {
		err = errors.New(jsonReason(err))
	}
	if err != nil {
		r.block(file, "mend it", "%v, which the agent takes for an error of the plugin", err)
		return
	}
	for _, event := range slices.Sorted(maps.Keys(doc.Hooks)) {
		switch {
		case event == startEvent:
			r.startGroups(file, doc.Hooks[event])
		case strings.EqualFold(event, startEvent):
			r.warn(file, "write "+startEvent, "%q is no event of the agent's, which passes over it", event)
		}
	}
}

// startGroups collects the commands that run when a session is new.
func (r *reader) startGroups(file string, raw []byte) {
	var groups []struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string `json:"type"`
			Command string `json:"command"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		r.warn(file, "mend it", "%s: %s; the agent passes over it", startEvent, jsonReason(err))
		return
	}
	for _, g := range groups {
		for _, h := range g.Hooks {
			switch {
			case !matches(g.Matcher, "startup"):
			case h.Type != "command" || h.Command == "":
				r.warn(file, `give it type "command" and a command`, "%s: a hook of type %q hands no text over", startEvent, h.Type)
			default:
				r.starts = append(r.starts, h.Command)
				r.plugin.Hook.Commands = append(r.plugin.Hook.Commands, printable(h.Command))
			}
		}
	}
}

// words is a matcher that lists words; any other is a regular expression.
var words = regexp.MustCompile(`^[\w|]+$`)

// matches applies a matcher as the agent CLI does.
func matches(matcher, word string) bool {
	if matcher == "" || matcher == "*" {
		return true
	}
	if words.MatchString(matcher) {
		return strings.Contains("|"+matcher+"|", "|"+word+"|")
	}
	re, err := regexp.Compile(matcher)
	return err == nil && re.MatchString(word)
}

var (
	// inPlugin finds a file of the plugin's in a command.
	inPlugin = regexp.MustCompile(`\$\{?CLAUDE_PLUGIN_ROOT\}?["']?/([\w./-]+)`)
	// argument finds what may be a file beside the program.
	argument = regexp.MustCompile(`[\w.-]+`)
	// textFile finds the name of a text in a program.
	textFile = regexp.MustCompile(`[\w./-]*[\w-]\.(?:md|txt)\b`)
)

// guess reads the programs of the hook, without running any, for the envelope
// they print and the text they read.
func (r *reader) guess() {
	hook := &r.plugin.Hook
	if len(hook.Commands) == 0 {
		return
	}
	hook.Envelope = harness.EnvelopeText
	named := make(map[string]bool)
	for _, command := range r.starts[:min(len(r.starts), maxRead)] {
		programs := r.programsOf(command)
		programs["."] = command
		for file, text := range programs {
			if strings.Contains(text, "hookSpecificOutput") {
				hook.Envelope = harness.EnvelopeJSON
			}
			for _, name := range textFile.FindAllString(text, -1) {
				if at := r.resolve(path.Dir(file), name); at != "" {
					named[at] = true
				}
			}
		}
	}
	if len(named) == 1 {
		hook.Text = slices.Collect(maps.Keys(named))[0]
	}
}

// programsOf are the texts of the plugin's files that a command names, by path.
func (r *reader) programsOf(command string) map[string]string {
	out := make(map[string]string)
	add := func(name string) {
		name = path.Clean(name)
		if data, err := read(r.fsys, name); err == nil {
			out[name] = string(data)
		}
	}
	for _, m := range inPlugin.FindAllStringSubmatchIndex(command, maxRead) {
		name := command[m[2]:m[3]]
		if whole := m[3] == len(command) || !strings.ContainsRune("$*?[{", rune(command[m[3]])); whole && !exists(r.fsys, path.Clean(name)) {
			r.block(hooksFile, "put it there", "the hook names %q, which is not there", name)
		}
		add(name)
		for _, word := range argument.FindAllString(command, maxRead) {
			add(path.Join(path.Dir(name), word))
		}
	}
	return out
}

// resolve finds the plugin's text file that a program in dir means by a name;
// empty for none, and for a skill, which needs no other way onto the Surface.
func (r *reader) resolve(dir, name string) string {
	name = strings.TrimLeft(name, "/")
	for _, at := range []string{path.Join(dir, name), path.Clean(name), path.Join(dir, path.Base(name))} {
		if !fs.ValidPath(at) || path.Base(at) == skillFile {
			continue
		}
		if isFile(r.fsys, at) {
			return at
		}
	}
	return ""
}

// Kind says in words whether there is a hook and how its text is handed over.
func (h Hook) Kind() string {
	switch {
	case len(h.Commands) == 0:
		return "none"
	case h.Text != "":
		return fmt.Sprintf("when a session starts, as %s, text in %s", h.Envelope, h.Text)
	}
	return fmt.Sprintf("when a session starts, as %s", h.Envelope)
}
