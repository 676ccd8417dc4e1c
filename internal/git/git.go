package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// gitTimeout ends a git that hangs, on a dead network file system for one.
const gitTimeout = 2 * time.Minute

// git runs a git command in the user's worktree.
func (u *User) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return runGit(ctx, u.place.root, stdin, args...)
}

// git runs a git command in the private repository. Naming it keeps a setting against bare repositories out of it.
func (p *Private) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return runGit(ctx, p.dir, stdin, slices.Concat([]string{"--git-dir=."}, args)...)
}

// runGit runs git in dir so that nothing of the configuration, the environment or the hooks takes part which could
// run another program, ask a question or write what was not asked for.
func runGit(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	fixed := []string{
		"-C", dir, "--no-optional-locks",
		"-c", "core.hooksPath=/dev/null",
		"-c", "core.fsmonitor=",
		"-c", "core.logAllRefUpdates=false",
		"-c", "core.fsync=all", "-c", "core.fsyncMethod=batch",
		"-c", "core.filesRefLockTimeout=3000", "-c", "core.packedRefsTimeout=3000",
		"-c", "gc.auto=0",
	}
	cmd := exec.CommandContext(ctx, "git", slices.Concat(fixed, args)...)
	cmd.Env = gitEnv(os.Environ())
	cmd.Stdin = stdin
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	// A group of its own keeps a key press meant for loopd from ending git half way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, ErrNoGit
	case err != nil && strings.Contains(talk.String(), "No space left on device"):
		return nil, fmt.Errorf("git: %s: %w: %w", lastLine(talk.String()), syscall.ENOSPC, err)
	case err != nil:
		return nil, fmt.Errorf("git: %s: %w", lastLine(talk.String()), err)
	}
	return out.Bytes(), nil
}

// gitEnv is the environment without what would point git elsewhere or change its language.
func gitEnv(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") || strings.HasPrefix(entry, "LC_") || strings.HasPrefix(entry, "LANG")
	})
	return append(env, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := []rune(lines[len(lines)-1])
	return string(line[:min(len(line), 400)])
}
