package rehearsal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"loopd/fixtures"
	"loopd/frozen"
)

// makeUser makes the repository of an invented plugin author: a bundled plugin
// with a commit, a change that is staged, one that is not, and a file
// git does not know. A rehearsal must leave all of it alone.
func makeUser(ctx context.Context, name, dir string) error {
	plugin, err := fs.Sub(fixtures.Plugins(), name)
	if err != nil {
		return err
	}
	if err := frozen.Materialise(plugin, fixtures.PluginMode, dir); err != nil {
		return err
	}
	steps := [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"commit", "--quiet", "--message", name + " 0.1.0"},
	}
	if err := gitAll(ctx, dir, steps); err != nil {
		return err
	}
	for name, text := range map[string]string{"NOTES.md": "staged\n", "scratch.txt": "untracked\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return gitAll(ctx, dir, [][]string{{"add", "NOTES.md"}})
}

func gitAll(ctx context.Context, dir string, steps [][]string) error {
	for _, args := range steps {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=author", "GIT_AUTHOR_EMAIL=author@localhost", "GIT_COMMITTER_NAME=author", "GIT_COMMITTER_EMAIL=author@localhost",
			"GIT_AUTHOR_DATE=2026-01-05T09:00:00Z", "GIT_COMMITTER_DATE=2026-01-05T09:00:00Z",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make the rehearsal's repository: git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// userState is a digest of everything in a repository that loopd must not
// change: worktree, index, HEAD, reflogs, configuration and all references but
// its own.
func userState(dir string) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if ours(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", rel, info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("look at the user's repository: %w", err)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// ours says what loopd may write in a user's repository: objects, which git
// ignores until something names them, and its own branches.
func ours(rel string) bool {
	rel = filepath.ToSlash(rel)
	return rel == ".git/objects" || rel == ".git/refs/heads/loopd"
}
