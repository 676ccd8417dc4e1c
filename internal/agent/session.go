package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loopd/harness"
)

// session is one running process tree.
type session struct {
	bounds
	launch   Launch
	cmd      *exec.Cmd
	tree     *tree
	beat     *beat
	out, err pipes
	begun    time.Time // by both clocks
	wall     time.Time // by the wall clock alone
	ooms     int64     // of bounds.oomKills, at the start
	signaled bool      // loopd has sent the session a signal

	gone    chan error // one value: what waiting for the process gave
	reaped  bool       // gone has been received, and the next two are set
	took    time.Duration
	waitErr error
	all     sync.WaitGroup
}

func (b bounds) start(l Launch) (*session, error) {
	stdin, err := unnamedFile(l.Stdin)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	s := &session{bounds: b, launch: l, gone: make(chan error, 1)}
	if s.out, err = newSockets(); err != nil {
		return nil, err
	}
	if s.err, err = newPipes(); err != nil {
		s.out.close()
		return nil, err
	}
	s.cmd = &exec.Cmd{
		Path: l.Path, Args: append([]string{l.argv0()}, l.Args...), Dir: l.Dir,
		Env:   append(make([]string, 0, len(l.Env)), l.Env...), // never nil: nil would inherit ours
		Stdin: stdin, Stdout: s.out.write, Stderr: s.err.write, ExtraFiles: l.Files,
		SysProcAttr: processAttr(l),
	}
	if err := s.launchProcess(); err != nil {
		s.out.close()
		s.err.close()
		s.all.Wait()
		return nil, err
	}
	return s, nil
}

func (l Launch) argv0() string {
	if l.Argv0 != "" {
		return l.Argv0
	}
	return l.Path
}

// launchProcess starts the process and the goroutines that tend it: one holds
// the thread from start to wait, because the kernel kills the process when the
// thread that started it ends; two drain the pipes. end and run wait for all.
func (s *session) launchProcess() error {
	if err := adoptOrphans(); err != nil {
		return err
	}
	started := make(chan error, 1)
	s.begun, s.wall = time.Now(), s.bounds.wall()
	s.ooms, _ = s.oomKills()
	s.beat = newBeat(s.launch.Clocks, s.begun, s.launch.Stdout)
	s.all.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		if err != nil {
			started <- err
			return
		}
		// Before the wait: what has been waited for can no longer be told apart.
		s.tree = newTree(s.launch, s.cmd.Process)
		started <- nil
		s.gone <- s.cmd.Wait()
	})
	if err := <-started; err != nil {
		return err
	}
	s.out.write.Close()
	s.err.write.Close()
	s.all.Go(func() { s.beat.copy(s.beat, s.out.read) })
	s.all.Go(func() { s.beat.copy(s.launch.Stderr, s.err.read) })
	return nil
}

// watch returns when the process has ended or should be ended, and why.
func (s *session) watch(ctx context.Context) Exit {
	timer := time.NewTimer(s.tick)
	defer timer.Stop()
	for {
		now := time.Now()
		ending, next := s.beat.judge(now, s.activity())
		switch {
		case ending.over:
			return Exit{Cause: ending.cause, LimitTime: ending.limitTime}
		case s.suspended():
			return Exit{Cause: harness.Suspended}
		case s.beat.writeError() != nil:
			return Exit{}
		}
		timer.Reset(min(next.Sub(now), s.tick))
		select {
		case err := <-s.gone:
			s.note(err)
			return Exit{}
		case <-ctx.Done():
			return Exit{Cause: harness.Cancelled}
		case <-s.beat.wake:
			s.tree.meet()
		case <-timer.C:
			// Looking now and then remembers children while their parents still
			// vouch for them.
			s.tree.look()
			if class := s.overrun(); class != "" {
				return Exit{Cause: class}
			}
		}
	}
}

// overrun says that the session has taken more than it may, by the class that
// ends it. A session that has its result is only waited for.
func (s *session) overrun() harness.Class {
	switch {
	case s.beat.hasResult():
		return ""
	case s.launch.MaxMemory > 0 && s.tree.resident() > s.launch.MaxMemory:
		return harness.OutOfMemory
	case s.launch.Overrun != nil:
		return s.launch.Overrun()
	}
	return ""
}

func (s *session) activity() time.Time {
	if s.launch.Activity == nil {
		return time.Time{}
	}
	return s.launch.Activity()
}

// suspended compares two clocks: the monotonic one stands still while the
// machine sleeps.
func (s *session) suspended() bool {
	return s.bounds.wall().Sub(s.wall)-time.Since(s.begun) > s.jump
}

func (s *session) note(err error) {
	s.took, s.reaped = time.Since(s.begun), true
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		s.waitErr = err
	}
}

// end makes the process end, gently first, and waits for it.
func (s *session) end() error {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, s.term}, {syscall.SIGKILL, s.kill}} {
		if s.reaped {
			break
		}
		s.signal(step.signal)
		select {
		case err := <-s.gone:
			s.note(err)
		case <-time.After(step.wait):
		}
	}
	if !s.reaped {
		return fmt.Errorf("process %d does not end", s.cmd.Process.Pid)
	}
	return s.waitErr
}

// signal reaches the whole group: the process may be waiting for a child of its
// own. What walls a session in would take it down at once if asked to end, so
// the gentle signal goes to the group inside.
func (s *session) signal(sig syscall.Signal) {
	s.signaled = true
	group := s.cmd.Process.Pid
	if s.launch.PIDNamespace && sig != syscall.SIGKILL {
		if inner := s.tree.innermost(); inner != 0 {
			group = inner
		}
	}
	_ = syscall.Kill(-group, sig)
}

// outOfMemory says whether the kernel ended the session before its result. A
// SIGKILL alone is no proof: anyone may send it. A count that rose alone is none
// either: what was ended may have been a command of the session, which went on.
func (s *session) outOfMemory(e Exit) bool {
	if s.signaled || e.Signal != "SIGKILL" || s.beat.hasResult() {
		return false
	}
	now, known := s.oomKills()
	return known && now > s.ooms
}

// drain lets the last output through. The tree is gone, so the pipes are at
// their end; only a process that escaped could still hold one open.
func (s *session) drain() {
	deadline := time.Now().Add(s.bounds.drain)
	_ = s.out.read.SetReadDeadline(deadline)
	_ = s.err.read.SetReadDeadline(deadline)
}

func (s *session) describe(e *Exit) {
	state := s.cmd.ProcessState
	if state == nil {
		return
	}
	e.CPU = state.UserTime() + state.SystemTime() + s.tree.cpu
	e.MaxRSS = s.tree.maxRSS
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		e.MaxRSS = max(e.MaxRSS, maxRSS(usage))
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		e.Code, e.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
		return
	}
	e.Code = state.ExitCode()
	// Nothing can take a SIGKILL and exit in order.
	if inOrder := e.Code != 128+int(syscall.SIGKILL); e.Code > 128 && (inOrder || s.launch.PIDNamespace) {
		e.Signal = unix.SignalName(syscall.Signal(e.Code - 128)) // empty for what is no signal
	}
}

// copy drains a pipe to its end and closes it. When the writer fails, the rest
// is thrown away rather than left to block the session.
func (b *beat) copy(to io.Writer, from *os.File) {
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && to != nil {
			if _, werr := to.Write(buf[:n]); werr != nil {
				b.fail(werr)
				to = nil
			}
		}
		if err != nil {
			return
		}
	}
}
