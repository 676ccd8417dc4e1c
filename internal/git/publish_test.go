package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/internal/testenv"
)

const branch = "refs/heads/loopd/night/c001-12345678"

// untouched are the parts of .git that publishing may change: nothing else.
var untouched = []string{".git/objects", ".git/refs/heads/loopd"}

func hooks(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"reference-transaction", "pre-commit", "post-commit", "update", "post-checkout", "post-index-change", "pre-auto-gc"} {
		testenv.WriteMode(t, filepath.Join(dir, ".git/hooks", name), "#!/bin/sh\necho ran >> \"$(dirname \"$0\")/../ran\"\nexit 1\n", 0o755)
	}
}

func TestPublishLeavesTheUsersWorkAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"clean": func(*testing.T, string) {},
		"dirty": func(t *testing.T, dir string) {
			testenv.WriteMode(t, filepath.Join(dir, "README"), "edited\n", 0o600)
			testenv.Write(t, filepath.Join(dir, "new file"), "untracked\n")
			testenv.Git(t, dir, "add", "README")
			testenv.WriteMode(t, filepath.Join(dir, "README"), "edited again\n", 0o600)
		},
		"detached":   func(t *testing.T, dir string) { testenv.Git(t, dir, "checkout", "-q", "--detach", "HEAD~1") },
		"index lock": func(t *testing.T, dir string) { testenv.WriteMode(t, filepath.Join(dir, ".git/index.lock"), "", 0o644) },
		"HEAD lock":  func(t *testing.T, dir string) { testenv.WriteMode(t, filepath.Join(dir, ".git/HEAD.lock"), "", 0o644) },
		"reflogs":    func(t *testing.T, dir string) { testenv.Git(t, dir, "config", "core.logAllRefUpdates", "always") },
		"packed":     func(t *testing.T, dir string) { testenv.Git(t, dir, "tag", "v1"); testenv.Git(t, dir, "gc", "-q") },
		"hooks":      hooks,
		"hooks path": func(t *testing.T, dir string) {
			hooks(t, dir)
			testenv.Git(t, dir, "config", "core.hooksPath", ".git/hooks")
		},
		"gc wanted": func(t *testing.T, dir string) { testenv.Git(t, dir, "config", "gc.auto", "1") },
		"merging": func(t *testing.T, dir string) {
			testenv.Git(t, dir, "checkout", "-q", "-b", "side", "HEAD~1")
			testenv.Write(t, filepath.Join(dir, "README"), "another\n")
			testenv.Git(t, dir, "commit", "-q", "-a", "-m", "side")
			if _, err := testenv.TryGit(t, dir, "merge", "trunk"); err == nil {
				t.Fatal("the merge was meant to conflict")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := userRepo(t)
			prepare(t, dir)
			publishFrom(t, dir, dir)
		})
	}
}

func TestPublishFromALinkedWorktree(t *testing.T) {
	t.Parallel()
	dir, linked := userRepo(t), filepath.Join(t.TempDir(), "linked")
	testenv.Git(t, dir, "worktree", "add", "-q", "-b", "side", linked)
	testenv.Write(t, filepath.Join(linked, "README"), "edited in the linked one\n")
	publishFrom(t, dir, linked)
}

// publishFrom publishes from where the worktree at is, and looks at main before and after.
func publishFrom(t *testing.T, main, at string) {
	t.Helper()
	u, p := openUser(t, at), newPrivate(t)
	before, beforeAt := testenv.Snapshot(t, main, untouched...), testenv.Snapshot(t, at, ".git")
	hash := candidate(t, p, u, "new words\n")
	testenv.Same(t, "repository after the import", before, testenv.Snapshot(t, main, untouched...))
	testenv.Must(t, u.Publish(t.Context(), p, hash, branch, ""))
	testenv.Same(t, "repository after publishing", before, testenv.Snapshot(t, main, untouched...))
	if got, err := u.Ref(branch); err != nil || got != hash {
		t.Errorf("got %s and error %v, want %s", got, err, hash)
	}
	if got := testenv.Git(t, main, "rev-parse", branch); got != hash {
		t.Errorf("git reads %s, want %s", got, hash)
	}
	if got := testenv.Git(t, main, "diff", "--name-only", hash+"~", hash); got != "tools/plugin/skills/one/SKILL.md" {
		t.Errorf("the branch changes %q", got)
	}
	testenv.Same(t, "worktree", beforeAt, testenv.Snapshot(t, at, ".git"))
}

func TestPublishComparesAndSwaps(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	one := candidate(t, p, u, "one")
	two := candidateOn(t, p, u, testenv.Git(t, dir, "rev-parse", "HEAD"), one, "two")
	for i, step := range []struct {
		hash, old string
		conflict  bool
		after     string
	}{
		{one, two, true, ""},
		{one, "", false, one},
		{one, "", false, one}, // repeated after a crash
		{two, "", true, one},
		{two, two, false, two}, // replaced below: the branch moves behind loopd's back
		{one, one, true, two},
	} {
		if i == 4 {
			testenv.Git(t, dir, "update-ref", branch, two)
		}
		err := u.Publish(t.Context(), p, step.hash, branch, step.old)
		if _, ok := errors.AsType[*ConflictError](err); ok != step.conflict || !ok && err != nil {
			t.Errorf("step %d: got %v, want conflict %v", i, err, step.conflict)
		}
		if got, err := u.Ref(branch); err != nil || got != step.after {
			t.Errorf("step %d: got %s and error %v, want %s", i, got, err, step.after)
		}
		if i == 3 {
			// The parent chain reaches the user's repository with the commit.
			testenv.Must(t, u.Publish(t.Context(), p, two, branch+"-2", ""))
		}
	}
	fsck(t, dir)
}

