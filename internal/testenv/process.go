package testenv

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TryGit runs git in a folder, without anyone's configuration, as a fixed author
// at a fixed time, and returns all it printed.
func TryGit(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "protocol.file.allow=always", "-c", "safe.directory=*"}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Git is TryGit for what must succeed; the last newlines are cut off.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := TryGit(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimRight(out, "\n")
}

// Repo makes a repository of what lies in dir: one commit on the branch main.
func Repo(t testing.TB, dir string) {
	t.Helper()
	Must(t, os.MkdirAll(dir, 0o755))
	Git(t, dir, "init", "--quiet", "--initial-branch=main")
	Git(t, dir, "add", "--all")
	Git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "first")
}

// Self returns a command that runs this test binary again with variables added.
// TestMain looks for them.
func Self(t testing.TB, variables ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	Must(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stderr = os.Stderr
	return cmd
}

// KillAfter starts a command, kills it when it has printed so many lines and
// some time is over, and returns all lines. A command that ends by itself fails
// the test.
func KillAfter(t testing.TB, cmd *exec.Cmd, lines int, more time.Duration) []string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	var got []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if got = append(got, scanner.Text()); len(got) == lines {
			time.AfterFunc(more, func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() >= 0 {
		t.Fatalf("the child ended by itself after %d lines: %v", len(got), err)
	}
	return got
}

// StandIn puts this test binary under another name into a folder that every
// user may enter, and returns its path. TestMain looks at os.Args[0].
func StandIn(t testing.TB, name string) string {
	t.Helper()
	self, err := os.Executable()
	Must(t, err)
	data, err := os.ReadFile(self)
	Must(t, err)
	path := filepath.Join(OpenDir(t), name)
	Must(t, os.WriteFile(path, data, 0o755))
	return path
}

// DeadAddress returns an address of this machine at which nothing listens.
func DeadAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	Must(t, l.Close())
	return l.Addr().String()
}
