package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/go-git/go-git/v5/storage/transactional"
)

// Branches is where the branches of a repository are.
const Branches = "refs/heads/"

// WriteBranch stores a commit in the user's repository and makes a new branch name it, at its owner's word. Base and
// Parents are commits of that repository. A branch that exists gives a *ConflictError, also where it names this very
// commit; a name under loopd/ is refused, for those come and go with campaigns.
func (u *User) WriteBranch(ctx context.Context, c Commit, name string) (string, error) {
	hash, err := u.writeBranch(ctx, c, name)
	if err != nil {
		return "", fmt.Errorf("write branch %q: %w", name, err)
	}
	return hash.String(), nil
}

func (u *User) writeBranch(ctx context.Context, c Commit, name string) (hash plumbing.Hash, err error) {
	ref, err := u.newBranch(ctx, name)
	if err != nil {
		return hash, err
	}
	fresh := memory.NewStorage() // new objects stay in memory until git is given them
	store := transactional.NewObjectStorage(openReadOnly(u.place), &fresh.ObjectStorage)
	if hash, err = c.store(store); err != nil {
		return hash, err
	}
	if err := send(ctx, u.git, store, slices.Collect(maps.Keys(fresh.Objects))); err != nil {
		return hash, err
	}
	return hash, u.updateRef(ctx, ref, "", "create %s %s\n", ref, hash)
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
