package unprompted

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words expands braces and reads every word.
func (sh *shell) words(words []*syntax.Word) []string {
	var out []string
	for _, w := range words {
		if braces(w) > maxBraces {
			out = append(out, unknown)
			continue
		}
		syntax.SplitBraces(w)
		n := 0
		for e, err := range expand.BracesSeq(nil, w) {
			if n++; err != nil || n > maxBraces {
				break
			}
			out = append(out, sh.value(e))
		}
	}
	return out
}

func braces(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// value reads a word with its quotes removed, running what it substitutes. An
// assignment of nothing has no word.
func (sh *shell) value(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range w.Parts {
		sh.part(&b, p, false)
	}
	return b.String()
}

func (sh *shell) part(b *strings.Builder, p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value, quoted))
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			sh.part(b, q, true)
		}
	case *syntax.ParamExp:
		b.WriteString(sh.parameter(p))
	case *syntax.CmdSubst:
		sh.sub().stmts(p.Stmts)
		b.WriteString(sh.output(p))
	case *syntax.ProcSubst:
		sh.sub().stmts(p.Stmts)
		b.WriteString(unknown)
	case *syntax.ExtGlob:
		b.WriteString("*")
	default:
		b.WriteString(unknown)
	}
}

// unescape removes the backslashes a shell removes.
func unescape(s string, quoted bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parameter reads a plain variable; what is cut or replaced is unknown.
func (sh *shell) parameter(p *syntax.ParamExp) string {
	if p.Exp != nil && p.Exp.Word != nil {
		sh.substitutions(p.Exp.Word)
	}
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil {
		return unknown
	}
	value, known := sh.vars[p.Param.Value]
	if !known {
		switch p.Param.Value {
		case "PWD":
			value, known = sh.cwd, true
		case "CLAUDE_PROJECT_DIR":
			value, known = sh.project, true
		}
	}
	if !known || p.Exp != nil {
		return unknown
	}
	return value
}

// output knows the two substitutions agents use to name where they are.
func (sh *shell) output(c *syntax.CmdSubst) string {
	if len(c.Stmts) != 1 {
		return unknown
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return unknown
	}
	switch strings.Join(sh.sub().words(call.Args), " ") {
	case "pwd":
		return sh.cwd
	case "git rev-parse --show-toplevel":
		return sh.project
	default:
		return unknown
	}
}
