package unprompted

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// status is how a command ended, as far as reading can tell.
type status int

const (
	either status = iota
	succeeded
	failed
)

func (s status) negated() status {
	switch s {
	case succeeded:
		return failed
	case failed:
		return succeeded
	}
	return either
}

// leap is what keeps the statements that follow from being run.
type leap int

const (
	noLeap       leap = iota
	leapContinue      // to the next turn of the loop
	leapBreak         // out of the loop
	leapReturn        // out of the function
	leapExit          // out of the shell
)

// maybe reads what a running shell may or may not have run: all of it counts,
// and an exit there ends nothing for certain.
func (sh *shell) maybe(read func()) {
	read()
	sh.leap = noLeap
}

// condition reads statements whose failure `set -e` does not mind.
func (sh *shell) condition(stmts []*syntax.Stmt) status {
	strict := sh.strict
	sh.strict = false
	st := sh.stmts(stmts)
	sh.strict = strict
	return st
}

// compound walks conditionals and loops. A branch that certainly did not run
// counts for nothing; where that cannot be read, all of them count.
func (sh *shell) compound(c syntax.Command) status {
	switch c := c.(type) {
	case *syntax.IfClause:
		return sh.choose(c)
	case *syntax.WhileClause:
		return sh.while(c)
	case *syntax.ForClause:
		return sh.loop(c)
	case *syntax.CaseClause:
		return sh.match(c)
	default:
		sh.substitutions(c)
		return either
	}
}

func (sh *shell) choose(c *syntax.IfClause) status {
	certain := true
	for ; c != nil && sh.leap == noLeap; c = c.Else {
		switch st := sh.condition(c.Cond); {
		case sh.leap != noLeap || st == failed:
		case st == succeeded && certain:
			return sh.stmts(c.Then)
		case st == succeeded:
			sh.maybe(func() { sh.stmts(c.Then) })
			return either
		default:
			certain = false
			sh.maybe(func() { sh.stmts(c.Then) })
		}
	}
	if certain {
		return succeeded
	}
	return either
}

func (sh *shell) while(c *syntax.WhileClause) status {
	st := sh.condition(c.Cond)
	if c.Until {
		st = st.negated()
	}
	if sh.leap != noLeap || st == failed {
		return succeeded
	}
	read := func() { sh.turn(c.Do) }
	if st == succeeded {
		read()
	} else {
		sh.maybe(read)
	}
	return either
}

// turn reads a loop's body once. It reports whether the loop may go on.
func (sh *shell) turn(body []*syntax.Stmt) bool {
	sh.loops++
	sh.stmts(body)
	sh.loops--
	went := sh.leap
	if went == leapContinue || went == leapBreak {
		sh.leap = noLeap
	}
	return went == noLeap || went == leapContinue
}

// loop runs the body once for each value that can be read, so that
// `for f in notes/*; do cat "$f"; done` reads the records.
func (sh *shell) loop(c *syntax.ForClause) status {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		sh.maybe(func() { sh.turn(c.Do) })
		return either
	}
	items := sh.words(iter.Items)
	if len(items) == 0 {
		if iter.InPos.IsValid() {
			return succeeded // a list, and it is empty
		}
		items = []string{unknown}
	}
	for _, item := range items[:min(len(items), maxItems)] {
		sh.vars[iter.Name.Value] = item
		switch on := sh.turn(c.Do); {
		case strings.Contains(item, unknown):
			sh.leap = noLeap // the list may as well be empty
		case !on:
			return either
		}
	}
	return either
}

func (sh *shell) match(c *syntax.CaseClause) status {
	word, certain := sh.value(c.Word), true
	entered := false // from the branch before, which ended with ;&
	for _, item := range c.Items {
		st := sh.matches(word, item.Patterns)
		switch {
		case st == failed && !entered:
			continue
		case st == succeeded && certain && item.Op == syntax.Break:
			return sh.stmts(item.Stmts)
		}
		certain = false
		sh.maybe(func() { sh.stmts(item.Stmts) })
		entered = item.Op == syntax.Fallthrough
	}
	return either
}

func (sh *shell) matches(word string, patterns []*syntax.Word) status {
	out := failed
	for _, p := range patterns {
		switch pattern := sh.value(p); {
		case p.Lit() == "*":
			return succeeded
		case strings.Contains(word+pattern, unknown), strings.ContainsAny(pattern, `*?[\(`):
			out = either
		case pattern == word:
			return succeeded
		}
	}
	return out
}

// binary reads what is joined by a pipe, by && or by ||.
func (sh *shell) binary(c *syntax.BinaryCmd) status {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		sh.sub().stmt(c.X)
		return sh.sub().stmt(c.Y)
	}
	runs := succeeded
	if c.Op == syntax.OrStmt {
		runs = failed
	}
	switch x := sh.condition([]*syntax.Stmt{c.X}); {
	case sh.leap != noLeap:
		return x
	case x == runs:
		return sh.stmt(c.Y)
	case x == either:
		sh.maybe(func() { sh.stmt(c.Y) })
		return either
	default:
		return x
	}
}

// builtin knows the words of the shell that decide what runs next; ok is false
// for any other.
func (sh *shell) builtin(argv []string) (st status, ok bool) {
	st = succeeded
	if len(argv) > 1 && strings.Trim(argv[1], "0") != "" {
		st = failed // of exit and return
	}
	switch argv[0] {
	case "true", ":":
		return succeeded, true
	case "false":
		return failed, true
	case "exit":
		sh.leap = leapExit
	case "return":
		if sh.calls == 0 {
			return either, true
		}
		sh.leap = leapReturn
	case "break", "continue":
		if sh.loops == 0 {
			return succeeded, true
		}
		sh.leap = map[string]leap{"break": leapBreak, "continue": leapContinue}[argv[0]]
		st = succeeded
	case "set":
		for _, a := range argv[1:] {
			sh.strict = (sh.strict || strings.HasPrefix(a, "-") && strings.Contains(a, "e")) && !(strings.HasPrefix(a, "+") && strings.Contains(a, "e"))
		}
		return succeeded, true
	case "[", "test":
		return compared(argv[1:]), true
	default:
		return either, false
	}
	return st, true
}

// compared answers a test that holds nothing but plain words, or whole numbers.
func compared(args []string) status {
	if n := len(args); n > 0 && args[n-1] == "]" {
		args = args[:n-1]
	}
	if len(args) != 3 || strings.ContainsAny(args[0]+args[2], unknown+"*?[") {
		return either
	}
	equal := args[0] == args[2]
	switch args[1] {
	case "=", "==", "!=":
	case "-eq", "-ne":
		a, errA := strconv.Atoi(args[0])
		b, errB := strconv.Atoi(args[2])
		if errA != nil || errB != nil {
			return either
		}
		equal = a == b
	default:
		return either
	}
	if equal != (args[1] == "!=" || args[1] == "-ne") {
		return succeeded
	}
	return failed
}

// started runs a program that was only started by another one: a word of the
// shell means nothing there, except behind the shell's own.
func (sh *shell) started(by string, argv []string, stdin string) status {
	if !slices.Contains([]string{"command", "builtin", "exec"}, by) {
		sh = sh.sub()
	}
	st := sh.run(argv, stdin)
	if by == "exec" && len(argv) > 0 {
		sh.leap = leapExit
	}
	return st
}
