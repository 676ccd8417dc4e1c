package exchange

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// loads has the agent CLI load the cases of a plugin and run none: with a
// ceiling of nothing no session is begun. It has a home of its own, no
// credential and an address where nobody answers.
func loads(t *testing.T, cli, plugin string) (code int, said string) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), cli, "plugin", "eval", plugin, "--trust-plugin", "--no-publish", "--ablation", "none", "--max-cost-usd", "0", "--output-dir", filepath.Join(home, "out"), "--allow-tools", "Bash", "Write", "Edit")
	cmd.Dir = home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"), "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ANTHROPIC_BASE_URL=http://127.0.0.1:9", "ANTHROPIC_API_KEY=none",
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String()
	}
	testenv.Must(t, err)
	return 0, out.String()
}

// The agent CLI loads every exported case, and refuses one that is damaged.
func TestTheRealCLILoadsExportedCases(t *testing.T) {
	t.Parallel()
	cli := testenv.NeedClaude(t)
	suite, files := bundled(t)
	plugin := testenv.Tree(t, t.TempDir(), map[string]string{".claude-plugin/plugin.json": `{"name": "os-adr", "description": "d", "version": "0.0.1"}`})
	if _, err := Export(filepath.Join(plugin, "evals"), suite, idsOf(suite), files); err != nil {
		t.Fatal(err)
	}
	const ceiling = 2
	code, said := loads(t, cli, plugin)
	if code != ceiling || !strings.Contains(said, "cost ceiling") || strings.Contains(said, "Couldn't load") || strings.Contains(said, "cannot pass") {
		t.Errorf("got %d, want every case loaded:\n%s", code, said)
	}
	for _, id := range idsOf(suite) {
		if !strings.Contains(said, `case "`+id+`"`) {
			t.Errorf("the CLI does not speak of %s:\n%s", id, said)
		}
	}
	for name, tc := range map[string]struct{ file, old, new string }{
		"an unknown key":    {"R1/prompt.md", "max_turns:", "most_turns:"},
		"an unknown grader": {"W1/graders/judge.md", `"llm"`, `"oracle"`},
		"no pattern":        {"R1/graders/axis-b-2.md", "pattern:", "pattern_:"},
		"too many turns":    {"R1/prompt.md", "max_turns: 30", "max_turns: 3000"},
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			testenv.Must(t, os.CopyFS(copied, os.DirFS(plugin)))
			at := filepath.Join(copied, "evals", tc.file)
			data, err := os.ReadFile(at)
			testenv.Must(t, err)
			damaged := strings.Replace(string(data), tc.old, tc.new, 1)
			if damaged == string(data) {
				t.Fatal("the damage did not apply")
			}
			testenv.Must(t, os.WriteFile(at, []byte(damaged), 0o644))
			if code, said := loads(t, cli, copied); !strings.Contains(said, "Couldn't load") {
				t.Errorf("got %d, want a case that is not loaded:\n%s", code, said)
			}
		})
	}
}
