package fake_test

import (
	"slices"
	"strings"
	"testing"
)

// hookVariant is a hook program and what the real CLI makes of it.
type hookVariant struct {
	body    string
	outcome string
	exit    float64
	sent    string // what the request holds; empty: nothing of the hook
}

// hookVariants were measured on the pinned CLI; TestHookVariants repeats the
// measurement when the CLI is at hand.
func hookVariants() map[string]hookVariant {
	const own = `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"NOTE"}}`
	say := func(text string) string { return "printf '%s\\n' '" + text + "'" }
	const json = "SessionStart hook additional context: NOTE"
	const plain = "SessionStart:startup hook success: "
	return map[string]hookVariant{
		"one document":       {say(own), "success", 0, json},
		"padded document":    {"printf '\\n  '; " + say(own) + "; echo", "success", 0, json},
		"unknown keys":       {say(`{"more":1,` + own[1:]), "success", 0, json},
		"plain text":         {say("NOTE one"), "success", 0, plain + "NOTE one"},
		"array":              {say(`["NOTE"]`), "success", 0, plain + `["NOTE"]`},
		"text, then json":    {"echo hello; " + say(own), "success", 0, plain + "hello\n{"},
		"json, then text":    {say(own + " tail"), "success", 0, plain + own + " tail"},
		"unclosed brace":     {say("{oops NOTE"), "success", 0, plain + "{oops NOTE"},
		"bare context":       {say(`{"additionalContext":"NOTE"}`), "success", 0, ""},
		"empty context":      {say(strings.Replace(own, "NOTE", "", 1)), "success", 0, ""},
		"wrong event":        {say(strings.Replace(own, "SessionStart", "Stop", 1)), "error", 1, ""},
		"no event":           {say(`{"hookSpecificOutput":{"additionalContext":"NOTE"}}`), "error", 0, ""},
		"context not a text": {say(strings.Replace(own, `"NOTE"`, "5", 1)), "error", 0, ""},
		"two documents":      {say(own) + "; echo '{}'", "error", 0, ""},
		"on stderr":          {say(own) + " >&2", "success", 0, ""},
		"silent":             {"true", "success", 0, ""},
		"text and exit 1":    {say("NOTE") + "; exit 1", "error", 1, ""},
		"json and exit 1":    {say(own) + "; exit 1", "error", 1, json},
		"json and exit 2":    {say(own) + "; exit 2", "error", 2, json},
		"two and exit 2":     {say(own) + "; echo '{}'; exit 2", "error", 2, ""},
		"too slow":           {say(own) + "; exec sleep 30", "cancelled", 1, ""},
		"too long": {`printf '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"'; ` +
			`head -c 10050 /dev/zero | tr '\0' a; printf '"}}\n'`, "success", 0,
			"SessionStart hook additional context: <persisted-output>\nOutput too large (9.8KB)."},
	}
}

func TestHookVariants(t *testing.T) {
	t.Parallel()
	for name, v := range hookVariants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, v.body)
			r.session.Scenario.Oracle = r.session.Scenario.Oracle[5:]
			checkHook(t, v, r, inProcess(r))
		})
	}
}

func checkHook(t *testing.T, v hookVariant, r *rig, o outcome) {
	t.Helper()
	i := slices.Index(o.kinds(), "system hook_response")
	if i < 0 {
		t.Fatalf("lines: got %q; stderr %s", o.kinds(), o.stderr)
	}
	response := o.lines[i]
	if response["outcome"] != v.outcome || response["exit_code"] != v.exit {
		t.Errorf("response: got %v %v, want %s %v", response["outcome"], response["exit_code"], v.outcome, v.exit)
	}
	sent := r.sent()
	if v.sent != "" && !strings.Contains(sent, v.sent) {
		t.Errorf("request lacks %q", v.sent)
	}
	if v.sent == "" && (strings.Contains(sent, "SessionStart") || strings.Contains(sent, "NOTE")) {
		t.Errorf("request holds something of the hook:\n%.400s", sent)
	}
	if o.code != 0 {
		t.Errorf("exit: got %d, want 0: a hook never ends a session", o.code)
	}
}

func TestHookIsReallyRunInTheProject(t *testing.T) {
	t.Parallel()
	r := newRig(t, `cat > "$TMPDIR/input"; printf 'NOTE %s %s %s' "$(pwd -P)" "$CLAUDE_PROJECT_DIR" "$CLAUDE_PLUGIN_ROOT"`)
	inProcess(r)
	want := "NOTE " + r.path("work") + " " + r.path("work") + " " + r.path("plugin")
	if sent := r.sent(); !strings.Contains(sent, want) {
		t.Errorf("request lacks %q", want)
	}
	for _, want := range []string{`"hook_event_name":"SessionStart"`, `"source":"startup"`, `"cwd":"` + r.path("work") + `"`} {
		if in := r.file("tmp/input"); !strings.Contains(in, want) {
			t.Errorf("hook input %s lacks %s", in, want)
		}
	}
}

func TestPluginProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		hooks      bool
		problem    string
	}{
		"hooks broken":       {"plugin/hooks/hooks.json", `{"hooks":`, false, "hook-load-failed"},
		"manifest broken":    {"plugin/.claude-plugin/plugin.json", `{`, false, "manifest-parse-error"},
		"other matcher":      {"plugin/hooks/hooks.json", `{"hooks":{"SessionStart":[{"matcher":"resume","hooks":[{"type":"command","command":"true"}]}]}}`, false, ""},
		"regular expression": {"plugin/hooks/hooks.json", `{"hooks":{"SessionStart":[{"matcher":"start.*","hooks":[{"type":"command","command":"true"}]}]}}`, true, ""},
		"no matcher":         {"plugin/hooks/hooks.json", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"true"}]}]}}`, true, ""},
		"other event":        {"plugin/hooks/hooks.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, goodHook)
			r.put(c.file, c.text, 0o644)
			o := inProcess(r)
			if o.code != 0 {
				t.Fatalf("exit %d: %s", o.code, o.stderr)
			}
			first := kind(o.lines[0])
			if hooks := first == "system hook_started"; hooks != c.hooks {
				t.Errorf("first line: got %s", first)
			}
			all := joined(t, o)
			if c.problem != "" != strings.Contains(all, `"plugin_errors"`) || !strings.Contains(all, c.problem) {
				t.Errorf("want problem %q in %s", c.problem, all)
			}
		})
	}
}
