//go:build !linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// adoptOrphans does nothing: only Linux lets a process adopt descendants.
func adoptOrphans() error { return nil }

func processAttr(l Launch) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 && l.UID != 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(l.UID), Gid: uint32(l.GID)}
	}
	return attr
}

func maxRSS(u *syscall.Rusage) int64 { return int64(u.Maxrss) }

// unnamedFile holds the prompt in a file that has no name any more.
func unnamedFile(data []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "")
	if err != nil {
		return nil, fmt.Errorf("make input: %w", err)
	}
	_, werr := f.Write(data)
	_, serr := f.Seek(0, 0)
	if err := errors.Join(os.Remove(f.Name()), werr, serr); err != nil {
		f.Close()
		return nil, fmt.Errorf("make input: %w", err)
	}
	return f, nil
}

// tree is the process group of a session. Processes that leave the group are
// beyond it: here an isolation that ends all of them at once is needed.
type tree struct {
	main   int
	cpu    time.Duration
	maxRSS int64
}

func newTree(_ Launch, main *os.Process) *tree { return &tree{main: main.Pid} }

func (t *tree) look() {}

func (t *tree) meet() {}

// resident is not known here.
func (t *tree) resident() int64 { return 0 }

func (t *tree) innermost() int { return 0 }

func (t *tree) sweep(within time.Duration) (int, error) {
	deadline := time.Now().Add(within)
	for {
		if err := syscall.Kill(-t.main, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
			return 0, nil
		}
		if time.Now().After(deadline) {
			return 1, nil
		}
		time.Sleep(2 * time.Millisecond) // the kernel needs a moment to end them
	}
}

// oomKills has nothing to read here.
func oomKills() (int64, bool) { return 0, false }

// Kill has no way to look for a marker here and finds nothing.
func Kill(string) (int, error) { return 0, nil }
