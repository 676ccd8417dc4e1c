package loopd_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The budgets. They are bounds on the tail: a usual function has ten lines.
const (
	longFunction  = 80 // no function is longer without a reason
	usualFunction = 45 // nine of ten functions are no longer
	longFile      = 400
	longTestFile  = 600
	mostMethods   = 2
	shortestDoc   = 200 // characters of a package doc that says all it must
)

// refusal finds the sentence that draws a package's border.
var refusal = regexp.MustCompile(`\b(refuses?|never|nothing|no|not|neither)\b`)

// excuse is the word with which a function's doc gives the reason for its
// length: a long straight line that helpers would only cut up.
const excuse = "straight-line"

func TestPackageDocs(t *testing.T) {
	t.Parallel()
	sound := "// Package a " + strings.Repeat("says what it is for. ", 10) + "\n//\n// It refuses everything else.\npackage a"
	rule(t, checkPackageDocs,
		map[string]string{"a/a.go": sound, "a/b.go": "package a", "a/a_test.go": "package a"},
		damage{map[string]string{"a/a.go": "package a"}, "a: no package doc"},
		damage{map[string]string{"a/a.go": "// Package a is short.\npackage a"}, "a: the package doc is too short"},
		damage{map[string]string{"a/a.go": strings.Replace(sound, "Package a", "This package", 1)}, "a: the package doc does not begin with"},
		damage{map[string]string{"a/a.go": strings.Replace(sound, "refuses", "does", 1)}, "a: the package doc does not say what it refuses"},
		damage{map[string]string{"a/a.go": sound, "a/b.go": sound}, "a: 2 package docs"},
	)
}

func TestExportedDocs(t *testing.T) {
	t.Parallel()
	rule(t, checkExportedDocs,
		map[string]string{"a.go": `package a
// Kind is a kind.
type Kind string
// The kinds.
const (
	A Kind = "a"
	B Kind = "b"
)
const C = 1 // C is the third.
// Do does it.
func (k Kind) Do() {}
func (h hidden) Do() {}
// A Box holds things.
type Box struct{}
`},
		damage{map[string]string{"a.go": "package a\nfunc Do() {}"}, "Do has no doc"},
		damage{map[string]string{"a.go": "package a\ntype Kind string"}, "Kind has no doc"},
		damage{map[string]string{"a.go": "package a\n// Do does it\nfunc Do() {}"}, "Do is no full sentence"},
		damage{map[string]string{"a.go": "package a\n// This does it.\nfunc Do() {}"}, "the doc of Do does not begin with its name"},
		damage{map[string]string{"a.go": "package a\n// Kind is a kind.\ntype Kind int\nfunc (k *Kind) Do() {}"}, "Do has no doc"},
		damage{map[string]string{"a.go": "package a\nvar Default = 1"}, "Default has no doc"},
		damage{map[string]string{"a.go": "package a\n// Box holds.\ntype Box[T any] struct{}\nfunc (b Box[T]) Do() {}"}, "Do has no doc"},
	)
}

func TestFunctionLength(t *testing.T) {
	t.Parallel()
	body := func(lines int) string { return "func f() {\n" + strings.Repeat("\t_ = 1\n", lines-2) + "}\n" }
	rule(t, checkFunctionLength,
		map[string]string{
			"a.go":      "package a\n// f is straight-line on purpose.\n" + body(200) + strings.Repeat(body(10), 20),
			"a_test.go": "package a\nfunc f() {\n\t_ = []int{\n" + strings.Repeat("1,\n", 100) + "}\n}\n",
		},
		damage{map[string]string{"a.go": "package a\n" + body(81) + strings.Repeat(body(10), 20)}, "f has 81 lines"},
		damage{map[string]string{"a.go": "package a\n" + strings.Repeat(body(46), 11) + strings.Repeat(body(10), 89)}, "one function in ten has more than 45 lines"},
		damage{map[string]string{"a_test.go": "package a\n" + body(81)}, "f has 81 lines"},
	)
}

func TestFileLength(t *testing.T) {
	t.Parallel()
	text := func(lines int) string { return "package a\n" + strings.Repeat("\n", lines-1) }
	rule(t, checkFileLength,
		map[string]string{"a.go": text(400), "a_test.go": text(600)},
		damage{map[string]string{"a.go": text(401)}, "a.go has 401 lines"},
		damage{map[string]string{"a_test.go": text(601)}, "a_test.go has 601 lines"},
	)
}

