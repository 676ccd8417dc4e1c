package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"loopd/harness"
)

// Bounds of what one import reads: a suite is text somebody wrote.
const (
	maxFile  = 4 << 20
	maxFiles = 5000
	maxTree  = 64 << 20
)

// source is the directory an import reads from. For a folder on disk it is the
// file system of an os.Root, which refuses a link that leads away.
type source struct{ fsys fs.FS }

// inside reports whether a path of a suite is relative and stays below.
func inside(name string) bool {
	return name != "" && !strings.Contains(name, `\`) && !filepath.IsAbs(name) && fs.ValidPath(path.Clean(name)) && !slices.Contains(strings.Split(name, "/"), "..")
}

// file reads one file that a suite names, below base.
func (s *source) file(base, name string) ([]byte, error) {
	if !inside(name) {
		return nil, fmt.Errorf("path %q leads out of the suite", shortPath(name))
	}
	return s.read(path.Join(base, path.Clean(name)))
}

// read reads a file by its path below the source.
func (s *source) read(name string) ([]byte, error) {
	info, err := fs.Stat(s.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file", name)
	case err != nil:
		return nil, fmt.Errorf("%s: not readable below the suite", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	return fs.ReadFile(s.fsys, name)
}

// exists reports whether a path below the source is there.
func (s *source) exists(name string) bool {
	_, err := fs.Stat(s.fsys, name)
	return err == nil
}

// tree reads a folder that becomes a fixture. Links are refused, as in any
// fixture.
func (s *source) tree(base, name string) (harness.Tree, error) {
	if !inside(name) {
		return nil, fmt.Errorf("path %q leads out of the suite", shortPath(name))
	}
	dir := path.Join(base, path.Clean(name))
	if info, err := fs.Stat(s.fsys, dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: no such folder", dir)
	}
	size, count := int64(0), 0
	err := fs.WalkDir(s.fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			size, count = size+info.Size(), count+1
		}
		if size > maxTree || count > maxFiles {
			return fmt.Errorf("%s: more than %d files or %d MiB", dir, maxFiles, maxTree>>20)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sub, err := fs.Sub(s.fsys, dir)
	if err != nil {
		return nil, err
	}
	t, err := harness.ReadTree(sub)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

// shortPath keeps a path in an error to one readable line.
func shortPath(name string) string {
	if len(name) > 60 {
		name = name[:60] + "…"
	}
	return name
}
