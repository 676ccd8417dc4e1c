package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loopd/internal/testenv"
)

// undisturbed is what the campaign of sentences comes to when nothing happens.
func undisturbed(t *testing.T) []string {
	t.Helper()
	r := newRigged(t, t.TempDir())
	out := r.finish()
	if len(out) != 4 || !strings.Contains(strings.Join(out, " "), "keep") {
		t.Fatalf("got %q, want three candidates, one kept, and an end", out)
	}
	return out
}

// TestCampaignKilledAtRandom kills a campaign at random moments, whatever it is
// doing, and wants what an undisturbed one comes to.
func TestCampaignKilledAtRandom(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	rng, kills, slowest := testenv.Rand(t), testenv.Count(4, 200), time.Duration(0)
	for kills > 0 {
		r := newRigged(t, t.TempDir())
		for kills > 0 {
			cmd := r.command(t.Context())
			after := time.Duration(rng.Int64N(int64(500 * time.Millisecond)))
			ended := r.until(cmd, 0, func(p *os.Process) { time.AfterFunc(after, func() { _ = p.Kill() }) })
			if ended {
				break
			}
			kills--
			_, ready := r.sound(fmt.Sprintf("killed after %v", after))
			slowest = max(slowest, ready)
		}
		testenv.Same(t, "other verdicts than undisturbed", want, r.finish())
	}
	t.Logf("ready again within %v", slowest)
}

// disk is an ext4 file system in a file, which can lose its power.
type disk struct {
	t          *testing.T
	image, dir string
	up         bool
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Need(t, "loop", errors.New("only root mounts a file system"))
	}
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "disk"), dir: t.TempDir()}
	f, err := os.Create(d.image)
	if err == nil {
		err = errors.Join(f.Truncate(64<<20), f.Close())
	}
	testenv.Must(t, err)
	out, err := exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", d.image).CombinedOutput()
	if err != nil {
		testenv.Need(t, "loop", fmt.Errorf("mkfs.ext4: %w: %s", err, out))
	}
	t.Cleanup(func() {
		if d.up {
			d.unmount()
		}
	})
	d.mount()
	return d
}

func (d *disk) mount() {
	d.t.Helper()
	out, err := exec.Command("mount", "-o", "loop", d.image, d.dir).CombinedOutput()
	if err != nil {
		testenv.Need(d.t, "loop", fmt.Errorf("mount: %w: %s", err, out))
	}
	d.up = true
}

func (d *disk) unmount() {
	d.t.Helper()
	unmount(d.t, d.dir)
	d.up = false
}

// unmount takes a file system away. Nothing may be between fork and exec then: for
// that moment a child of another test holds every file that is open here.
func unmount(t *testing.T, dir string) {
	t.Helper()
	syscall.ForkLock.Lock()
	err := syscall.Unmount(dir, 0)
	syscall.ForkLock.Unlock()
	if err != nil {
		t.Fatalf("unmount %s: %v", dir, err)
	}
}

// shutdown is the ioctl by which ext4 stops at once, and withoutLog its flag by
// which nothing that is not on the disk gets there: what a power cut leaves.
const (
	shutdown   = 0x8004587d
	withoutLog = 2
)

// cut takes the power away.
func (d *disk) cut() {
	d.t.Helper()
	f, err := os.Open(d.dir)
	testenv.Must(d.t, err)
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, withoutLog); err != nil {
		testenv.Need(d.t, "loop", fmt.Errorf("shut the file system down: %w", err))
	}
}

// TestPowerLoss cuts the power while a campaign runs whose state and whose
// plugin's repository are on that disk, and wants every trial it acknowledged.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	rng, cuts := testenv.Rand(t), testenv.Count(2, 60)
	for cuts > 0 {
		d := newDisk(t)
		r := newRigged(t, d.dir)
		syscall.Sync() // the plugin's repository was there before the night
		for cuts > 0 {
			cmd := r.command(t.Context())
			trials := rng.IntN(30)
			ended := r.until(cmd, trials, func(p *os.Process) {
				// Stopped first: a sync under way would race with the cut, and whether
				// it was acknowledged could not be told.
				stop(t, p)
				d.cut()
				_ = p.Kill()
			})
			if ended {
				break
			}
			cuts--
			d.unmount()
			d.mount()
			r.sound(fmt.Sprintf("power cut after %d trials", trials))
		}
		testenv.Same(t, "other verdicts than undisturbed", want, r.finish())
		d.unmount()
	}
}

