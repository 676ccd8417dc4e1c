package isolate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"loopd/harness"
)

// What the one commit says. It must read like any small project's beginning.
const (
	commitName    = "Alex Miller"
	commitMail    = "alex@example.com"
	commitDate    = "2025-03-03T09:30:00+00:00"
	commitSubject = "Import project"
	commitBranch  = "main"
)

// ErrOtherFixture is returned when a box is asked for with the git template of
// a different fixture.
var ErrOtherFixture = errors.New("git template belongs to another fixture")

// GitTemplate is the .git directory of a fixture's single commit, kept as
// bytes: making it costs several processes, copying it costs next to nothing.
type GitTemplate struct {
	files   harness.Tree // named from the project, as .git/HEAD
	fixture [sha256.Size]byte
}

// NewGitTemplate commits the fixture once with the git program, in a directory
// no session ever sees, and keeps the resulting .git.
func NewGitTemplate(ctx context.Context, fixture harness.Tree) (g *GitTemplate, err error) {
	// Claimed like a box, so that Sweep removes what a killed loopd left.
	place, err := claim(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("build git template: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(place.Root), place.lock.Close()) }()
	g = &GitTemplate{fixture: digest(fixture)}
	if g.files, err = commitOnce(ctx, place.Root, fixture); err != nil {
		return nil, fmt.Errorf("build git template: %w", err)
	}
	return g, nil
}

func commitOnce(ctx context.Context, dir string, fixture harness.Tree) (harness.Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.Mkdir("home", 0o700); err != nil {
		return nil, err
	}
	work, err := makeDir(root, "work", 0o700, owner{})
	if err != nil {
		return nil, err
	}
	defer work.Close()
	if err := writeTree(work, fixture, owner{}); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=" + commitBranch},
		{"add", "--all"},
		{"commit", "--quiet", "--no-verify", "--message=" + commitSubject},
		// One pack, as after a clone: a box is then a handful of files more,
		// not a file and often a directory for every object.
		{"repack", "-a", "-d", "-q", "-n"},
	} {
		if err := git(ctx, dir, args); err != nil {
			return nil, err
		}
	}
	made, err := harness.ReadTree(os.DirFS(filepath.Join(dir, "work", ".git")))
	files := make(harness.Tree, len(made))
	for name, f := range made {
		files[".git/"+name] = f
	}
	return files, err
}

// git runs one command with nothing of the user's configuration, identity or
// hooks. The settings ride on the command line so that the repository's own
// config file stays the one git writes for everybody.
func git(ctx context.Context, dir string, args []string) error {
	settings := []string{
		"-c", "core.logAllRefUpdates=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.autocrlf=false", "-c", "core.fsmonitor=false",
		"-c", "pack.threads=1",
	}
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...)
	cmd.Dir = filepath.Join(dir, "work")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=" + commitName, "GIT_AUTHOR_EMAIL=" + commitMail, "GIT_AUTHOR_DATE=" + commitDate,
		"GIT_COMMITTER_NAME=" + commitName, "GIT_COMMITTER_EMAIL=" + commitMail, "GIT_COMMITTER_DATE=" + commitDate,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// digest tells fixtures apart by paths, modes and bytes.
func digest(t harness.Tree) [sha256.Size]byte {
	var all bytes.Buffer
	for _, name := range t.Paths() {
		fmt.Fprintf(&all, "%q %o %x\n", name, t[name].Mode, sha256.Sum256(t[name].Data))
	}
	return sha256.Sum256(all.Bytes())
}