func TestInterfaceSize(t *testing.T) {
	t.Parallel()
	rule(t, checkInterfaces,
		map[string]string{"a.go": "package a\ntype I interface { A(); B() }\ntype N interface { ~int | ~string | ~bool }\nfunc f(x interface{ A() }) {}"},
		damage{map[string]string{"a.go": "package a\ntype I interface { A(); B(); C() }"}, "3 methods"},
		damage{map[string]string{"a.go": "package a\ntype I interface { A(); io.Reader; io.Writer }"}, "3 methods"},
		damage{map[string]string{"a.go": "package a\nfunc f(x interface { A(); B(); C() }) {}"}, "3 methods"},
	)
}

func TestNoSleepInTests(t *testing.T) {
	t.Parallel()
	rule(t, checkSleep,
		map[string]string{"a_test.go": "package a\nimport \"time\"\nvar d = time.Second", "a.go": "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }"},
		damage{map[string]string{"a_test.go": "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }"}, "a_test.go:3: sleeps"},
		damage{map[string]string{"a_test.go": "package a\nimport clock \"time\"\nvar f = clock.Sleep"}, "a_test.go:3: sleeps"},
	)
}

func TestNoHiddenState(t *testing.T) {
	t.Parallel()
	rule(t, checkHiddenState,
		map[string]string{"a.go": "package a\nvar list = []int{1}\nvar _ = list\nfunc f() { _ = list; list := 1; list = 2; _ = list; x := 3; x++ }\ntype T struct{}\nfunc (t T) init() {}"},
		damage{map[string]string{"a.go": "package a\nfunc init() {}"}, "a.go:2: an init function"},
		damage{map[string]string{"a.go": "package a\nvar n, _ = 0, 0\nfunc f() { n = 1 }"}, "a.go:3: changes the package variable n"},
		damage{map[string]string{"a/a.go": "package a\nvar n int", "a/b.go": "package a\nfunc f() { n++ }"}, "a/b.go:2: changes the package variable n"},
		damage{map[string]string{"a.go": "package a\nvar m = map[string]int{}\nfunc f() { m[\"a\"] = 1 }"}, "a.go:3: changes the package variable m"},
	)
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	rule(t, checkErrorText,
		map[string]string{"a.go": `package a; var e = fmt.Errorf("open ledger: %w", err)`},
		damage{map[string]string{"a.go": `package a; var e = fmt.Errorf("failed to open: %w", err)`}, "failed to"},
	)
}

func TestGlobsAreNotEmpty(t *testing.T) {
	t.Parallel()
	rule(t, checkGlobs,
		map[string]string{"a_test.go": `package a; func f() { m, _ := filepath.Glob("x/*"); if len(m) == 0 { t.Fatal("no cases") } }; func g() { testenv.Glob(t, "x/*") }`},
		damage{map[string]string{"a_test.go": `package a; func f() { m, _ := filepath.Glob("x/*"); for range m {} }`}, "f does not look whether the glob is empty"},
		damage{map[string]string{"a_test.go": `package a; func f() { m, _ := fs.Glob(x, "x/*"); for range m {} }`}, "f does not look whether the glob is empty"},
	)
}

func checkPackageDocs(files []source) []string {
	docs := make(map[string][]string)
	names := make(map[string]string)
	for _, f := range files {
		if f.test() {
			continue
		}
		names[f.dir()] = f.file.Name.Name
		if f.file.Doc != nil {
			docs[f.dir()] = append(docs[f.dir()], f.file.Doc.Text())
		}
	}
	var out []string
	for dir, name := range names {
		if what := packageDoc(name, docs[dir]); what != "" {
			out = append(out, dir+": "+what)
		}
	}
	slices.Sort(out)
	return out
}

// packageDoc says what is wrong with the docs of one package.
func packageDoc(name string, docs []string) string {
	if len(docs) == 0 {
		return "no package doc"
	}
	if len(docs) > 1 {
		return fmt.Sprintf("%d package docs; one file says it all", len(docs))
	}
	begin := "Package " + name + " "
	if name == "main" {
		begin = "Command "
	}
	switch doc := docs[0]; {
	case !strings.HasPrefix(doc, begin):
		return fmt.Sprintf("the package doc does not begin with %q", begin)
	case len(doc) < shortestDoc:
		return "the package doc is too short to say what it is for, what it refuses and what always holds"
	case !refusal.MatchString(doc):
		return "the package doc does not say what it refuses to do"
	}
	return ""
}

