package git

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"

	"loopd/internal/atomicfile"
)

// syncFS makes go-git's way of storing an object (temporary file, close, rename) durable: a file is synced when it is
// closed and its directory when it is renamed. go-git itself syncs nothing.
type syncFS struct {
	billy.Filesystem
	root string
}

func newSyncFS(dir string) *syncFS { return &syncFS{Filesystem: osfs.New(dir), root: dir} }

// Create opens a new file that is synced when closed.
func (s *syncFS) Create(name string) (billy.File, error) { return s.wrap(s.Filesystem.Create(name)) }

// TempFile opens a new temporary file that is synced when closed.
func (s *syncFS) TempFile(dir, prefix string) (billy.File, error) {
	return s.wrap(s.Filesystem.TempFile(dir, prefix))
}

func (s *syncFS) wrap(f billy.File, err error) (billy.File, error) {
	if err != nil {
		return nil, err
	}
	return &syncFile{File: f, path: filepath.Join(s.root, f.Name())}, nil
}

// Rename moves a file and syncs the directory it moved to, and that directory's parent in case it is new.
func (s *syncFS) Rename(from, to string) error {
	atomicfile.Failpoint("git.object.written")
	if err := s.Filesystem.Rename(from, to); err != nil {
		return err
	}
	atomicfile.Failpoint("git.object.renamed")
	dir := filepath.Dir(filepath.Join(s.root, to))
	if err := atomicfile.SyncDir(dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(dir))
}

type syncFile struct {
	billy.File
	path string
}

// Close closes the file and syncs it. Syncing through a second descriptor is as good: it is the file that is synced.
func (f *syncFile) Close() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	return syncFileAt(f.path)
}

func syncFileAt(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync file: %w", err)
	}
	defer f.Close()
	return f.Sync()
}
