package unprompted

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// readers are programs whose arguments are files they read, list or write.
// Any other program's arguments are words until it is known better.
var readers = strings.Fields(`cat tac head tail less more bat batcat nl ls dir tree stat file wc sort uniq cut paste
	diff cmp comm od xxd hexdump strings sed awk gawk mawk jq yq tee cp mv rm mkdir touch ln install vi vim nano ed
	rsync du realpath readlink md5sum sha256sum column fold fmt glow pandoc`)

// searchers take a pattern first and files after it.
var searchers = strings.Fields(`grep egrep fgrep rg ag ack zgrep`)

// listers look at the working directory when no path is given.
var listers = strings.Fields(`ls dir tree rg ag ack`)

var interpreters = strings.Fields(`sh bash dash zsh ksh ash`)

// languages run a file given as their first operand, in a language not read
// here.
var languages = strings.Fields(`python python3 ruby perl node`)

// run reads a command by its words. stdin is a here-document's text.
func (sh *shell) run(argv []string, stdin string) status {
	if len(argv) == 0 || sh.depth >= maxDepth {
		return either
	}
	sh.depth++
	defer func() { sh.depth-- }()
	if body, ok := sh.funcs[argv[0]]; ok {
		return sh.function(body)
	}
	if rest, ok := unwrap(argv); ok {
		return sh.started(argv[0], rest, stdin)
	}
	if st, ok := sh.builtin(argv); ok {
		return st
	}
	sh.start(sh.program(argv[0]), argv[1:], stdin)
	return either
}

func (sh *shell) function(body *syntax.Stmt) status {
	loops := sh.loops
	sh.calls, sh.loops = sh.calls+1, 0
	st := sh.stmt(body)
	sh.calls, sh.loops = sh.calls-1, loops
	if sh.leap == leapReturn {
		sh.leap = noLeap
	}
	return st
}

// start reads what a program of that name does with its arguments.
func (sh *shell) start(name string, args []string, stdin string) {
	switch {
	case slices.Contains(interpreters, name):
		sh.interpret(args, stdin)
	case slices.Contains(languages, name):
		sh.scriptFile(args)
	case name == "eval":
		sh.script(strings.Join(args, " "))
	case name == "cd" || name == "pushd":
		sh.chdir(strings.Join(operands(args), " "))
	case name == "popd":
		sh.cwd = unknown
	case name == "source" || name == ".":
		sh.sub().run(args, "")
	case name == "find" || name == "fd":
		sh.find(args)
	case slices.Contains(searchers, name):
		sh.search(name, args)
	case name == "git":
		sh.git(args)
	case slices.Contains(readers, name):
		sh.read(name, args)
	}
}

// scriptFile notes the file a language's interpreter runs. Where an option gives
// it the text or a module instead, what follows are arguments.
func (sh *shell) scriptFile(args []string) {
	files := skip(args, "-I", "-r", "-W", "-X")
	if slices.ContainsFunc(args[:len(args)-len(files)], inline) {
		return
	}
	if len(files) > 0 {
		sh.program(files[0])
	}
}

// inline reports whether an option of a language's interpreter gives it its
// script, or a module's name, on the command line.
func inline(option string) bool {
	if strings.HasPrefix(option, "--") {
		return option == "--eval" || strings.HasPrefix(option, "--eval=") || option == "--print"
	}
	return strings.HasPrefix(option, "-") && strings.ContainsAny(option, "ecmp") && !strings.HasPrefix(option, "-I") && !strings.HasPrefix(option, "-r")
}

// program notes the program a command word starts: a bare name, which the
// shell finds on its path, or a file of a bin directory. A word with a space in
// it is a whole command line that somebody quoted, and starts nothing.
func (sh *shell) program(word string) string {
	dir, name := path.Split(word)
	if (dir == "" || path.Base(path.Clean(dir)) == "bin") && !strings.ContainsAny(name, " \t\n") {
		sh.out.programs = append(sh.out.programs, name)
	}
	return name
}

// unwrap removes programs that only start another one.
func unwrap(argv []string) ([]string, bool) {
	rest := argv[1:]
	switch path.Base(argv[0]) {
	case "env":
		rest = skip(rest, "-u", "-C", "-S")
		for len(rest) > 0 && strings.Contains(rest[0], "=") {
			rest = rest[1:]
		}
		return rest, true
	case "sudo", "doas":
		return skip(rest, "-u", "-g", "-C"), true
	case "xargs":
		return skip(rest, "-n", "-I", "-P", "-d", "-L", "-a", "-E", "-s"), true
	case "nohup", "exec", "setsid", "builtin", "busybox", "stdbuf":
		return skip(rest), true
	case "nice", "ionice":
		return skip(rest, "-n", "-c"), true
	case "time":
		return skip(rest, "-f", "-o"), true
	case "timeout":
		if rest = skip(rest, "-s", "-k"); len(rest) > 0 {
			rest = rest[1:]
		}
		return rest, true
	case "command":
		if len(rest) > 0 && strings.HasPrefix(rest[0], "-") && strings.ContainsAny(rest[0], "vV") {
			return nil, true
		}
		return skip(rest), true
	default:
		return nil, false
	}
}

