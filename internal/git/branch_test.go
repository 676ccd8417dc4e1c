package git

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// ownBranch are the parts of .git that a new branch may change: nothing else.
var ownBranch = []string{".git/objects", ".git/refs/heads/better-words"}

// squashed is one commit on HEAD with another text in the plugin.
func squashed(t *testing.T, u *User) Commit {
	t.Helper()
	head, err := u.Head()
	testenv.Must(t, err)
	tree, err := u.Tree(head.Commit, "tools/plugin")
	testenv.Must(t, err)
	tree["skills/one/SKILL.md"] = File{Mode: Regular, Data: []byte("better\n")}
	return Commit{
		Base: head.Commit, Subdir: "tools/plugin", Tree: tree, Parents: []string{head.Commit},
		AuthorName: "loopd", AuthorEmail: "loopd@localhost", Time: time.Unix(1700000000, 0), Message: "better words\n\nCampaign: c-1\n",
	}
}

func TestWriteBranchLeavesTheUsersWorkAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"clean": func(*testing.T, string) {},
		"dirty": func(t *testing.T, dir string) {
			testenv.WriteMode(t, filepath.Join(dir, "README"), "edited\n", 0o600)
			testenv.Git(t, dir, "add", "README")
			testenv.WriteMode(t, filepath.Join(dir, "tools/plugin/skills/one/SKILL.md"), "edited again\n", 0o600)
		},
		"detached": func(t *testing.T, dir string) { testenv.Git(t, dir, "checkout", "-q", "--detach", "HEAD~1") },
		"reflogs":  func(t *testing.T, dir string) { testenv.Git(t, dir, "config", "core.logAllRefUpdates", "always") },
		"packed":   func(t *testing.T, dir string) { testenv.Git(t, dir, "gc", "-q") },
		"hooks":    hooks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := userRepo(t)
			prepare(t, dir)
			u := openUser(t, dir)
			before := testenv.Snapshot(t, dir, ownBranch...)
			hash, err := u.WriteBranch(t.Context(), squashed(t, u), "better-words")
			testenv.Must(t, err)
			testenv.Same(t, "repository", before, testenv.Snapshot(t, dir, ownBranch...))
			if got := testenv.Git(t, dir, "rev-parse", "better-words"); got != hash {
				t.Errorf("git reads %s, want %s", got, hash)
			}
			if got := testenv.Git(t, dir, "diff", "--name-only", "HEAD", hash); got != "tools/plugin/skills/one/SKILL.md" {
				t.Errorf("the branch changes %q", got)
			}
			if got := testenv.Git(t, dir, "rev-list", "--count", "HEAD.."+hash); got != "1" {
				t.Errorf("the branch adds %s commits, want one", got)
			}
			fsck(t, dir)
		})
	}
}

func TestWriteBranchIsTheCommitOfThePrivateRepository(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	c := squashed(t, u)
	testenv.Must(t, p.Import(t.Context(), u, c.Base))
	want, err := p.WriteCommit(c)
	testenv.Must(t, err)
	if got, err := u.WriteBranch(t.Context(), c, "better-words"); err != nil || got != want {
		t.Errorf("got %s and error %v, want %s", got, err, want)
	}
}

func TestWriteBranchRefuses(t *testing.T) {
	t.Parallel()
	dir, linked := userRepo(t), filepath.Join(t.TempDir(), "linked")
	testenv.Git(t, dir, "branch", "taken")
	testenv.Git(t, dir, "branch", "above/below")
	testenv.Git(t, dir, "worktree", "add", "-q", "--detach", linked)
	testenv.Git(t, linked, "symbolic-ref", "HEAD", "refs/heads/unborn")
	u := openUser(t, dir)
	before := testenv.Snapshot(t, dir)
	for name, test := range map[string]func(error) bool{
		"taken":       func(err error) bool { _, ok := errors.AsType[*ConflictError](err); return ok },
		"trunk":       func(err error) bool { _, ok := errors.AsType[*ConflictError](err); return ok },
		"unborn":      func(err error) bool { _, ok := errors.AsType[*CheckedOutError](err); return ok },
		"taken/below": badName, "above": badName, "loopd/x": badName, "loopd": badName, "HEAD": badName, "-d": badName, "": badName, "a b": badName,
		"../tags/x": badName, "x.lock": badName, "a\ndelete refs/heads/trunk": badName,
	} {
		if hash, err := u.WriteBranch(t.Context(), squashed(t, u), name); err == nil || !test(err) {
			t.Errorf("%q: got %q and error %v", name, hash, err)
		}
	}
	c := squashed(t, u)
	c.Base = strings.Repeat("1", 40)
	if _, err := u.WriteBranch(t.Context(), c, "fresh"); err == nil || !strings.Contains(err.Error(), "is not in the repository") {
		t.Errorf("a base that is not there: %v", err)
	}
	testenv.Same(t, "repository", before, testenv.Snapshot(t, dir))
}

func badName(err error) bool { _, ok := errors.AsType[*BranchNameError](err); return ok }
