package fake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// asProcess makes the test binary behave as the stand-in.
const asProcess = "STANDIN_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		dir, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		// Not os.Exit: under the race detector that waits a second each time.
		syscall.Exit(fake.AgentMain(ctx, os.Args[1:], os.Environ(), dir, os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

const (
	key       = "sk-rig-0001"
	model5    = "claude-haiku-5-5"
	model4    = "claude-sonnet-4-5-20250929"
	noteText  = "[tiny] Notes live in notes/."
	goodHook  = `printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"[tiny] Notes live in notes/."}}'`
	findAbout = "Look up the note that governs a file."
)

// unprivileged is the user the real CLI runs as when the test is root, because
// it refuses to skip permissions as root.
const unprivileged = 65534

// rig is one sandbox with a tiny plugin and project, and a simulated model that
// keeps every request.
type rig struct {
	t       testing.TB
	root    string
	model   *fake.Model
	url     string
	tier    string
	session fake.ModelSession
	env     []string // more environment
	more    []string // more arguments

	mu     sync.Mutex
	bodies [][]byte
}

func tinyScenario() harness.Scenario {
	return harness.Scenario{
		ID: "T1",
		Oracle: []harness.Step{
			{Skill: "find-note"},
			{Bash: "note-find limit"},
			{Read: "notes/0001-limit.md"},
			{Edit: &harness.EditStep{Path: "relay.rb", Old: "LIMIT = 5", New: "LIMIT = 6"}},
			{Write: &harness.WriteStep{Path: "notes/0002-new.md", Content: "# Two\n"}},
			{Text: "Note 0001 settles the limit; I raised it to six and wrote note 0002."},
		},
		Nop: []harness.Step{
			{Edit: &harness.EditStep{Path: "relay.rb", Old: "LIMIT = 5", New: "LIMIT = 9"}},
			{Text: "Raised the limit."},
		},
	}
}

// newRig builds a sandbox; hook is the body of the hook program.
func newRig(t testing.TB, hook string) *rig {
	t.Helper()
	made, err := os.MkdirTemp("", "standin-")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(made) })
	root, err := filepath.EvalSymlinks(made)
	testenv.Must(t, err)
	cell := harness.Cell{Scenario: "T1", Tier: "small"}
	r := &rig{t: t, root: root, tier: model5, session: fake.ModelSession{Scenario: tinyScenario(), Cell: cell}}
	r.model = fake.NewModel(fake.Wording{Base: map[harness.Cell]float64{cell: 1}})
	server := httptest.NewServer(http.HandlerFunc(r.record))
	t.Cleanup(server.Close)
	r.url = server.URL
	r.put("plugin/.claude-plugin/plugin.json", `{"name":"tiny","version":"0.1.0","description":"Notes"}`, 0o644)
	r.put("plugin/skills/find-note/SKILL.md",
		"---\nname: find-note\ndescription: "+findAbout+"\n---\n\n# Find\n\nRun `note-find WORD`.\n", 0o644)
	r.put("plugin/hooks/hooks.json", `{"hooks":{"SessionStart":[{"matcher":"startup|resume","hooks":[`+
		`{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/hooks/start","timeout":2}]}]}}`, 0o644)
	r.put("plugin/hooks/start", "#!/bin/sh\n"+hook+"\n", 0o755)
	r.put("plugin/bin/note-find", "#!/bin/sh\ngrep -rl \"$1\" notes\n", 0o755)
	r.put("work/relay.rb", "LIMIT = 5\n", 0o644)
	r.put("work/notes/0001-limit.md", "# One\nThe limit is small.\n", 0o644)
	for _, d := range []string{"home", "cfg", "tmp"} {
		r.mkdir(d)
	}
	r.own()
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.root, name) }

func (r *rig) mkdir(name string) {
	testenv.Must(r.t, os.MkdirAll(r.path(name), 0o755))
}

func (r *rig) put(name, text string, mode os.FileMode) {
	r.mkdir(filepath.Dir(name))
	testenv.Must(r.t, os.WriteFile(r.path(name), []byte(text), mode))
}

