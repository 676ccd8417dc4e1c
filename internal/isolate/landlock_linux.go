package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastABI is the oldest Landlock that is a backend: it knows TCP ports.
const leastABI = 4

// canRead and canWrite are what a session may do with a directory. Devices
// cannot be made: as root a session could make itself the disk.
const (
	canRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	canWrite = canRead | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	ofFiles = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// confinement is what a session may do under Landlock; all else it may not.
type confinement struct {
	ABI   int      // of the kernel, as it was probed
	Read  []string // directories and files to read and run
	List  []string // directories whose names alone may be listed
	Write []string // directories of the box
	Files []string // single files and devices to read and write
	Port  int      // the one TCP port that may be connected to, 0 for none
}

// wrapLandlock starts the helper, which confines itself and becomes the agent.
// There is no process between it and loopd and no network of its own: what the
// session started is found by the sweep, and the gateway's port is the one port
// it may connect to.
func (s Sandbox) wrapLandlock(out *Wrapped, e Session) (err error) {
	o := order{Program: e.Agent, Argv: append([]string{"claude"}, e.Args...)}
	if e.Agent != SelfAgent {
		if o.Program, err = agentInBox(e.Box, e.Agent); err != nil {
			return err
		}
	}
	if o.Confine, err = s.confine(e, o.Program); err != nil {
		return err
	}
	if o.Processes, err = userLimit(e.Limits.Processes, s.uid); err != nil {
		return err
	}
	helper, todo, err := out.addHelper(o)
	out.Path, out.Args = helper, []string{HelperName, todo}
	return err
}

// startupFiles are read by common programs when they start. Where they are
// there and closed, every command of a session would complain of it. The
// machine's own accounts, hosts and process table take the place of those that
// bubblewrap makes up.
func startupFiles() []string {
	return []string{
		"/proc", "/dev/urandom", "/dev/random", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/os-release",
		"/etc/bash.bashrc", "/etc/bashrc", "/etc/profile", "/etc/profile.d", "/etc/inputrc", "/etc/zsh", "/etc/gitconfig", "/etc/ssl/openssl.cnf",
		"/etc/resolv.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/locale.alias", "/etc/magic", "/etc/mime.types",
	}
}

// confine lists what the session may do.
func (s Sandbox) confine(e Session, program string) (*confinement, error) {
	c := &confinement{
		ABI: s.abi, Port: e.Port, Write: []string{e.Box.Work, e.Box.Home, e.Box.Config, e.Box.Tmp},
		Read:  slices.Concat([]string{e.Box.Plugin, program}, systemFiles(), startupFiles()),
		Files: []string{"/dev/null", "/dev/zero", "/dev/full"}, // Landlock shows the machine's own devices
	}
	hidden, err := hidden(e)
	if err != nil {
		return nil, err
	}
	for _, top := range slices.Concat(s.visible, e.ReadOnly) {
		if err := c.open(top, hidden); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open lets a path be read, but for what is hidden below it. Landlock knows no
// exceptions: a directory that holds something hidden is opened name by name,
// and a name that is added to it later stays closed.
func (c *confinement) open(path string, hidden []string) error {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(hidden, func(h string) bool { return h == resolved || strings.HasPrefix(resolved, h+"/") }) {
		return nil
	}
	within := slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !strings.HasPrefix(h, resolved+"/") })
	if len(within) == 0 {
		c.Read = append(c.Read, resolved)
		return nil
	}
	entries, err := os.ReadDir(resolved)
	if err != nil {
		return fmt.Errorf("open %s but for what is hidden in it: %w", resolved, err)
	}
	for _, entry := range entries {
		if err := c.open(filepath.Join(resolved, entry.Name()), hidden); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(within, isDir) {
		c.List = append(c.List, resolved)
	}
	return nil
}

// configOf is everything that a kernel can be asked to refuse, up to what the
// table of SECURITY.md was measured with.
func configOf(abi int) landlock.Config {
	switch {
	case abi >= abiScoped:
		return landlock.V6
	case abi == 5:
		return landlock.V5
	}
	return landlock.V4
}

// ruleset makes the rules of a session; the descriptor is the caller's to close.
func (c confinement) ruleset() (int, error) {
	var rules []landlock.Rule
	for _, group := range []struct {
		paths  []string
		access landlock.AccessFSSet
	}{{c.Read, canRead}, {c.List, ll.AccessFSReadDir}, {c.Write, canWrite}, {c.Files, ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate}} {
		for _, p := range group.paths {
			info, err := os.Stat(p)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue // what the session's user cannot reach needs no rule
			}
			if err != nil {
				return -1, err
			}
			access := group.access
			if !info.IsDir() {
				access &= ofFiles
			}
			rules = append(rules, landlock.PathAccess(access, p))
		}
	}
	if c.Port != 0 {
		rules = append(rules, landlock.ConnectTCP(uint16(c.Port)))
	}
	fd, _, err := configOf(c.ABI).NewRulesetFD(rules...)
	return fd, err
}

// apply confines the thread that calls it, and what that thread starts or
// becomes, for good. The thread is to be locked.
func (c confinement) apply() error {
	fd, err := c.ruleset()
	if err != nil {
		return fmt.Errorf("make rules: %w", err)
	}
	defer unix.Close(fd)
	if err := dropCapabilities(); err != nil {
		return err
	}
	return restrict(fd)
}

func restrict(ruleset int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := ll.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	return nil
}

// dropCapabilities leaves root nothing of its powers past the next exec.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_CHOWN {
			return nil // the last one the kernel knows was the one before
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

// probeLandlock confines a thread of its own, which ends with the try, and sees
// that it is refused what a session is to be refused.
func probeLandlock(o ProbeOptions) (Sandbox, error) {
	s := Sandbox{backend: Landlock, uid: o.UID}
	var err error
	if s.abi, err = ll.LandlockGetABIVersion(); err != nil || s.abi < leastABI {
		return s, &ProbeError{
			Text: "this kernel's Landlock knows no ports", Output: "its version here is " + strconv.Itoa(max(s.abi, 0)),
			Command: "Linux 6.7 or newer, with landlock in the boot parameter lsm=",
		}
	}
	if _, s.visible, err = findSystem(); err != nil {
		return s, err
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	outside := filepath.Join(dir, "outside")
	if err := os.WriteFile(outside, nil, 0o666); err != nil {
		return s, err
	}
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		tried <- tryConfined(s.abi, outside)
	}()
	if err := <-tried; err != nil {
		return s, &ProbeError{Text: "Landlock does not work", Output: err.Error()}
	}
	return s, nil
}

func tryConfined(abi int, outside string) error {
	fd, err := confinement{ABI: abi, Read: []string{"/usr"}}.ruleset()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := restrict(fd); err != nil {
		return err
	}
	for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY} {
		if file, err := unix.Open(outside, flags|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EACCES) {
			unix.Close(file)
			return fmt.Errorf("a file outside was opened: %v", err)
		}
	}
	return tryConnect()
}

func tryConnect() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Connect(s, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}}); !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("a port outside was connected to: %v", err)
	}
	return nil
}
