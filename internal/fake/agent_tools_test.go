package fake_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// results plays steps and returns the content of each tool result, and whether
// it was an error.
func results(t *testing.T, r *rig, steps ...harness.Step) (texts []string, failed []bool) {
	t.Helper()
	r.session.Scenario.Oracle = append(steps, harness.Step{Text: "end"})
	o := inProcess(r)
	if o.code != 0 {
		t.Fatalf("exit %d: %v %s", o.code, o.last(), o.stderr)
	}
	for _, l := range o.lines {
		if l["type"] != "user" || l["isSynthetic"] == true {
			continue
		}
		block := l["message"].(map[string]any)["content"].([]any)[0].(map[string]any)
		isError, _ := block["is_error"].(bool)
		texts, failed = append(texts, block["content"].(string)), append(failed, isError)
	}
	return texts, failed
}

func TestBash(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 31_000)
	for name, c := range map[string]struct {
		command, want string
		failed        bool
	}{
		"both outputs":    {"echo out; echo err >&2", "out\nerr", false},
		"no output":       {"true", "(Bash completed with no output)", false},
		"exit code":       {"echo oops; exit 3", "Exit code 3\noops", true},
		"silent failure":  {"false", "Exit code 1", true},
		"quotes":          {`echo "it's" '"quoted"' $((1+1))`, `it's "quoted" 2`, false},
		"heredoc":         {"cat <<'X'\na $b\nX", "a $b", false},
		"plugin program":  {"note-find limit", "notes/0001-limit.md", false},
		"standard input":  {"cat", "(Bash completed with no output)", false},
		"not found":       {"no-such-program", "Exit code 127\n", true},
		"too much":        {"printf " + long, "<persisted-output>\nOutput too large (30.3KB)", false},
		"outside project": {"cd /", "Shell cwd was reset to ", false},
		"marks":           {"echo $CLAUDECODE", "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts, failed := results(t, newRig(t, goodHook), harness.Step{Bash: c.command})
			if !strings.HasPrefix(strings.TrimLeft(texts[0], "\n"), c.want) || failed[0] != c.failed {
				t.Errorf("got %q (error %v), want %q (error %v)", texts[0], failed[0], c.want, c.failed)
			}
		})
	}
}

func TestBashKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	texts, _ := results(t, r, harness.Step{Bash: "cd notes"}, harness.Step{Bash: "pwd"}, harness.Step{Bash: "cd /tmp; pwd"}, harness.Step{Bash: "pwd"})
	if texts[1] != r.path("work/notes") || texts[3] != r.path("work") {
		t.Errorf("got %q", texts)
	}
	if !strings.HasSuffix(texts[2], "Shell cwd was reset to "+r.path("work")) {
		t.Errorf("leaving the project: got %q", texts[2])
	}
}

// TestBashHasItsOwnSession: killing the agent's process group does not reach
// its commands, and a background child holds nothing up.
func TestBashHasItsOwnSession(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the session of a process is read from /proc")
	}
	r := newRig(t, goodHook)
	texts, failed := results(t, r, harness.Step{Bash: "sleep 60 & echo $! $$; cut -d' ' -f6 /proc/$$/stat"})
	fields := strings.Fields(texts[0])
	if failed[0] || len(fields) != 3 {
		t.Fatalf("got %q", texts[0])
	}
	if fields[1] != fields[2] {
		t.Errorf("shell %s is in session %s", fields[1], fields[2])
	}
	pid, err := strconv.Atoi(fields[0])
	testenv.Must(t, err)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the background child did not outlive its shell: %v", err)
	}
}

