package unprompted

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
)

// axisCase is one row of the table of axis a: what a session did, and whether
// that is consulting.
type axisCase struct {
	name   string
	events []any
	want   bool
}

func TestAxisATable(t *testing.T) { // req 17, 18, 21-24, 56, 57
	for _, c := range slices.Concat(skillCases(), programCases(), fileCases(), bashReads(), bashNames(), neverCases()) {
		t.Run(c.name, func(t *testing.T) {
			a := evaluate(t, consulting(), streamOf(c.events...), start()).Result.Check(harness.AxisA)
			if got := a.Outcome == harness.Pass; got != c.want {
				t.Errorf("got %s (%s), evidence %v, near misses %v", a.Outcome, a.Reason, a.Evidence, a.NearMisses)
			}
			if c.want && (len(a.Evidence) == 0 || a.Evidence[0].Line < 3 || a.Evidence[0].Block == "") {
				t.Errorf("got evidence %v, want a pointer at the call", a.Evidence)
			}
			none := harness.Scenario{ID: "N", Role: harness.Guard, Expect: harness.Expect{A: []harness.Assertion{{Consults: nope()}}, B: consulting().Expect.B}}
			if n := evaluate(t, none, streamOf(c.events...), start()).Result.Check(harness.AxisA); (n.Outcome == harness.Fail) != c.want {
				t.Errorf("as a guard: got %s (%s)", n.Outcome, n.Reason)
			}
		})
	}
}

// skillCases: req 21.
func skillCases() []axisCase {
	return []axisCase{
		{"skill by its full name", []any{skill("os-adr:find-decision")}, true},
		{"skill by its bare name", []any{skill("find-decision")}, true},
		{"skill with a leading slash", []any{skill("/os-adr:find-decision")}, true},
		{"bare name with a leading slash", []any{skill("/record-decision")}, true},
		{"older key", []any{use{tool: "Skill", input: obj{"command": "os-adr:record-decision"}}}, true},
		{"slash command with words after it", []any{use{tool: "SlashCommand", input: obj{"command": "/os-adr:record-decision Use boats"}}}, true},
		{"bare name the session does not list", []any{skill("adr-find")}, false},
		{"built-in skill", []any{skill("verify")}, false},
		{"skill of another plugin", []any{skill("my-os-adr:find-decision")}, false},
		{"name only in the arguments", []any{use{tool: "Skill", input: obj{"skill": "other:plan", "args": "os-adr:find-decision"}}}, false},
		{"key in other casing", []any{use{tool: "Skill", input: obj{"Skill": "os-adr:find-decision"}}}, false},
	}
}

// programCases: req 22.
func programCases() []axisCase {
	return []axisCase{
		{"program by bare name", []any{bash(`adr-new "Zone fare"`)}, true},
		{"program of a bin directory", []any{bash(`/opt/plug/bin/adr-find fare`)}, true},
		{"quoted program path with a variable", []any{bash(`cd lib && "$CLAUDE_PLUGIN_ROOT/bin/adr-new" 'Zone fare'`)}, true},
		{"quoted name", []any{bash(`'adr-find' fare`)}, true},
		{"interpreter", []any{bash(`sh bin/adr-find fare`)}, true},
		{"shell with a script text", []any{bash(`bash -lc "adr-find fare | head"`)}, true},
		{"eval", []any{bash(`eval "adr-find fare"`)}, true},
		{"script on standard input", []any{bash("bash <<'X'\nadr-find fare\nX")}, true},
		{"env", []any{bash(`env -u X ADR_DATE=2020-01-01 adr-new x`)}, true},
		{"assignment before it", []any{bash(`ADR_DATE=2020-01-01 adr-new x`)}, true},
		{"xargs", []any{bash(`echo fare | xargs -n 1 adr-find`)}, true},
		{"timeout", []any{bash(`timeout -k 1 5 adr-find fare`)}, true},
		{"pipe", []any{bash(`adr-list | wc -l`)}, true},
		{"substitution", []any{bash(`echo "$(adr-find fare)"`)}, true},
		{"backquotes", []any{bash("x=`adr-find fare`")}, true},
		{"condition", []any{bash(`if adr-find fare; then echo yes; fi`)}, true},
		{"function that is called", []any{bash(`look() { adr-find "$1"; }; look fare`)}, true},
		{"find -exec", []any{bash(`find lib -name '*.rb' -exec adr-find {} \;`)}, true},
		{"which", []any{bash(`which adr-find`)}, false},
		{"command -v", []any{bash(`command -v adr-find`)}, false},
		{"program text shown", []any{bash(`cat /opt/plug/bin/adr-find`)}, false},
		{"git log of it", []any{bash(`git log --oneline -- bin/adr-find`)}, false},
		{"echo of it", []any{bash(`echo adr-find fare`)}, false},
		{"comment", []any{bash("ls # adr-find fare")}, false},
		{"function that is not called", []any{bash(`look() { adr-find "$1"; }`)}, false},
		{"program elsewhere of that name", []any{bash(`./tools/adr-find fare`)}, false},
	}
}

