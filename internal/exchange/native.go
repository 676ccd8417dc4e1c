package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"loopd/harness"
)

// caseVersion is the version of a case that is read and written.
const caseVersion = "1.1"

// native reads cases of claude plugin eval.
func (im *importer) native(folders []string) error {
	var cases []*building
	slices.Sort(folders)
	for _, folder := range folders {
		d, err := im.nativeCase(folder)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		if d != nil {
			cases = append(cases, d)
		}
	}
	name := im.plugin.name
	if name == "" {
		name = path.Base(path.Dir(folders[0]))
	}
	return im.add(Suite{Format: PluginEval, File: path.Dir(folders[0]), Name: name}, cases)
}

// nativeFile is the parts of a case: what prompt.md and case.yaml say, and the
// graders in the order in which they are read.
type nativeFile struct {
	front, doc *node // nil for a file that is not there
	body       string
	graders    []grader
	sum        string
}

// grader is one check of a case.
type grader struct {
	at string // place, such as graders/cutoff.md
	n  *node
}

// readNative reads the files of a case.
func (im *importer) readNative(dir string) (nativeFile, error) {
	var c nativeFile
	var sums [][]byte
	take := func(name string) ([]byte, bool, error) {
		if !im.exists(path.Join(dir, name)) {
			return nil, false, nil
		}
		data, err := im.read(path.Join(dir, name))
		sums = append(sums, []byte(name), data)
		return data, err == nil, err
	}
	data, there, err := take("case.yaml")
	if err != nil {
		return c, err
	}
	if there {
		if c.doc, err = parseYAML(data); err != nil {
			return c, fmt.Errorf("case.yaml: %w", err)
		}
	}
	if data, there, err = take("prompt.md"); err != nil {
		return c, err
	}
	if there {
		front, body, _ := cutFront(data)
		c.body = string(body)
		if c.front, err = parseYAML(front); err != nil {
			return c, fmt.Errorf("prompt.md: %w", err)
		}
	}
	for i, n := range c.doc.get("graders").entries() {
		c.graders = append(c.graders, grader{fmt.Sprintf("graders[%d]", i), n})
	}
	files, err := fs.Glob(im.fsys, path.Join(escapeGlob(dir), "graders", "*.md"))
	if err != nil {
		return c, err
	}
	for _, f := range files {
		if err := c.graderFile(take, "graders/"+path.Base(f)); err != nil {
			return c, err
		}
	}
	c.sum = digest(sums...)
	return c, nil
}

// entries are the items of a list, none for anything else.
func (n *node) entries() []*node {
	if n.is(aList) {
		return n.items
	}
	return nil
}

