package unprompted

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unknown stands in a word for what only a running shell could know.
const unknown = "\x00"

// The bounds keep a hostile command line from costing more than a long one.
const (
	maxDepth   = 8      // scripts and functions inside each other
	maxItems   = 16     // values of a loop variable that are followed
	maxBraces  = 64     // braces of a word, and words they expand to
	maxSteps   = 20_000 // statements read in one command line
	maxNesting = 10_000 // opening brackets of a script
)

// shellRead is what a command ran and touched, as far as reading can tell.
type shellRead struct {
	programs []string // programs by their bare name
	paths    []string // paths relative to the project, globs unexpanded
	cwd      string   // working directory at the end
}

// readShell reads a command line. One that does not parse did nothing that
// could be shown.
func readShell(command, project, cwd string) shellRead {
	out := &shellRead{}
	sh := &shell{
		out: out, project: project, cwd: cwd, vars: map[string]string{}, funcs: map[string]*syntax.Stmt{}, steps: new(int),
	}
	sh.script(command)
	out.cwd = sh.cwd
	if _, inside := below(project, "", out.cwd); !inside {
		out.cwd = project // the CLI puts a shell that left back
	}
	return *out
}

// shell walks a script in order, keeping what decides where a relative path
// lies: the working directory and plainly assigned variables.
type shell struct {
	out     *shellRead
	project string
	cwd     string
	vars    map[string]string
	funcs   map[string]*syntax.Stmt
	depth   int
	steps   *int
}

// sub returns a subshell: it sees everything and changes nothing.
func (sh *shell) sub() *shell {
	s := *sh
	s.vars = make(map[string]string, len(sh.vars))
	for k, v := range sh.vars {
		s.vars[k] = v
	}
	return &s
}

// script reads text as a shell script.
func (sh *shell) script(text string) {
	if sh.depth >= maxDepth || strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text, "`") > maxNesting {
		return
	}
	sh.depth++
	defer func() { sh.depth-- }()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return
	}
	sh.stmts(file.Stmts)
}

func (sh *shell) stmts(stmts []*syntax.Stmt) {
	for _, s := range stmts {
		sh.stmt(s)
	}
}

func (sh *shell) stmt(s *syntax.Stmt) {
	if *sh.steps++; s == nil || *sh.steps > maxSteps {
		return
	}
	for _, r := range s.Redirs {
		sh.redirect(r)
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		sh.call(c, s.Redirs)
	case *syntax.BinaryCmd:
		sh.binary(c)
	case *syntax.Subshell:
		sh.sub().stmts(c.Stmts)
	case *syntax.Block:
		sh.stmts(c.Stmts)
	case *syntax.FuncDecl:
		if c.Name != nil {
			sh.funcs[c.Name.Value] = c.Body
		}
	case *syntax.DeclClause:
		sh.assign(c.Args)
	case *syntax.TimeClause:
		sh.stmt(c.Stmt)
	case *syntax.CoprocClause:
		sh.sub().stmt(c.Stmt)
	case nil:
	default:
		sh.compound(c)
	}
}

// compound walks conditionals and loops. Which branch ran cannot be read, so
// all of them count.
func (sh *shell) compound(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			sh.stmts(c.Cond)
			sh.stmts(c.Then)
		}
	case *syntax.WhileClause:
		sh.stmts(c.Cond)
		sh.stmts(c.Do)
	case *syntax.ForClause:
		sh.loop(c)
	case *syntax.CaseClause:
		sh.value(c.Word)
		for _, item := range c.Items {
			sh.stmts(item.Stmts)
		}
	default:
		sh.substitutions(c)
	}
}

func (sh *shell) binary(c *syntax.BinaryCmd) {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		sh.sub().stmt(c.X)
		sh.sub().stmt(c.Y)
		return
	}
	sh.stmt(c.X)
	sh.stmt(c.Y)
}

// loop runs the body once for each value that can be read, so that
// `for f in notes/*; do cat "$f"; done` reads the records.
func (sh *shell) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		sh.stmts(c.Do)
		return
	}
	items := sh.words(iter.Items)
	if len(items) == 0 {
		items = []string{unknown}
	}
	for _, item := range items[:min(len(items), maxItems)] {
		sh.vars[iter.Name.Value] = item
		sh.stmts(c.Do)
	}
}

func (sh *shell) assign(args []*syntax.Assign) {
	for _, a := range args {
		if a.Name == nil || a.Naked {
			continue
		}
		value := sh.value(a.Value)
		if a.Append || a.Index != nil || a.Array != nil {
			value = unknown
		}
		sh.vars[a.Name.Value] = value
	}
}

// redirect takes a file written or read by redirection as touched. The body of
// a here-document is text, but a command substitution inside it runs.
func (sh *shell) redirect(r *syntax.Redirect) {
	if r.Hdoc != nil {
		sh.substitutions(r.Hdoc)
		return
	}
	target := sh.value(r.Word)
	switch r.Op {
	case syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
	default:
		sh.touch(target)
	}
}

// substitutions runs the command substitutions somewhere below a node.
func (sh *shell) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			sh.sub().stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			sh.sub().stmts(n.Stmts)
			return false
		}
		return true
	})
}

// call reads a simple command.
func (sh *shell) call(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	if len(c.Args) == 0 {
		sh.assign(c.Assigns)
		return
	}
	for _, a := range c.Assigns {
		if a.Value != nil {
			sh.substitutions(a.Value)
		}
	}
	sh.run(sh.words(c.Args), hereDocument(redirs))
}

func hereDocument(redirs []*syntax.Redirect) string {
	for _, r := range redirs {
		if r.Hdoc != nil {
			return r.Hdoc.Lit()
		}
	}
	return ""
}

func (sh *shell) touch(p string) {
	if rel, ok := below(sh.project, sh.cwd, p); ok {
		sh.out.paths = append(sh.out.paths, rel)
	}
}

// chdir follows cd. A directory that cannot be read leaves the shell nowhere
// known.
func (sh *shell) chdir(dir string) {
	switch {
	case dir == "" || dir == "-" || strings.HasPrefix(dir, "~") || strings.Contains(dir, unknown):
		sh.cwd = unknown
	case path.IsAbs(dir):
		sh.cwd = path.Clean(dir)
	case !strings.Contains(sh.cwd, unknown):
		sh.cwd = path.Join(sh.cwd, dir)
	}
}
