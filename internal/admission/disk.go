package admission

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"loopd/harness"
	"loopd/loop"
)

// Disk starts no session while there is less free space than Floor, so that a
// disk that fills up pauses the campaign before anything is cut short.
type Disk struct {
	Floor uint64   // bytes
	Dirs  []string // where sessions and the ledger write
	// Free is the space an ordinary user may still fill; nil for FreeBytes.
	Free func(dir string) (uint64, error)
}

// FreeBytes is the space an ordinary user may still fill on the disk of dir.
func FreeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// May returns a *loop.HoldError where there is too little space. What cannot be
// told counts as enough.
func (d Disk) May() error {
	free := d.Free
	if free == nil {
		free = FreeBytes
	}
	for _, dir := range d.Dirs {
		for !exists(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		if n, err := free(dir); err == nil && n < d.Floor {
			reason := fmt.Sprintf("disk: %s free at %s, disk_floor is %s", Bytes(n), dir, Bytes(d.Floor))
			return &loop.HoldError{Paused: loop.Paused{Reason: reason, Class: harness.Disk}}
		}
	}
	return nil
}

// Bytes writes a number of bytes for people.
func Bytes(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
