package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"loopd/candidates"
)

// defaultHookTimeout is how long a hook may run when hooks.json says nothing.
const defaultHookTimeout = 60 * time.Second

// maxDescription is where the CLI cuts a skill's description in the listing.
const maxDescription = 1536

// plugin is what was loaded from --plugin-dir. The zero value is no plugin.
type plugin struct {
	name, version, root string
	skills              []skill
	hooks               []hookCommand
	errors              []pluginError
}

type skill struct {
	name    string // plugin-qualified, by the directory
	offered bool   // to the model
	listing string
	dir     string
	body    string
}

// hookCommand is one program to run at the start of a session.
type hookCommand struct {
	command string
	timeout time.Duration
}

// pluginError is an entry of the init line's plugin_errors.
type pluginError struct {
	Plugin  string `json:"plugin"`
	Type    string `json:"type"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
}

// loadPlugin reads a plugin. What cannot be loaded is reported in the init
// line and the session runs on without it, as with the real CLI.
func loadPlugin(cwd, dir string) plugin {
	var p plugin
	if dir == "" {
		return p
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cwd, dir)
	}
	if _, err := os.Stat(dir); err != nil {
		p.errors = append(p.errors, pluginError{"inline[0]", "path-not-found", "Path not found: " + dir, dir})
		return p
	}
	var manifest struct{ Name, Version string }
	data, err := os.ReadFile(filepath.Join(dir, ".claude-plugin", "plugin.json"))
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	} else if errors.Is(err, fs.ErrNotExist) {
		manifest.Name, err = filepath.Base(dir), nil // the folder names a plugin without manifest
	}
	if err != nil || manifest.Name == "" {
		message := fmt.Sprintf("Plugin manifest is not usable: %v", err)
		p.errors = append(p.errors, pluginError{"inline[0]", "manifest-parse-error", message, ""})
		return p
	}
	p.name, p.version, p.root = manifest.Name, manifest.Version, dir
	p.loadSkills()
	p.loadHooks()
	return p
}

func (p *plugin) loadSkills() {
	files, _ := filepath.Glob(filepath.Join(p.root, "skills", "*", "SKILL.md")) // the pattern is sound
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		// Whatever is wrong with it, the real CLI loads it: a user may start it.
		k := candidates.ReadSkill(data)
		dir := filepath.Dir(f)
		p.skills = append(p.skills, skill{p.name + ":" + filepath.Base(dir), k.Offered(), k.Listing(), dir, strings.ReplaceAll(k.Body, "\r\n", "\n")})
	}
}

// line is the skill's entry in the listing.
func (s skill) line() string {
	d := []rune(s.listing)
	if len(d) > maxDescription {
		d = append(d[:maxDescription-1], '…')
	}
	return "- " + s.name + ": " + string(d)
}

func (p *plugin) loadHooks() {
	data, err := os.ReadFile(filepath.Join(p.root, "hooks", "hooks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var file struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct {
				Type, Command string
				Timeout       float64
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		p.errors = append(p.errors, pluginError{p.name + "@inline", "hook-load-failed", "Hook load failed: " + err.Error(), ""})
		return
	}
	for _, group := range file.Hooks["SessionStart"] {
		if !matches(group.Matcher, "startup") {
			continue
		}
		for _, h := range group.Hooks {
			if h.Type != "command" || h.Command == "" {
				continue
			}
			timeout := defaultHookTimeout
			if h.Timeout > 0 {
				timeout = time.Duration(h.Timeout * float64(time.Second))
			}
			command := strings.ReplaceAll(h.Command, "${CLAUDE_PLUGIN_ROOT}", p.root)
			p.hooks = append(p.hooks, hookCommand{command, timeout})
		}
	}
}

// matches applies a matcher: empty or * is everything, a list of words is
// compared word by word, anything else is a regular expression.
func matches(matcher, word string) bool {
	if matcher == "" || matcher == "*" {
		return true
	}
	if regexp.MustCompile(`^[\w|]+$`).MatchString(matcher) {
		return strings.Contains("|"+matcher+"|", "|"+word+"|")
	}
	re, err := regexp.Compile(matcher)
	return err == nil && re.MatchString(word)
}

// skill finds a skill by qualified or bare name, with or without a slash.
func (p plugin) skill(name string) (skill, bool) {
	name = strings.TrimPrefix(name, "/")
	for _, s := range p.skills {
		if s.name == name || s.name == p.name+":"+name {
			return s, true
		}
	}
	return skill{}, false
}
