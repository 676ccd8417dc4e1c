package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"loopd/internal/hint"
	"loopd/internal/testenv"
)

func TestOpenUserFindsTheRepository(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	want := testenv.Git(t, dir, "rev-parse", "HEAD")
	for _, sub := range []string{"", "tools/plugin", "tools/plugin/hooks"} {
		u := openUser(t, filepath.Join(dir, sub))
		head, err := u.Head()
		if diff := cmp.Diff(Head{Commit: want, Branch: "refs/heads/trunk"}, head); err != nil || diff != "" {
			t.Errorf("%s: head %v (-want +got):\n%s", sub, err, diff)
		}
		if u.Subdir() != sub || u.Root() != testenv.Git(t, dir, "rev-parse", "--show-toplevel") {
			t.Errorf("got root %s and subdir %q, want subdir %q", u.Root(), u.Subdir(), sub)
		}
	}
}

func TestOpenUserKinds(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, dir string) string{
		"packed": func(t *testing.T, dir string) string { testenv.Git(t, dir, "gc", "-q", "--prune=now"); return dir },
		"worktree config": func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "sparse-checkout", "set", "tools")
			return dir
		},
		"worktree config, version 0": func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "config", "extensions.worktreeConfig", "false")
			return dir
		},
		"named formats": func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "config", "core.repositoryFormatVersion", "1")
			testenv.Git(t, dir, "config", "extensions.objectFormat", "sha1")
			return dir
		},
		"detached": func(t *testing.T, dir string) string { testenv.Git(t, dir, "checkout", "-q", "--detach"); return dir },
		"linked worktree": func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "config", "extensions.worktreeConfig", "true")
			linked := filepath.Join(t.TempDir(), "linked")
			testenv.Git(t, dir, "worktree", "add", "-q", "-b", "side", linked)
			return linked
		},
		"worktree of a bare one": func(t *testing.T, dir string) string {
			bare, linked := filepath.Join(t.TempDir(), "b.git"), filepath.Join(t.TempDir(), "linked")
			testenv.Git(t, dir, "clone", "-q", "--bare", dir, bare)
			testenv.Git(t, bare, "worktree", "add", "-q", linked)
			return linked
		},
		"shared clone": func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "gc", "-q")
			clone := filepath.Join(t.TempDir(), "clone")
			testenv.Git(t, dir, "clone", "-q", "--shared", dir, clone)
			return clone
		},
		"shallow clone": func(t *testing.T, dir string) string {
			clone := filepath.Join(t.TempDir(), "clone")
			testenv.Git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, clone)
			return clone
		},
		"submodule": func(t *testing.T, dir string) string {
			outer := t.TempDir()
			testenv.Git(t, outer, "init", "-q")
			testenv.Git(t, outer, "submodule", "--quiet", "add", dir, "inner")
			return filepath.Join(outer, "inner")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := prepare(t, userRepo(t))
			u := openUser(t, dir)
			head, err := u.Head()
			if want := testenv.Git(t, dir, "rev-parse", "HEAD"); err != nil || head.Commit != want {
				t.Fatalf("got %v and error %v, want %s", head, err, want)
			}
			if head.Detached != (name == "detached") {
				t.Errorf("got detached %v", head.Detached)
			}
			p := newPrivate(t)
			hash := candidate(t, p, u, "new words\n")
			const ref = "refs/heads/loopd/night/c001"
			testenv.Must(t, u.Publish(t.Context(), p, hash, ref, ""))
			if got := testenv.Git(t, dir, "show", ref+":tools/plugin/skills/one/SKILL.md"); got != "new words" {
				t.Errorf("git reads %q from the branch", got)
			}
			fsck(t, dir)
			fsck(t, p.Dir())
		})
	}
}

func TestOpenUserRefuses(t *testing.T) {
	t.Parallel()
	setting := func(key, value string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "config", "core.repositoryFormatVersion", "1")
			testenv.Git(t, dir, "config", key, value)
			return dir
		}
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir string) string
		want    string
	}{
		"reftable":         {setting("extensions.refStorage", "reftable"), "reference storage reftable"},
		"partial clone":    {setting("extensions.partialClone", "origin"), "a partial clone"},
		"precious":         {setting("extensions.preciousObjects", "true"), "preciousObjects"},
		"relative":         {setting("extensions.relativeWorktrees", "true"), "relativeWorktrees"},
		"yet unknown":      {setting("extensions.flux", "on"), "extensions.flux"},
		"core.bare":        {setting("core.bare", "true"), "core.bare"},
		"git directory":    {func(t *testing.T, dir string) string { return filepath.Join(dir, ".git") }, "bare"},
		"in git directory": {func(t *testing.T, dir string) string { return filepath.Join(dir, ".git", "hooks") }, "bare"},
		"partial, really": {func(t *testing.T, dir string) string {
			testenv.Git(t, dir, "config", "uploadpack.allowFilter", "true")
			clone := filepath.Join(t.TempDir(), "clone")
			testenv.Git(t, dir, "clone", "-q", "--filter=blob:none", "file://"+dir, clone)
			return clone
		}, "a partial clone"},
		"sha256": {func(t *testing.T, _ string) string {
			dir := t.TempDir()
			testenv.Git(t, dir, "init", "-q", "--object-format=sha256")
			return dir
		}, "object format sha256"},
		"bare": {func(t *testing.T, _ string) string {
			dir := t.TempDir()
			testenv.Git(t, dir, "init", "-q", "--bare")
			return dir
		}, "bare"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := OpenUser(test.prepare(t, userRepo(t)))
			if hint.ExitOf(err) != hint.Usage || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "which is not supported: ") {
				t.Errorf("got %v, want %q and what helps", err, test.want)
			}
		})
	}
}

