package git

import (
	"fmt"
	"io"
	"maps"
	"slices"
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
	switch m {
	case filemode.Regular, filemode.Deprecated:
		return Regular, nil
	case filemode.Executable:
		return Executable, nil
	case filemode.Symlink:
		return Symlink, nil
	case filemode.Submodule:
		return Submodule, nil
	}
	return "", fmt.Errorf("unknown file mode %o", uint32(m))
}

func (m Mode) git() (filemode.FileMode, error) {
	switch m {
	case Regular, Executable, Symlink, Submodule:
		return filemode.New(string(m))
	}
	return 0, fmt.Errorf("unknown file mode %q", string(m))
}

// treeReader collects the files below one tree.
type treeReader struct {
	store storer.EncodedObjectStorer
	files map[string]File
	bytes int64
}

func readTree(store storer.EncodedObjectStorer, commit, subdir string) (map[string]File, error) {
	h, err := parseHash(commit)
	if err != nil {
		return nil, err
	}
	c, err := object.GetCommit(store, h)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", commit, err)
	}
	tree, err := subtree(store, c.TreeHash, subdir)
	if err != nil {
		return nil, err
	}
	r := treeReader{store: store, files: map[string]File{}}
	if err := r.read(tree, ""); err != nil {
		return nil, err
	}
	return r.files, nil
}

func subtree(store storer.EncodedObjectStorer, root plumbing.Hash, subdir string) (plumbing.Hash, error) {
	if subdir == "" || subdir == "." {
		return root, nil
	}
	if err := checkPath(subdir); err != nil {
		return root, err
	}
	for part := range strings.SplitSeq(subdir, "/") {
		tree, err := object.GetTree(store, root)
		if err != nil {
			return root, err
		}
		i := slices.IndexFunc(tree.Entries, func(e object.TreeEntry) bool { return e.Name == part && e.Mode == filemode.Dir })
		if i < 0 {
			return root, fmt.Errorf("the commit has no directory %q", subdir)
		}
		root = tree.Entries[i].Hash
	}
	return root, nil
}

func (r *treeReader) read(tree plumbing.Hash, prefix string) error {
	t, err := object.GetTree(r.store, tree)
	if err != nil {
		return fmt.Errorf("tree of %q: %w", prefix, err)
	}
	for _, e := range t.Entries {
		path := prefix + e.Name
		if err := checkPath(path); err != nil {
			return err
		}
		if e.Mode == filemode.Dir {
			err = r.read(e.Hash, path+"/")
		} else {
			err = r.add(path, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *treeReader) add(path string, e object.TreeEntry) error {
	mode, err := modeOf(e.Mode)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	data := []byte(e.Hash.String())
	if mode != Submodule {
		if data, err = readBlob(r.store, e.Hash, maxTreeBytes-r.bytes); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	r.bytes += int64(len(data))
	r.files[path] = File{Mode: mode, Data: data}
	if len(r.files) > maxTreeFiles {
		return fmt.Errorf("more than %d files", maxTreeFiles)
	}
	return nil
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

// dirNode is a directory on its way to becoming a tree object.
type dirNode struct {
	files map[string]File
	dirs  map[string]*dirNode
}

func newDir() *dirNode { return &dirNode{files: map[string]File{}, dirs: map[string]*dirNode{}} }

func nest(files map[string]File) (*dirNode, error) {
	root := newDir()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		parts := strings.Split(path, "/")
		dir := root
		for _, part := range parts[:len(parts)-1] {
			if _, ok := dir.files[part]; ok {
				return nil, fmt.Errorf("%q is below a file", path)
			}
			if dir.dirs[part] == nil {
				dir.dirs[part] = newDir()
			}
			dir = dir.dirs[part]
		}
		name := parts[len(parts)-1]
		if dir.dirs[name] != nil {
			return nil, fmt.Errorf("%q is a file and a directory", path)
		}
		dir.files[name] = files[path]
	}
	return root, nil
}

// writeTree stores the files and returns the tree that holds them.
func writeTree(store storer.EncodedObjectStorer, dir *dirNode) (plumbing.Hash, error) {
	var entries []object.TreeEntry
	for name, file := range dir.files {
		e, err := writeFile(store, name, file)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%s: %w", name, err)
		}
		entries = append(entries, e)
	}
	for name, sub := range dir.dirs {
		h, err := writeTree(store, sub)
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
