package agent

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// inside is the first process of a walled session's own process table, held by
// a handle of our own: no other session takes it for an orphan, and its number
// means nothing else until it has been waited for here. When it ends the kernel
// ends all others there first, so that once it is waited for none is left and
// nothing has to be looked for.
type inside struct {
	pid    int
	handle int // pidfd
}

// meetInside takes hold of the only child of what walls the session in, once it
// is there. A child that is not the first of a process table of its own is left
// to the search.
func meetInside(main int) (in inside, start uint64, ok bool) {
	pid, ok := onlyChild(main)
	if !ok {
		return in, 0, false
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return in, 0, false
	}
	// After the handle, so that it is this process that is looked at.
	p, err := readProcess(pid)
	if err != nil || p.zombie || p.parent != main || !firstOfItsOwn(pid) {
		unix.Close(handle)
		return in, 0, false
	}
	return inside{pid, handle}, p.start, true
}

// onlyChild is false where there are several and where the kernel does not say.
func onlyChild(pid int) (int, bool) {
	data, err := os.ReadFile(procPath(pid, "task/"+strconv.Itoa(pid)+"/children"))
	fields := strings.Fields(string(data))
	if err != nil || len(fields) != 1 {
		return 0, false
	}
	child, err := strconv.Atoi(fields[0])
	return child, err == nil
}

// firstOfItsOwn says whether a process is number 1 of a process table below
// ours, directly.
func firstOfItsOwn(pid int) bool {
	ours, theirs := numbers("self"), numbers(strconv.Itoa(pid))
	return len(ours) > 0 && len(theirs) == len(ours)+1 && theirs[len(theirs)-1] == "1"
}

// numbers are what a process is called in each process table it is in.
func numbers(pid string) []string {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// end kills the process and so all others inside. It says whether they ended
// before the deadline.
func (in inside) end(deadline time.Time) (bool, error) {
	if err := unix.PidfdSendSignal(in.handle, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, fmt.Errorf("end session: %w", err)
	}
	wait := []unix.PollFd{{Fd: int32(in.handle), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(wait, int(max(0, time.Until(deadline).Milliseconds())))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("wait for the end of a session: %w", err)
		}
		return n > 0, nil
	}
}

func (in inside) close() { unix.Close(in.handle) }

// holdsHandle says whether Go holds a handle of a process it has started, which
// it does where the kernel has any.
func holdsHandle(p *os.Process) bool { return p.WithHandle(func(uintptr) {}) == nil }
