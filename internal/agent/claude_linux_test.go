package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/testenv"
)

// scriptedAPI answers the first turn with one Bash call and the second with a
// text that carries the call's result.
func scriptedAPI(command string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model    string `json:"model"`
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		data, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/messages" || json.Unmarshal(data, &request) != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		block, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":"All done."}`, "end_turn"
		if n := len(request.Messages); request.Messages[n-1].Role != "assistant" && !bytes.Contains(data, []byte(`"tool_result"`)) {
			input, _ := json.Marshal(map[string]string{"command": command, "description": "Look around"})
			piece, _ := json.Marshal(string(input))
			block = `{"type":"tool_use","id":"toolu_01","name":"Bash","input":{}}`
			delta, stop = fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, piece), "tool_use"
		}
		for _, e := range [][2]string{
			{"message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%s","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`, stop, request.Model)},
			{"content_block_start", `{"type":"content_block_start","index":0,"content_block":` + block + `}`},
			{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":` + delta + `}`},
			{"content_block_stop", `{"type":"content_block_stop","index":0}`},
			{"message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`, stop)},
			{"message_stop", `{"type":"message_stop"}`},
		} {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e[0], e[1])
		}
	}
}

// A whole session of the real CLI, by an unprivileged user when root, from a
// pinned copy, with the prompt in an unnamed file; its Bash call leaves a
// process behind that must not survive.
func TestRealCLI(t *testing.T) {
	t.Parallel()
	path := testenv.NeedClaude(t)
	base := testenv.OpenDir(t)
	cli, err := Pin(t.Context(), path, filepath.Join(base, "cache"))
	testenv.Must(t, err)
	l := Launch{Path: cli.Path, Argv0: "claude", Stdin: []byte("Look around, please."), Marker: base}
	if os.Geteuid() == 0 {
		l.UID, l.GID = 65534, 65534
	}
	values := map[string]string{
		"PATH": os.Getenv("PATH"), "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "sk-ant-dummy",
		"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}
	for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR", "TMPDIR", "work", "letters"} {
		values[name] = filepath.Join(base, strings.ToLower(name))
		testenv.Must(t, os.Mkdir(values[name], 0o700))
		testenv.Must(t, os.Chown(values[name], max(l.UID, os.Getuid()), max(l.GID, os.Getgid())))
	}
	testenv.Must(t, os.Chmod(base, 0o711))
	testenv.Must(t, Reachable(cli.Path, max(l.UID, os.Getuid()), max(l.GID, os.Getgid())))
	api := httptest.NewServer(scriptedAPI(`id -u; (setsid sleep 601 &); nohup sleep 601 >/dev/null 2>&1 & echo hay | grep hay; find . -maxdepth 0`))
	t.Cleanup(api.Close)
	l.Dir, values["ANTHROPIC_BASE_URL"] = values["work"], api.URL
	plugin := values["letters"]
	delete(values, "work")
	delete(values, "letters")
	profile := harness.Launch{MaxTurns: 5, DisallowedTools: []string{"WebSearch", "WebFetch"}}
	for name := range values {
		profile.Env = append(profile.Env, name)
	}
	if l.Env, err = Environ(profile, values); err != nil {
		t.Fatal(err)
	}
	l.Args = Command(profile, CommandOptions{Model: "claude-haiku-4-5-20251001", PluginDir: plugin})
	l.Clocks = harness.Clocks{Startup: time.Minute, Idle: time.Minute, Total: 2 * time.Minute, Grace: 10 * time.Second}
	got := run(t, t.Context(), defaults(), l)
	if got.Code != 0 || got.Cause != "" || !strings.Contains(got.out, `"All done."`) || !strings.Contains(got.out, fmt.Sprintf(`"content":"%d\nhay\n."`, max(l.UID, os.Getuid()))) {
		t.Errorf("got %+v\n%s\n%s", got.Exit, got.out, got.err)
	}
	t.Logf("%s %s: wall %v, CPU %v, %d MB", cli.Version, cli.SHA256[:8], got.Wall, got.CPU, got.MaxRSS>>20)
}