// fileCases: req 23 and 56, paths by file tools.
func fileCases() []axisCase {
	file := func(tool, p string) use { return use{tool: tool, input: obj{"file_path": p}} }
	grep := func(in obj) use { return use{tool: "Grep", input: in} }
	glob := func(in obj) use { return use{tool: "Glob", input: in} }
	return []axisCase{
		{"read", []any{file("Read", project+"/docs/adr/0003-zone-fare.md")}, true},
		{"read by a detour", []any{file("Read", "./docs/adr/../adr/0003-zone-fare.md")}, true},
		{"write", []any{file("Write", project+"/docs/adr/0005-x.md")}, true},
		{"edit", []any{file("Edit", "docs/adr/0003-zone-fare.md")}, true},
		{"glob below", []any{glob(obj{"pattern": "docs/adr/*.md"})}, true},
		{"glob with a path", []any{glob(obj{"path": project + "/docs/adr", "pattern": "*"})}, true},
		{"grep with a path", []any{grep(obj{"pattern": "fare", "path": "docs/adr"})}, true},
		{"grep with a glob", []any{grep(obj{"pattern": "fare", "glob": "docs/adr/*.md"})}, true},
		{"grep for the name elsewhere", []any{grep(obj{"pattern": "docs/adr", "path": "lib"})}, false},
		{"grep everywhere that lists records", []any{use{tool: "Grep", input: obj{"pattern": "fare"}, output: "docs/adr/0003-zone-fare.md"}}, false},
		{"wide glob", []any{use{tool: "Glob", input: obj{"pattern": "docs/**/*.md"}, output: "docs/adr/0003-zone-fare.md"}}, false},
		{"negated glob", []any{grep(obj{"pattern": "fare", "glob": "!docs/adr/**"})}, false},
		{"archive beside it", []any{file("Read", "docs/adr-archive/0003-x.md")}, false},
		{"other plural", []any{file("Read", "docs/adrs/0003-x.md")}, false},
		{"same name deeper", []any{file("Read", "spec/fixtures/docs/adr/0003-x.md")}, false},
		{"only the sandbox is called so", []any{file("Read", project+"/lib/ferry.rb")}, false},
		{"another project", []any{file("Read", "/tmp/elsewhere/docs/adr/0003-x.md")}, false},
		{"project of a longer name", []any{file("Read", project+"2/docs/adr/0003-x.md")}, false},
		{"written text that names it", []any{use{tool: "Write", input: obj{"file_path": "NOTES", "content": "see docs/adr/0003"}}}, false},
	}
}

// bashReads: req 56, commands that read, list or write below the records.
func bashReads() []axisCase {
	return []axisCase{
		{"ls", []any{bash(`ls docs/adr`)}, true},
		{"ls -la with a slash", []any{bash(`ls -la ./docs/adr/`)}, true},
		{"cat of a glob", []any{bash(`cat docs/adr/0002-*.md`)}, true},
		{"cd first", []any{bash(`cd docs && cat adr/0002*`)}, true},
		{"cd in and list", []any{bash(`cd docs/adr; ls`)}, true},
		{"absolute cd", []any{bash(`cd ` + project + `/docs/adr && head -5 0001-flat-fare.md`)}, true},
		{"cd in a subshell only", []any{bash(`(cd docs) ; cat adr/0002*`)}, false},
		{"cd of an earlier call", []any{bash(`cd docs`), bash(`cat adr/0003-zone-fare.md`)}, true},
		{"shell that left is put back", []any{bash(`cd /var`), bash(`ls docs/adr`)}, true},
		{"cd out again", []any{bash(`cd docs/adr && cd ../.. && ls`)}, false},
		{"cd to nowhere known", []any{bash(`cd "$X" && cat docs/adr/0001-flat-fare.md`)}, false},
		{"working directory by name", []any{bash(`cat "$PWD/docs/adr/0003-zone-fare.md"`)}, true},
		{"top of the repository", []any{bash(`cat "$(git rev-parse --show-toplevel)/docs/adr/README.md"`)}, true},
		{"variable", []any{bash(`D=docs/adr; cat "$D"/0003*`)}, true},
		{"loop", []any{bash(`for f in docs/adr/*.md; do cat "$f"; done`)}, true},
		{"braces", []any{bash(`head -3 docs/{adr,guide}/README.md`)}, true},
		{"grep -r", []any{bash(`grep -rn fare docs/adr`)}, true},
		{"grep -e", []any{bash(`grep -e fare -r docs/adr`)}, true},
		{"rg with a glob", []any{bash(`rg fare -g 'docs/adr/**'`)}, true},
		{"find", []any{bash(`find docs/adr -name '*.md'`)}, true},
		{"find by path", []any{bash(`find . -path './docs/adr/*'`)}, true},
		{"git show", []any{bash(`git show HEAD:docs/adr/0003-zone-fare.md`)}, true},
		{"redirected into", []any{bash("cat > docs/adr/0005-x.md <<'X'\ntext\nX")}, true},
		{"read from", []any{bash(`wc -l < docs/adr/README.md`)}, true},
	}
}