func TestFileTools(t *testing.T) {
	t.Parallel()
	edit := func(path, old, text string) harness.Step {
		return harness.Step{Edit: &harness.EditStep{Path: path, Old: old, New: text}}
	}
	write := func(path, text string) harness.Step {
		return harness.Step{Write: &harness.WriteStep{Path: path, Content: text}}
	}
	for name, c := range map[string]struct {
		steps  []harness.Step
		want   string // prefix of the last result
		failed bool
		file   string // relay.rb afterwards
	}{
		"edit":             {[]harness.Step{edit("relay.rb", "5", "6")}, "The file ", false, "LIMIT = 6\n"},
		"edit no match":    {[]harness.Step{edit("relay.rb", "7", "6")}, "<tool_use_error>String to replace not found", true, "LIMIT = 5\n"},
		"edit many":        {[]harness.Step{edit("relay.rb", "I", "6")}, "<tool_use_error>Found 2 matches", true, "LIMIT = 5\n"},
		"edit no change":   {[]harness.Step{edit("relay.rb", "5", "5")}, "<tool_use_error>old_string and new_string", true, "LIMIT = 5\n"},
		"edit missing":     {[]harness.Step{edit("none.rb", "5", "6")}, "File does not exist.", true, "LIMIT = 5\n"},
		"write new":        {[]harness.Step{write("deep/er/new.rb", "x")}, "File created successfully at: ", false, "LIMIT = 5\n"},
		"write unread":     {[]harness.Step{write("relay.rb", "x")}, "<tool_use_error>File has not been read yet", true, "LIMIT = 5\n"},
		"write after read": {[]harness.Step{{Read: "relay.rb"}, write("relay.rb", "x")}, "The file ", false, "x"},
		"write changed": {[]harness.Step{{Read: "relay.rb"}, {Bash: "touch -t 200101010000 relay.rb"}, write("relay.rb", "x")},
			"<tool_use_error>File has been modified since read", true, "LIMIT = 5\n"},
		"read":           {[]harness.Step{{Read: "relay.rb"}}, "1\tLIMIT = 5\n2\t", false, "LIMIT = 5\n"},
		"read folder":    {[]harness.Step{{Read: "notes"}}, "read ", true, "LIMIT = 5\n"},
		"unknown skill":  {[]harness.Step{{Skill: "other"}}, "<tool_use_error>Unknown skill: other", true, "LIMIT = 5\n"},
		"skill by slash": {[]harness.Step{{Skill: "/find-note"}}, "Launching skill: /find-note", false, "LIMIT = 5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, goodHook)
			texts, failed := results(t, r, c.steps...)
			last := len(texts) - 1
			if !strings.HasPrefix(texts[last], c.want) || failed[last] != c.failed {
				t.Errorf("got %q (error %v), want %q (error %v)", texts[last], failed[last], c.want, c.failed)
			}
			if got := r.file("work/relay.rb"); got != c.file {
				t.Errorf("relay.rb: got %q, want %q", got, c.file)
			}
		})
	}
}

func TestDisallowedToolIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	r.more = []string{"--disallowedTools=Bash,Skill"}
	texts, failed := results(t, r, harness.Step{Bash: "true"}, harness.Step{Skill: "find-note"})
	for i, name := range []string{"Bash", "Skill"} {
		if !failed[i] || !strings.Contains(texts[i], "No such tool available: "+name) {
			t.Errorf("%s: got %q", name, texts[i])
		}
	}
	if strings.Contains(r.sent(), findAbout) {
		t.Error("skills are offered without the Skill tool")
	}
}

func TestLongDescriptionIsCut(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	words := strings.Repeat("word ", 400)
	r.put("plugin/skills/find-note/SKILL.md", "---\nname: find-note\ndescription: "+words+"\n---\nbody\n", 0o644)
	inProcess(r)
	want := "- tiny:find-note: " + words[:1535] + "…\n"
	if !strings.Contains(r.sent(), want) {
		t.Error("the description is not cut where the CLI cuts it")
	}
}

func TestSkillArguments(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"Look for $ARGUMENTS now.\n": "Look for  now.",
		"Look.\n":                    "\n\nLook.",
	} {
		r := newRig(t, goodHook)
		r.put("plugin/skills/find-note/SKILL.md", "---\nname: find-note\ndescription: d\n---\n"+body, 0o644)
		r.session.Scenario.Oracle = []harness.Step{{Skill: "find-note"}, {Text: "end"}}
		o := inProcess(r)
		text := o.lines[5]["message"].(map[string]any)["content"].([]any)[0].(map[string]any)["text"].(string)
		if !strings.HasPrefix(text, "Base directory for this skill: "+r.path("plugin/skills/find-note")) || !strings.Contains(text, want) {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

func BenchmarkSession(b *testing.B) {
	b.ReportAllocs()
	r := newRig(b, goodHook)
	r.session.Scenario.Oracle = []harness.Step{{Skill: "find-note"}, {Read: "notes/0001-limit.md"}, {Text: "end"}}
	for b.Loop() {
		if o := inProcess(r); o.code != 0 {
			b.Fatal(o.last())
		}
	}
}
