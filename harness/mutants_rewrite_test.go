package harness_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change of one rule. Its id is its place in the list, from 1.
type mutant struct {
	file, function string
	expr           string // the text that is changed, on one line
	change         string // "true", "false", "dropped", or what is left out of a pattern
	again          int    // the number among mutants that are alike in all of the above, from 1
}

func (m mutant) String() string {
	s := m.file + "\t" + m.function + "\t" + m.expr + "\t" + m.change
	if m.again > 1 {
		s += "\t#" + strconv.Itoa(m.again)
	}
	return s
}

// insertion is a text to put into a file. Of those at one offset the closing
// ones come first, the innermost first; then the opening ones, the outermost
// first. width is the length of what a pair encloses.
type insertion struct {
	at      int
	text    string
	closing bool
	width   int
	skip    int // bytes of the original left out after it
}

// rewriter finds the mutants of one package, file by file.
type rewriter struct {
	info     *types.Info
	fset     *token.FileSet
	mutants  []mutant
	seen     map[mutant]int
	file     string
	function string
	text     string // of the file
	inserted []insertion
}

// rewrite returns the text of a file with all its mutants built in.
func (r *rewriter) rewrite(name, text string, file *ast.File) string {
	r.file, r.text, r.inserted = name, text, nil
	for _, d := range file.Decls {
		r.function = declName(d)
		ast.Inspect(d, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && r.function == "" {
				r.function = v.Names[0].Name
				defer func() { r.function = "" }()
				ast.Inspect(v, func(n ast.Node) bool { r.node(n); return true })
				return false
			}
			r.node(n)
			return true
		})
	}
	return r.apply()
}

// declName names a function with its receiver. Of other declarations each
// variable is named where it stands.
func declName(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	switch {
	case !ok:
		return ""
	case f.Recv == nil:
		return f.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

func (r *rewriter) apply() string {
	slices.SortStableFunc(r.inserted, func(a, b insertion) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.closing != b.closing && a.closing:
			return -1
		case a.closing != b.closing:
			return 1
		case a.closing:
			return a.width - b.width
		}
		return b.width - a.width
	})
	var out strings.Builder
	last := 0
	for _, in := range r.inserted {
		out.WriteString(r.text[last:in.at])
		out.WriteString(in.text)
		last = in.at + in.skip
	}
	out.WriteString(r.text[last:])
	return out.String()
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

func (r *rewriter) source(n ast.Node) string {
	return strings.Join(strings.Fields(r.text[r.offset(n.Pos()):r.offset(n.End())]), " ")
}

// add notes a mutant and returns its id.
func (r *rewriter) add(expr, change string) int {
	m := mutant{file: r.file, function: r.function, expr: expr, change: change}
	r.seen[m]++
	m.again = r.seen[m]
	r.mutants = append(r.mutants, m)
	return len(r.mutants)
}

func (r *rewriter) wrap(n ast.Node, before, after string) {
	from, to := r.offset(n.Pos()), r.offset(n.End())
	r.inserted = append(r.inserted, insertion{at: from, text: before, width: to - from}, insertion{at: to, text: after, closing: true, width: to - from})
}

// node looks for the rules that begin at one node.
func (r *rewriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		r.ending(n.Type, n.Body)
	case *ast.FuncLit:
		r.ending(n.Type, n.Body)
	case *ast.IfStmt:
		r.condition(n.Cond)
	case *ast.ForStmt:
		r.loop(n.Cond)
	case *ast.SwitchStmt:
		r.choice(n)
	case *ast.TypeSwitchStmt:
		r.typeChoice(n)
	case *ast.ReturnStmt:
		r.values(n.Results)
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			r.values(n.Rhs)
		}
	case *ast.ValueSpec:
		if len(n.Names) == len(n.Values) {
			r.values(n.Values)
		}
	case *ast.CallExpr:
		r.call(n)
	case *ast.CompositeLit:
		r.literal(n)
	}
}

// values takes the boolean ones among some expressions for rules.
func (r *rewriter) values(list []ast.Expr) {
	for _, e := range list {
		t, ok := r.info.Types[e]
		if !ok || !isBool(t.Type) {
			continue
		}
		if t.Value != nil {
			r.constant(e, constant.BoolVal(t.Value))
			continue
		}
		r.condition(e)
	}
}

func isBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// constant turns a written true or false round.
func (r *rewriter) constant(e ast.Expr, is bool) {
	id, ids := r.add(r.context(e), strconv.FormatBool(!is)), [2]int{-1, -1}
	if is {
		ids[1] = id
	} else {
		ids[0] = id
	}
	r.wrap(e, fmt.Sprintf("mutant(%d, %d, ", ids[0], ids[1]), ")")
}

// context is the line a node stands on: a lone "true" would say too little.
func (r *rewriter) context(n ast.Node) string {
	at := r.offset(n.Pos())
	from := strings.LastIndexByte(r.text[:at], '\n') + 1
	line, _, _ := strings.Cut(r.text[from:], "\n")
	return strings.Join(strings.Fields(line), " ")
}

// condition forces an expression true and false, and its operands to what
// leaves them without a say.
func (r *rewriter) condition(e ast.Expr) {
	r.force(e, "mutant", true, true)
	r.operands(e)
}

func (r *rewriter) loop(e ast.Expr) {
	if e != nil {
		r.force(e, "mutantLoop", true, true)
		r.operands(e)
	}
}

func (r *rewriter) force(e ast.Expr, by string, yes, no bool) {
	ids := [2]int{-1, -1}
	if yes {
		ids[0] = r.add(r.source(e), "true")
	}
	if no {
		ids[1] = r.add(r.source(e), "false")
	}
	r.wrap(e, fmt.Sprintf("%s(%d, %d, ", by, ids[0], ids[1]), ")")
}

// operands forces each operand of && true and each of || false; the other way
// round is what forcing the whole does.
func (r *rewriter) operands(e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		r.operands(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			r.operands(e.X)
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			r.operand(e.X, e.Op)
			r.operand(e.Y, e.Op)
		}
	}
}

func (r *rewriter) operand(e ast.Expr, op token.Token) {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		r.operands(e) // of one chain
		return
	}
	r.force(e, "mutant", op == token.LAND, op == token.LOR)
	r.operands(e)
}

// choice makes every value of a switch a condition.
func (r *rewriter) choice(s *ast.SwitchStmt) {
	tag := ""
	if s.Tag != nil {
		tag = r.text[r.offset(s.Tag.Pos()):r.offset(s.Tag.End())]
		remove := insertion{at: r.offset(s.Tag.Pos()), skip: len(tag)}
		if s.Init == nil {
			remove.text, tag = "mutantTag := "+tag+";", "mutantTag"
		}
		r.inserted = append(r.inserted, remove)
	}
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			if tag == "" {
				r.condition(e)
				continue
			}
			id := r.add("case "+r.source(e), "dropped")
			r.wrap(e, fmt.Sprintf("mutant(-1, %d, %s == (", id, tag), "))")
		}
	}
}

// typeChoice empties each clause of a switch on a type.
func (r *rewriter) typeChoice(s *ast.TypeSwitchStmt) {
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if len(c.Body) == 0 {
			continue
		}
		what := "default"
		if len(c.List) > 0 {
			what = "case " + r.source(c.List[0])
		}
		id := r.add(what, "dropped")
		from, to := r.offset(c.Colon)+1, r.offset(c.End())
		r.inserted = append(r.inserted,
			insertion{at: from, text: fmt.Sprintf(" if mutant(-1, %d, true) {", id), width: to - from},
			insertion{at: to, text: "}", closing: true, width: to - from})
	}
}

// ending lets a function that may have ended with a switch on a type end with a
// return of nothing, for with its clauses emptied the switch may be left.
func (r *rewriter) ending(f *ast.FuncType, body *ast.BlockStmt) {
	if f.Results == nil || body == nil || len(body.List) == 0 {
		return
	}
	if _, returns := body.List[len(body.List)-1].(*ast.ReturnStmt); returns || !choosesByType(body) {
		return
	}
	var nothing []string
	for _, result := range f.Results.List {
		if len(result.Names) == 0 {
			nothing = append(nothing, "*new("+r.source(result.Type)+")")
		}
	}
	r.inserted = append(r.inserted, insertion{at: r.offset(body.Rbrace), text: "; return " + strings.Join(nothing, ", ") + "\n"})
}

