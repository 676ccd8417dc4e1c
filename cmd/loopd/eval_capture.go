package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/internal/atomicfile"
	"loopd/internal/git"
	"loopd/internal/hint"
)

const captureHelp = `  loopd eval capture ~/project > after.json
  loopd eval capture . --out after.json

Reads the git repository that DIR is in into one JSON document for loopd eval
repo: branches and tags with the subjects of their commits, and the files of the
worktree, tracked or not, with mode and sha256. Nothing in the repository is
run, no link is followed, git itself is not asked.

Files that nobody makes on purpose (.DS_Store, __pycache__, what editors leave)
are listed apart, under residue, unless HEAD tracks them; loopd eval repo shows
and does not compare them. Hashes of commits are under sha, which differs from
run to run; tree is the hash of a commit's files and does not.`

func newCapture(e env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "capture DIR", Short: "a git repository as a state for eval repo", Args: oneArg("directory"), Long: captureHelp,
		RunE: func(cmd *cobra.Command, args []string) error { return runCapture(cmd.Context(), e, args[0], out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "write the document into a new file")
	return cmd
}

// capturedState is the JSON of the verb.
type capturedState struct {
	Head     string           `json:"head"` // the branch, "detached", or empty before the first commit
	Branches []capturedBranch `json:"branches"`
	Tags     []capturedTag    `json:"tags"`
	Files    []capturedFile   `json:"files"`
	Residue  []string         `json:"residue"`
}

type capturedBranch struct {
	Name     string   `json:"name"`
	Commit   string   `json:"sha"`
	Tree     string   `json:"tree"`
	Subjects []string `json:"subjects"`
}

type capturedTag struct {
	Name    string `json:"name"`
	Commit  string `json:"sha"`
	Tree    string `json:"tree"`
	Subject string `json:"subject"`
	Message string `json:"message"`
}

type capturedFile struct {
	Path   string   `json:"path"`
	Mode   git.Mode `json:"mode"`
	Digest string   `json:"digest"`
	Bytes  int64    `json:"bytes"`
}

func runCapture(ctx context.Context, e env, dir, out string) error {
	const help = "loopd eval capture --help"
	if out != "" {
		if _, err := os.Lstat(e.Path(out)); err == nil {
			return hint.Usagef("rm "+out, "capture: %s is there already and is not overwritten", out)
		}
	}
	if info, err := os.Stat(e.Path(dir)); err != nil || !info.IsDir() {
		return hint.Usagef(help, "capture: %s is no directory", dir)
	}
	u, err := git.OpenUser(e.Path(dir))
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("capture: %w", err), help)
	}
	state, err := captured(ctx, u, relativeTo(u.Root(), e.Path(out)))
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	if out == "" {
		return printJSON(e.stdout, state)
	}
	var b bytes.Buffer
	if err := printJSON(&b, state); err != nil {
		return err
	}
	if err := atomicfile.CreateFile(e.Path(out), 0o644, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	_, err = fmt.Fprintf(e.stdout, "wrote %s: %s, %s, %s, %d of residue\n\nNext: loopd eval repo SPEC %s\n", out,
		counted(len(state.Files), "file"), branchCount(len(state.Branches)), counted(len(state.Tags), "tag"), len(state.Residue), out)
	return err
}

func branchCount(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return fmt.Sprintf("%d branches", n)
}

// relativeTo is the path of a file below a directory, with slashes; empty when it is
// not below it.
func relativeTo(root, file string) string {
	rel, err := filepath.Rel(root, file)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// captured reads the repository. What lies at except is the document itself.
func captured(ctx context.Context, u *git.User, except string) (capturedState, error) {
	s := capturedState{Branches: []capturedBranch{}, Tags: []capturedTag{}, Files: []capturedFile{}, Residue: []string{}}
	head, err := u.Head()
	if err != nil && !errors.Is(err, git.ErrNoCommit) {
		return s, err
	}
	if s.Head = strings.TrimPrefix(head.Branch, "refs/heads/"); head.Detached {
		s.Head = "detached"
	}
	branches, err := u.Branches(ctx)
	if err != nil {
		return s, err
	}
	for _, b := range branches {
		s.Branches = append(s.Branches, capturedBranch(b))
	}
	tags, err := u.Tags()
	if err != nil {
		return s, err
	}
	for _, t := range tags {
		s.Tags = append(s.Tags, capturedTag(t))
	}
	tracked := map[string]bool{}
	if head.Commit != "" {
		if tracked, err = u.Tracked(head.Commit); err != nil {
			return s, err
		}
	}
	files, err := u.Worktree(ctx)
	for _, f := range files {
		switch what := residueOf(f.Path); {
		case f.Path == except:
		case what == "" || tracked[f.Path]:
			s.Files = append(s.Files, capturedFile(f))
		case !slices.Contains(s.Residue, what):
			s.Residue = append(s.Residue, what)
		}
	}
	return s, err
}

// The names of files and folders that come about by themselves.
var (
	residueFiles = []string{
		".DS_Store", "Thumbs.db", "desktop.ini", "*.swp", "*.swo", "*~", ".#*", "#*#", "*.orig", "*.rej", "*.pyc", ".coverage", "._*",
	}
	residueFolders = []string{"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".idea", ".vscode", ".vs", ".fleet"}
)

// residueOf returns the path as residue is listed, a folder once and with a
// slash; empty for what is none.
func residueOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		if slices.Contains(residueFolders, part) {
			return strings.Join(parts[:i+1], "/") + "/"
		}
	}
	for _, glob := range residueFiles {
		if ok, err := path.Match(glob, parts[len(parts)-1]); err == nil && ok {
			return name
		}
	}
	return ""
}
