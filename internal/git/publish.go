package git

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

// Publish copies a commit from the private repository and makes a branch under refs/heads/loopd/ name it, provided
// that the branch names old now; an empty old means that it must not exist. A branch that already names the commit is
// left alone, so that a step cut short can be repeated. A branch file that a crash left broken counts as absent.
func (u *User) Publish(ctx context.Context, from *Private, hash, ref, old string) error {
	if err := u.publish(ctx, from, hash, ref, old); err != nil {
		return fmt.Errorf("publish %s: %w", ref, err)
	}
	return nil
}

func (u *User) publish(ctx context.Context, from *Private, hash, ref, old string) error {
	h, err := parseHash(hash)
	if err != nil {
		return err
	}
	if done, err := u.prepare(ref, hash, old); done || err != nil {
		return err
	}
	bases, err := from.bases()
	if err != nil {
		return err
	}
	d := newDiffer(from.store(), openReadOnly(u.place))
	if err := d.commits(h, bases); err != nil {
		return err
	}
	if err := send(ctx, u.git, d.from, d.missing); err != nil {
		return err
	}
	atomicfile.Failpoint("git.publish.sent")
	if old == "" {
		return u.updateRef(ctx, ref, old, "create %s %s\n", ref, hash)
	}
	return u.updateRef(ctx, ref, old, "update %s %s %s\n", ref, hash, old)
}

// prepare checks a change of a reference before anything is written, and reports whether it is done already.
func (u *User) prepare(ref, hash, old string) (done bool, err error) {
	if err := checkRef(ref, PublishedPrefix); err != nil {
		return false, err
	}
	if err := u.repair(ref); err != nil {
		return false, err
	}
	got, err := u.Ref(ref)
	switch {
	case err != nil:
		return false, err
	case got == hash:
		return true, nil
	case got != old:
		return false, &ConflictError{Ref: ref, Want: old, Got: got}
	case old == "":
		return false, nil
	}
	return false, u.notCheckedOut(ref)
}

// repair removes the file of a broken reference, under the lock git would take, because git refuses to replace it.
func (u *User) repair(ref string) error {
	path := filepath.Join(u.place.common, filepath.FromSlash(ref))
	if broken, err := brokenRef(path); err != nil || !broken {
		return err
	}
	lock, err := lockRef(u.place.common, ref)
	if err != nil {
		return err
	}
	broken, err := brokenRef(path) // it may have been repaired while we waited
	if err == nil && broken {
		err = os.Remove(path)
	}
	return errors.Join(err, lock.release())
}

// notCheckedOut refuses a branch that HEAD of some worktree points to.
func (u *User) notCheckedOut(ref string) error {
	heads, err := filepath.Glob(filepath.Join(escapeGlob(u.place.common), "worktrees", "*", "HEAD"))
	if err != nil {
		return err
	}
	for _, head := range append(heads, filepath.Join(u.place.common, "HEAD")) {
		data, err := os.ReadFile(head)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if strings.TrimSpace(string(data)) == "ref: "+ref {
			return &CheckedOutError{Ref: ref, HeadFile: head}
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// updateRef has git change one reference, compare-and-swap, without hooks and without a reflog. When git refuses, the
// error says why as far as the repository itself shows it.
func (u *User) updateRef(ctx context.Context, ref, old, format string, args ...any) error {
	_, err := u.git(ctx, strings.NewReader(fmt.Sprintf(format, args...)), "update-ref", "--no-deref", "--stdin")
	atomicfile.Failpoint("git.publish.done")
	if err == nil {
		return nil
	}
	if got, readErr := u.Ref(ref); readErr == nil && got != old {
		return fmt.Errorf("%w: %w", &ConflictError{Ref: ref, Want: old, Got: got}, err)
	}
	lock := filepath.Join(u.place.common, filepath.FromSlash(ref)) + ".lock"
	for _, path := range []string{lock, filepath.Join(u.place.common, "packed-refs.lock")} {
		if _, statErr := os.Lstat(path); statErr == nil {
			return fmt.Errorf("%w: %w", &LockedError{Path: path}, err)
		}
	}
	return err
}
