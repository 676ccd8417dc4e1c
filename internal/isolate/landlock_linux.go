package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// canRead and canWrite are what a session may do with a directory. Devices
// cannot be made: as root a session could make itself the disk.
const (
	canRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	canWrite = canRead | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	ofFiles = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// landlockABI asks the kernel for its version; 0 for none.
func landlockABI() int {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
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
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
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
func probeLandlock(context.Context) (abi int, err error) {
	abi = landlockABI()
	if abi < leastABI {
		return abi, &ProbeError{Reason: ReasonNoLandlock, Output: "its version here is " + strconv.Itoa(abi)}
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return abi, err
	}
	defer os.RemoveAll(dir)
	outside := filepath.Join(dir, "outside")
	if err := os.WriteFile(outside, nil, 0o666); err != nil {
		return abi, err
	}
	said := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		said <- tryConfined(abi, outside)
	}()
	if err := <-said; err != nil {
		return abi, &ProbeError{Reason: ReasonFailed, Program: "Landlock", Output: err.Error()}
	}
	return abi, nil
}

func tryConfined(abi int, outside string) error {
	fd, err := confinement{ABI: abi, Read: []string{"/usr"}}.ruleset()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
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

// userLimit is the kernel's limit that leaves a session so many processes and
// threads. Without a user namespace the kernel counts all of the user's.
func userLimit(processes, uid int) (uint64, error) {
	if processes <= 0 {
		return 0, nil
	}
	if uid == 0 {
		uid = os.Geteuid()
	}
	threads, err := threadsOf(uid)
	return uint64(processes + threads), err
}

// namespaceLimit is the same for a session with a user namespace of its own.
// Before Linux 5.14 the kernel counted all of the user's there too.
func namespaceLimit(processes, uid int) (uint64, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return 0, fmt.Errorf("ask the kernel's version: %w", err)
	}
	if countsByNamespace(unix.ByteSliceToString(u.Release[:])) {
		return uint64(max(processes, 0)), nil
	}
	return userLimit(processes, uid)
}

func countsByNamespace(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 14
}

func threadsOf(uid int) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		info, err := e.Info()
		if _, bad := strconv.Atoi(e.Name()); bad != nil || err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == uid {
			threads, _ := os.ReadDir(filepath.Join("/proc", e.Name(), "task"))
			n += len(threads)
		}
	}
	return n, nil
}

// limitProcesses bounds the threads of the user from here on. It comes last:
// this program's own are counted too.
func limitProcesses(n uint64) error {
	if n == 0 {
		return nil
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &was); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	n = min(n, was.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

func occupied(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512 // a hole takes no room
	}
	return info.Size()
}
