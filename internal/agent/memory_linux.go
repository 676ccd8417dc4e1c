package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// resident is what the session's processes hold in memory together, in bytes,
// without what each shares with files or others.
func (t *tree) resident() int64 {
	live, _, err := t.find()
	if err != nil {
		return 0
	}
	var pages int64
	for _, p := range live {
		data, err := os.ReadFile(procPath(p.pid, "statm"))
		if err != nil {
			continue // gone meanwhile
		}
		var size, held, shared int64
		if _, err := fmt.Sscan(string(data), &size, &held, &shared); err == nil {
			pages += held - shared
		}
	}
	return pages * int64(os.Getpagesize())
}

// oomKills counts the processes that the kernel has ended for want of memory:
// those of loopd's own control group, where sessions are, or all of the machine
// where the group's count cannot be read. False when there is none to read.
func oomKills() (int64, bool) {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return firstCount(append(memoryCounts("/sys/fs/cgroup", string(groups)), "/proc/vmstat"))
}

// memoryCounts lists where a process in these control groups finds the count
// for them, in either version of control groups.
func memoryCounts(mount, groups string) []string {
	var out []string
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(f) != 3:
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			out = append(out, filepath.Join(mount, "memory", f[2], "memory.oom_control"))
		case f[1] == "":
			out = append(out, filepath.Join(mount, f[2], "memory.events"), filepath.Join(mount, "unified", f[2], "memory.events"))
		}
	}
	return out
}

// firstCount reads the count from the first of the files that has one.
func firstCount(files []string) (int64, bool) {
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(line, "oom_kill "); ok {
				if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
					return n, true
				}
			}
		}
	}
	return 0, false
}
