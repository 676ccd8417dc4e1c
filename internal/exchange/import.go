package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loopd/harness"
)

// Format names a format of suites or of their results.
type Format string

// The formats that are recognised. Drafts are made of the first four.
const (
	PluginEval Format = "plugin-eval" // cases of "claude plugin eval"
	EvalsJSON  Format = "evals.json"
	TriggerSet Format = "trigger set" // queries that should or should not trigger a skill
	Promptfoo  Format = "promptfoo"
	Waza       Format = "waza"
	AgentV     Format = "AgentV"
	CapEvolve  Format = "cap-evolve"
	Harbor     Format = "Harbor"
	Inspect    Format = "Inspect"
	ResultFile Format = "result file" // what some run of a suite left behind
)

// supported are the formats that are read.
var supported = []Format{PluginEval, EvalsJSON, TriggerSet, Promptfoo}

// Options steer an import.
type Options struct {
	// Skill is the skill a suite is about where it does not say so itself.
	Skill string
}

// Found is what an import read: drafts in the order of the source, and what was
// recognised and left out.
type Found struct {
	Suites  []Suite
	Drafts  []Draft
	Skipped []Skipped
}

// Suite is one suite that was found: its format and its file or folder below
// the place imported from.
type Suite struct {
	Format Format
	File   string
	Name   string
	Cases  int
}

// Skipped is a file or case that gave no draft, and why.
type Skipped struct{ Where, Why string }

// String is a line that says both.
func (s Skipped) String() string {
	if strings.HasPrefix(s.Why, "is ") {
		return s.Where + " " + s.Why
	}
	return s.Where + ": " + s.Why
}

// NoSkillError says that a suite does not name the skill it is about and that
// nothing else does.
type NoSkillError struct{ File string }

// Error names the file.
func (e *NoSkillError) Error() string {
	return e.File + " names no skill, and no skill was given"
}

// importer reads from one source.
type importer struct {
	*source
	options Options
	plugin  pluginInfo
	found   Found
	ids     map[string]bool
	trees   map[string]harness.Tree // fixtures by name
	pending []*building
}

// Import reads every suite at a path, which is a file or a folder. It writes
// nothing and runs nothing. The error is one line: what is wrong, and where;
// it holds no text of a task.
func Import(name string, o Options) (Found, error) {
	if o.Skill != "" && !skillName.MatchString(o.Skill) {
		return Found{}, fmt.Errorf("import %s: %q is no name of a skill", name, shortPath(o.Skill))
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Found{}, fmt.Errorf("import %s: no such file or folder", name)
	}
	if err != nil {
		return Found{}, fmt.Errorf("import %s: %w", name, err)
	}
	dir, rel := name, "."
	if !info.IsDir() {
		dir, rel = homeOfFile(name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Found{}, fmt.Errorf("import %s: %w", name, err)
	}
	defer root.Close()
	found, err := importFrom(root.FS(), rel, info.IsDir(), o)
	if err != nil {
		return Found{}, fmt.Errorf("import %s: %w", name, err)
	}
	return found, nil
}

// importFrom imports a file or a folder of a file system.
func importFrom(fsys fs.FS, rel string, folder bool, o Options) (Found, error) {
	s := &source{fsys}
	im := &importer{source: s, options: o, ids: make(map[string]bool), trees: make(map[string]harness.Tree), plugin: readPlugin(s)}
	if err := im.run(rel, folder); err != nil {
		return Found{}, err
	}
	return im.found, nil
}

// climb is how far above a file the folder is looked for that its paths are
// relative to.
const climb = 4

// homeOfFile is the folder that paths in a file may lead into: the plugin or
// the skill it lies in, else the folder above one named evals, else its own.
func homeOfFile(name string) (dir, rel string) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.Dir(name), filepath.Base(name)
	}
	dir = filepath.Dir(abs)
	home := dir
	if filepath.Base(dir) == "evals" {
		home = filepath.Dir(dir)
	}
	up := dir
	for range climb {
		if _, err := os.Stat(filepath.Join(up, "SKILL.md")); err == nil {
			home = up
		}
		if _, err := os.Stat(filepath.Join(up, ".claude-plugin", "plugin.json")); err == nil {
			home = up
			break
		}
		up = filepath.Dir(up)
	}
	if rel, err = filepath.Rel(home, abs); err != nil {
		return dir, filepath.Base(abs)
	}
	return home, filepath.ToSlash(rel)
}

