package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"loopd/internal/atomicfile"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	return checkAccess(dir, dirMode)
}

// checkAccess refuses what other users can reach. It does not repair: somebody
// opened it on purpose or by mistake, and either way should know.
func checkAccess(path string, want fs.FileMode) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&^want != 0 {
		return &AccessError{Path: path, Mode: mode, Want: want}
	}
	return nil
}

func checkExisting(dir, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &MissingError{Path: path}
	}
	if err := checkAccess(dir, dirMode); err != nil {
		return err
	}
	return checkAccess(path, fileMode)
}

// createFile makes the empty database file, because SQLite would let others
// read it. The files SQLite adds beside it take over its mode.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return checkAccess(path, fileMode)
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	atomicfile.Failpoint("ledger.created")
	return atomicfile.SyncDir(filepath.Dir(path))
}

// Lock is a lock in a state directory that this process holds.
type Lock struct{ file *flock.Flock }

// Hold takes a lock in a state directory by its file's name, or returns a
// *LockedError. The kernel frees it when the process dies, however it dies; the
// number in the file is only there to be shown.
func Hold(dir, name string) (*Lock, error) {
	path := filepath.Join(dir, name)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(fileMode))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, errors.Join(&LockedError{Dir: dir, PID: holder(path)}, lock.Close())
	}
	atomicfile.Failpoint("ledger.locked")
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), fileMode); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Lock{lock}, nil
}

// Release wipes the number first, so that the next holder is not mistaken for
// this one. The file stays: removing it would let two processes lock two files.
func (l *Lock) Release() error { return errors.Join(os.Truncate(l.file.Path(), 0), l.file.Close()) }

// holder is the number of the process that holds a lock, 0 where it has not
// written it down within a moment.
func holder(path string) int {
	for range 20 {
		if pid := written(path); pid != 0 {
			return pid
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0
}

func written(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
