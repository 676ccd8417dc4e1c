package campaign

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/git"
	"loopd/internal/trial"
	"loopd/report"
)

// Wordings reads wordings by commit and remembers them.
type Wordings struct {
	repo   *git.Private
	subdir string   // the plugin's place in the repository
	skip   []string // paths below the plugin that sessions never see
	note   harness.Note
	sealed map[[sha256.Size]byte]string // what no session may read, by content

	mu    sync.Mutex
	trees map[string]harness.Tree
}

// Tree returns the plugin at a commit, ready to be copied into a sandbox.
func (w *Wordings) Tree(commit string) (harness.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, ok := w.trees[commit]; ok {
		return t, nil
	}
	files, err := w.files(commit)
	if err != nil {
		return nil, err
	}
	t := make(harness.Tree)
	for name, f := range files {
		if w.skipped(name) {
			continue
		}
		mode, err := modeOf(f.Mode)
		if err != nil {
			return nil, fmt.Errorf("read wording %.12s: %s: %w", commit, name, err)
		}
		if twin, ok := w.sealed[sha256.Sum256(f.Data)]; ok {
			return nil, fmt.Errorf("read wording %.12s: %s is the suite's %s, which no session may read", commit, name, twin)
		}
		t[name] = harness.File{Mode: mode, Data: f.Data}
	}
	w.trees[commit] = t
	return t, nil
}

// files returns everything below the plugin's place in a commit, also what
// sessions never see: a commit made from less would remove it.
func (w *Wordings) files(commit string) (map[string]git.File, error) {
	all, err := w.repo.Tree(commit)
	if err != nil {
		return nil, fmt.Errorf("read wording %.12s: %w", commit, err)
	}
	out := make(map[string]git.File)
	for name, f := range all {
		if below, ok := strings.CutPrefix(name, prefix(w.subdir)); ok {
			out[below] = f
		}
	}
	return out, nil
}

func prefix(dir string) string {
	if dir == "" || dir == "." {
		return ""
	}
	return dir + "/"
}

func (w *Wordings) skipped(name string) bool {
	for _, s := range w.skip {
		if name == s || strings.HasPrefix(name, s+"/") {
			return true
		}
	}
	return false
}

func modeOf(m git.Mode) (fs.FileMode, error) {
	switch m {
	case git.Regular:
		return 0o644, nil
	case git.Executable:
		return 0o755, nil
	default:
		return 0, fmt.Errorf("a plugin with links or submodules cannot be copied into a session")
	}
}

// Trial returns the wording as a trial wants it.
func (w *Wordings) Trial(commit string) (trial.Wording, error) {
	tree, err := w.Tree(commit)
	if err != nil {
		return trial.Wording{}, err
	}
	out, err := WordingOf(tree, w.note)
	if err != nil {
		return trial.Wording{}, fmt.Errorf("read wording %.12s: %w", commit, err)
	}
	return out, nil
}

// WordingOf reads note and descriptions out of a plugin's files. A note that the
// hook computes is left to the trials, for it depends on the project.
func WordingOf(tree harness.Tree, note harness.Note) (trial.Wording, error) {
	out := trial.Wording{Plugin: tree}
	f, ok := tree[note.File]
	if note.File != "" && !ok {
		return trial.Wording{}, fmt.Errorf("no note %s", note.File)
	}
	if note.Kind == harness.NoteFile {
		out.Note = strings.TrimSuffix(string(f.Data), "\n")
	}
	for _, name := range tree.Paths() {
		if ok, _ := path.Match("skills/*/SKILL.md", name); !ok {
			continue
		}
		text, err := listed(tree[name].Data)
		if err != nil {
			return trial.Wording{}, fmt.Errorf("%s: %w", name, err)
		}
		if text != "" {
			out.Descriptions = append(out.Descriptions, text)
		}
	}
	return out, nil
}

// PluginAt reads the plugin in a directory as its repository's HEAD has it, for
// single sessions outside a campaign. The suite, where it lies inside, is left
// out, and so is what more is listed: no session may see it.
func PluginAt(dir string, suite Sealed, more ...string) (commit string, w trial.Wording, err error) {
	skip, err := InsidePlugin(dir, suite.Dir)
	if err != nil {
		return "", w, err
	}
	commit, tree, err := TreeAt(dir, append(skip, more...)...)
	if err != nil {
		return "", w, err
	}
	w, err = WordingOf(tree, suite.Suite.Launch.Note)
	return commit, w, err
}

// TreeAt reads the files alone, whatever is in them.
func TreeAt(dir string, skip ...string) (commit string, tree harness.Tree, err error) {
	user, err := git.OpenUser(dir)
	if err != nil {
		return "", nil, err
	}
	head, err := user.Head()
	if err != nil {
		return "", nil, err
	}
	files, err := user.Tree(head.Commit, user.Subdir())
	if err != nil {
		return "", nil, err
	}
	reader := Wordings{skip: skip}
	tree = make(harness.Tree)
	for name, f := range files {
		if reader.skipped(name) {
			continue
		}
		mode, err := modeOf(f.Mode)
		if err != nil {
			return "", nil, fmt.Errorf("read plugin %s: %s: %w", dir, name, err)
		}
		tree[name] = harness.File{Mode: mode, Data: f.Data}
	}
	return head.Commit, tree, nil
}

// listed is the text the agent CLI lists a skill with, empty for none: a session
// cannot be asked to have seen what is not shown to it.
func listed(skill []byte) (string, error) {
	s := candidates.ReadSkill(skill)
	switch {
	case s.Bare:
		return "", errors.New("no front matter")
	case s.Fault != "":
		return "", fmt.Errorf("front matter: %s", s.Fault)
	}
	return s.Listing(), nil
}

// bytesOf is the plugin's files as the candidates package wants them.
func bytesOf(t harness.Tree) map[string][]byte {
	out := make(map[string][]byte, len(t))
	for name, f := range t {
		out[name] = f.Data
	}
	return out
}

// Texts returns the Surface at a commit for a report; nil for no commit.
func (w *Wordings) Texts(commit string) (report.Texts, error) {
	if commit == "" {
		return nil, nil
	}
	tree, err := w.Tree(commit)
	if err != nil {
		return nil, err
	}
	out := make(report.Texts)
	for _, p := range candidates.NewSurface(bytesOf(tree), w.note.File).Paths {
		out[p] = string(tree[p].Data)
	}
	return out, nil
}

// prepare makes sure that a commit of the user's is in the private repository.
func importStart(ctx context.Context, repo *git.Private, user *git.User, commit string) error {
	if err := repo.Import(ctx, user, commit); err != nil {
		return fmt.Errorf("copy the starting wording: %w", err)
	}
	return nil
}
