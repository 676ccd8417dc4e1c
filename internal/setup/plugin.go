package setup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"loopd/harness"
)

// Plugin is what a plugin's directory holds.
type Plugin struct {
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	Skills   []Skill   `json:"skills"` // by path
	Commands []string  `json:"commands"`
	Agents   []string  `json:"agents"`
	Programs []string  `json:"programs"` // in bin, which sessions have on their PATH
	Hook     Hook      `json:"hook"`
	Warnings []Warning `json:"warnings"`
}

// Skill is one skill as sessions know it.
type Skill struct {
	Name        string `json:"name"` // of its directory
	Path        string `json:"path"` // of its SKILL.md, below the plugin
	Description int    `json:"description"`
	WhenToUse   int    `json:"when_to_use"` // both in characters, as they are listed
	// Offered: the model is told of it. Others only a user may start, or nobody.
	Offered bool `json:"offered"`
	// Surface: its wording may move. loopd changes skills/NAME/SKILL.md alone.
	Surface bool `json:"surface"`
}

// Hook is what runs when a session starts, as far as files tell.
type Hook struct {
	Commands []string `json:"commands"` // shell lines; empty for no hook
	// Envelope is how the text is handed over, guessed from the programs.
	Envelope harness.Envelope `json:"envelope,omitempty"`
	// Text is the one text file that the programs name, empty for none or many.
	Text string `json:"text,omitempty"`
}

// Warning is one thing that will get in the way, and what to do about it.
type Warning struct {
	Where string `json:"where"` // path below the plugin
	What  string `json:"what"`
	Do    string `json:"do"`
	// Blocks: until it is mended no session would be evidence.
	Blocks bool `json:"blocks"`
}

// first puts what blocks before what does not.
func first(w Warning) int {
	if w.Blocks {
		return 0
	}
	return 1
}

// String is the warning as one line.
func (w Warning) String() string { return w.Where + ": " + w.What + "; " + w.Do }

// ErrNoPlugin says that a directory has no plugin.json.
var ErrNoPlugin = errors.New(ManifestPath + " is missing")

// ManifestPath is where a plugin's manifest lies.
const ManifestPath = ".claude-plugin/plugin.json"

// manifest is what is read of a plugin.json. Components are left raw: each may
// be a path, a list of them, or the thing itself.
type manifest struct {
	Name     string          `json:"name"`
	Version  any             `json:"version"`
	Skills   json.RawMessage `json:"skills"`
	Commands json.RawMessage `json:"commands"`
	Agents   json.RawMessage `json:"agents"`
	Hooks    json.RawMessage `json:"hooks"`
}

// reader surveys one plugin.
type reader struct {
	fsys   fs.FS
	plugin Plugin
	starts []string // the hook's commands as they stand
	listed int      // characters that the list of skills wants
}

// PluginName reads the name of the plugin at the root of fsys alone; the errors are
// those of Survey.
func PluginName(fsys fs.FS) (string, error) {
	m, err := readManifest(fsys)
	return m.Name, err
}

// Survey reads the plugin at the root of fsys. The error is ErrNoPlugin, or
// says why the manifest names no plugin.
func Survey(fsys fs.FS) (Plugin, error) {
	m, err := readManifest(fsys)
	if err != nil {
		return Plugin{}, err
	}
	return examine(fsys, m).plugin, nil
}

// SurveyListed surveys a plugin that has no manifest and that a marketplace calls by
// a name. The agent CLI loads one and names it after its folder, which in a session
// is another: that blocks, and the warning says what to write.
func SurveyListed(fsys fs.FS, name string) Plugin {
	r := examine(fsys, manifest{Name: name})
	r.block(ManifestPath, fmt.Sprintf(`write {"name": %q} into it`, name), "missing: the agent CLI would name the plugin after its folder, and a session's copy lies in another")
	return r.sorted()
}

// examine looks at everything that the manifest or a folder of the usual name
// leads to.
func examine(fsys fs.FS, m manifest) *reader {
	r := reader{fsys: fsys, plugin: Plugin{Name: m.Name, Skills: []Skill{}, Commands: []string{}, Agents: []string{}, Programs: []string{}, Warnings: []Warning{}}}
	if v, ok := m.Version.(string); ok {
		r.plugin.Version = printable(v)
	}
	r.skills(m)
	r.commands(m)
	r.agents(m)
	r.programs()
	r.hook(m)
	r.links()
	r.budget()
	r.sorted()
	return &r
}

// sorted is the plugin with what was found in order: what blocks comes first.
func (r *reader) sorted() Plugin {
	slices.SortFunc(r.plugin.Skills, func(a, b Skill) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortStableFunc(r.plugin.Warnings, func(a, b Warning) int { return cmp.Compare(first(a), first(b)) })
	return r.plugin
}

func readManifest(fsys fs.FS) (manifest, error) {
	var m manifest
	data, err := read(fsys, ManifestPath)
	if errors.Is(err, fs.ErrNotExist) {
		return m, ErrNoPlugin
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", ManifestPath, err)
	}
	if err := json.Unmarshal(trimMark(data), &m); err != nil {
		return m, fmt.Errorf("%s: %s", ManifestPath, jsonReason(err))
	}
	switch {
	case m.Name == "":
		return m, fmt.Errorf("%s: name: missing", ManifestPath)
	case !goodName(m.Name):
		return m, fmt.Errorf("%s: name: %q has more than letters, digits, dots, hyphens and underscores", ManifestPath, printable(m.Name))
	}
	return m, nil
}

// goodName reports whether a name can stand in a command line and in a path.
func goodName(name string) bool {
	return name[0] != '-' && name[0] != '.' && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	}) < 0
}

// warn notes something. What comes out of files is made printable first.
func (r *reader) warn(where, do, format string, args ...any) {
	r.plugin.Warnings = append(r.plugin.Warnings, Warning{Where: printable(where), What: printable(fmt.Sprintf(format, args...)), Do: do})
}

// block notes what must be mended before any session counts.
func (r *reader) block(where, do, format string, args ...any) {
	r.warn(where, do, format, args...)
	r.plugin.Warnings[len(r.plugin.Warnings)-1].Blocks = true
}

// longestText is how much of a name or reason is shown.
const longestText = 160

// printable makes one line of a text that came out of a file, and shortens it.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(text); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return text
}

// paths reads a component of the manifest that is a path or a list of paths.
// What is neither is left to the CLI.
func paths(raw json.RawMessage) []string {
	var one string
	var many []json.RawMessage
	switch {
	case json.Unmarshal(raw, &one) == nil && one != "":
		return []string{one}
	case json.Unmarshal(raw, &many) == nil:
		var out []string
		for _, m := range many {
			if json.Unmarshal(m, &one) == nil && one != "" {
				out = append(out, one)
			}
		}
		return out
	}
	return nil
}

// below cleans a component's path; one that is none the CLI takes is warned of.
func (r *reader) below(component, name string) (string, bool) {
	clean := path.Clean(strings.TrimPrefix(name, "./"))
	if !strings.HasPrefix(name, "./") || !fs.ValidPath(clean) {
		r.warn(ManifestPath, "write it as ./NAME", "%s: %q is no path below the plugin", component, name)
		return "", false
	}
	return clean, true
}

// missing warns of a component that is not there: an error of the plugin ends
// every session as no evidence.
func (r *reader) missing(component, name string) {
	r.block(ManifestPath, "mend the path", "%s: %q is not there, which the agent takes for an error of the plugin", component, name)
}