// bashNames: req 57, commands that only name the records.
func bashNames() []axisCase {
	return []axisCase{
		{"commit message", []any{bash(`git commit -m "mention docs/adr in README"`)}, false},
		{"git add", []any{bash(`git add docs/adr/0003-zone-fare.md`)}, false},
		{"echo into another file", []any{bash(`echo "see docs/adr" >> NOTES`)}, false},
		{"here-string", []any{bash(`wc -w <<< docs/adr/0003-zone-fare.md`)}, false},
		{"variable cut short", []any{bash(`D=docs/adr; cat "${D%adr}"guide.md`)}, false},
		{"negated glob of rg", []any{bash(`rg fare --glob '!docs/adr/**'`)}, false},
		{"find without it", []any{bash(`find . -name '*.md' -not -path './docs/adr/*'`)}, false},
		{"pruned", []any{bash(`find . -path ./docs/adr -prune -o -print`)}, false},
		{"here-document body", []any{bash("cat > NOTES <<'X'\ndocs/adr and `adr-find`\nX")}, false},
		{"search for the name", []any{bash(`grep -rn docs/adr lib`)}, false},
		{"test for the directory", []any{bash(`[ -d docs/adr ] && echo yes`)}, false},
		{"listing above", []any{use{tool: "Bash", input: obj{"command": "ls -R"}, output: "./docs/adr:\n0001"}}, false},
		{"no shell at all", []any{bash(`cat docs/adr/0001 ((`)}, false},
	}
}

// neverCases: req 57, what is no tool call on the records at all.
func neverCases() []axisCase {
	return []axisCase{
		{"prose", []any{say("I looked into docs/adr and ran adr-find.")}, false},
		{"call printed as text", []any{say(`<invoke name="Skill">os-adr:find-decision</invoke>`)}, false},
		{"thinking", []any{think("adr-find fare")}, false},
		{"skill body", []any{injected("Base directory: run adr-find, read docs/adr")}, false},
		{"subagent's order", []any{use{tool: "Agent", input: obj{"prompt": "read docs/adr"}}}, false},
		{"late in the session", []any{bash(`git status`), read("lib/ferry.rb"), skill("os-adr:find-decision")}, true},
	}
}

func TestAxisAReasons(t *testing.T) {
	withStatus := func(u use, s transcript.CallStatus) use { u.status = s; return u }
	byAgent := func(u use) use { u.parent = "toolu_parent"; return u }
	for _, c := range []struct {
		name    string
		events  []any
		outcome harness.Outcome
		reason  string
		near    string
	}{
		{"nothing", []any{say("Done.")}, harness.Fail, ReasonNoConsult, ""},
		{"failed", []any{withStatus(skill("os-adr:find-decision"), transcript.CallFailed)}, harness.Fail, ReasonAttemptedOnly, "attempt: skill os-adr:find-decision (failed)"},
		{"denied", []any{withStatus(read("docs/adr/0003-zone-fare.md"), transcript.CallDenied)}, harness.Fail, ReasonAttemptedOnly, "attempt: touches docs/adr/0003-zone-fare.md (denied)"},
		{"unanswered", []any{withStatus(bash("adr-list"), transcript.CallUnanswered)}, harness.Fail, ReasonAttemptedOnly, "attempt: command adr-list (unanswered)"},
		{"failed, then done", []any{withStatus(bash("adr-list"), transcript.CallFailed), bash("adr-list")}, harness.Pass, "", "attempt: command adr-list (failed)"},
		{"subagent", []any{byAgent(read("docs/adr/0003-zone-fare.md"))}, harness.Pass, ReasonBySubagent, ""},
		{"subagent and main", []any{byAgent(bash("adr-list")), bash("adr-list")}, harness.Pass, "", ""},
		{"asks in prose", []any{say("Done. Shall I record this as a decision?")}, harness.Fail, ReasonProposedOnly, ""},
		{"prose beside a mention", []any{bash(`grep -rn docs/adr lib`)}, harness.Fail, ReasonNoConsult, "mentioned: Bash names docs/adr without reading it"},
		{"wide search", []any{use{tool: "Grep", input: obj{"pattern": "fare"}, output: "docs/adr/0003"}}, harness.Fail, ReasonNoConsult, "listed: output of Grep names files in docs/adr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := evaluate(t, consulting(), streamOf(c.events...), start()).Result.Check(harness.AxisA)
			if a.Outcome != c.outcome || a.Reason != c.reason {
				t.Errorf("got %s %q, want %s %q", a.Outcome, a.Reason, c.outcome, c.reason)
			}
			if got := whats(a.NearMisses); got != c.near {
				t.Errorf("got near misses %q, want %q", got, c.near)
			}
		})
	}
}