func checkExportedDocs(files []source) []string {
	var out []string
	for _, f := range files {
		if f.test() {
			continue
		}
		for _, d := range f.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && onExported(d) {
					out = append(out, named(f, d.Name, d.Doc)...)
				}
			case *ast.GenDecl:
				out = append(out, genDocs(f, d)...)
			}
		}
	}
	return out
}

// onExported reports whether a function is no method, or one of a type that can
// be seen from outside.
func onExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	expr := d.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// genDocs looks at types, constants and variables. A group is documented as one
// where its doc says what the names have in common.
func genDocs(f source, d *ast.GenDecl) []string {
	var out []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = d.Doc
			}
			if s.Name.IsExported() {
				out = append(out, named(f, s.Name, doc)...)
			}
		case *ast.ValueSpec:
			i := slices.IndexFunc(s.Names, (*ast.Ident).IsExported)
			if i >= 0 && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				out = append(out, fmt.Sprintf("%s: %s has no doc", f.at(s.Pos()), s.Names[i].Name))
			}
		}
	}
	return out
}

// named wants a doc that is a full sentence about the name.
func named(f source, name *ast.Ident, doc *ast.CommentGroup) []string {
	if doc == nil {
		return []string{fmt.Sprintf("%s: %s has no doc", f.at(name.Pos()), name.Name)}
	}
	text := strings.TrimSpace(doc.Text())
	words := strings.Fields(text)
	if len(words) == 0 || !slices.Contains(words[:min(2, len(words))], name.Name) {
		return []string{fmt.Sprintf("%s: the doc of %s does not begin with its name", f.at(name.Pos()), name.Name)}
	}
	first, _, _ := strings.Cut(text, "\n\n")
	if !strings.ContainsAny(first[len(first)-1:], ".:") {
		return []string{fmt.Sprintf("%s: the doc of %s is no full sentence", f.at(name.Pos()), name.Name)}
	}
	return nil
}

func checkFunctionLength(files []source) []string {
	var out []string
	var lengths []int
	for _, f := range files {
		for _, d := range f.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := span(f, fn) + 1
			if f.test() {
				n -= tables(f, fn)
			}
			if n > longFunction && !strings.Contains(fn.Doc.Text(), excuse) {
				out = append(out, fmt.Sprintf("%s: %s has %d lines, at most %d without a reason", f.at(fn.Pos()), fn.Name.Name, n, longFunction))
			}
			if !f.test() {
				lengths = append(lengths, n)
			}
		}
	}
	slices.Sort(lengths)
	if n := len(lengths); n > 0 && lengths[n*9/10] > usualFunction {
		out = append(out, fmt.Sprintf("one function in ten has more than %d lines", usualFunction))
	}
	return out
}

// span is how many line ends a node goes over.
func span(f source, n ast.Node) int {
	return f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line
}

// tables counts the lines of a test that are a table of cases: they are data.
func tables(f source, fn *ast.FuncDecl) int {
	n := 0
	ast.Inspect(fn, func(node ast.Node) bool {
		lit, ok := node.(*ast.CompositeLit)
		if ok {
			n += span(f, lit)
		}
		return !ok
	})
	return n
}

func checkFileLength(files []source) []string {
	var out []string
	for _, f := range files {
		most := longFile
		if f.test() {
			most = longTestFile
		}
		if f.lines > most {
			out = append(out, fmt.Sprintf("%s has %d lines, at most %d", f.path, f.lines, most))
		}
	}
	return out
}

func checkInterfaces(files []source) []string {
	var out []string
	for _, f := range files {
		ast.Inspect(f.file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				if m := methods(i); m > mostMethods {
					out = append(out, fmt.Sprintf("%s: an interface of %d methods, at most %d", f.at(i.Pos()), m, mostMethods))
				}
			}
			return true
		})
	}
	return out
}

// methods counts an embedded interface as one method at least; a type set has
// none.
func methods(i *ast.InterfaceType) int {
	n := 0
	for _, field := range i.Methods.List {
		switch field.Type.(type) {
		case *ast.FuncType:
			n += len(field.Names)
		case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
			n++
		}
	}
	return n
}

