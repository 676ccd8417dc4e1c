package setup

import (
	_ "embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"loopd/candidates"
)

// The lengths that matter, in characters.
const (
	longestStandard = 1024  // of a description, by the public standard
	longestListed   = 1536  // of description and when_to_use; the CLI cuts there
	longestList     = 8_000 // of all of them, on models with a context of 200k tokens
)

const skillFile = "SKILL.md"

//go:embed builtin.txt
var builtinNames string

// builtin reports whether the agent CLI has a skill or command of that name.
func builtin(name string) bool {
	return name != "" && name[0] != '#' && slices.Contains(strings.Split(builtinNames, "\n"), name)
}

// skills finds what the CLI finds: skills/NAME, what the manifest adds, and a
// SKILL.md in the root where there is no skills directory.
func (r *reader) skills(m manifest) {
	for _, d := range list(r.fsys, "skills") {
		if d.IsDir() {
			r.skillIn(path.Join("skills", d.Name()))
		}
	}
	for _, name := range paths(m.Skills) {
		dir, ok := r.below("skills", name)
		switch {
		case !ok:
		case !isDir(r.fsys, dir):
			r.missing("skills", name)
		case exists(r.fsys, path.Join(dir, skillFile)):
			r.skill(dir)
		default:
			for _, d := range list(r.fsys, dir) {
				if at := path.Join(dir, d.Name()); exists(r.fsys, path.Join(at, skillFile)) {
					r.skill(at)
				}
			}
		}
	}
	if !isDir(r.fsys, "skills") && exists(r.fsys, skillFile) {
		r.skill(".")
	}
}

// skillIn looks at a directory below skills/, where a skill is expected.
func (r *reader) skillIn(dir string) {
	if exists(r.fsys, path.Join(dir, skillFile)) {
		r.skill(dir)
		return
	}
	for _, d := range list(r.fsys, dir) {
		at := path.Join(dir, d.Name())
		switch {
		case strings.EqualFold(d.Name(), skillFile):
			r.warn(at, "name it "+skillFile, "is not read by the agent")
		case d.IsDir() && exists(r.fsys, path.Join(at, skillFile)):
			r.warn(at, "move it to skills/", "lies too deep, and the agent does not find it")
		}
	}
}

// skill surveys one skill, once.
func (r *reader) skill(dir string) {
	file := path.Join(dir, skillFile)
	known := slices.ContainsFunc(r.plugin.Skills, func(s Skill) bool { return s.Path == file })
	data, err := read(r.fsys, file)
	switch {
	case known:
		return
	case err != nil:
		r.warn(file, "mend it", "cannot be read: %v", err)
		return
	}
	head := candidates.ReadSkill(data)
	s := Skill{
		Name: printable(path.Base(dir)), Path: file, Offered: head.Offered(), Surface: path.Dir(dir) == "skills",
		Description: utf8.RuneCountInString(head.Description()), WhenToUse: utf8.RuneCountInString(head.Text("when_to_use")),
	}
	if name := head.Text("name"); dir == "." {
		s.Name = printable(name)
	}
	if !s.Surface {
		r.warn(file, "move it to skills/", "loopd leaves wording outside skills/NAME/ alone")
	}
	r.readable(file, head)
	r.lengths(s)
	r.names(s, head.Text("name"))
	if s.Offered {
		r.listed += s.Description + s.WhenToUse
	}
	r.plugin.Skills = append(r.plugin.Skills, s)
}

// readable warns of front matter that the CLI does not take, or that only the
// CLI takes.
func (r *reader) readable(file string, s candidates.Skill) {
	switch {
	case s.Bare:
		r.block(file, "begin it with name and description between --- lines", "has no front matter, so it is never offered")
	case s.Fault != "":
		r.block(file, "put the description in quotes, on one line", "its front matter cannot be read (%s), so it is never offered", s.Fault)
	case s.Description() == "" && s.Text("when_to_use") == "":
		r.warn(file, "add one", "has no description, so it is never offered")
	case s.Description() == "":
		r.warn(file, "add one", "has no description; the agent takes a line of its body")
	case s.Lenient != "":
		r.warn(file, "put the description in quotes", "its front matter is no valid YAML; the agent reads it, but no candidate can change it")
	}
	if s.Text("when-to-use") != "" {
		r.warn(file, "write when_to_use", "the agent does not read when-to-use")
	}
}

