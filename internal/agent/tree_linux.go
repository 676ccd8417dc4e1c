package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the new parent of every descendant whose
// own parent dies, so that none escapes to the system's init. It is a property
// of the process and setting it again changes nothing.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

func processAttr(l Launch) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 && l.UID != 0 {
		// No supplementary groups: the process is to have none of root's.
		attr.Credential = &syscall.Credential{Uid: uint32(l.UID), Gid: uint32(l.GID)}
	}
	return attr
}

func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss << 10 }

// unnamedFile holds the prompt in memory; what a session sees of it is a name
// that says nothing.
func unnamedFile(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make input: %w", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	_, werr := f.Write(data)
	_, serr := f.Seek(0, 0)
	if err := errors.Join(werr, serr); err != nil {
		f.Close()
		return nil, fmt.Errorf("make input: %w", err)
	}
	return f, nil
}

// process is one line of the process table.
type process struct {
	pid, parent, group int
	zombie             bool
	start              uint64 // in ticks since boot; with pid it names a process for good
}

// tree finds the processes of one session among the children of this process.
//
// A process belongs when it is the session's first process, in its group, has
// the marker in its environment or working directory, descends from one that
// belongs, or did at an earlier look. Children that loopd started elsewhere are
// told by the process handle (pidfd) that Go holds for each until it is waited
// for: they are never killed or reaped here.
//
// A walled session's orphans stay inside, with the first process there, the
// innermost; only that one can be orphaned to loopd. It has waited for all the
// others, so what they used is known from it. Once it is held by a handle the
// process table is not read any more: on a busy machine that costs more than all
// else that loopd does for a trial.
type tree struct {
	marker  string
	main    int
	since   uint64
	walled  bool
	inner   int // the innermost process of a walled session, 0 while not seen
	held    *inside
	handles bool // Go holds handles, so orphans can be told from children
	seen    map[int]uint64

	cpu    time.Duration // of the processes reaped here
	maxRSS int64
}

func newTree(l Launch, main *os.Process) *tree {
	t := &tree{marker: l.Marker, main: main.Pid, walled: l.PIDNamespace, handles: holdsHandle(main), seen: make(map[int]uint64)}
	if p, err := readProcess(main.Pid); err == nil {
		t.since = p.start
	}
	return t
}

// look remembers the processes of the session that live now. What it misses,
// the sweep reports. Of a session that is held there is nothing to remember.
func (t *tree) look() {
	if t.hold(); t.held == nil {
		_, _, _ = t.find()
	}
}

// hold takes hold of a walled session, once there is something to hold.
func (t *tree) hold() {
	if !t.walled || t.held != nil {
		return
	}
	if in, start, ok := meetInside(t.main); ok {
		t.held, t.inner, t.seen[in.pid] = &in, in.pid, start
	}
}

// meet looks for the innermost process while its parent still vouches for it.
func (t *tree) meet() {
	if t.walled && t.inner == 0 {
		t.look()
	}
}

// innermost is the first process inside a walled session. What walls it in
// makes it the leader of a group.
func (t *tree) innermost() int {
	t.meet()
	return t.inner
}

func (t *tree) find() (live, dead []process, err error) {
	all, err := processes()
	if err != nil {
		return nil, nil, err
	}
	// After the table, so that a child started in between is not in it.
	owned, err := ownedChildren()
	if err != nil {
		return nil, nil, err
	}
	self := os.Getpid()
	for _, p := range t.belonging(descendants(all, self)) {
		if p.parent == self && owned[p.pid] && p.pid != t.main && p.pid != t.inner {
			continue
		}
		if p.zombie {
			dead = append(dead, p)
			continue
		}
		t.seen[p.pid] = p.start
		live = append(live, p)
	}
	if !t.handles || t.inner != 0 {
		return live, dead, nil
	}
	for _, p := range all {
		if p.parent == self && p.zombie && !owned[p.pid] {
			dead = append(dead, p) // an orphan that ended by itself, of any session
		}
	}
	return live, dead, nil
}

// belonging picks the session's own, parents before children.
func (t *tree) belonging(mine []process) []process {
	in := make(map[int]bool)
	var out []process
	for _, p := range mine {
		start, seen := t.seen[p.pid]
		switch {
		case p.pid == t.main && p.start == t.since, p.group == t.main, in[p.parent], seen && start == p.start,
			p.start >= t.since && marked(p.pid, t.marker):
			in[p.pid] = true
			out = append(out, p)
			if t.walled && p.parent == t.main {
				t.inner = p.pid
			}
		}
	}
	return out
}

// sweep kills what lives of the session, reaps the orphans, and returns how many
// are left when the time is up.
func (t *tree) sweep(within time.Duration) (int, error) {
	deadline := time.Now().Add(within)
	if t.held != nil {
		defer t.held.close()
		over, err := t.held.end(deadline)
		if err != nil {
			return 0, err
		}
		if over && t.reap(t.inner) {
			return 0, nil
		}
	}
	return t.search(deadline)
}