// own hands the sandbox to the unprivileged user when the test is root.
func (r *rig) own() {
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(r.root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, unprivileged, unprivileged)
	})
	testenv.Must(r.t, err)
}

func (r *rig) record(w http.ResponseWriter, req *http.Request) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, data)
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(data))
	r.model.ServeHTTP(w, req)
}

func (r *rig) args() []string {
	return append([]string{
		"-p", "--output-format", "stream-json", "--verbose", "--model", r.tier, "--dangerously-skip-permissions",
		"--setting-sources=", "--strict-mcp-config", "--plugin-dir", r.path("plugin"), "--max-turns", "12",
		"--disallowedTools=WebSearch,WebFetch",
	}, r.more...)
}

func (r *rig) environ() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.path("home"), "CLAUDE_CONFIG_DIR=" + r.path("cfg"),
		"TMPDIR=" + r.path("tmp"), "LANG=C.UTF-8", "ANTHROPIC_BASE_URL=" + r.url, "ANTHROPIC_API_KEY=" + key,
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_MAX_RETRIES=3",
	}, r.env...)
}

// outcome is what a session left behind.
type outcome struct {
	code   int
	lines  []map[string]any
	stderr string
}

// agent runs one session in a rig.
type agent func(r *rig) outcome

func (r *rig) register() {
	r.t.Helper()
	testenv.Must(r.t, r.model.Register(key, r.session))
}

// inProcess calls Main directly.
func inProcess(r *rig) outcome {
	r.t.Helper()
	r.register()
	var stdout, stderr bytes.Buffer
	code := fake.AgentMain(r.t.Context(), r.args(), r.environ(), r.path("work"), strings.NewReader("Raise the limit.\n"), &stdout, &stderr)
	return outcome{code, parseLines(r.t, stdout.Bytes()), stderr.String()}
}

// ownProcess runs the test binary as the stand-in.
func ownProcess(r *rig) outcome {
	r.t.Helper()
	exe, err := os.Executable()
	testenv.Must(r.t, err)
	return r.execute(exec.Command(exe, r.args()...), append(r.environ(), asProcess+"=1"))
}

func (r *rig) execute(cmd *exec.Cmd, env []string) outcome {
	r.t.Helper()
	r.register()
	cmd.Dir, cmd.Env, cmd.Stdin = r.path("work"), env, strings.NewReader("Raise the limit.\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		r.t.Fatalf("run %s: %v", cmd.Path, err)
	}
	code := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return outcome{code, parseLines(r.t, stdout.Bytes()), stderr.String()}
}

func parseLines(t testing.TB, data []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(string(data)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

// sent returns every text of the first request that is not the prompt.
func (r *rig) sent() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bodies) == 0 {
		return ""
	}
	var req struct {
		Messages []struct{ Content any }
	}
	testenv.Must(r.t, json.Unmarshal(r.bodies[0], &req))
	var b strings.Builder
	for _, m := range req.Messages {
		collectTexts(m.Content, &b)
	}
	return b.String()
}

func collectTexts(v any, b *strings.Builder) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, e := range v {
			collectTexts(e, b)
		}
	case map[string]any:
		collectTexts(v["text"], b)
	}
}

func (r *rig) file(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	testenv.Must(r.t, err)
	return string(data)
}

// last returns the last line.
func (o outcome) last() map[string]any {
	if len(o.lines) == 0 {
		return nil
	}
	return o.lines[len(o.lines)-1]
}

// kinds names every line: its type, subtype and what its content block is.
func (o outcome) kinds() []string {
	var out []string
	for _, l := range o.lines {
		out = append(out, kind(l))
	}
	return out
}

func kind(l map[string]any) string {
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	k := text(l, "type")
	if s := text(l, "subtype"); s != "" {
		return k + " " + s
	}
	m, _ := l["message"].(map[string]any)
	if text(m, "model") == "<synthetic>" {
		return k + " synthetic"
	}
	blocks, _ := m["content"].([]any)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		k += " " + text(block, "type")
		if name := text(block, "name"); name != "" {
			k += " " + name
		}
		if failed, _ := block["is_error"].(bool); failed {
			k += " failed"
		}
	}
	return k
}
