// Package atomicfile replaces whole files so that a reader, or a machine that
// lost power, sees either the old content or the new, never a part of one.
//
// It refuses to append and to edit in place; records that grow belong in the
// ledger. Invariants: when WriteFile returns nil the content and the name are
// both on stable storage and the mode is exactly the one asked for; when it
// returns an error the old file is untouched and no temporary file is left.
// A kill between the two leaves at most one hidden file named after the target
// beside it, which Sweep removes.
//
// Failpoint names the steps at which tests kill loopd. Unless the environment
// variable LOOPD_CRASH is set it compares a pointer with nil and returns.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/google/renameio/v2"
)

// WriteFile atomically replaces the file at path with data and the given
// permission bits, whatever the umask is and whatever stood there before.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := replace(dir, path, data, mode.Perm()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	Failpoint("atomicfile.renamed")
	err := SyncDir(dir)
	Failpoint("atomicfile.synced")
	return err
}

// replace does not use renameio's own WriteFile, which keeps the permissions of
// the file it replaces. The temporary file must be beside the target: the
// default may choose the system's temporary directory, which is often memory.
func replace(dir, path string, data []byte, perm fs.FileMode) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir),
		renameio.WithPermissions(perm), renameio.WithStaticPermissions(perm))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(data); err != nil {
		return err
	}
	Failpoint("atomicfile.written")
	return f.CloseAtomicallyReplace()
}

// CreateFile makes a new file of what write writes, whole or not at all. A file
// that is already there stays as it is, and the error is fs.ErrExist.
func CreateFile(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	out := bufio.NewWriterSize(f, 1<<16)
	err = errors.Join(write(out), out.Flush(), f.Chmod(mode.Perm()), f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path) // unlike a rename it fails where something is
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return SyncDir(dir)
}

// SyncDir makes the names in dir durable: a rename that is not followed by it
// can be undone by a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// temporary is the name of a file that a WriteFile which was killed left: a dot,
// the name of the target, and a random number.
var temporary = regexp.MustCompile(`^\.(.+?)([0-9]{12,19})$`)

// Sweep removes what WriteFile left in dir when it was killed, for the target of
// that name, or for any when the name is empty. The caller sees to it that nobody
// writes there meanwhile. A dir that does not exist holds nothing.
func Sweep(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep temporary files: %w", err)
	}
	var errs []error
	for _, e := range entries {
		m := temporary.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() || name != "" && m[1] != name {
			continue
		}
		errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sweep temporary files: %w", err)
	}
	return nil
}
