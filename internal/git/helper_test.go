package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// userRepo makes a small plugin repository: the plugin is in tools/plugin, other files are beside it.
func userRepo(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work space")
	testenv.Must(t, os.Mkdir(dir, 0o755))
	testenv.Git(t, dir, "init", "-q", "-b", "trunk")
	testenv.Write(t, filepath.Join(dir, "README"), "read me\n")
	testenv.Write(t, filepath.Join(dir, "tools/plugin/skills/one/SKILL.md"), "one\n")
	testenv.WriteMode(t, filepath.Join(dir, "tools/plugin/hooks/start"), "#!/bin/sh\n", 0o755)
	testenv.Must(t, os.Symlink("skills/one", filepath.Join(dir, "tools/plugin/link")))
	testenv.Git(t, dir, "add", ".")
	testenv.Git(t, dir, "commit", "-q", "-m", "first")
	testenv.Write(t, filepath.Join(dir, "README"), "read me twice\n")
	testenv.Git(t, dir, "commit", "-q", "-a", "-m", "second")
	return dir
}

func openUser(t testing.TB, dir string) *User {
	t.Helper()
	u, err := OpenUser(dir)
	testenv.Must(t, err)
	return u
}

func newPrivate(t testing.TB) *Private {
	t.Helper()
	p, err := InitPrivate(filepath.Join(t.TempDir(), "repo.git"))
	testenv.Must(t, err)
	return p
}

// candidate imports HEAD of the user's repository and commits a changed plugin on it.
func candidate(t testing.TB, p *Private, u *User, text string) string {
	t.Helper()
	head, err := u.Head()
	testenv.Must(t, err)
	testenv.Must(t, p.Import(t.Context(), u, head.Commit))
	return candidateOn(t, p, u, head.Commit, head.Commit, text)
}

func candidateOn(t testing.TB, p *Private, u *User, base, parent, text string) string {
	t.Helper()
	tree, err := u.Tree(base, "tools/plugin")
	testenv.Must(t, err)
	tree["skills/one/SKILL.md"] = File{Mode: Regular, Data: []byte(text)}
	hash, err := p.WriteCommit(Commit{
		Base: base, Subdir: "tools/plugin", Tree: tree, Parents: []string{parent},
		AuthorName: "loopd", AuthorEmail: "loopd@localhost", Time: time.Unix(1700000000, 0), Message: "loopd: candidate c001\n",
	})
	testenv.Must(t, err)
	return hash
}

func fsck(t testing.TB, dir string) {
	t.Helper()
	out, err := testenv.TryGit(t, dir, "fsck", "--strict", "--full", "--no-dangling")
	complaints := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "notice:") // of an unborn HEAD
	})
	if err != nil || len(complaints) > 0 {
		t.Errorf("git fsck in %s: %v\n%s", dir, err, out)
	}
}
