package exchange

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// pluginInfo is what the plugin says that a suite lies in.
type pluginInfo struct {
	name   string   // empty where there is no manifest
	evals  string   // folder of the cases, below the source
	skills []string // bare names
}

// readPlugin reads the manifest and the names of the skills; a source that is no
// plugin gives nothing. A source that is one skill gives its name.
func readPlugin(s *source) pluginInfo {
	var p pluginInfo
	if data, err := s.read(".claude-plugin/plugin.json"); err == nil {
		if doc, err := parseJSON(data); err == nil {
			p.name, p.evals = doc.get("name").word(), "evals"
			if dir := doc.get("experimental").get("evals").word(); inside(dir) {
				p.evals = path.Clean(dir)
			}
		}
	}
	files, _ := fs.Glob(s.fsys, "skills/*/SKILL.md")
	for _, f := range files {
		p.skills = append(p.skills, path.Base(path.Dir(f)))
	}
	if data, err := s.read("SKILL.md"); err == nil && len(files) == 0 {
		if front, _, ok := cutFront(data); ok {
			if doc, err := parseYAML(front); err == nil && skillName.MatchString(doc.get("name").word()) {
				p.skills = []string{doc.get("name").text}
			}
		}
	}
	return p
}

// cutFront splits a Markdown file into front matter and body.
func cutFront(data []byte) (front, body []byte, ok bool) {
	text := string(clean(data))
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, []byte(text), false
	}
	head, tail, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return nil, []byte(text), false
		}
	}
	return []byte(head), []byte(tail), true
}

// unknownSkill says of an exact name that the plugin has no such skill, with the
// one that was probably meant; "" where it has, or where nothing is known.
func (p pluginInfo) unknownSkill(glob string) string {
	name := bareSkill(glob)
	own, _, full := strings.Cut(glob, ":")
	if p.name == "" || len(p.skills) == 0 || name == "" || slices.Contains(p.skills, name) || full && own != "*" && own != p.name {
		return ""
	}
	best := p.skills[0]
	for _, s := range p.skills {
		if distance(s, name) < distance(best, name) {
			best = s
		}
	}
	return "the plugin has no skill " + name + "; did you mean " + best + "?"
}

// distance is how many letters have to be changed, added or taken away.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := last
			if a[i] != b[j] {
				next = min(row[j+1], row[j], last) + 1
			}
			last, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
