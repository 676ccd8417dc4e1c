package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loopd/internal/testenv"
)

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// TestBranchesAndTags reads loose and packed references, as git itself has them.
func TestBranchesAndTags(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	testenv.Git(t, dir, "tag", "-a", "-m", "of the first\n\nmore", "v1", "HEAD~1")
	testenv.Git(t, dir, "tag", "v2")
	testenv.Git(t, dir, "tag", "-a", "-m", "of a tag", "again", "v1")
	testenv.Git(t, dir, "tag", "blob", "HEAD:README")
	testenv.Git(t, dir, "branch", "old/one", "HEAD~1")
	testenv.Git(t, dir, "pack-refs", "--all")
	testenv.Git(t, dir, "checkout", "-q", "-b", "side", "HEAD~1")
	testenv.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "on the side\n\nbody")
	testenv.Git(t, dir, "merge", "-q", "-m", "joined", "trunk")
	u := openUser(t, dir)
	branches, err := u.Branches(t.Context())
	testenv.Must(t, err)
	got := make(map[string]string)
	for _, b := range branches {
		got[b.Name] = strings.Join(b.Subjects, ", ")
		if b.Commit != testenv.Git(t, dir, "rev-parse", b.Name) || b.Tree != testenv.Git(t, dir, "rev-parse", b.Name+"^{tree}") {
			t.Errorf("%s: got %s, %s", b.Name, b.Commit, b.Tree)
		}
		if n := len(strings.Fields(testenv.Git(t, dir, "rev-list", b.Name))); n != len(b.Subjects) {
			t.Errorf("%s: got %d commits, want %d", b.Name, len(b.Subjects), n)
		}
	}
	if len(got) != 3 || got["trunk"] != "second, first" || got["old/one"] != "first" || !strings.HasPrefix(got["side"], "joined, ") {
		t.Errorf("branches: got %q", got)
	}
	tags, err := u.Tags()
	testenv.Must(t, err)
	first, trunk := testenv.Git(t, dir, "rev-parse", "trunk~1"), testenv.Git(t, dir, "rev-parse", "trunk")
	want := []Tag{
		{Name: "again", Commit: first, Tree: testenv.Git(t, dir, "rev-parse", "trunk~1^{tree}"), Subject: "first", Message: "of a tag"},
		{Name: "blob", Commit: testenv.Git(t, dir, "rev-parse", "trunk:README")},
		{Name: "v1", Commit: first, Tree: testenv.Git(t, dir, "rev-parse", "trunk~1^{tree}"), Subject: "first", Message: "of the first"},
		{Name: "v2", Commit: trunk, Tree: testenv.Git(t, dir, "rev-parse", "trunk^{tree}"), Subject: "second"},
	}
	testenv.Same(t, "tags", want, tags)
	tracked, err := u.Tracked(trunk)
	if err != nil || len(tracked) != 4 || !tracked["tools/plugin/skills/one/SKILL.md"] || !tracked["README"] {
		t.Errorf("tracked: got %v, %v", tracked, err)
	}
	if _, err := u.Tracked(sum("x")[:40]); err == nil {
		t.Error("files of a commit that is not there: no error")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.Branches(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
}

func TestBranchesOfAShallowClone(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	clone := filepath.Join(t.TempDir(), "clone")
	testenv.Git(t, dir, "clone", "-q", "--depth", "1", "file://"+dir, clone)
	branches, err := openUser(t, clone).Branches(t.Context())
	if err != nil || len(branches) != 1 || len(branches[0].Subjects) != 1 {
		t.Errorf("got %+v, %v; want the one commit that is there", branches, err)
	}
}

// TestWorktree reads files as they lie there, and opens neither link nor pipe.
func TestWorktree(t *testing.T) {
	t.Parallel()
	dir := userRepo(t)
	testenv.WriteMode(t, filepath.Join(dir, "new"), "new\n", 0o600)
	testenv.Write(t, filepath.Join(dir, "inner/.git/config"), "x")
	testenv.Write(t, filepath.Join(dir, "inner/kept"), "")
	outside := filepath.Join(t.TempDir(), "outside")
	testenv.Write(t, outside, "secret")
	testenv.Must(t, errors.Join(os.Symlink(outside, filepath.Join(dir, "away")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)))
	got, err := openUser(t, dir).Worktree(t.Context())
	testenv.Must(t, err)
	want := []WorkFile{
		{"README", Regular, sum("read me twice\n"), 14},
		{"away", Symlink, sum(outside), int64(len(outside))},
		{"inner/kept", Regular, sum(""), 0},
		{"new", Regular, sum("new\n"), 4},
		{"pipe", Special, "", 0},
		{"tools/plugin/hooks/start", Executable, sum("#!/bin/sh\n"), 10},
		{"tools/plugin/link", Symlink, sum("skills/one"), 10},
		{"tools/plugin/skills/one/SKILL.md", Regular, sum("one\n"), 4},
	}
	testenv.Same(t, "result", want, got)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openUser(t, dir).Worktree(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
}

func TestCaptureOfAnEmptyRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Git(t, dir, "init", "-q")
	u := openUser(t, dir)
	branches, err := u.Branches(t.Context())
	tags, err2 := u.Tags()
	files, err3 := u.Worktree(t.Context())
	if err := errors.Join(err, err2, err3); err != nil || len(branches)+len(tags)+len(files) != 0 {
		t.Errorf("got %v, %v, %v, %v; want nothing", branches, tags, files, err)
	}
}
