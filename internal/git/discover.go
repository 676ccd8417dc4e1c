package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place is where the parts of a user's repository are.
type place struct {
	root   string // of the worktree
	gitDir string // of this worktree
	common string // shared by all worktrees: objects, branches, configuration
	subdir string // from root to the directory that was asked for, "" when that is root
}

// discover finds the worktree that dir is in, as git does, without asking git.
func discover(dir string) (place, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return place{}, err
	}
	for root := abs; ; root = filepath.Dir(root) {
		dotGit := filepath.Join(root, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil:
			return placeAt(root, abs, dotGit, info)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return place{}, err
		case looksBare(root):
			return place{}, unsupported(root, "no worktree (it is bare)", "name a directory of a checkout")
		case filepath.Dir(root) == root:
			return place{}, &NotRepositoryError{Dir: dir}
		}
	}
}

func looksBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func placeAt(root, abs, dotGit string, info fs.FileInfo) (place, error) {
	p := place{root: root, gitDir: dotGit}
	if !info.IsDir() {
		target, err := readPointer(dotGit, "gitdir: ")
		if err != nil {
			return p, err
		}
		p.gitDir = target
	}
	p.common = p.gitDir
	shared, err := readPointer(filepath.Join(p.gitDir, "commondir"), "")
	switch {
	case err == nil:
		p.common = shared
	case !errors.Is(err, fs.ErrNotExist):
		return p, err
	}
	if _, err := os.Stat(filepath.Join(p.common, "objects")); err != nil {
		return p, &NotRepositoryError{Dir: root}
	}
	sub, err := filepath.Rel(root, abs)
	if p.subdir = filepath.ToSlash(sub); p.subdir == "." {
		p.subdir = ""
	}
	return p, err
}

// readPointer reads a file that holds one path, relative to the file's own directory or absolute.
func readPointer(path, prefix string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || target == "" {
		return "", fmt.Errorf("%s does not name a directory", path)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return filepath.Clean(target), nil
}
