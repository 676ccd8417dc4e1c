package trial_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loopd/harness"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// smallDisk is a file system of its own with that much room, or a skip.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := testenv.OpenDir(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size+",mode=0755"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		// A child between fork and exec holds every file that is open here.
		syscall.ForkLock.Lock()
		defer syscall.ForkLock.Unlock()
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill takes all the room there is; removing the file gives it back.
func fill(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "full"))
	testenv.Must(t, err)
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: got %v, want no space left", err)
	}
	return f.Name()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestRun_DiskFull has a real file system run full at each place where a trial
// writes. The attempt is void, and the next one, with room, is evidence.
func TestRun_DiskFull(t *testing.T) {
	t.Parallel()
	noise := harness.Step{Bash: "head -c 21000 /dev/urandom | base64 -w 60"}
	loud := []harness.Step{noise, noise, noise, noise, noise, {Text: "Done."}}
	big := []harness.Step{{Bash: "head -c 900000 /dev/urandom > big.bin"}, {Text: "Done."}}
	for name, c := range map[string]struct {
		size  string
		place func(t *testing.T, b *bench, dir string)
		full  bool // before the trial; else the trial fills it
		steps []harness.Step
		begun bool // the session began: some of its stream is kept
	}{
		"before the sandbox":    {size: "4m", place: atSandboxes, full: true},
		"in the sandbox":        {size: "100k", place: atSandboxes},
		"before the attempt":    {size: "4m", place: atStore, full: true},
		"in the transcript":     {size: "64k", place: atStore, steps: loud, begun: true},
		"in the kept end state": {size: "512k", place: atStore, steps: big, begun: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			dir := smallDisk(t, c.size)
			c.place(t, b, dir)
			if c.full {
				full := fill(t, dir)
				t.Cleanup(func() { os.Remove(full) })
			}
			got := b.one("N1", play{steps: c.steps})
			b.wantInvalid(got, harness.Disk)
			if !strings.Contains(got.Why, dir) {
				t.Errorf("why: got %q, want the place", got.Why)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "trials", got.ID, "transcript.jsonl")); c.begun && (err != nil || len(data) == 0) {
				t.Errorf("the stream so far is not kept: %v", err)
			}
			b.wantClean(got)
		})
	}
}

func atSandboxes(t *testing.T, b *bench, dir string) {
	t.Helper()
	b.o.Sandboxes = filepath.Join(dir, "boxes")
	testenv.Must(t, os.Mkdir(b.o.Sandboxes, 0o755))
}

func atStore(_ *testing.T, b *bench, dir string) { b.o.Store = filepath.Join(dir, "trials") }

// TestRun_DiskFullAndFreed runs the same slot once without room and once with.
func TestRun_DiskFullAndFreed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := smallDisk(t, "4m")
	atStore(t, b, dir)
	full := fill(t, dir)
	b.wantInvalid(b.one("N1", play{}), harness.Disk)
	testenv.Must(t, os.Remove(full))
	if got := b.one("N1", play{}); got.Class != harness.Valid {
		t.Errorf("with room: got %s: %s, want valid", got.Class, got.Why)
	}
}

// TestRun_OtherDiskErrors keeps errors errors.
func TestRun_OtherDiskErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spec := b.spec("N1", "haiku", 1, play{lay: func(*isolate.Box) error { return syscall.EIO }})
	if got, err := b.executor("N1").Run(t.Context(), spec); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %s, %v, want the error", got.Class, err)
	}
}
