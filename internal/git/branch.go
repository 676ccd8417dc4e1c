package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Branches is where the branches of a repository are.
const Branches = "refs/heads/"

// WriteBranch stores a commit in the user's repository and makes a new branch name it, at its owner's word. Base and
// Parents are commits of that repository. A branch that exists gives a *ConflictError, also where it names this very
// commit; a name under loopd/ is refused, for those come and go with campaigns.
func (u *User) WriteBranch(ctx context.Context, c Commit, name string) (string, error) {
	ref, err := u.newBranch(ctx, name)
	if err != nil {
		return "", fmt.Errorf("write branch %q: %w", name, err)
	}
	store := &overlay{readOnly: openReadOnly(u.place), fresh: map[plumbing.Hash]plumbing.EncodedObject{}}
	hash, err := c.store(store)
	if err != nil {
		return "", fmt.Errorf("write branch %q: %w", name, err)
	}
	if err := send(ctx, u.git, store, store.order); err != nil {
		return "", fmt.Errorf("write branch %q: %w", name, err)
	}
	if err := u.updateRef(ctx, ref, "", "create %s %s\n", ref, hash.String()); err != nil {
		return "", fmt.Errorf("write branch %q: %w", name, err)
	}
	return hash.String(), nil
}

// newBranch says under which reference a branch of this name may be made.
func (u *User) newBranch(ctx context.Context, name string) (string, error) {
	ref := Branches + name
	switch err := checkRef(ref, Branches); {
	case err != nil || name == "HEAD" || strings.HasPrefix(name, "-"):
		return "", &BranchNameError{Name: name, Why: "git takes no such name"}
	case strings.HasPrefix(ref+"/", PublishedPrefix):
		return "", &BranchNameError{Name: name, Why: "branches under loopd/ are loopd's own"}
	}
	got, err := u.Ref(ref)
	if err != nil {
		return "", err
	}
	if got != "" {
		return "", &ConflictError{Ref: ref, Got: got}
	}
	for above := path.Dir(ref); above+"/" != Branches; above = path.Dir(above) {
		if got, err := u.Ref(above); err != nil || got != "" {
			return "", errors.Join(err, &BranchNameError{Name: name, Why: "the branch " + strings.TrimPrefix(above, Branches) + " is in its way"})
		}
	}
	below, err := u.git(ctx, nil, "for-each-ref", "--count=1", "--format=%(refname)", ref+"/")
	if err != nil {
		return "", err
	}
	if other := strings.TrimSpace(string(below)); other != "" {
		return "", &BranchNameError{Name: name, Why: "the branch " + strings.TrimPrefix(other, Branches) + " is in its way"}
	}
	return ref, u.notCheckedOut(ref) // a worktree may be on a branch that has no commit yet
}

// BranchNameError says why a branch cannot have a name.
type BranchNameError struct{ Name, Why string }

// Error says why; what was being done names the branch.
func (e *BranchNameError) Error() string { return e.Why }

// overlay reads the user's objects and keeps new ones in memory until git is given them.
type overlay struct {
	readOnly
	fresh map[plumbing.Hash]plumbing.EncodedObject
	order []plumbing.Hash
}

// SetEncodedObject keeps an object.
func (o *overlay) SetEncodedObject(obj plumbing.EncodedObject) (plumbing.Hash, error) {
	h := obj.Hash()
	if _, known := o.fresh[h]; !known {
		o.fresh[h], o.order = obj, append(o.order, h)
	}
	return h, nil
}

// EncodedObject looks among the new objects first.
func (o *overlay) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	if obj, ok := o.fresh[h]; ok && (t == plumbing.AnyObject || t == obj.Type()) {
		return obj, nil
	}
	return o.readOnly.EncodedObject(t, h)
}

// HasEncodedObject looks among the new objects first.
func (o *overlay) HasEncodedObject(h plumbing.Hash) error {
	if _, ok := o.fresh[h]; ok {
		return nil
	}
	return o.readOnly.HasEncodedObject(h)
}

// EncodedObjectSize looks among the new objects first.
func (o *overlay) EncodedObjectSize(h plumbing.Hash) (int64, error) {
	if obj, ok := o.fresh[h]; ok {
		return obj.Size(), nil
	}
	return o.readOnly.EncodedObjectSize(h)
}
