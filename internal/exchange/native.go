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

// graders sorts the checks of a case.
func (im *importer) graders(d *building, c nativeFile) error {
	seen := make(map[string]bool)
	for _, g := range c.graders {
		name := g.n.get("name").word()
		if seen[name] {
			return fmt.Errorf("two graders have the name %s", fileName(name))
		}
		seen[name] = true
		if !d.grade(g) {
			d.lose(g.at, g.n)
		}
	}
	d.settle()
	for _, a := range d.a {
		if why := im.plugin.unknownSkill(a.Skill); a.Skill != "" && why != "" {
			return errors.New(why)
		}
	}
	switch {
	case d.judge == "" && len(d.questions) == 1 && isQuestion(d.questions[0]):
		d.judge, d.questions = d.questions[0], nil
	case len(d.questions) > 0:
		d.flag(flagJudge)
	}
	return nil
}

// isQuestion reports whether a text is one question for YES or NO.
func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") && strings.Count(text, "?") == 1 && !strings.Contains(text, "\n")
}

// grade carries one grader; false leaves the whole of it to the unmapped list.
func (d *building) grade(g grader) bool {
	in := fieldsOf(g.n, g.at)
	var carried bool
	switch in.text("type") {
	case "regex":
		carried = d.regexGrader(in)
	case "tool_used":
		carried = d.toolGrader(in)
	case "file_exists":
		carried = d.fileGrader(in)
	case "llm":
		carried = d.judgeGrader(in)
	}
	if carried {
		in.text("name")
		in.meta(&d.notes, "weight", "arm")
		in.rest(&d.notes)
	}
	return carried
}

func (d *building) regexGrader(in *fields) bool {
	match := in.text("match")
	if target := in.text("target"); target != "" && target != "last_message" || in.n.get("target").is(aMap) {
		return false
	}
	p, err := fromJS(in.text("pattern"), in.text("flags"))
	if err != nil || in.n.get("pattern").word() == "" {
		d.flag("%s: the pattern has no form here", in.at)
		return false
	}
	switch match {
	case "", "contains":
		d.b = append(d.b, harness.Assertion{Says: alternatives(p)})
	case "not_contains":
		d.b = append(d.b, harness.Assertion{NeverSays: alternatives(p)})
	default:
		return false
	}
	d.flag(flagWide)
	return true
}

func (d *building) toolGrader(in *fields) bool {
	tool, pattern := in.text("tool"), in.text("input_match")
	least, most := in.number("min", 1), in.number("max", -1)
	if most > 0 || least > 1 || in.n.get("max") != nil && most < 0 || least < 0 {
		return false // a count; a scenario asks whether, not how often
	}
	never := most == 0
	switch {
	case tool == "Bash" && pattern == "" && least == 1 && !never:
		d.b = append(d.b, harness.Assertion{Command: "*"})
		return true
	case tool != "Skill" || least == 0 && !never:
		return false
	}
	globs := []string{"*"}
	if pattern != "" {
		var ok bool
		if globs, ok = globsOfPattern(pattern); !ok {
			d.flag("%s: no name of a skill can be read from the pattern", in.at)
			return false
		}
	}
	if never {
		d.never = append(d.never, forbidden{strings.TrimPrefix(globs[0], "*:"), in.at, in.n})
		return true
	}
	if len(d.a) > 0 {
		return false // a second skill that must be called as well
	}
	d.a = skillAssertions(globs)
	return true
}

func (d *building) fileGrader(in *fields) bool {
	glob := in.text("path")
	if exists, ok := in.truth("exists"); !ok && in.n.get("exists") != nil || ok && !exists || !inside(glob) || strings.ContainsAny(glob, "{}!") {
		return false
	}
	if _, err := path.Match(glob, ""); err != nil {
		return false
	}
	d.b = append(d.b, harness.Assertion{Created: &harness.Created{Path: glob}})
	return true
}

func (d *building) judgeGrader(in *fields) bool {
	text := strings.TrimSpace(in.text("criteria"))
	if text == "" {
		return false
	}
	if focus := in.n.get("focus"); focus == nil || focus.word() == "last_message" {
		in.used["focus"] = true
	}
	d.question(text)
	return true
}
