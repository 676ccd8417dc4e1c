package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"loopd/harness"
	"loopd/internal/atomicfile"
)

// ExistsError says that a file to be written is there already.
type ExistsError struct{ Path string }

// Error names the file.
func (e *ExistsError) Error() string { return e.Path + " exists, and nothing is overwritten" }

// Write lays the drafts out below a folder: scenarios/ID.md, and the files each
// works on below fixtures/. It returns the paths of the scenario files, slash
// paths below the folder. Where one of the files exists already nothing is
// written and the error is an ExistsError.
func (f Found) Write(dir string) ([]string, error) {
	tree := make(harness.Tree)
	var names []string
	for _, d := range f.Drafts {
		name := "scenarios/" + d.Scenario.ID + ".md"
		names = append(names, name)
		tree[name] = harness.File{Mode: 0o644, Data: d.text}
		for p, file := range d.Files {
			tree["fixtures/"+d.Scenario.Fixture+"/"+p] = harness.File{Mode: 0o644 | file.Mode&0o111, Data: file.Data}
		}
	}
	for _, d := range f.Drafts {
		if folder := filepath.Join(dir, "fixtures", d.Scenario.Fixture); len(d.Files) > 0 && isThere(folder) {
			return nil, &ExistsError{folder}
		}
	}
	return names, layOut(dir, tree)
}

// layOut writes new files below a folder: all of them, or none where one is
// there already. What it made is taken away again when it fails half way.
func layOut(dir string, tree harness.Tree) error {
	for _, p := range tree.Paths() {
		if at := filepath.Join(dir, filepath.FromSlash(p)); isThere(at) {
			return &ExistsError{at}
		}
	}
	var made []string
	var folders []string
	undo := func() {
		for _, p := range slices.Backward(made) {
			_ = os.Remove(p) // what was made a moment ago; folders only while empty
		}
	}
	for _, p := range tree.Paths() {
		at := filepath.Join(dir, filepath.FromSlash(p))
		dirs, err := makeFolders(filepath.Dir(at))
		made = append(made, dirs...)
		if err == nil {
			err = writeNew(at, tree[p])
		}
		if err != nil {
			undo()
			return fmt.Errorf("write %s: %w", at, err)
		}
		made = append(made, at)
		folders = append(folders, filepath.Dir(at))
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if err := atomicfile.SyncDir(folder); err != nil {
			return err
		}
	}
	return nil
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// makeFolders makes a folder and those above it, and lists what it made.
func makeFolders(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	made, err := makeFolders(filepath.Dir(dir))
	if err != nil {
		return made, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// writeNew writes a file that must not exist yet.
func writeNew(name string, file harness.File) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, file.Mode)
	if err != nil {
		return err
	}
	_, err = f.Write(file.Data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name)
	}
	return err
}
