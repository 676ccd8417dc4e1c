package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"loopd/internal/atomicfile"
)

// lockOf prepares the lock of a box: the directory itself is locked, so no
// lock file lies about for a session to wonder at.
func lockOf(root string) *flock.Flock {
	return flock.New(root, flock.SetFlag(os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW))
}

// sameDir reports whether the locked directory is still the one at its path.
func sameDir(lock *flock.Flock, root string) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(root)
	return err == nil && os.SameFile(held, now)
}

// Sweep removes the boxes that earlier, now dead, processes left in base
// (os.TempDir() when empty) and returns how many. A box is known by its name
// and by nobody holding its lock; everything else in base is left alone.
func Sweep(base string) (int, error) {
	if base == "" {
		base = os.TempDir()
	}
	entries, err := os.ReadDir(base)
	removed := 0
	for _, e := range entries {
		if e.IsDir() && isBoxName(e.Name()) {
			ok, removeErr := sweepOne(filepath.Join(base, e.Name()))
			if ok {
				removed++
			}
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return removed, fmt.Errorf("sweep sandboxes: %w", err)
	}
	return removed, nil
}

func sweepOne(root string) (bool, error) {
	lock := lockOf(root)
	locked, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its owner removed it meanwhile
	}
	if err != nil || !locked {
		return false, err
	}
	defer lock.Close()
	atomicfile.Failpoint("sandbox.swept")
	err = removeAll(root)
	return err == nil, err
}

// removeAll deletes a directory. A session may have left directories that even
// their owner cannot empty: those are opened up, without following a link, and
// the removal is tried again.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	err = fs.WalkDir(parent.FS(), filepath.Base(dir), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = parent.Chmod(name, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
