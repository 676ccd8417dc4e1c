package fake_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/fake"
	"loopd/internal/testenv"
)

func oneShotArgs(system string) []string {
	return []string{
		"-p", "--output-format", "json", "--setting-sources=", "--tools=", "--disable-slash-commands", "--strict-mcp-config",
		"--no-session-persistence", "--max-turns", "1", "--model", "claude-sonnet-5-5", "--system-prompt-file", system,
	}
}

// A session without tools is one request with the system prompt of the file, and
// one line.
func TestOneShot(t *testing.T) {
	t.Parallel()
	model := fake.NewModel(fake.Wording{}, func(system, prompt string) (string, bool) {
		return "heard " + prompt, strings.HasSuffix(system, "Be brief.") && !strings.Contains(system, "coding agent")
	})
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	system := filepath.Join(t.TempDir(), "system.txt")
	for text, want := range map[string]string{"Be brief.": "heard why?", "Be long.": ""} {
		testenv.Must(t, os.WriteFile(system, []byte(text), 0o644))
		var stdout, stderr bytes.Buffer
		env := []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=anyone", "CLAUDE_CODE_MAX_RETRIES=0"}
		code := fake.AgentMain(t.Context(), oneShotArgs(system), env, t.TempDir(), strings.NewReader("why?"), &stdout, &stderr)
		var line struct {
			Type, Result string
			IsError      bool    `json:"is_error"`
			Cost         float64 `json:"total_cost_usd"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &line); err != nil || line.Type != "result" {
			t.Fatalf("%s: got %q, %v", text, stdout.String(), err)
		}
		if ok := want != ""; (code == 0) != ok || line.IsError == ok || ok && (line.Result != want || line.Cost <= 0) {
			t.Errorf("%s: exit %d, %+v", text, code, line)
		}
	}
}

func TestOneShotRefuses(t *testing.T) {
	t.Parallel()
	base := []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:9", "ANTHROPIC_API_KEY=anyone"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"tools":     {[]string{"-p", "--output-format", "json", "--model", "m", "--tools=Bash", "--system-prompt-file", "x"}, "without tools"},
		"no tools":  {[]string{"-p", "--output-format", "json", "--model", "m", "--system-prompt-file", "x"}, "without tools"},
		"no system": {[]string{"-p", "--output-format", "json", "--model", "m", "--tools="}, "--system-prompt-file"},
		"plugin":    {append(oneShotArgs("x"), "--plugin-dir", "p"), "without --plugin-dir"},
		"no model":  {[]string{"-p", "--output-format", "json", "--tools=", "--system-prompt-file", "x"}, "needs --model"},
		"no file":   {oneShotArgs("/no/such/file"), "not found"},
	} {
		var stdout, stderr bytes.Buffer
		code := fake.AgentMain(t.Context(), c.args, base, t.TempDir(), strings.NewReader("why?"), &stdout, &stderr)
		if code != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: got exit %d, %q, %q", name, code, stdout.String(), stderr.String())
		}
	}
}