func TestOpenUserWithoutRepository(t *testing.T) {
	t.Parallel()
	_, err := OpenUser(t.TempDir())
	if _, ok := errors.AsType[*NotRepositoryError](err); !ok {
		t.Errorf("got %v, want a NotRepositoryError", err)
	}
	dir := t.TempDir()
	testenv.Write(t, filepath.Join(dir, ".git"), "gitdir: /nowhere\n")
	if _, err := OpenUser(dir); err == nil {
		t.Error("a pointer to nowhere was opened")
	}
}

func TestHeadWithoutCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Git(t, dir, "init", "-q", "-b", "trunk")
	head, err := openUser(t, dir).Head()
	if !errors.Is(err, ErrNoCommit) || head.Branch != "refs/heads/trunk" {
		t.Errorf("got %+v and error %v, want ErrNoCommit on trunk", head, err)
	}
}

func TestUserTree(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	head := testenv.Git(t, dir, "rev-parse", "HEAD")
	// What the worktree holds, and what its attributes would make of it, is not what the commit says.
	testenv.Write(t, filepath.Join(dir, ".gitattributes"), "* text eol=crlf ident\n")
	testenv.Write(t, filepath.Join(dir, "tools/plugin/skills/one/SKILL.md"), "dirty\n")
	u := openUser(t, dir)
	got, err := u.Tree(head, "tools/plugin")
	want := map[string]File{
		"skills/one/SKILL.md": {Regular, []byte("one\n")},
		"hooks/start":         {Executable, []byte("#!/bin/sh\n")},
		"link":                {Symlink, []byte("skills/one")},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, tree (-want +got):\n%s", err, diff)
	}
	if whole, err := u.Tree(head, ""); err != nil || len(whole) != 4 {
		t.Errorf("whole tree: got %d files and error %v, want 4", len(whole), err)
	}
	for _, sub := range []string{"tools/absent", "README", "../x", "tools/plugin/"} {
		if _, err := u.Tree(head, sub); err == nil {
			t.Errorf("subdir %q was read", sub)
		}
	}
	if _, err := u.Tree(strings.Repeat("1", 40), ""); err == nil {
		t.Error("a commit that does not exist was read")
	}
}

// A repository's own configuration must not be able to run a program when loopd looks at it.
func TestUser_GitRunsNoMonitor(t *testing.T) {
	t.Parallel()
	dir, mark := userRepo(t), filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "monitor")
	testenv.WriteMode(t, script, "#!/bin/sh\ntouch "+mark+"\n", 0o755)
	testenv.Git(t, dir, "config", "core.fsmonitor", script)
	if _, err := openUser(t, dir).git(t.Context(), nil, "status"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("core.fsmonitor ran")
	}
}

func TestGitEnv(t *testing.T) {
	t.Parallel()
	got := gitEnv([]string{"PATH=/bin", "GIT_DIR=/elsewhere", "GIT_INDEX_FILE=x", "LANG=de_DE", "LC_MESSAGES=de", "LANGUAGE=de", "HOME=/h"})
	want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadOnlyRefusesEveryChange(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	before := testenv.Snapshot(t, dir)
	r := openReadOnly(openUser(t, dir).place)
	cfg, err := r.Config()
	testenv.Must(t, err)
	ref := plumbing.NewHashReference("refs/heads/x", plumbing.ZeroHash)
	_, packErr := r.PackfileWriter()
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.BlobObject)
	_, setErr := r.SetEncodedObject(obj)
	for i, err := range []error{r.SetConfig(cfg), r.SetReference(ref), r.CheckAndSetReference(ref, nil), r.RemoveReference("refs/heads/trunk"),
		r.PackRefs(), r.SetShallow([]plumbing.Hash{ref.Hash()}), r.AddAlternate("/"), setErr, packErr} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("change %d: got %v, want a refusal", i, err)
		}
	}
	testenv.Same(t, "repository", before, testenv.Snapshot(t, dir))
}
