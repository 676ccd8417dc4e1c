package frozen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loopd/internal/atomicfile"
)

// Materialise writes the files of fsys to a new directory dir, which appears
// whole or not at all. Embedding and copying lose permissions, so modes says
// which files are executable (nil: none); on disk files are 0644 or 0755 and
// directories 0755 whatever the umask. A dir that exists is left alone and the
// error wraps fs.ErrExist. Only one caller at a time may write a given dir:
// leftovers of an interrupted one are removed first.
func Materialise(fsys fs.FS, modes func(path string) fs.FileMode, dir string) error {
	if err := materialise(fsys, modes, filepath.Clean(dir), nil); err != nil {
		return fmt.Errorf("materialise %s: %w", dir, err)
	}
	return nil
}

// LayOut does the same with a suite and seals it before it appears: a crash leaves
// none, or one that is sealed.
func LayOut(ctx context.Context, fsys fs.FS, dir string) error {
	seal := func(temp string) error {
		_, err := Seal(ctx, temp)
		return err
	}
	if err := materialise(fsys, nil, filepath.Clean(dir), seal); err != nil {
		return fmt.Errorf("lay out %s: %w", dir, err)
	}
	return nil
}

func materialise(fsys fs.FS, modes func(path string) fs.FileMode, dir string, finish func(temp string) error) error {
	if _, err := os.Lstat(dir); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent, prefix := filepath.Dir(dir), "."+filepath.Base(dir)+".partial-"
	if err := sweep(parent, prefix); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return writeEntry(fsys, modes, temp, path, d)
	}); err != nil {
		return err
	}
	if finish != nil {
		if err := finish(temp); err != nil {
			return err
		}
	}
	if err := syncDirs(temp); err != nil {
		return err
	}
	atomicfile.Failpoint("materialise.written")
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	atomicfile.Failpoint("materialise.renamed")
	return atomicfile.SyncDir(parent)
}

func sweep(parent, prefix string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeEntry(fsys fs.FS, modes func(path string) fs.FileMode, root, path string, d fs.DirEntry) error {
	target := filepath.Join(root, filepath.FromSlash(path))
	if d.IsDir() {
		if path != "." {
			if err := os.Mkdir(target, 0o755); err != nil {
				return err
			}
		}
		return os.Chmod(target, 0o755)
	}
	if !d.Type().IsRegular() {
		return &RefusedError{Path: path, Why: "only files and directories can be written"}
	}
	data, err := fs.ReadFile(fsys, path)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if modes != nil && modes(path)&0o111 != 0 {
		mode = 0o755
	}
	return writeSynced(target, data, mode)
}

func writeSynced(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

func syncDirs(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return atomicfile.SyncDir(path)
	})
}
