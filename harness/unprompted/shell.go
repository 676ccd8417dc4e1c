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
	// leap is set while what follows is passed over. calls and loops count the
	// functions and loops around; strict is set -e.
	leap         leap
	calls, loops int
	strict       bool
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

// stmts reads statements up to one that leaves them.
func (sh *shell) stmts(stmts []*syntax.Stmt) status {
	st := succeeded
	for _, s := range stmts {
		if st = sh.stmt(s); sh.leap != noLeap {
			break
		}
		if _, simple := s.Cmd.(*syntax.CallExpr); simple && sh.strict && st == failed && !s.Negated {
			sh.leap = leapExit
			break
		}
	}
	return st
}

func (sh *shell) stmt(s *syntax.Stmt) status {
	if *sh.steps++; s == nil || *sh.steps > maxSteps {
		return either
	}
	if s.Background {
		sh = sh.sub()
	}
	for _, r := range s.Redirs {
		sh.redirect(r)
	}
	st := sh.command(s)
	switch {
	case s.Background:
		return succeeded
	case s.Negated:
		return st.negated()
	}
	return st
}

func (sh *shell) command(s *syntax.Stmt) status {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return sh.call(c, s.Redirs)
	case *syntax.BinaryCmd:
		return sh.binary(c)
	case *syntax.Subshell:
		return sh.sub().stmts(c.Stmts)
	case *syntax.Block:
		return sh.stmts(c.Stmts)
	case *syntax.FuncDecl:
		if c.Name != nil {
			sh.funcs[c.Name.Value] = c.Body
		}
		return succeeded
	case *syntax.DeclClause:
		sh.assign(c.Args)
		return either
	case *syntax.TimeClause:
		return sh.stmt(c.Stmt)
	case *syntax.CoprocClause:
		sh.sub().stmt(c.Stmt)
		return succeeded
	case nil:
		return either
	default:
		return sh.compound(c)
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
func (sh *shell) call(c *syntax.CallExpr, redirs []*syntax.Redirect) status {
	if len(c.Args) == 0 {
		sh.assign(c.Assigns)
		return either
	}
	for _, a := range c.Assigns {
		if a.Value != nil {
			sh.substitutions(a.Value)
		}
	}
	return sh.run(sh.words(c.Args), hereDocument(redirs))
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
