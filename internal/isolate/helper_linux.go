package isolate

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// HelperName is the first argument of loopd's own program when it is started in
// a sandbox to become the agent.
const HelperName = "start"

// helperFailed is what a shell says of a program that cannot be started.
const helperFailed = 126

// order is what the helper is to do before it becomes the agent. It comes in a
// file without a name: arguments can be read in the session's process table.
type order struct {
	Program string
	Argv    []string
	// Processes is the limit of processes and threads to set, 0 for none.
	Processes uint64
	// Confine is set where the helper itself isolates the session.
	Confine *confinement
}

// addHelper hands loopd's own program on, with what it is to do.
func (w *Wrapped) addHelper(o order) (program, todo string, err error) {
	self, err := os.Open(SelfAgent)
	if err != nil {
		return "", "", err
	}
	program = "/proc/self/fd/" + w.add(self)
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(o); err != nil {
		return "", "", err
	}
	todo, err = w.addData(data.String())
	return program, todo, err
}

// addData hands bytes on as an unnamed file in memory.
func (w *Wrapped) addData(data string) (string, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("make input: %w", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	number := w.add(f)
	_, writeErr := io.WriteString(f, data)
	_, seekErr := f.Seek(0, io.SeekStart)
	return number, errors.Join(writeErr, seekErr)
}

// IsHelper reports whether a program was started as the helper: from an
// inherited descriptor, which no user does.
func IsHelper(args []string) bool {
	return len(args) >= 3 && len(args) <= 4 && strings.HasPrefix(args[0], "/proc/self/fd/") && args[1] == HelperName
}

// HelperMain runs before the agent, in the sandbox or about to put it up: where
// the session has a network of its own it listens on loopback and hands the
// listening socket over, and it becomes the agent. Its arguments are the
// program's own, and the numbers of the descriptors that hold the order and,
// where there is a network, the handoff. It returns only when that failed.
func HelperMain(args, environ []string) int {
	if err := help(args, environ); err != nil {
		fmt.Fprintln(os.Stderr, "start session:", err)
	}
	return helperFailed
}

func help(args, environ []string) error {
	if !IsHelper(args) {
		return errors.New("not called as the helper")
	}
	// Nothing of loopd's is to be open in the agent.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("mark descriptors: %w", err)
	}
	o, err := readOrder(args[2])
	if err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	url := ""
	if len(args) == 4 {
		if url, err = handOver(args[3]); err != nil {
			return fmt.Errorf("hand socket over: %w", err)
		}
	}
	return fmt.Errorf("run %s: %w", o.Program, o.become(environInside(environ, url)))
}

func readOrder(number string) (o order, err error) {
	file, err := inherited(number)
	if err != nil {
		return o, err
	}
	err = gob.NewDecoder(file).Decode(&o)
	if err == nil && (o.Program == "" || len(o.Argv) == 0) {
		err = errors.New("no program in it")
	}
	return o, err
}

// become isolates the session, where that is the helper's to do, and runs the
// agent in this process. It returns only when that failed.
func (o order) become(environ []string) error {
	runtime.LockOSThread() // what confines is this thread's, and it is the one that becomes the agent
	if o.Confine != nil {
		if err := o.Confine.apply(); err != nil {
			return err
		}
	}
	if err := limitProcesses(o.Processes); err != nil {
		return err
	}
	return syscall.Exec(o.Program, o.Argv, environ)
}

func inherited(number string) (*os.File, error) {
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("descriptor %q", number)
	}
	return os.NewFile(uintptr(fd), "inherited"), nil
}

// handOver hands a listening socket out and waits until it was taken.
func handOver(number string) (url string, err error) {
	to, err := inherited(number)
	if err != nil {
		return "", err
	}
	listener, port, err := listen()
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	if err := unix.Sendmsg(int(to.Fd()), []byte{1}, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL); err != nil {
		return "", err
	}
	if n, err := to.Read(make([]byte, 1)); n != 1 {
		return "", fmt.Errorf("not taken: %w", err)
	}
	return "http://127.0.0.1:" + strconv.Itoa(port), nil
}

func listen() (fd, port int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		return 0, 0, err
	}
	name, err := unix.Getsockname(fd)
	if addr, ok := name.(*unix.SockaddrInet4); ok {
		port = addr.Port
	}
	return fd, port, err
}

const baseURL = "ANTHROPIC_BASE_URL="

// environInside is the session's environment: the API's address becomes the
// address in the sandbox, and what bwrap added goes.
func environInside(environ []string, url string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "PWD=") })
	if url == "" {
		return env
	}
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, baseURL) })
	if i < 0 {
		return append(env, baseURL+url)
	}
	env[i] = baseURL + url
	return env
}