// skip drops leading options; those named take the word after them along.
func skip(args []string, withValue ...string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "--" {
			return args[1:]
		}
		n := 1
		if slices.Contains(withValue, args[0]) {
			n = min(2, len(args))
		}
		args = args[n:]
	}
	return args
}

// operands lists the words that are no options.
func operands(args []string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			out = append(out, a)
		}
	}
	return out
}

// interpret reads `sh -c TEXT`, `sh FILE` and a script given on standard input.
func (sh *shell) interpret(args []string, stdin string) {
	files := skip(args, "-o", "-O")
	has := func(letter rune) bool {
		return slices.ContainsFunc(args[:len(args)-len(files)], func(a string) bool { return shortFlag(a, letter) })
	}
	switch {
	case has('n'): // reads a script and runs none of it
	case has('c'):
		if len(files) > 0 {
			sh.sub().script(files[0])
		}
	case len(files) == 0 || has('s'): // with -s the words are the script's own
		sh.sub().script(stdin)
	default:
		sh.program(files[0])
	}
}

// shortFlag reports whether an argument is a group of one-letter options that
// holds this one.
func shortFlag(arg string, letter rune) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsRune(arg, letter)
}

// read takes every operand of a reading program as touched, and the working
// directory when a lister is given none.
func (sh *shell) read(name string, args []string) {
	files := operands(without(args, name))
	for _, f := range files {
		sh.touch(f)
	}
	if len(files) == 0 && slices.Contains(listers, name) {
		sh.touch(".")
	}
}

// leftOut are the options whose value says what a program passes over, by the
// programs that know them; any program has the long ones.
var leftOut = map[string]string{"-I": "ls dir tree", "-P": "tree", "-x": "diff"}

// without drops those options and their values.
func without(args []string, name string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		long := slices.Contains([]string{"--exclude", "--exclude-from", "--ignore", "--hide", "--ignore-file"}, args[i])
		if long || slices.Contains(strings.Fields(leftOut[args[i]]), name) {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// find takes the directories before the expression, and a path asked for
// positively, as touched, and runs what -exec names.
func (sh *shell) find(args []string) {
	i := 0
	for i < len(args) && !strings.HasPrefix(args[i], "-") && args[i] != "(" && args[i] != "!" {
		sh.touch(args[i])
		i++
	}
	if i == 0 {
		sh.touch(".")
	}
	prunes := slices.Contains(args, "-prune")
	for ; i < len(args); i++ {
		switch args[i] {
		case "-path", "-wholename", "-ipath":
			negated := i > 0 && (args[i-1] == "-not" || args[i-1] == "!")
			if i+1 < len(args) && !negated && !prunes {
				sh.touch(args[i+1])
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			command := args[i+1:]
			if end := slices.IndexFunc(command, func(a string) bool { return a == ";" || a == "+" }); end >= 0 {
				command = command[:end]
			}
			sh.sub().run(command, "")
		}
	}
}

// search leaves the pattern out, which may name a directory without looking
// into it, and takes a positive glob option along.
func (sh *shell) search(name string, args []string) {
	pattern, looked := false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		flag, value, joined := strings.Cut(a, "=")
		switch {
		case slices.Contains([]string{"-e", "-f", "--regexp", "--file"}, flag):
			pattern = true
			if !joined {
				i++
			}
		case slices.Contains([]string{"-g", "--glob", "--iglob", "--include"}, flag):
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			sh.touch(value)
		case slices.Contains([]string{"-A", "-B", "-C", "-m", "-t", "-T", "-j", "--type", "--exclude", "--exclude-dir",
			"--exclude-from", "--ignore", "--ignore-dir", "--ignore-file", "--label"}, a):
			i++
		case strings.HasPrefix(a, "-") && a != "-":
		case !pattern:
			pattern = true
		default:
			looked = true
			sh.touch(a)
		}
	}
	recursive := slices.ContainsFunc(args, func(a string) bool {
		return a == "--recursive" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.ContainsAny(a, "rR")
	})
	if !looked && (recursive || slices.Contains(listers, name)) {
		sh.touch(".")
	}
}

// git counts only the subcommands that show a file's content or list files;
// a path given to add, commit or log names it without reading it.
func (sh *shell) git(args []string) {
	for len(args) > 1 && (args[0] == "-C" || args[0] == "-c") {
		if args[0] == "-C" {
			sh = sh.sub()
			sh.chdir(args[1])
		}
		args = args[2:]
	}
	args = skip(args)
	if len(args) == 0 {
		return
	}
	switch sub := args[0]; sub {
	case "grep":
		sh.search("git grep", args[1:])
	case "ls-files", "ls-tree", "blame", "mv", "rm":
		sh.read(sub, args[1:])
	case "show", "cat-file":
		for _, a := range operands(args[1:]) {
			_, file, _ := strings.Cut(a, ":")
			sh.sub().touchFromRoot(file)
		}
	}
}

// touchFromRoot takes a path as git names it, from the top of the project.
func (sh *shell) touchFromRoot(p string) {
	if !strings.HasPrefix(p, ".") {
		sh.cwd = sh.project
	}
	sh.touch(p)
}