func escapeGlob(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

// graderFile reads a grader of its own file: its name is the file's and its
// criteria are the body.
func (c *nativeFile) graderFile(take func(string) ([]byte, bool, error), name string) error {
	data, _, err := take(name)
	if err != nil {
		return err
	}
	front, body, _ := cutFront(data)
	n, err := parseYAML(front)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !n.is(aMap) {
		n = newMap()
	}
	if n.get("name") == nil {
		_ = n.put("name", &node{kind: aScalar, text: strings.TrimSuffix(path.Base(name), ".md"), quoted: true})
	}
	if text := strings.TrimSpace(string(body)); text != "" && n.get("criteria") == nil {
		_ = n.put("criteria", &node{kind: aScalar, text: text, quoted: true})
	}
	c.graders = append(c.graders, grader{name, n})
	return nil
}

// Keys of a case by what becomes of them.
var (
	caseTop      = []string{"tags", "description", "runs"}
	caseLimits   = []string{"max_turns", "timeout_seconds", "allowed_tools", "disallowed_tools"}
	caseContents = []string{"schema_version", "name", "expected_outcome"}
)

// nativeCase reads one case; nil for one without a prompt.
func (im *importer) nativeCase(dir string) (*building, error) {
	c, err := im.readNative(dir)
	if err != nil {
		return nil, err
	}
	d := &building{id: path.Base(dir), origin: harness.Origin{Format: string(PluginEval), File: dir, SHA256: c.sum}}
	front, doc := fieldsOf(c.front, ""), fieldsOf(c.doc, "")
	exec := fieldsOf(doc.node("execution"), "execution")
	var prompt string
	for _, f := range []*fields{doc, front} { // prompt.md wins
		if v := f.text("schema_version"); v != "" && v != caseVersion {
			return nil, fmt.Errorf("schema_version %s: this loopd reads %s", shortPath(v), caseVersion)
		}
		if v := f.text("name"); v != "" {
			d.id = v
		}
	}
	prompt = exec.text("prompt")
	if strings.TrimSpace(c.body) != "" {
		prompt = c.body
	}
	if d.prompt = prompt; strings.TrimSpace(prompt) == "" {
		im.skip(dir, "no prompt")
		return nil, nil
	}
	d.caseFields(front, doc, exec)
	if err := im.caseFiles(d, doc, dir); err != nil {
		return nil, err
	}
	if err := im.graders(d, c); err != nil {
		return nil, err
	}
	doc.used["graders"] = true
	for _, f := range []*fields{front, exec, doc} {
		f.rest(&d.notes)
	}
	return d, nil
}

// caseFields sorts what a case says of itself. A field of case.yaml that
// prompt.md says again is lost, and is listed as such.
func (d *building) caseFields(front, doc, exec *fields) {
	for _, key := range slices.Concat(caseTop, caseLimits, caseContents) {
		for _, under := range []*fields{doc, exec} {
			if front.n.get(key) != nil && under.n.get(key) != nil && key != "schema_version" && key != "name" {
				d.lose("case.yaml: "+under.name(key), under.node(key))
			}
		}
	}
	for _, f := range []*fields{front, doc, exec} {
		if f.used["tags"] {
			continue
		}
		d.tags(f)
		f.meta(&d.notes, slices.DeleteFunc(slices.Concat(caseTop, caseLimits), func(k string) bool { return f.used[k] })...)
		if text := f.text("expected_outcome"); text != "" {
			d.question(text)
		}
	}
}

// Tags that carry what a case has no field for. Export writes them.
const (
	tagRole    = "role:"
	tagSkill   = "skill:"
	tagFixture = "fixture:"
	tagHook    = "hook:"
	tagPair    = "pair:"
	tagGraph   = "graph:yes"
)

// tags takes the tags that Export writes; others are kept as they are.
func (d *building) tags(f *fields) {
	list, ok := textsOf(f.n.get("tags"))
	if !ok {
		return
	}
	f.used["tags"] = true
	other := &node{kind: aList}
	for _, tag := range list {
		if !d.tag(tag) {
			other.items = append(other.items, &node{kind: aScalar, text: tag, quoted: true})
		}
	}
	if len(other.items) > 0 {
		d.remark(f.name("tags"), other.verbatim())
	}
}

func (d *building) tag(tag string) bool {
	key, value, ok := strings.Cut(tag, ":")
	roles := []harness.Role{harness.Objective, harness.Guard, harness.Control, harness.Reserve, harness.Practice}
	switch {
	case tag == tagGraph:
		d.graph = true
	case !ok || value == "" || fileName(value) != value:
		return false
	case key+":" == tagRole && slices.Contains(roles, harness.Role(value)):
		d.role = harness.Role(value)
		if d.role == harness.Practice {
			d.flag("role practice: its task may be shown to proposers")
		}
	case key+":" == tagHook && (value == string(harness.HookNote) || value == string(harness.HookSilent)):
		d.hook = harness.HookExpectation(value)
	case key+":" == tagSkill:
		d.skill = value
	case key+":" == tagFixture:
		d.fixture = value
	case key+":" == tagPair:
		d.pair = value
	default:
		return false
	}
	return true
}

// caseFiles reads the folders a case adds. A scaffold script is never run: the
// person runs it once and keeps what it made.
func (im *importer) caseFiles(d *building, doc *fields, dir string) error {
	ctx := fieldsOf(doc.node("context"), "context")
	if ctx.n == nil {
		return nil
	}
	if dirs, ok := textsOf(ctx.n.get("add_dirs")); ok {
		ctx.used["add_dirs"] = true
		for _, name := range dirs {
			tree, err := im.tree(dir, name)
			if err != nil {
				d.flag("add_dirs: %v", err)
				d.unmapped = append(d.unmapped, harness.SourceField{Field: "context.add_dirs", Value: name})
				continue
			}
			if d.files == nil {
				d.files = make(harness.Tree)
			}
			for p, f := range tree {
				if _, twice := d.files[p]; twice {
					return errors.New("add_dirs: two folders hold a file of the same name")
				}
				d.files[p] = f
			}
		}
	}
	if script := ctx.n.get("scaffold_script").word(); script != "" && d.fixture == "" {
		d.flag("a script makes the project: run it once and keep the folder as the fixture")
	}
	ctx.rest(&d.notes)
	return nil
}
