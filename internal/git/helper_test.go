package git

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

// realGit runs the installed git as its user would, with a neutral identity and configuration.
func realGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimRight(out, "\n")
}

func tryGit(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(gitEnv(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE=1700000000 +0000")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Must(t, os.WriteFile(path, []byte(text), mode))
}

// userRepo makes a small plugin repository: the plugin is in tools/plugin, other files are beside it.
func userRepo(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work space")
	testenv.Must(t, os.Mkdir(dir, 0o755))
	realGit(t, dir, "init", "-q", "-b", "trunk")
	write(t, filepath.Join(dir, "README"), "read me\n", 0o644)
	write(t, filepath.Join(dir, "tools/plugin/skills/one/SKILL.md"), "one\n", 0o644)
	write(t, filepath.Join(dir, "tools/plugin/hooks/start"), "#!/bin/sh\n", 0o755)
	testenv.Must(t, os.Symlink("skills/one", filepath.Join(dir, "tools/plugin/link")))
	realGit(t, dir, "add", ".")
	realGit(t, dir, "commit", "-q", "-m", "first")
	write(t, filepath.Join(dir, "README"), "read me twice\n", 0o644)
	realGit(t, dir, "commit", "-q", "-a", "-m", "second")
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

// snapshot describes every file below dir but those that skip names: type, mode, content.
func snapshot(t testing.TB, dir string, skip ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		for _, s := range skip {
			if rel == s && d.IsDir() {
				return filepath.SkipDir
			} else if rel == s {
				return nil
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entry := info.Mode().String()
		switch {
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			entry += fmt.Sprint(" ", info.ModTime().UnixNano(), " ", hex.EncodeToString(sum[:8]))
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			entry += " " + target
		}
		files[filepath.ToSlash(rel)] = entry
		return nil
	})
	testenv.Must(t, err)
	if len(files) < 5 {
		t.Fatalf("snapshot of %s has only %d entries", dir, len(files))
	}
	return files
}

func same(t testing.TB, what string, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s changed (-before +after):\n%s", what, diff)
	}
}

func fsck(t testing.TB, dir string) {
	t.Helper()
	out, err := tryGit(t, dir, "fsck", "--strict", "--full", "--no-dangling")
	complaints := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "notice:") // of an unborn HEAD
	})
	if err != nil || len(complaints) > 0 {
		t.Errorf("git fsck in %s: %v\n%s", dir, err, out)
	}
}
