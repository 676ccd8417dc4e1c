package git

import (
	"fmt"
	"io"
	"path"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Mode is what kind of file an entry of a tree is.
type Mode string

// The modes git knows.
const (
	Regular    Mode = "100644"
	Executable Mode = "100755"
	Symlink    Mode = "120000" // Data is the target
	Submodule  Mode = "160000" // Data is the hash of a commit in another repository
)

// File is one entry of a tree.
type File struct {
	Mode Mode
	Data []byte
}

// Bounds of what is read into memory as one tree.
const (
	maxTreeBytes = 512 << 20
	maxTreeFiles = 200_000
)

func modeOf(m filemode.FileMode) (Mode, error) {
	if m == filemode.Deprecated {
		m = filemode.Regular
	}
	mode := Mode(strings.TrimPrefix(m.String(), "0"))
	_, err := mode.git()
	return mode, err
}

func (m Mode) git() (filemode.FileMode, error) {
	switch m {
	case Regular, Executable, Symlink, Submodule:
		return filemode.New(string(m))
	}
	return 0, fmt.Errorf("unknown file mode %q", string(m))
}

// readTree returns the files of a commit below subdir, named from there.
func readTree(store storer.EncodedObjectStorer, commit, subdir string) (map[string]File, error) {
	files, size := map[string]File{}, int64(0)
	err := walkTree(store, commit, subdir, func(path string, e object.TreeEntry) error {
		mode, err := modeOf(e.Mode)
		data := []byte(e.Hash.String())
		if err == nil && mode != Submodule {
			data, err = readBlob(store, e.Hash, maxTreeBytes-size)
		}
		if err == nil {
			err = checkPath(path)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		size += int64(len(data))
		files[path] = File{Mode: mode, Data: data}
		return nil
	})
	return files, err
}

// walkTree visits what is no directory below subdir of a commit, by its path from there.
func walkTree(store storer.EncodedObjectStorer, commit, subdir string, visit func(path string, e object.TreeEntry) error) error {
	h, err := parseHash(commit)
	if err != nil {
		return err
	}
	c, err := object.GetCommit(store, h)
	if err != nil {
		return fmt.Errorf("commit %s: %w", commit, err)
	}
	root, err := subtree(store, c.TreeHash, subdir)
	if err != nil {
		return err
	}
	files := 0
	var walk func(tree plumbing.Hash, prefix string) error
	walk = func(tree plumbing.Hash, prefix string) error {
		t, err := object.GetTree(store, tree)
		if err != nil {
			return fmt.Errorf("tree of %q: %w", prefix, err)
		}
		for _, e := range t.Entries {
			if e.Mode == filemode.Dir {
				err = walk(e.Hash, prefix+e.Name+"/")
			} else if err = visit(prefix+e.Name, e); err == nil {
				if files++; files > maxTreeFiles {
					err = fmt.Errorf("more than %d files", maxTreeFiles)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root, "")
}

func subtree(store storer.EncodedObjectStorer, root plumbing.Hash, subdir string) (plumbing.Hash, error) {
	if subdir == "" || subdir == "." {
		return root, nil
	}
	if err := checkPath(subdir); err != nil {
		return root, err
	}
	tree, err := object.GetTree(store, root)
	if err != nil {
		return root, err
	}
	e, err := tree.FindEntry(subdir)
	if err != nil || e.Mode != filemode.Dir {
		return root, fmt.Errorf("the commit has no directory %q", subdir)
	}
	return e.Hash, nil
}

func readBlob(store storer.EncodedObjectStorer, h plumbing.Hash, limit int64) (data []byte, err error) {
	blob, err := object.GetBlob(store, h)
	if err != nil {
		return nil, err
	}
	if blob.Size > limit {
		return nil, fmt.Errorf("the tree holds more than %d MiB", maxTreeBytes>>20)
	}
	rd, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rd.Close(); err == nil {
			err = e
		}
	}()
	data = make([]byte, blob.Size)
	_, err = io.ReadFull(rd, data)
	return data, err
}

// checkFiles refuses paths that cannot be in one tree.
func checkFiles(files map[string]File) error {
	for name := range files {
		if err := checkPath(name); err != nil {
			return err
		}
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if _, ok := files[above]; ok {
				return fmt.Errorf("%q is below a file", name)
			}
		}
	}
	return nil
}

// writeTree stores the files and returns the tree that holds them.
func writeTree(store storer.EncodedObjectStorer, files map[string]File) (plumbing.Hash, error) {
	var entries []object.TreeEntry
	dirs := map[string]map[string]File{}
	for name, file := range files {
		if dir, rest, below := strings.Cut(name, "/"); below {
			if dirs[dir] == nil {
				dirs[dir] = map[string]File{}
			}
			dirs[dir][rest] = file
			continue
		}
		e, err := writeFile(store, name, file)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%s: %w", name, err)
		}
		entries = append(entries, e)
	}
	for name, below := range dirs {
		h, err := writeTree(store, below)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%s/%w", name, err)
		}
		entries = append(entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: h})
	}
	return writeEntries(store, entries)
}

func writeFile(store storer.EncodedObjectStorer, name string, file File) (object.TreeEntry, error) {
	e := object.TreeEntry{Name: name}
	mode, err := file.Mode.git()
	if err != nil {
		return e, err
	}
	e.Mode = mode
	if file.Mode == Submodule {
		e.Hash, err = parseHash(string(file.Data))
		return e, err
	}
	blob := &plumbing.MemoryObject{}
	blob.SetType(plumbing.BlobObject)
	if _, err := blob.Write(file.Data); err != nil {
		return e, err
	}
	e.Hash, err = writeObject(store, blob)
	return e, err
}

func writeEntries(store storer.EncodedObjectStorer, entries []object.TreeEntry) (plumbing.Hash, error) {
	sort.Sort(object.TreeEntrySorter(entries)) // git's own order: a directory sorts as "name/"
	tree := &plumbing.MemoryObject{}
	if err := (&object.Tree{Entries: entries}).Encode(tree); err != nil {
		return plumbing.ZeroHash, err
	}
	return writeObject(store, tree)
}

// writeObject stores an object that is not there yet. What is there was synced before it got its name.
func writeObject(store storer.EncodedObjectStorer, o plumbing.EncodedObject) (plumbing.Hash, error) {
	if h := o.Hash(); store.HasEncodedObject(h) == nil {
		return h, nil
	}
	return store.SetEncodedObject(o)
}
