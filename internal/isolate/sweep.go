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
	if err != nil {
		return 0, fmt.Errorf("sweep sandboxes: %w", err)
	}
	removed := 0
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !isBoxName(e.Name()) {
			continue
		}
		ok, err := sweepOne(filepath.Join(base, e.Name()))
		if ok {
			removed++
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
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
	if err := removeAll(root); err != nil {
		return false, err
	}
	return true, nil
}

// removeAll deletes a directory. A session may have left directories that even
// their owner cannot empty; those are opened up and the removal tried again.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := openUp(parent, filepath.Base(dir)); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// openUp gives the owner all rights to the directory and those below it. It
// never follows a link: os.Root would refuse one leading out, and one leading
// inside ends at a directory that is opened up anyway.
func openUp(parent *os.Root, name string) error {
	if err := parent.Chmod(name, 0o700); err != nil {
		return err
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() {
			errs = append(errs, openUp(dir, e.Name()))
		}
	}
	return errors.Join(errs...)
}
