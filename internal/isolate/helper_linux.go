package isolate

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// helperFailed is what a shell says of a program that cannot be started.
const helperFailed = 126

// HelperMain runs before the agent, inside the walls or about to put them up:
// where the session has a network of its own it listens on loopback and hands
// the listening socket out through the door, and it becomes the agent. Its
// arguments are the program's own, and the numbers of the descriptors that hold
// the order and, where there is a network, the door. It returns only when that
// failed.
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
	file, err := inherited(args[2])
	if err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	o, err := readOrder(data)
	if err != nil {
		return err
	}
	url := ""
	if len(args) == 4 {
		if url, err = openDoor(args[3]); err != nil {
			return fmt.Errorf("open door: %w", err)
		}
	}
	return fmt.Errorf("run %s: %w", o.Program, o.become(environInside(environ, url)))
}

// become puts up what walls are the helper's to put up and runs the agent in
// this process. It returns only when that failed.
func (o order) become(environ []string) error {
	runtime.LockOSThread() // the walls are this thread's, and it is the one that becomes the agent
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

// openDoor hands a listening socket out and waits until it was taken.
func openDoor(number string) (url string, err error) {
	door, err := inherited(number)
	if err != nil {
		return "", err
	}
	listener, port, err := listen()
	if err != nil {
		return "", err
	}
	if err := unix.Sendmsg(int(door.Fd()), []byte{1}, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL); err != nil {
		return "", fmt.Errorf("hand socket over: %w", err)
	}
	if n, err := door.Read(make([]byte, 1)); n != 1 {
		return "", fmt.Errorf("hand socket over: not taken: %w", err)
	}
	return "http://127.0.0.1:" + strconv.Itoa(port), nil
}

func listen() (fd, port int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("listen: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, 0, fmt.Errorf("listen: %w", err)
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return 0, 0, fmt.Errorf("listen: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, 0, fmt.Errorf("listen: %w", err)
	}
	addr, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, 0, errors.New("listen: no address")
	}
	return fd, addr.Port, nil
}

// unnamedFile holds bytes in memory; bwrap and the helper read it once.
func unnamedFile(data string) (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make input: %w", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	_, werr := io.WriteString(f, data)
	_, serr := f.Seek(0, io.SeekStart)
	if err := errors.Join(werr, serr); err != nil {
		f.Close()
		return nil, fmt.Errorf("make input: %w", err)
	}
	return f, nil
}