// search is a sweep by the process table: it ends when two looks in a row find
// nothing, for one can miss a process in the middle of an exec.
func (t *tree) search(deadline time.Time) (int, error) {
	quiet := 0
	for {
		live, dead, err := t.find()
		if err != nil {
			return 0, fmt.Errorf("sweep processes: %w", err)
		}
		for _, p := range dead {
			if p.pid != t.main {
				t.reap(p.pid)
			}
		}
		if quiet++; len(live) > 0 {
			quiet = 0
		}
		if quiet == 2 || time.Now().After(deadline) {
			return len(live), nil
		}
		for _, p := range live {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		if len(live) > 0 {
			time.Sleep(2 * time.Millisecond) // the kernel needs a moment to end them
		}
	}
}

// reap waits for a process that has ended and says whether it was one of ours
// to wait for. What it used counts if it is the session's.
func (t *tree) reap(pid int) bool {
	var usage syscall.Rusage
	got, err := syscall.Wait4(pid, nil, unix.WNOHANG, &usage)
	if err != nil || got != pid {
		return false
	}
	if _, seen := t.seen[pid]; !seen && !t.walled {
		return true // an orphan of any session
	}
	t.cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	t.maxRSS = max(t.maxRSS, maxRSS(&usage))
	return true
}

// Kill ends every process on the machine that carries the marker in its
// environment: what a session of an earlier, killed loopd left running. It
// returns how many it had to kill.
func Kill(marker string) (int, error) {
	if len(marker) < 8 {
		return 0, errors.New("kill leftovers: the marker must be at least 8 bytes")
	}
	all, err := processes()
	if err != nil {
		return 0, fmt.Errorf("kill leftovers: %w", err)
	}
	killed := 0
	for _, p := range all {
		if p.pid != os.Getpid() && inEnvironment(p.pid, marker) && unix.Kill(p.pid, unix.SIGKILL) == nil {
			killed++
		}
	}
	return killed, nil
}

func marked(pid int, marker string) bool {
	cwd, err := os.Readlink(procPath(pid, "cwd"))
	return err == nil && strings.Contains(cwd, marker) || inEnvironment(pid, marker)
}

func inEnvironment(pid int, marker string) bool {
	env, err := os.ReadFile(procPath(pid, "environ"))
	return err == nil && bytes.Contains(env, []byte(marker))
}

func procPath(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// processes reads the process table.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // gone meanwhile otherwise
			out = append(out, p)
		}
	}
	return out, nil
}

// longestStat is longer than any line of a process, whose name has 64 bytes at
// most and whose numbers are 50 of 20 digits.
const longestStat = 2 << 10

func readProcess(pid int) (process, error) {
	var buf [longestStat]byte
	data, err := readShort(procPath(pid, "stat"), buf[:])
	if err != nil {
		return process{}, err
	}
	p := process{pid: pid}
	var errs []error
	number := func(field []byte) int {
		n, err := strconv.Atoi(string(field))
		errs = append(errs, err)
		return n
	}
	// The name in brackets may hold anything, so fields count from its end.
	i := 0
	for field := range bytes.FieldsSeq(data[bytes.LastIndexByte(data, ')')+1:]) {
		switch i++; i {
		case 1:
			p.zombie = field[0] == 'Z' || field[0] == 'X'
		case 2:
			p.parent = number(field)
		case 3:
			p.group = number(field)
		case 20:
			p.start = uint64(number(field))
			return p, errors.Join(errs...)
		}
	}
	return p, fmt.Errorf("process %d: short stat", pid)
}

// readShort reads a file of the process table that fits into buf. It goes round
// os.File, which would ask the kernel four more times for each of hundreds.
func readShort(name string, buf []byte) ([]byte, error) {
	fd, err := again(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := again(func() (int, error) { return unix.Read(fd, buf) })
	return buf[:max(n, 0)], err
}

// again repeats a call that a signal broke off.
func again(call func() (int, error)) (n int, err error) {
	for n, err = call(); err == unix.EINTR; n, err = call() {
	}
	return n, err
}

// descendants lists the processes below root, each after its parent.
func descendants(all []process, root int) []process {
	children := make(map[int][]process)
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	out := children[root]
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i].pid]...)
	}
	return out
}

// ownedChildren lists the processes this process holds a handle for.
func ownedChildren() (map[int]bool, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	out := make(map[int]bool)
	for _, e := range entries {
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || !strings.Contains(link, "pidfd") {
			continue
		}
		info, err := os.ReadFile("/proc/self/fdinfo/" + e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, rest, ok := strings.Cut(string(info), "\nPid:"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				out[pid] = true
			}
		}
	}
	return out, nil
}
