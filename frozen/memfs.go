package frozen

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// memFS serves the bytes of a Suite by path.
type memFS map[string]*memNode

type memNode struct {
	entry    Entry
	data     []byte
	children []fs.DirEntry // in order of names
}

// FS returns the sealed bytes as a read-only file system with the sealed modes.
// It never touches the disk. MANIFEST.mtree is not in it.
func (s *Suite) FS() fs.FS { return s.files }

func newMemFS(entries []Entry, contents map[string][]byte) memFS {
	m := make(memFS, len(entries))
	for _, e := range entries {
		n := &memNode{entry: e, data: contents[e.Path]}
		m[e.Path] = n
		if e.Path != "." {
			// A directory's path sorts before the paths in it.
			parent := m[path.Dir(e.Path)]
			parent.children = append(parent.children, fs.FileInfoToDirEntry(memInfo{n}))
		}
	}
	return m
}

func (m memFS) node(op, name string) (*memNode, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (m memFS) Open(name string) (fs.File, error) {
	n, err := m.node("open", name)
	if err != nil {
		return nil, err
	}
	if n.entry.Type == TypeDir {
		return &memDir{memInfo: memInfo{n}, rest: n.children}, nil
	}
	return &memFile{memInfo: memInfo{n}, Reader: bytes.NewReader(n.data)}, nil
}

func (m memFS) Stat(name string) (fs.FileInfo, error) {
	n, err := m.node("stat", name)
	if err != nil {
		return nil, err
	}
	return memInfo{n}, nil
}

// ReadFile returns a copy: a caller that edits its slice must not edit the suite.
func (m memFS) ReadFile(name string) ([]byte, error) {
	n, err := m.node("read", name)
	if err != nil {
		return nil, err
	}
	if n.entry.Type == TypeDir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return append(make([]byte, 0, len(n.data)), n.data...), nil
}

func (m memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := m.node("readdir", name)
	if err != nil {
		return nil, err
	}
	if n.entry.Type != TypeDir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return slices.Clone(n.children), nil
}

type memInfo struct{ n *memNode }

func (i memInfo) Name() string       { return path.Base(i.n.entry.Path) }
func (i memInfo) Size() int64        { return i.n.entry.Size }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.n.entry.Type == TypeDir }
func (i memInfo) Sys() any           { return nil }

func (i memInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.n.entry.Mode) & fs.ModePerm
	if i.IsDir() {
		mode |= fs.ModeDir
	}
	return mode
}

type memFile struct {
	memInfo
	*bytes.Reader
}

// Size is in both embedded types; the reader's would be right as well.
func (f *memFile) Size() int64                { return f.memInfo.Size() }
func (f *memFile) Stat() (fs.FileInfo, error) { return f.memInfo, nil }
func (f *memFile) Close() error               { return nil }

type memDir struct {
	memInfo
	rest []fs.DirEntry
}

func (d *memDir) Stat() (fs.FileInfo, error) { return d.memInfo, nil }
func (d *memDir) Close() error               { return nil }

func (d *memDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.n.entry.Path, Err: fs.ErrInvalid}
}

func (d *memDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	out := d.rest[:min(n, len(d.rest))]
	d.rest = d.rest[len(out):]
	return slices.Clone(out), nil
}
