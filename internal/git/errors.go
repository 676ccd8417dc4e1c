package git

import (
	"errors"
	"fmt"

	"loopd/internal/hint"
)

// ErrNoCommit says that HEAD names a branch that has no commit yet.
var ErrNoCommit = errors.New("the current branch has no commit yet")

// ErrNoGit says that the git program is not installed.
var ErrNoGit = errors.New("git is not on the PATH")

// NotRepositoryError says that no git repository was found.
type NotRepositoryError struct {
	Dir string
}

// Error names the directory.
func (e *NotRepositoryError) Error() string {
	return fmt.Sprintf("%s is not in a git repository", e.Dir)
}

// Exit returns the code of wrong usage.
func (e *NotRepositoryError) Exit() int { return hint.Usage }

// Hint returns the command that makes one.
func (e *NotRepositoryError) Hint() string { return "git init" }

// ConflictError says that a reference does not have the value its writer expected. An empty value means that the
// reference does not exist.
type ConflictError struct {
	Ref, Want, Got string
}

// Error names the reference and both values.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is %s, expected %s", e.Ref, orAbsent(e.Got), orAbsent(e.Want))
}

func orAbsent(hash string) string {
	if hash == "" {
		return "absent"
	}
	return hash
}

// LockedError says that someone else holds the lock file of a reference.
type LockedError struct {
	Path string
}

// Error names the lock file.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s exists: another git process is at work, or one was killed", e.Path)
}

// CheckedOutError says that a worktree has a branch checked out, so that moving it would make that worktree dirty.
type CheckedOutError struct {
	Ref, HeadFile string
}

// Error names the branch and the HEAD file that points to it.
func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("%s is checked out (%s)", e.Ref, e.HeadFile)
}
