package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Limits of one shell command.
const (
	bashTimeout    = 2 * time.Minute
	bashMaxTimeout = 10 * time.Minute
	maxBashOutput  = 30_000
	maxBashRead    = 8 << 20 // more than this is never looked at
)

// bash runs a command with bash in a session of its own. Output goes to a file
// rather than a pipe, so that a child left in the background holds nothing up;
// the directory the command ends in is where the next one starts.
func (s *session) bash(ctx context.Context, in input) toolResult {
	scratch, err := os.MkdirTemp(s.env.value("TMPDIR"), "shell-")
	if err != nil {
		return failed("make room for the command's output: %v", err)
	}
	defer os.RemoveAll(scratch)
	timeout := bashTimeout
	if in.Timeout > 0 {
		timeout = min(time.Duration(in.Timeout)*time.Millisecond, bashMaxTimeout)
	}
	runCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	output, err := s.shell(runCtx, in.Command, scratch)
	timedOut := runCtx.Err() != nil && ctx.Err() == nil
	note := s.follow(filepath.Join(scratch, "cwd"))
	switch {
	case timedOut:
		return failed("Command timed out after %s\n%s", timeout, output)
	case err != nil:
		return failed("%s", strings.TrimRight(fmt.Sprintf("Exit code %d\n%s", exitCode(err), output), "\n"))
	}
	content := strings.TrimRight(output+note, "\n")
	if content == "" {
		content = "(Bash completed with no output)"
	}
	return toolResult{content: content, flag: true, ran: true, result: object{
		"stdout": output, "stderr": note, "interrupted": false, "isImage": false, "noOutputExpected": false,
	}}
}

// shell runs the command and returns its combined output, cut if long.
func (s *session) shell(ctx context.Context, command, scratch string) (string, error) {
	file, err := os.Create(filepath.Join(scratch, "output"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	script := fmt.Sprintf("eval %s < /dev/null && pwd -P >| %s", quote(command), quote(filepath.Join(scratch, "cwd")))
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = s.shellDir
	path := s.env.value("PATH")
	if s.plugin.root != "" {
		path += ":" + filepath.Join(s.plugin.root, "bin")
	}
	cmd.Env = s.childEnv("PATH="+path, "PWD="+s.shellDir)
	cmd.Stdout, cmd.Stderr = file, file
	ownSession(cmd)
	runErr := cmd.Run()
	data, err := io.ReadAll(io.NewSectionReader(file, 0, maxBashRead))
	if err != nil {
		return "", err
	}
	return preview(strings.Trim(string(data), "\n"), maxBashOutput), runErr
}

// follow takes over the directory a command ended in. Outside the project the
// CLI goes back, and says so.
func (s *session) follow(file string) string {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "" // the command exited the shell: the directory stays
	}
	dir := strings.TrimSpace(string(data))
	root, rootErr := filepath.EvalSymlinks(s.dir)
	if err != nil || rootErr != nil {
		return ""
	}
	if dir == root || strings.HasPrefix(dir, root+"/") {
		s.shellDir = dir
		return ""
	}
	s.shellDir = s.dir
	return "\nShell cwd was reset to " + s.dir
}

// quote makes one shell word of a text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