func whats(es []harness.Evidence) string {
	var out []string
	for _, e := range es {
		out = append(out, e.What)
	}
	return strings.Join(out, "; ")
}

// A subagent starts in the project, whatever directory the main shell is in.
func TestSubagentHasItsOwnWorkingDirectory(t *testing.T) {
	sub := bash("cat adr/0003-zone-fare.md")
	sub.parent = "toolu_parent"
	a := evaluate(t, consulting(), streamOf(bash("cd docs"), sub), start()).Result.Check(harness.AxisA)
	if a.Outcome != harness.Fail {
		t.Errorf("got %s with %v", a.Outcome, a.Evidence)
	}
}

// What a subagent's shell does leaves the main agent's where it was.
func TestSubagentDoesNotMoveTheMainShell(t *testing.T) {
	sub := bash("cd docs")
	sub.parent = "toolu_parent"
	a := evaluate(t, consulting(), streamOf(sub, bash("cat adr/0003-zone-fare.md")), start()).Result.Check(harness.AxisA)
	if a.Outcome != harness.Fail {
		t.Errorf("got %s with %v", a.Outcome, a.Evidence)
	}
}

// A bare name that is a skill of its own is not the plugin's.
func TestBareNameOfAnotherSkill(t *testing.T) {
	s := streamOf(skill("verify"))
	s.lines[1] = strings.Replace(s.lines[1], `"os-adr:find-decision"`, `"os-adr:verify"`, 1)
	if a := evaluate(t, consulting(), s, start()).Result.Check(harness.AxisA); a.Outcome != harness.Fail {
		t.Errorf("got %s with %v", a.Outcome, a.Evidence)
	}
}

func TestAssertionsOfOneKindCount(t *testing.T) {
	sc := consulting()
	sc.Expect.A = []harness.Assertion{{Command: "adr-new"}, {Skill: "os-adr:record-*"}}
	for _, c := range []struct {
		event any
		want  harness.Outcome
	}{{bash("adr-new x"), harness.Pass}, {skill("record-decision"), harness.Pass}, {bash("adr-find x"), harness.Fail}} {
		if a := evaluate(t, sc, streamOf(c.event), start()).Result.Check(harness.AxisA); a.Outcome != c.want {
			t.Errorf("%v: got %s, want %s", c.event, a.Outcome, c.want)
		}
	}
}

// Command lines come from a model: none may cost more than a long one.
func TestHostileCommandsEnd(t *testing.T) {
	loop := strings.Repeat("for a in 1 2 3 4 5 6 7 8 9; do ", 12) + "adr-list" + strings.Repeat("; done", 12)
	for _, command := range []string{
		loop, "f() { f; f; f; }; f", "echo {1..900000}{1..900000}", strings.Repeat("$(", 200_000), strings.Repeat("{", 9_999), strings.Repeat("{a,b}", 4000),
		strings.Repeat("eval ", 1000) + "adr-list", strings.Repeat("a;", 60_000),
	} {
		readShell(command, project, project)
	}
}

func FuzzReadShell(f *testing.F) {
	for _, seed := range []string{`cd docs && cat adr/0002*`, "cat <<X\n$(adr-find)\nX", `for f in a{b,c}; do "$f"; done`, `find . -exec sh -c 'ls "$1"' {} +`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		got := readShell(command, project, project)
		if _, inside := below(project, "", got.cwd); !inside {
			t.Errorf("left the shell in %q", got.cwd)
		}
		for _, p := range got.paths {
			if strings.HasPrefix(p, "../") || strings.HasPrefix(p, "/") {
				t.Errorf("path %q is not below the project", p)
			}
		}
	})
}