func (im *importer) run(rel string, folder bool) error {
	read := im.single
	if folder {
		read = im.folder
	}
	if err := read(rel); err != nil {
		return err
	}
	if len(im.pending) == 0 {
		return im.nothing()
	}
	return im.complete()
}

// nothing says why there is no draft: the first thing that was recognised and
// is not read, or that nothing was recognised.
func (im *importer) nothing() error {
	switch {
	case len(im.found.Skipped) > 0:
	case len(im.found.Suites) > 0:
		return fmt.Errorf("%s: no case in it", im.found.Suites[0].File)
	default:
		return errors.New("no suite of a known format")
	}
	first := im.found.Skipped[0]
	more := ""
	if n := len(im.found.Skipped) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more left out)", n)
	}
	return fmt.Errorf("%v%s", first, more)
}

// complete gives every draft its name and its fixture and makes the files.
func (im *importer) complete() error {
	for _, d := range im.pending {
		d.id = im.unique(d.id)
		if len(d.files) > 0 {
			d.fixture = im.fixture(d)
		}
		draft, err := d.finish()
		if err != nil {
			return err
		}
		im.found.Drafts = append(im.found.Drafts, draft)
	}
	return nil
}

// unique numbers a name that another suite has used. Names differ in more than
// their case, for they become files.
func (im *importer) unique(name string) string {
	out := name
	for n := 2; im.ids[strings.ToLower(out)]; n++ {
		out = fmt.Sprintf("%s-%d", name, n)
	}
	im.ids[strings.ToLower(out)] = true
	return out
}

// fixture finds the name of a fixture: one with the same files is used again.
func (im *importer) fixture(d *building) string {
	for _, name := range []string{fileName(d.fixture), d.id} {
		have, taken := im.trees[name]
		if name != "" && (!taken || sameTree(have, d.files)) {
			im.trees[name] = d.files
			return name
		}
	}
	return d.id
}

func sameTree(a, b harness.Tree) bool {
	if !slices.Equal(a.Paths(), b.Paths()) {
		return false
	}
	for p, f := range a {
		if string(f.Data) != string(b[p].Data) || f.Mode != b[p].Mode {
			return false
		}
	}
	return true
}

// add takes the cases of one suite. Ids must differ inside it; with more than
// one suite, or an id that is a number, the suite's name stands before it.
func (im *importer) add(s Suite, cases []*building) error {
	seen := make(map[string]bool)
	for _, d := range cases {
		if seen[d.id] {
			return fmt.Errorf("%s: two cases have the id %s", s.File, fileName(d.id))
		}
		seen[d.id] = true
		name := fileName(d.id)
		if !letterOnce.MatchString(name) || len(im.found.Suites) > 0 {
			name = strings.Trim(fileName(s.Name)+"-"+name, "-")
		}
		if !letterOnce.MatchString(name) {
			name = strings.Trim("case-"+name, "-")
		}
		d.id = name
	}
	s.Cases = len(cases)
	im.found.Suites = append(im.found.Suites, s)
	im.pending = append(im.pending, cases...)
	return nil
}

func (im *importer) skip(where, format string, args ...any) {
	s := Skipped{where, fmt.Sprintf(format, args...)}
	if !slices.Contains(im.found.Skipped, s) {
		im.found.Skipped = append(im.found.Skipped, s)
	}
}
