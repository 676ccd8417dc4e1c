package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Awake keeps the machine from falling asleep until it is stopped. A nil one
// keeps nothing.
type Awake struct {
	cmd   *exec.Cmd
	stdin io.Closer
	end   context.CancelFunc
}

// The bounds of starting and ending what keeps the machine awake.
const (
	awakeStart = 10 * time.Second
	awakeEnd   = 5 * time.Second
)

// ErrNoKeeper says that the machine has no program that keeps it awake.
var ErrNoKeeper = errors.New("neither systemd-inhibit nor caffeinate is there")

// KeepAwake asks the system to stay awake and returns once it agreed. It is
// asked for as long as a child reads from a pipe that loopd holds: when loopd
// ends, however it ends, the pipe closes and the child with it.
func (m Machine) KeepAwake(ctx context.Context) (*Awake, error) {
	args := m.keeper()
	if args == nil {
		return nil, ErrNoKeeper
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &Awake{cmd: exec.CommandContext(ctx, args[0], args[1:]...), end: cancel}
	if err := a.start(); err != nil {
		a.Stop()
		cancel()
		return nil, fmt.Errorf("keep the machine awake: %s: %w", filepath.Base(args[0]), err)
	}
	return a, nil
}

// keeper is the command that holds the machine awake while its child, cat,
// reads; nil where there is none. What systemd did not boot it does not put to
// sleep either.
func (m Machine) keeper() []string {
	switch m.OS {
	case "linux":
		if _, err := os.Stat(filepath.Join(m.Root, "run/systemd/system")); err != nil {
			return nil
		}
		if path, err := exec.LookPath("systemd-inhibit"); err == nil {
			return []string{path, "--what=sleep:idle", "--who=loopd", "--why=a campaign is under way", "--mode=block", "cat"}
		}
	case "darwin":
		if path, err := exec.LookPath("caffeinate"); err == nil {
			return []string{path, "-i", "cat"}
		}
	}
	return nil
}

// start runs the command and sends a byte through it: that comes back once the
// system has agreed and cat runs.
func (a *Awake) start() error {
	var talk bytes.Buffer
	a.cmd.Stderr = &talk
	// A session of its own: a key press meant for loopd does not end it, and it
	// has no terminal to ask for a password on.
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	a.cmd.Cancel = func() error { return syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL) }
	a.cmd.WaitDelay = awakeEnd
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := a.cmd.Start(); err != nil {
		return err
	}
	a.stdin = stdin
	late := time.AfterFunc(awakeStart, a.end)
	defer late.Stop()
	_, writeErr := stdin.Write([]byte("\n"))
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err == nil && writeErr == nil {
		return nil
	}
	a.Stop()
	if said := strings.TrimSpace(talk.String()); said != "" {
		lines := strings.Split(said, "\n")
		return errors.New(lines[len(lines)-1])
	}
	return errors.New("it did not agree")
}

// Stop lets the machine sleep again.
func (a *Awake) Stop() {
	if a == nil || a.stdin == nil {
		return
	}
	a.stdin.Close()
	a.stdin = nil
	late := time.AfterFunc(awakeEnd, a.end)
	defer late.Stop()
	defer a.end()
	_ = a.cmd.Wait() // how it ends says nothing
}