// stop stops a process and waits until all of it stands still.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Error(err)
		return
	}
	for {
		if standsStill(p.Pid) {
			return
		}
	}
}

func standsStill(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(tasks) == 0 {
		return true // it is gone
	}
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		_, state, _ := strings.Cut(string(data), ") ")
		if err == nil && !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			return false
		}
	}
	return true
}

// TestASyncThatFails has one sync of the ledger fail as a dying disk makes it
// fail. Linux then forgets what was not written, so that the next sync succeeds
// without it: the ledger must take nothing more.
func TestASyncThatFails(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("strace")
	testenv.Need(t, "strace", err)
	suspects := 0
	for _, when := range []int{9, 14, 20, 31}[:testenv.Count(2, 4)] {
		r := newRigged(t, t.TempDir())
		wal := filepath.Join(r.State, "ledger.db-wal")
		if cmd := r.command(t.Context()); r.until(cmd, 3, func(p *os.Process) { _ = p.Kill() }) {
			t.Fatal("it came to its end after three trials")
		}
		r.prefix = []string{"strace", "-f", "-qq", "-o", "/dev/null", "-P", wal, "-e", "trace=fsync,fdatasync", "-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d", when)}
		cmd := r.command(t.Context())
		ended := r.until(cmd, -1, nil)
		code := cmd.ProcessState.ExitCode()
		switch {
		case ended:
			t.Logf("no thread came to its sync %d", when)
		case code == childSuspect:
			suspects++
		default:
			t.Errorf("sync %d fails: got exit code %d, want %d: %v", when, code, childSuspect, cmd.Stderr)
		}
		r.prefix = nil
		r.sound(fmt.Sprintf("sync %d failed", when))
	}
	if suspects == 0 {
		t.Error("no sync failed")
	}
}

// TestADiskThatFills gives a campaign a disk of each of many sizes, and room when
// it has used that up. It must go on by itself and come to the same end.
func TestADiskThatFills(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	waits := 0
	sizes := testenv.Count(3, 64)
	for i := range sizes {
		dir := t.TempDir()
		// The suite alone takes what the smallest has; a campaign fits the largest.
		size := 900 + i*(2600/sizes)
		if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%dk,mode=0755", size)); err != nil {
			testenv.Need(t, "loop", fmt.Errorf("mount a small file system: %w", err))
		}
		r := newRigged(t, dir)
		waits += r.filled(dir, size)
		testenv.Same(t, fmt.Sprintf("%d KiB: other verdicts than undisturbed", size), want, r.finish())
		unmount(t, dir)
	}
	t.Logf("%d of %d sizes: the campaign waited for room", waits, sizes)
	if waits == 0 {
		t.Error("no campaign ever waited for room")
	}
}

// filled runs the child on the small disk until it ends or says that it waits;
// then it gives room, and the same process must go on to the end. Where it could
// not even begin, which a start without room may not, it is started again with
// room. It returns 1 where it waited.
func (r *rigged) filled(dir string, size int) int {
	r.t.Helper()
	cmd := r.command(r.t.Context())
	talk := &watched{waits: make(chan struct{}, 1)}
	cmd.Stderr = talk
	more := func() {
		if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
			r.t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	waited := make(chan int, 1)
	go func() {
		select {
		case <-talk.waits:
			r.rowsAreWhole(size)
			more()
			waited <- 1
		case <-ctx.Done():
			waited <- 0
		}
	}()
	ended := r.until(cmd, -1, nil)
	cancel()
	n := <-waited
	if !ended {
		// A pause that a person sees: the process ended, and goes on when started.
		if n > 0 || cmd.ProcessState.ExitCode() == childSuspect {
			r.t.Errorf("%d KiB: with room again it did not go on: %s", size, talk.text.String())
		}
		more()
	}
	return n
}

// rowsAreWhole looks at results.tsv while the disk is full.
func (r *rigged) rowsAreWhole(size int) { r.wholeFiles(fmt.Sprintf("%d KiB, full", size)) }

// watched is the talk of a child, and tells when it says that it waits for room.
type watched struct {
	text  strings.Builder
	waits chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.text.Write(p)
	if strings.Contains(string(p), "the disk is full") {
		select {
		case w.waits <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}
