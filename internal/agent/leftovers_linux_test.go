package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"loopd/internal/testenv"
)

// TestLeftoversOfTheDeadOnly: what a dead loopd noted is ended, what a living one
// noted goes on.
func TestLeftoversOfTheDeadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(name string) (*exec.Cmd, string) {
		home := filepath.Join(dir, name)
		testenv.Must(t, os.Mkdir(home, 0o700))
		cmd := exec.Command("sleep", "615")
		cmd.Env = []string{"HOME=" + home}
		testenv.Must(t, cmd.Start())
		return cmd, home
	}
	dead, deadHome := start("dead")
	live, liveHome := start("live")
	t.Cleanup(func() { live.Process.Kill(); live.Wait() })
	testenv.Must(t, os.WriteFile(filepath.Join(deadHome, "on"), []byte(deadHome), 0o600))
	release, err := Note(filepath.Join(liveHome, "on"), liveHome)
	testenv.Must(t, err)
	if n, err := KillLeftovers(dir, "on"); n != 1 || err != nil {
		t.Errorf("killed %d, %v, want 1", n, err)
	}
	if err := dead.Wait(); err == nil || dead.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("got %v, want killed", err)
	}
	if err := live.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the session of a living loopd: %v", err)
	}
	if n, err := KillLeftovers(dir, "on"); n != 0 || err != nil {
		t.Errorf("again: killed %d, %v", n, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "on")); err != nil || len(left) > 0 {
		t.Errorf("notes left: %v", left)
	}
}
