package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// User is the user's repository. All of it can be read; what can be written is said in the package comment.
type User struct {
	place place
}

// Head is what the user's worktree has checked out.
type Head struct {
	Commit   string
	Branch   string // full name, empty when Detached
	Detached bool
}

// OpenUser finds the repository that dir is in. No repository gives a *NotRepositoryError; for one of a kind that loopd
// cannot work with the error says what would help.
func OpenUser(dir string) (*User, error) {
	p, err := discover(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	if err := checkSupported(p); err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	if _, err := openReadOnly(p).Reference(plumbing.HEAD); errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, fmt.Errorf("open repository: %w", &NotRepositoryError{Dir: dir})
	} else if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", p.root, err)
	}
	return &User{place: p}, nil
}

// Root is the top of the worktree.
func (u *User) Root() string { return u.place.root }

// Subdir is the path from Root to the directory that OpenUser was given, with slashes; "" when it is Root itself.
func (u *User) Subdir() string { return u.place.subdir }

// Head says what is checked out. A branch without a commit gives ErrNoCommit.
func (u *User) Head() (Head, error) {
	store := openReadOnly(u.place)
	ref, err := store.Reference(plumbing.HEAD)
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if ref.Type() == plumbing.HashReference {
		return Head{Commit: ref.Hash().String(), Detached: true}, nil
	}
	branch := ref.Target().String()
	commit, err := readRef(u.place.common, store, branch)
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if commit == "" {
		return Head{Branch: branch}, fmt.Errorf("read HEAD: %s: %w", branch, ErrNoCommit)
	}
	return Head{Commit: commit, Branch: branch}, nil
}

// Tree returns the files of a commit below subdir, named from there. The worktree is not looked at, so that no
// attribute or filter of the user's changes what is read.
func (u *User) Tree(commit, subdir string) (map[string]File, error) {
	files, err := readTree(openReadOnly(u.place), commit, subdir)
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	return files, nil
}

// Ref returns the hash a reference names, or "" when there is none or a crash left it broken.
func (u *User) Ref(name string) (string, error) {
	if err := checkRef(name, "refs/"); err != nil {
		return "", fmt.Errorf("read reference: %w", err)
	}
	return readRef(u.place.common, openReadOnly(u.place), name)
}

// SweepLocks removes lock files under refs/heads/loopd/ that were last touched before the given time, and names them.
// Unlike in the private repository another git may hold one right now, if only for moments: pass a time well past.
func (u *User) SweepLocks(before time.Time) ([]string, error) {
	stale := func(info fs.FileInfo) bool { return info.ModTime().Before(before) }
	removed, err := sweep(filepath.Join(u.place.common, filepath.FromSlash(PublishedPrefix)), "*.lock", stale)
	if err != nil {
		return removed, fmt.Errorf("sweep locks: %w", err)
	}
	return removed, nil
}
