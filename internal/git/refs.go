package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"loopd/internal/atomicfile"
)

// refLock is the lock file of a reference. It is also the reference's next content.
type refLock struct {
	path string // of the reference
	file *os.File
}

func lockRef(gitDir, name string) (*refLock, error) {
	path := filepath.Join(gitDir, filepath.FromSlash(name))
	if err := mkdirSynced(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, &LockedError{Path: path + ".lock"}
	}
	if err != nil {
		return nil, err
	}
	atomicfile.Failpoint("git.ref.locked")
	return &refLock{path: path, file: f}, nil
}

// mkdirSynced makes a directory and syncs each parent that gained one.
func mkdirSynced(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err := mkdirSynced(filepath.Dir(dir)); err != nil {
			return err
		}
		return mkdirSynced(dir)
	case err != nil:
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(dir))
}

func (l *refLock) commit(hash string) error {
	_, err := l.file.WriteString(hash + "\n")
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(err, l.release())
	}
	if err := l.file.Close(); err != nil {
		return errors.Join(err, os.Remove(l.file.Name()))
	}
	atomicfile.Failpoint("git.ref.written")
	if err := os.Rename(l.file.Name(), l.path); err != nil {
		return errors.Join(err, os.Remove(l.file.Name()))
	}
	atomicfile.Failpoint("git.ref.renamed")
	return atomicfile.SyncDir(filepath.Dir(l.path))
}

func (l *refLock) release() error {
	return errors.Join(l.file.Close(), os.Remove(l.file.Name()))
}

// readRef reads a reference as git would, except that a broken file counts as none: the value packed earlier is then
// in force, or there is no reference.
func readRef(gitDir string, store storer.ReferenceStorer, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, filepath.FromSlash(name)))
	hash := strings.TrimSpace(string(data))
	if err == nil && isHash(hash) {
		return hash, nil
	}
	if err == nil && len(data) > 0 && !strings.HasPrefix(hash, "ref: ") {
		return "", nil
	}
	ref, err := storer.ResolveReference(store, plumbing.ReferenceName(name))
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read reference %s: %w", name, err)
	}
	return ref.Hash().String(), nil
}

// brokenRef reports whether a reference's file is there but names nothing.
func brokenRef(path string) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		return false, nil
	}
	text := strings.TrimSpace(string(data))
	return err == nil && !isHash(text) && !strings.HasPrefix(text, "ref: "), err
}

func always(fs.FileInfo) bool { return true }

// sweep removes the files below dir whose name matches and for which stale holds.
func sweep(dir, pattern string, stale func(fs.FileInfo) bool) ([]string, error) {
	var removed []string
	err := walkFiles(dir, func(path string, d fs.DirEntry) error {
		if ok, err := filepath.Match(pattern, d.Name()); err != nil || !ok {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !stale(info) {
			return err
		}
		removed = append(removed, path)
		return os.Remove(path)
	})
	return removed, err
}

// walkFiles visits the regular files below dir, in order. Files may vanish while it walks.
func walkFiles(dir string, visit func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return visit(path, d)
	})
}
