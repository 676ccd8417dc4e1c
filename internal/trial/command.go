package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/isolate"
)

// CommandEnv is what a command of the plugin runs in: what a session has, but no
// task, no API and no agent.
type CommandEnv struct {
	Project, Plugin harness.Tree
	PluginName      string
	Path            string // the user's PATH
	Sandboxes       string // parent of the sandboxes, empty for the default
	Isolation       isolate.Sandbox
	Hidden, Read    []string
	UID, GID        int
}

// CommandResult is how a command came out.
type CommandResult struct {
	Code           int // as a shell says it
	Stdout, Stderr string
	// Cause is a clock that ended the command, empty for none.
	Cause harness.Class
}

const (
	commandTime = 30 * time.Second
	// commandOutput is more than a program has to say that is asked for help.
	commandOutput = 64 << 10
)

// RunCommand runs a shell command in a fresh copy of the project, isolated as a
// session is, the way the agent runs a hook: with CLAUDE_PLUGIN_ROOT, and with the
// plugin's programs on the PATH. It spends nothing.
func RunCommand(ctx context.Context, o CommandEnv, command string) (t CommandResult, err error) {
	git, err := isolate.NewGitTemplate(ctx, o.Project)
	if err != nil {
		return t, fmt.Errorf("try a program: %w", err)
	}
	box, err := isolate.New(ctx, isolate.Options{
		Base: o.Sandboxes, Fixture: o.Project, Plugin: o.Plugin, PluginName: o.PluginName, Git: git, UID: o.UID, GID: o.GID,
	})
	if err != nil {
		return t, fmt.Errorf("try a program: %w", err)
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	l, release, err := o.launch(box, command)
	if err != nil {
		return t, fmt.Errorf("try a program: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	var out, said head
	l.Stdout, l.Stderr = &out, &said
	exit, err := agent.Run(ctx, l)
	if err != nil {
		return t, fmt.Errorf("try a program: %w", err)
	}
	t = CommandResult{Code: exit.Code, Stdout: out.String(), Stderr: said.String(), Cause: exit.Cause}
	if exit.LimitTime {
		t.Cause = harness.Hang
	}
	return t, nil
}

func (o CommandEnv) launch(box *isolate.Box, command string) (agent.Launch, func() error, error) {
	env := []string{
		"PATH=" + o.Path, "HOME=" + box.Home, "CLAUDE_CONFIG_DIR=" + box.Config, "TMPDIR=" + box.Tmp, "LANG=C.UTF-8",
		"CLAUDE_PLUGIN_ROOT=" + box.Plugin, "CLAUDE_PROJECT_DIR=" + box.Work,
	}
	input, err := json.Marshal(map[string]string{"session_id": "0", "cwd": box.Work, "hook_event_name": "SessionStart", "source": "startup"})
	if err != nil {
		return agent.Launch{}, nil, err
	}
	l := agent.Launch{
		Path: "/bin/sh", Argv0: "sh", Args: []string{"-c", `PATH="$CLAUDE_PLUGIN_ROOT/bin:$PATH"; export PATH; ` + command}, Env: env, Dir: box.Work,
		Stdin: append(input, '\n'), Clocks: harness.Clocks{Total: commandTime}, UID: o.UID, GID: o.GID, Marker: box.Root,
	}
	return isolated(l, o.Isolation, isolate.Session{Box: box, ReadOnly: o.Read, Hidden: o.Hidden})
}

// head keeps the beginning of what is written.
type head struct{ bytes.Buffer }

// Write keeps what there is room for and takes the rest away.
func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(commandOutput-h.Len(), 0))])
	return len(p), nil
}

// HookCommands are the commands of a plugin's SessionStart hooks, in the order
// of its hooks.json; none where it has no such file.
func HookCommands(plugin harness.Tree) ([]string, error) {
	f, ok := plugin["hooks/hooks.json"]
	if !ok {
		return nil, nil
	}
	var doc struct {
		Hooks map[string][]struct {
			Hooks []struct{ Type, Command string }
		}
	}
	if err := json.Unmarshal(f.Data, &doc); err != nil {
		return nil, fmt.Errorf("read hooks/hooks.json: %w", err)
	}
	var out []string
	for _, group := range doc.Hooks["SessionStart"] {
		for _, h := range group.Hooks {
			if h.Type == "command" {
				out = append(out, h.Command)
			}
		}
	}
	return out, nil
}

// Programs are the names of the plugin's programs, sorted.
func Programs(plugin harness.Tree) []string {
	var out []string
	for name, f := range plugin {
		if path.Dir(name) == "bin" && f.Mode&fs.ModeType == 0 && f.Mode&0o111 != 0 {
			out = append(out, path.Base(name))
		}
	}
	slices.Sort(out)
	return out
}

// Interpreter is the program that the first line of a script names, empty for
// none; of "env" it is what env is to find.
func Interpreter(script []byte) string {
	line, _, _ := bytes.Cut(script, []byte("\n"))
	words, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(words)
	if !ok || len(fields) == 0 {
		return ""
	}
	if path.Base(fields[0]) == "env" {
		fields = slices.DeleteFunc(fields[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
	}
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