// choosesByType reports whether a function's own statements hold a switch on a
// type.
func choosesByType(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		_, inner := n.(*ast.FuncLit)
		_, is := n.(*ast.TypeSwitchStmt)
		found = found || is
		return !inner
	})
	return found
}

// call looks at boolean arguments, patterns, replacements and lists of words
// or characters in the arguments of a call.
func (r *rewriter) call(c *ast.CallExpr) {
	if t := r.info.Types[c.Fun]; t.IsType() || t.IsBuiltin() {
		return
	}
	r.values(c.Args)
	switch name := types.ExprString(c.Fun); name {
	case "strings.Fields":
		if text, ok := r.text1(c.Args[0]); ok {
			r.rows(c, strings.Fields(text))
		}
	case "strings.NewReplacer":
		r.pairs(c)
	case "strings.ContainsAny", "strings.IndexByte":
		r.characters(c.Args[len(c.Args)-1])
		r.characters(c.Args[0])
	case "regexp.MustCompile":
		e := c.Args[0]
		if inner, ok := e.(*ast.CallExpr); ok {
			e = inner.Args[0] // of a Sprintf
		}
		r.pattern(e)
	case "skip":
		for _, a := range c.Args[1:] {
			r.wrap(a, fmt.Sprintf("mutantWord(%d, ", r.add(r.source(c)+": "+r.source(a), "dropped")), ")")
		}
	}
}

// text1 is the value of a constant string.
func (r *rewriter) text1(e ast.Expr) (string, bool) {
	t := r.info.Types[e]
	if t.Value == nil || t.Value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(t.Value), true
}

// rows drops the elements of a list one by one.
func (r *rewriter) rows(n ast.Node, names []string) {
	first := 0
	for i, name := range names {
		id := r.add(name, "dropped")
		if i == 0 {
			first = id
		}
	}
	r.wrap(n, fmt.Sprintf("mutantRows(%d, ", first), ")")
}

// literal drops the elements of a slice and looks at boolean fields.
func (r *rewriter) literal(l *ast.CompositeLit) {
	var values []ast.Expr
	for _, e := range l.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		values = append(values, e)
	}
	r.values(values)
	if _, slice := r.info.Types[l].Type.Underlying().(*types.Slice); !slice || len(l.Elts) == 0 {
		return
	}
	var names []string
	for _, e := range l.Elts {
		names = append(names, r.source(e))
	}
	r.rows(l, names)
}

func (r *rewriter) pairs(c *ast.CallExpr) {
	first := 0
	for i := 0; i < len(c.Args); i += 2 {
		id := r.add(r.source(c.Args[i]), "dropped")
		if i == 0 {
			first = id
		}
	}
	from, to := r.offset(c.Lparen)+1, r.offset(c.Rparen)
	if comma := strings.TrimRight(r.text[from:to], " \t\n"); strings.HasSuffix(comma, ",") {
		to = from + len(comma) - 1
	}
	r.inserted = append(r.inserted,
		insertion{at: from, text: fmt.Sprintf("mutantPairs(%d, ", first), width: to - from},
		insertion{at: to, text: ")...", closing: true, width: to - from})
}

// characters drops the characters of a constant set one by one.
func (r *rewriter) characters(e ast.Expr) {
	set, ok := r.text1(e)
	if !ok {
		return
	}
	first := 0
	for i, c := range []rune(set) {
		id := r.add(r.source(e), "without "+strconv.QuoteRune(c))
		if i == 0 {
			first = id
		}
	}
	r.wrap(e, fmt.Sprintf("mutantCharacters(%d, ", first), ")")
}

// pattern leaves out one part of a regular expression after the other.
func (r *rewriter) pattern(e ast.Expr) {
	text, ok := r.text1(e)
	if !ok {
		return
	}
	first, list := 0, ""
	for i, v := range variants(text) {
		id := r.add("pattern", v.change)
		if i == 0 {
			first = id
		}
		list += ", " + strconv.Quote(v.pattern)
	}
	if first > 0 {
		r.wrap(e, fmt.Sprintf("mutantPattern(%d, ", first), list+")")
	}
}
