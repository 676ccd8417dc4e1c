package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	l := harness.Launch{MaxTurns: 25, DisallowedTools: []string{"WebSearch", "Workflow"}}
	got := Command(l, CommandOptions{Model: "model-5-20260101", PluginDir: "/x/letters"})
	want := strings.Fields("-p --output-format stream-json --verbose --model model-5-20260101 --dangerously-skip-permissions " +
		"--setting-sources= --strict-mcp-config --plugin-dir /x/letters --max-turns 25 --disallowedTools=WebSearch,Workflow")
	testenv.Same(t, "arguments", want, got)
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	sealed := []string{"PATH", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "LANG"}
	for _, tt := range []struct {
		name   string
		sealed []string
		values map[string]string
		want   []string
		err    string
	}{
		{"key", sealed, map[string]string{"LANG": "C", "PATH": "/bin", "ANTHROPIC_API_KEY": "k"}, []string{"PATH=/bin", "ANTHROPIC_API_KEY=k", "LANG=C"}, ""},
		{"token", sealed, map[string]string{"LANG": "", "PATH": "/bin", "CLAUDE_CODE_OAUTH_TOKEN": "k"}, []string{"PATH=/bin", "CLAUDE_CODE_OAUTH_TOKEN=k", "LANG="}, ""},
		{"both", sealed, map[string]string{"LANG": "", "PATH": "", "CLAUDE_CODE_OAUTH_TOKEN": "k", "ANTHROPIC_API_KEY": "k"}, nil, "both have a value"},
		{"missing", sealed, map[string]string{"PATH": "/bin"}, nil, "LANG has no value"},
		{"extra", []string{"PATH"}, map[string]string{"PATH": "/bin", "TERM": "x"}, nil, "TERM is not in the launch profile"},
		{"NUL", []string{"PATH"}, map[string]string{"PATH": "a\x00B=c"}, nil, "NUL"},
		{"nested", []string{"CLAUDECODE"}, map[string]string{"CLAUDECODE": "1"}, nil, "never"},
		{"git", []string{"GIT_DIR"}, map[string]string{"GIT_DIR": "1"}, nil, "never"},
		{"agent", []string{"SSH_AUTH_SOCK"}, map[string]string{"SSH_AUTH_SOCK": "1"}, nil, "never"},
		{"cloud", []string{"AWS_PROFILE"}, map[string]string{"AWS_PROFILE": "1"}, nil, "never"},
		{"told", []string{"IS_SANDBOX"}, map[string]string{"IS_SANDBOX": "1"}, nil, "never"},
		{"a token", []string{"GH_TOKEN"}, map[string]string{"GH_TOKEN": "1"}, nil, "never"},
		{"smuggled", []string{"A=B"}, map[string]string{"A=B": "1"}, nil, "never"},
	} {
		got, err := Environ(harness.Launch{Env: tt.sealed}, tt.values)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, %v, want an error with %q", tt.name, got, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}