func TestPublishRefusesOtherReferences(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	before := testenv.Snapshot(t, dir)
	for _, ref := range []string{"refs/heads/trunk", "HEAD", "refs/tags/loopd/x", "refs/heads/loopd", "refs/heads/loopd/", "refs/heads/loopd/../trunk",
		"refs/heads/loopd/a b", "refs/heads/loopd/a\ndelete refs/heads/trunk", "refs/heads/loopd/x.lock", "refs/heads/loopdx/y", ""} {
		if err := u.Publish(t.Context(), p, hash, ref, ""); err == nil {
			t.Errorf("published to %q", ref)
		}
	}
	testenv.Same(t, "repository", before, testenv.Snapshot(t, dir))
}

func TestPublishAfterDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir, file string){
		"deleted": func(t *testing.T, dir, _ string) {
			testenv.Git(t, dir, "branch", "-D", strings.TrimPrefix(branch, "refs/heads/"))
		},
		"empty":     func(t *testing.T, _, file string) { testenv.WriteMode(t, file, "", 0o644) },
		"NULs":      func(t *testing.T, _, file string) { testenv.WriteMode(t, file, strings.Repeat("\x00", 41), 0o644) },
		"cut short": func(t *testing.T, _, file string) { testenv.WriteMode(t, file, "1234567", 0o644) },
		"deleted and collected": func(t *testing.T, dir, _ string) {
			testenv.Git(t, dir, "update-ref", "-d", branch)
			testenv.Git(t, dir, "gc", "-q", "--prune=now")
		},
		"packed": func(t *testing.T, dir, _ string) { testenv.Git(t, dir, "pack-refs", "--all") },
		"packed, then empty": func(t *testing.T, dir, file string) {
			testenv.Git(t, dir, "pack-refs", "--all")
			testenv.Write(t, file, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := userRepo(t)
			u, p := openUser(t, dir), newPrivate(t)
			hash := candidate(t, p, u, "one")
			testenv.Must(t, u.Publish(t.Context(), p, hash, branch, ""))
			damage(t, dir, filepath.Join(dir, ".git", branch))
			testenv.Must(t, u.Publish(t.Context(), p, hash, branch, ""))
			if got := testenv.Git(t, dir, "rev-parse", branch); got != hash {
				t.Errorf("got %s, want %s", got, hash)
			}
			fsck(t, dir)
		})
	}
}

func TestPublishAfterForcePush(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	testenv.Must(t, u.Publish(t.Context(), p, hash, branch, ""))
	moved := testenv.Git(t, dir, "rev-parse", "HEAD~1")
	testenv.Git(t, dir, "update-ref", branch, moved)
	err := u.Publish(t.Context(), p, hash, branch, "")
	if conflict, ok := errors.AsType[*ConflictError](err); !ok || conflict.Got != moved {
		t.Errorf("got %v, want a conflict with %s", err, moved)
	}
}

func TestPublishWhenTheBaseIsGone(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	testenv.Git(t, dir, "reset", "-q", "--hard", "HEAD~1")
	testenv.Git(t, dir, "reflog", "expire", "--expire=now", "--all")
	testenv.Git(t, dir, "gc", "-q", "--prune=now")
	err := u.Publish(t.Context(), p, hash, branch, "")
	if err == nil || !strings.Contains(err.Error(), "is gone from the repository") {
		t.Errorf("got %v, want an error about the base", err)
	}
	if got, _ := u.Ref(branch); got != "" {
		t.Errorf("the branch is %s, want none", got)
	}
	fsck(t, dir)
}