func checkSleep(files []source) []string {
	var out []string
	for _, f := range files {
		name := f.called("time")
		if !f.test() || name == "" {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			if pkg, sel, pos := selector(n); pkg == name && sel == "Sleep" {
				out = append(out, f.at(pos)+": sleeps; wait on a channel or use testing/synctest")
			}
			return true
		})
	}
	return out
}

// checkErrorText reads the literal texts of errors; staticcheck looks at their
// case and their end (ST1005).
func checkErrorText(files []source) []string {
	var out []string
	for _, f := range files {
		ast.Inspect(f.file, func(n ast.Node) bool {
			if text, pos, ok := errorLiteral(n); ok && !f.test() && strings.Contains(text, "failed to") {
				out = append(out, f.at(pos)+`: an error says what was being done, not "failed to"`)
			}
			return true
		})
	}
	return out
}

func errorLiteral(n ast.Node) (text string, pos token.Pos, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) == 0 {
		return "", token.NoPos, false
	}
	pkg, sel, _ := selector(call.Fun)
	lit, isLit := call.Args[0].(*ast.BasicLit)
	if !isLit || pkg+"."+sel != "fmt.Errorf" && pkg+"."+sel != "errors.New" {
		return "", token.NoPos, false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, lit.Pos(), err == nil
}

// checkGlobs wants len in every test function that globs by a pattern of its
// own: a folder of cases that went missing must not look like success. A helper
// that is handed its pattern searches for one thing and is left alone.
func checkGlobs(files []source) []string {
	var out []string
	for _, f := range files {
		for _, d := range f.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !f.test() || fn.Body == nil {
				continue
			}
			globs, looks := false, false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				globs = globs || ownGlob(n)
				if id, ok := n.(*ast.Ident); ok && id.Name == "len" {
					looks = true
				}
				return true
			})
			if globs && !looks {
				out = append(out, fmt.Sprintf("%s: %s does not look whether the glob is empty", f.at(fn.Pos()), fn.Name.Name))
			}
		}
	}
	return out
}

func ownGlob(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	pkg, sel, _ := selector(call.Fun)
	_, handed := call.Args[len(call.Args)-1].(*ast.Ident)
	return sel == "Glob" && pkg != "testenv" && !handed // testenv.Glob looks itself
}

// checkHiddenState wants neither init functions nor package variables that
// change: what a function depends on is in its arguments.
func checkHiddenState(files []source) []string {
	variables := make(map[string][]string) // by folder
	for _, f := range files {
		if !f.test() {
			variables[f.dir()] = append(variables[f.dir()], packageVariables(f.file)...)
		}
	}
	var out []string
	for _, f := range files {
		for _, d := range f.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if fn.Name.Name == "init" && fn.Recv == nil {
				out = append(out, f.at(fn.Pos())+": an init function; work that nobody called for")
			}
			if !f.test() && fn.Body != nil {
				out = append(out, changes(f, fn, variables[f.dir()])...)
			}
		}
	}
	return out
}

func packageVariables(file *ast.File) []string {
	var out []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name != "_" {
					out = append(out, name.Name)
				}
			}
		}
	}
	return out
}

// changes finds assignments to package variables. A name that the function
// declares itself, anywhere, is taken for its own.
func changes(f source, fn *ast.FuncDecl, variables []string) []string {
	local := declared(fn)
	var out []string
	changed := func(e ast.Expr) {
		if x, ok := e.(*ast.IndexExpr); ok {
			e = x.X
		}
		if id, ok := e.(*ast.Ident); ok && slices.Contains(variables, id.Name) && !slices.Contains(local, id.Name) {
			out = append(out, fmt.Sprintf("%s: changes the package variable %s", f.at(e.Pos()), id.Name))
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				for _, e := range s.Lhs {
					changed(e)
				}
			}
		case *ast.IncDecStmt:
			changed(s.X)
		}
		return true
	})
	return out
}

// declared lists every name a function declares: parameters, results, :=, var.
func declared(fn *ast.FuncDecl) []string {
	var out []string
	ast.Inspect(fn, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.Field:
			for _, name := range s.Names {
				out = append(out, name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				out = append(out, name.Name)
			}
		case *ast.AssignStmt:
			for _, e := range s.Lhs {
				if id, ok := e.(*ast.Ident); ok && s.Tok == token.DEFINE {
					out = append(out, id.Name)
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{s.Key, s.Value} {
				if id, ok := e.(*ast.Ident); ok {
					out = append(out, id.Name)
				}
			}
		}
		return true
	})
	return out
}
