package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

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
