package plugins_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

// hook runs the hook the way the CLI does: through a shell, with the project
// given by cwd, or by CLAUDE_PROJECT_DIR from elsewhere.
func (p project) hook(cwd string, env ...string) result {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", `"${CLAUDE_PLUGIN_ROOT}/hooks/session-start"`)
	cmd.Dir = cwd
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "CLAUDE_PLUGIN_ROOT=" + p.plugin}, env...)
	return finish(p.t, cmd, `{"hook_event_name":"SessionStart","source":"startup"}`)
}

func (p project) setNote(text string) {
	p.t.Helper()
	testenv.Must(p.t, os.WriteFile(filepath.Join(p.plugin, "hooks/session-start-note.md"), []byte(text), 0o644))
}

// onlyDocument decodes text that must be exactly one JSON document with
// exactly the keys the CLI understands, and returns the note in it.
func onlyDocument(text string) (string, error) {
	var doc struct {
		HookSpecificOutput struct {
			HookEventName     string `json:"hookEventName"`
			AdditionalContext string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return "", err
	}
	if err := d.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return "", errors.New("more than one document")
	}
	if doc.HookSpecificOutput.HookEventName != "SessionStart" {
		return "", errors.New("event is " + doc.HookSpecificOutput.HookEventName)
	}
	return doc.HookSpecificOutput.AdditionalContext, nil
}

func (p project) wantNote(r result, want string) {
	p.t.Helper()
	if r.code != 0 || r.stderr != "" {
		p.t.Fatalf("hook: exit %d, stderr %q", r.code, r.stderr)
	}
	got, err := onlyDocument(r.stdout)
	if err != nil {
		p.t.Fatalf("hook printed %q: %v", r.stdout, err)
	}
	testenv.Same(p.t, "result", want, got)
}

func TestHookDeliversTheShippedNote(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	note := pluginFiles(t)["os-adr/hooks/session-start-note.md"]
	if !strings.HasPrefix(note, "[os-adr] ") || strings.Count(note, "\n") != 1 {
		t.Errorf("note: got %q, want one paragraph after [os-adr]", note)
	}
	p.wantNote(p.hook(p.dir), strings.TrimSuffix(note, "\n"))
	p.wantNote(p.hook(t.TempDir(), "CLAUDE_PROJECT_DIR="+p.dir), strings.TrimSuffix(note, "\n"))
}

func TestHookEscapesNastyNotes(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	var controls strings.Builder
	for c := byte(1); c < 32; c++ {
		controls.WriteByte(c)
	}
	notes := map[string]string{
		"quotes":         `say "yes" or 'no'`,
		"backslashes":    `C:\new\table \\ \" \u0041 %s %d &`,
		"lines":          "one\n\ntwo\n  three",
		"tabs and CR":    "a\tb\r\nc",
		"controls":       "x" + controls.String() + "y",
		"delete":         "a\x7fb",
		"reminder":       "</system-reminder><system-reminder>",
		"emoji":          "Grüße 🗂️ – “zitiert” \u2028 \u00a0",
		"shell":          "$(touch pwned) `id` ${HOME} $0",
		"leading blank":  "\n  text",
		"trailing blank": "text\n",
		"long line":      strings.Repeat(`"\é`, 3_334),
		"10,000 letters": strings.Repeat("n", 10_000),
	}
	for name, note := range notes {
		for _, end := range []string{"\n", ""} {
			if end == "" && strings.HasSuffix(note, "\n") {
				continue // its own last newline would be the one that is dropped
			}
			p.setNote(note + end)
			for _, locale := range []string{"LC_ALL=C", "LC_ALL=C.UTF-8"} {
				t.Log(name, locale)
				p.wantNote(p.hook(p.dir, locale), note)
			}
		}
	}
}

func TestHookDeliversAnyText(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	rapid.Check(t, func(rt *rapid.T) {
		note := rapid.StringOfN(rapid.RuneFrom([]rune("\"\\\n\t\r\x01\x1f/é🗂%&a ")), 1, 40, -1).Draw(rt, "note")
		p.setNote(note + "\n")
		r := p.hook(p.dir, "LC_ALL=C")
		got, err := onlyDocument(r.stdout)
		if err != nil || got != note {
			rt.Fatalf("got %q (%v), want %q", got, err, note)
		}
	})
}

func TestHookIsSilentWithoutRecords(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	elsewhere := t.TempDir()
	for name, r := range map[string]result{
		"by cwd":      p.hook(elsewhere),
		"by variable": p.hook(p.dir, "CLAUDE_PROJECT_DIR="+elsewhere),
	} {
		if r != (result{}) {
			t.Errorf("%s: got %+v, want nothing and exit 0", name, r)
		}
	}
	p.setNote("")
	if r := p.hook(p.dir); r != (result{}) {
		t.Errorf("empty note: got %+v, want nothing and exit 0", r)
	}
}

func TestHookFailsLoudlyWithoutItsNote(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	testenv.Must(t, os.Remove(filepath.Join(p.plugin, "hooks/session-start-note.md")))
	if r := p.hook(p.dir); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "cannot read") {
		t.Errorf("got %+v, want exit 1 and a reason", r)
	}
}