// lengths warns of texts that are too long. One that is cut never reaches a
// session whole, so that no session with it is evidence.
func (r *reader) lengths(s Skill) {
	sum := s.Description + s.WhenToUse
	switch {
	case sum > longestListed:
		r.block(s.Path, "shorten it", "description and when_to_use have %d characters, and the agent cuts them at %d", sum, longestListed)
	case s.Description > longestStandard:
		r.warn(s.Path, "shorten it", "its description has %d characters, over the standard's %d", s.Description, longestStandard)
	}
}

// names warns of a name that means something else than its directory, or that
// the agent has for itself.
func (r *reader) names(s Skill, name string) {
	if name != "" && name != s.Name && s.Path != skillFile {
		r.warn(s.Path, "give both one name", "calls itself %q, and its directory is %q", printable(name), s.Name)
	}
	if !plainName(s.Name) {
		r.warn(s.Path, "rename it", "%q is not lower-case words with hyphens, as the standard wants", s.Name)
	}
	if builtin(s.Name) {
		r.warn(s.Path, "rename it", "the agent has a %s of its own, which answers to the bare name", s.Name)
	}
	same := func(o Skill) bool { return o.Name == s.Name }
	if i := slices.IndexFunc(r.plugin.Skills, same); i >= 0 {
		r.warn(s.Path, "rename one", "has the name of %s", r.plugin.Skills[i].Path)
	}
}

// plainName reports whether a skill's name is as the standard wants it.
func plainName(name string) bool {
	if len(name) > 64 || name == "" || strings.Contains("-"+name+"-", "--") {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool { return r != '-' && !unicode.IsDigit(r) && !unicode.IsLower(r) }) < 0
}

// budget warns of a plugin whose skills do not fit the list of skills.
func (r *reader) budget() {
	if r.listed > longestList {
		r.warn("skills", "shorten the longest", "all descriptions together have %d characters; with models of 200k tokens the agent leaves some out above %d", r.listed, longestList)
	}
	if len(r.plugin.Hook.Commands) == 0 && !slices.ContainsFunc(r.plugin.Skills, func(s Skill) bool { return s.Surface }) {
		r.warn(".", "write skills/NAME/SKILL.md", "has neither skill nor hook note, so there is no wording to change")
	}
}

// commands finds the commands, and warns of those the agent has for itself. The
// manifest's list takes the place of the directory.
func (r *reader) commands(m manifest) {
	for _, file := range r.parts("commands", m.Commands) {
		name := strings.ReplaceAll(strings.TrimSuffix(file.name, ".md"), "/", ":")
		if builtin(name) {
			r.warn(file.path, "rename it", "the agent has a %s of its own, which answers to the bare name", name)
		}
		if data, err := read(r.fsys, file.path); err == nil {
			r.listed += utf8.RuneCountInString(candidates.ReadSkill(data).Listing())
		}
		r.plugin.Commands = append(r.plugin.Commands, printable(name))
	}
}

func (r *reader) agents(m manifest) {
	for _, file := range r.parts("agents", m.Agents) {
		name := strings.TrimSuffix(path.Base(file.name), ".md")
		if data, err := read(r.fsys, file.path); err == nil {
			if own := candidates.ReadSkill(data).Text("name"); own != "" {
				name = own
			}
		}
		r.plugin.Agents = append(r.plugin.Agents, printable(name))
	}
}

// part is a Markdown file of a component: where it lies, and its path below the
// component's directory.
type part struct{ path, name string }

// parts lists the Markdown files of a component.
func (r *reader) parts(component string, raw []byte) []part {
	places := []string{component}
	if named := paths(raw); named != nil {
		places = nil
		for _, name := range named {
			at, ok := r.below(component, name)
			if ok && !exists(r.fsys, at) {
				r.missing(component, name)
			} else if ok {
				places = append(places, at)
			}
		}
	}
	var out []part
	for _, at := range places {
		if !isDir(r.fsys, at) {
			if isFile(r.fsys, at) {
				out = append(out, part{at, path.Base(at)})
			}
			continue
		}
		walk(r.fsys, at, func(name string, d fs.DirEntry) {
			if d.Type().IsRegular() && path.Ext(name) == ".md" {
				out = append(out, part{name, strings.TrimPrefix(name, at+"/")})
			}
		})
	}
	return out
}

// programs lists what sessions have on their PATH.
func (r *reader) programs() {
	for _, d := range list(r.fsys, "bin") {
		if d.Type().IsRegular() {
			r.plugin.Programs = append(r.plugin.Programs, printable(d.Name()))
		}
	}
	if exists(r.fsys, ".mcp.json") {
		r.warn(".mcp.json", "measure what works without it", "sessions are started without MCP servers")
	}
}