func TestPublishRespectsLocks(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	lock := filepath.Join(dir, ".git", branch+".lock")
	testenv.Write(t, lock, "")
	_, locked := errors.AsType[*LockedError](u.Publish(t.Context(), p, hash, branch, ""))
	if got, _ := u.Ref(branch); !locked || got != "" {
		t.Errorf("got locked %v and branch %q, want a LockedError and no branch", locked, got)
	}
	if removed, err := u.SweepLocks(time.Now().Add(-time.Hour)); err != nil || len(removed) > 0 {
		t.Errorf("a fresh lock was swept: %v, %v", removed, err)
	}
	other := filepath.Join(dir, ".git/refs/heads/trunk.lock")
	testenv.Write(t, other, "")
	if removed, err := u.SweepLocks(time.Now().Add(time.Hour)); err != nil || len(removed) != 1 {
		t.Errorf("got %v and error %v, want the one lock", removed, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the lock of the user's branch: %v", err)
	}
	if err := u.Publish(t.Context(), p, hash, branch, ""); err != nil {
		t.Errorf("after the sweep: %v", err)
	}
}

func TestPublishMovesNoBranchThatIsCheckedOut(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	one := candidate(t, p, u, "one")
	two := candidateOn(t, p, u, testenv.Git(t, dir, "rev-parse", "HEAD"), one, "two")
	testenv.Must(t, u.Publish(t.Context(), p, one, branch, ""))
	linked := filepath.Join(t.TempDir(), "linked")
	testenv.Git(t, dir, "worktree", "add", "-q", linked, strings.TrimPrefix(branch, "refs/heads/"))
	err := u.Publish(t.Context(), p, two, branch, one)
	if _, ok := errors.AsType[*CheckedOutError](err); !ok {
		t.Errorf("got %v, want a CheckedOutError", err)
	}
	testenv.Git(t, dir, "worktree", "remove", linked)
	if err := u.Publish(t.Context(), p, two, branch, one); err != nil {
		t.Errorf("once it is not checked out: %v", err)
	}
}

func TestPublishCancelled(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.Publish(ctx, p, hash, branch, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// The user's git packs references and commits while loopd publishes: nothing of either is lost.
func TestPublishBesideABusyUser(t *testing.T) {
	t.Parallel()
	const rounds = 40
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	stop := make(chan struct{})
	commits := 0
	var wg sync.WaitGroup
	wg.Go(func() { commits = busy(t, dir, stop) })
	for i := range rounds {
		if err := u.Publish(t.Context(), p, hash, fmt.Sprintf("refs/heads/loopd/busy/%d", i), ""); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
	}
	close(stop)
	wg.Wait()
	for i := range rounds {
		if got, err := u.Ref(fmt.Sprintf("refs/heads/loopd/busy/%d", i)); err != nil || got != hash {
			t.Errorf("branch %d: got %q and error %v, want %s", i, got, err, hash)
		}
	}
	if got := testenv.Git(t, dir, "rev-list", "--count", "trunk"); got != fmt.Sprint(2+commits) || commits == 0 {
		t.Errorf("got %s commits of the user's, want 2 and %d more", got, commits)
	}
	fsck(t, dir)
}

func busy(t *testing.T, dir string, stop <-chan struct{}) (commits int) {
	for {
		select {
		case <-stop:
			return commits
		default:
		}
		if out, err := testenv.TryGit(t, dir, "commit", "-q", "--allow-empty", "-m", "more"); err != nil {
			t.Errorf("the user's commit failed: %v\n%s", err, out)
		}
		commits++
		if out, err := testenv.TryGit(t, dir, "pack-refs", "--all"); err != nil {
			t.Errorf("the user's pack-refs failed: %v\n%s", err, out)
		}
	}
}

func TestImportManyFilesOnce(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	for i := range 2 * looseLimit {
		testenv.Write(t, filepath.Join(dir, "many", fmt.Sprint(i)), fmt.Sprintln("file", i))
	}
	testenv.Git(t, dir, "add", ".")
	testenv.Git(t, dir, "commit", "-q", "-m", "many")
	u, p := openUser(t, dir), newPrivate(t)
	hash := candidate(t, p, u, "one")
	before := testenv.Snapshot(t, p.Dir())
	if again := candidate(t, p, u, "one"); again != hash {
		t.Errorf("got %s, want %s again", again, hash)
	}
	testenv.Same(t, "private repository", before, testenv.Snapshot(t, p.Dir()))
	testenv.Must(t, u.Publish(t.Context(), p, hash, branch, ""))
	if got := testenv.Git(t, dir, "diff", "--name-only", hash+"~", hash); got != "tools/plugin/skills/one/SKILL.md" {
		t.Errorf("the branch changes %q", got)
	}
	testenv.Git(t, p.Dir(), "gc", "-q", "--prune=now")
	if _, err := p.Tree(testenv.Git(t, dir, "rev-parse", "HEAD")); err != nil {
		t.Errorf("the base after a collection in the private repository: %v", err)
	}
	fsck(t, p.Dir())
	fsck(t, dir)
}

func BenchmarkPublish(b *testing.B) {
	dir := userRepo(b)
	for i := range 2000 {
		testenv.Write(b, filepath.Join(dir, "many", fmt.Sprint(i)), fmt.Sprintln("file", i))
	}
	testenv.Git(b, dir, "add", ".")
	testenv.Git(b, dir, "commit", "-q", "-m", "many")
	u, p := openUser(b, dir), newPrivate(b)
	n := 0
	for b.Loop() {
		n++
		b.StopTimer()
		hash := candidate(b, p, u, fmt.Sprint("words ", n))
		b.StartTimer()
		testenv.Must(b, u.Publish(b.Context(), p, hash, fmt.Sprintf("refs/heads/loopd/bench/%d", n), ""))
	}
}

func BenchmarkWriteCommit(b *testing.B) {
	dir := userRepo(b)
	u, p := openUser(b, dir), newPrivate(b)
	n := 0
	for b.Loop() {
		n++
		candidate(b, p, u, fmt.Sprint("words ", n))
	}
}
