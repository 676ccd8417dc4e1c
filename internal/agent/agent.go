package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loopd/harness"
)

// Launch is one process to start.
type Launch struct {
	// Path is the program and Argv0 the name it sees itself called by; Path
	// when empty.
	Path, Argv0 string
	Args        []string
	// Env is the whole environment. Nothing is added to it.
	Env []string
	Dir string
	// Stdin is the prompt. It arrives through an unnamed file.
	Stdin []byte
	// Stdout and Stderr get the output as it comes. Only one goroutine writes
	// to each.
	Stdout, Stderr io.Writer
	// Clocks bound the session. A clock of 0 does not run; Total must.
	Clocks harness.Clocks
	// Activity returns when the session last did something that stdout does
	// not show, such as a byte at the gateway; nil for never.
	Activity func() time.Time
	// UID and GID are who the session runs as when loopd is root; 0 for no
	// change.
	UID, GID int
	// Files follow standard error in the process. The caller keeps them open
	// until Run returns, and closes them.
	Files []*os.File
	// PIDNamespace: Path is a program that walls the session in. It starts the agent
	// in a process table of its own, takes all of it down when it dies, and
	// passes the agent's exit code on as a shell does.
	PIDNamespace bool
	// MaxMemory is the most bytes that the session's processes may hold in
	// memory together, not counting what they share with files; 0 for no limit.
	// It is looked at now and then, where the process table shows it.
	MaxMemory int64
	// Overrun says, when it is asked now and then, that the session has taken
	// more of something else than it may, by the class that ends it; nil for
	// never.
	Overrun func() harness.Class
	// Marker is a text found in Env and in no other session's, such as the
	// directory of the sandbox. Processes that outlive their parents are known
	// by it.
	Marker string
}

// Exit is how a session ended.
type Exit struct {
	Code int // exit code, or 128 and the signal's number as a shell says it
	// Signal is the signal that ended it, such as SIGTERM; empty for none. An agent
	// that takes a signal and exits in order, with 128 and its number, counts as
	// ended by it: so does the CLI, and so does what reports for it from within
	// walls.
	Signal string
	// Cause is what ended the session: a clock or the caller (startup_hang,
	// hang, cancelled, suspended), the kernel for want of memory or MaxMemory
	// (oom), or what Overrun said. Empty when it ended by itself, when it was
	// ended after its result, with LimitTime, and when a signal came from
	// elsewhere.
	Cause harness.Class
	// LimitTime: the total clock ended a session that was still working.
	LimitTime bool
	Wall, CPU time.Duration
	MaxRSS    int64 // bytes, of the largest process waited for
	// Survivors counts processes that could not be ended. It must be 0.
	Survivors int
}

// Run starts the process and returns when all of its tree has ended. Ending ctx
// ends the session with cause cancelled. An error means that loopd could not do
// its part: the process did not start, its output could not be written, or its
// tree could not be looked through; Exit then says what is known.
func Run(ctx context.Context, l Launch) (Exit, error) {
	return defaults().run(ctx, l)
}

// bounds are the waits a caller does not choose.
type bounds struct {
	term  time.Duration // from SIGTERM to SIGKILL
	kill  time.Duration // from SIGKILL to giving up on a process
	drain time.Duration // for output after the whole tree has ended
	tick  time.Duration // between looks at the tree and the wall clock
	jump  time.Duration // wall over monotonic time that means a suspended machine
	wall  func() time.Time
	// oomKills counts what the kernel has ended for want of memory; false when
	// nothing says.
	oomKills func() (int64, bool)
}

func defaults() bounds {
	return bounds{
		term: 5 * time.Second, kill: 10 * time.Second, drain: 2 * time.Second, tick: time.Second,
		jump: 30 * time.Second, wall: func() time.Time { return time.Now().Round(0) }, oomKills: oomKills,
	}
}

func (l Launch) validate() error {
	var errs []error
	if l.Path == "" || l.Dir == "" {
		errs = append(errs, errors.New("path and dir are both needed"))
	}
	if l.Stdout == nil || l.Stderr == nil {
		errs = append(errs, errors.New("stdout and stderr are both needed"))
	}
	if l.Clocks.Total <= 0 {
		errs = append(errs, errors.New("the total clock must run"))
	}
	if len(l.Marker) < 8 || !strings.Contains(strings.Join(l.Env, "\x00"), l.Marker) {
		errs = append(errs, errors.New("the marker must be at least 8 bytes and occur in the environment"))
	}
	return errors.Join(errs...)
}

func (b bounds) run(ctx context.Context, l Launch) (Exit, error) {
	if err := errors.Join(l.validate(), ctx.Err()); err != nil {
		return Exit{}, fmt.Errorf("start agent: %w", err)
	}
	s, err := b.start(l)
	if err != nil {
		return Exit{}, fmt.Errorf("start agent: %w", err)
	}
	exit := s.watch(ctx)
	waitErr := s.end()
	left, sweepErr := s.tree.sweep(b.kill)
	s.drain()
	s.all.Wait()
	exit.Survivors = left
	exit.Wall = s.took
	s.describe(&exit)
	if exit.Cause == "" && s.suspended() {
		exit.Cause, exit.LimitTime = harness.Suspended, false
	}
	if exit.Cause == "" && s.outOfMemory(exit) {
		exit.Cause = harness.OutOfMemory
	}
	if err := errors.Join(waitErr, sweepErr, s.beat.writeError()); err != nil {
		return exit, fmt.Errorf("run agent: %w", err)
	}
	return exit, nil
}

// pipes holds both ends of one output.
type pipes struct{ read, write *os.File }

// newPipes makes a pipe.
func newPipes() (p pipes, err error) {
	p.read, p.write, err = os.Pipe()
	return p, err
}

// newSockets makes a pair of sockets, for what is evidence: whoever may look into
// the session's process can open a pipe again under /proc, to write lines of its
// own or to take the real ones away, and a socket cannot be opened there.
func newSockets() (p pipes, err error) {
	syscall.ForkLock.RLock() // not every system makes sockets that are closed on exec at once
	defer syscall.ForkLock.RUnlock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return p, fmt.Errorf("make output sockets: %w", err)
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	err = unix.SetNonblock(ends[0], true) // for the deadline of drain
	return pipes{os.NewFile(uintptr(ends[0]), "output"), os.NewFile(uintptr(ends[1]), "output")}, err
}

func (p pipes) close() {
	p.read.Close()
	p.write.Close()
}
