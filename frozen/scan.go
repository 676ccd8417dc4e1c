package frozen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A file or directory is opened without following a link in its last part and
// without waiting for a pipe's other end. os.Root is not enough for this: it
// stays inside the tree but still follows links that lead elsewhere in it.
const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// scanner walks one tree. It keeps going over what it cannot read, so that one
// report names every path, and stops only for ctx and exhausted resources.
type scanner struct {
	entries  []Entry
	contents map[string][]byte // where to keep what is read; nil to only hash
	buf      []byte
}

// scanDir returns what dir holds, ordered by path. A root that is missing, not a
// directory or unreadable is an entry like any other.
func scanDir(ctx context.Context, dir string, contents map[string][]byte) (Manifest, error) {
	s := &scanner{contents: contents}
	var st unix.Stat_t
	fd, problem := retryOpen(unix.AT_FDCWD, dir, unix.O_DIRECTORY)
	if problem == nil {
		problem = unix.Fstat(fd, &st)
	}
	if problem != nil {
		return s.badRoot(dir, fd, problem)
	}
	if err := s.directory(ctx, os.NewFile(uintptr(fd), dir), ".", &st); err != nil {
		return Manifest{}, err
	}
	slices.SortFunc(s.entries, byPath)
	return Manifest{entries: s.entries, root: identity{dev: uint64(st.Dev), ino: st.Ino}}, nil
}

func (s *scanner) badRoot(dir string, fd int, problem error) (Manifest, error) {
	if fd >= 0 {
		unix.Close(fd)
	}
	if exhausted(problem) {
		return Manifest{}, fmt.Errorf("open root: %w", problem)
	}
	root := Entry{Path: ".", Type: TypeDir, Problem: problem.Error()}
	var st unix.Stat_t
	if unix.Lstat(dir, &st) == nil {
		root.Type, root.Mode = typeOf(&st), modeOf(&st)
	}
	return Manifest{entries: []Entry{root}}, nil
}

// directory records the directory and everything in it, and closes it.
func (s *scanner) directory(ctx context.Context, d *os.File, path string, st *unix.Stat_t) error {
	defer d.Close()
	s.entries = append(s.entries, Entry{Path: path, Type: TypeDir, Mode: modeOf(st)})
	self := len(s.entries) - 1
	names, err := d.Readdirnames(-1)
	if err != nil {
		return s.blame(self, err)
	}
	fd := int(d.Fd())
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		child := name
		if path != "." {
			child = path + "/" + name
		}
		if err := s.child(ctx, fd, name, child); err != nil {
			return err
		}
	}
	return nil
}

// child looks before it opens, so that no device or pipe is opened on purpose,
// and looks again at what it opened, because the name may have been swapped.
func (s *scanner) child(ctx context.Context, parent int, name, path string) error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		s.entries = append(s.entries, Entry{Path: path, Type: TypeUnknown})
		return s.blame(len(s.entries)-1, err)
	}
	kind := typeOf(&st)
	if path == ManifestName && kind == TypeFile {
		return nil
	}
	if kind != TypeDir && kind != TypeFile {
		s.entries = append(s.entries, Entry{Path: path, Type: kind, Mode: modeOf(&st)})
		return nil
	}
	fd, err := retryOpen(parent, name, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		s.entries = append(s.entries, Entry{Path: path, Type: kind, Mode: modeOf(&st)})
		return s.blame(len(s.entries)-1, err)
	}
	return s.opened(ctx, fd, path, &st)
}

func (s *scanner) opened(ctx context.Context, fd int, path string, st *unix.Stat_t) error {
	kind := typeOf(st)
	if kind == TypeDir {
		return s.directory(ctx, os.NewFile(uintptr(fd), path), path, st)
	}
	defer unix.Close(fd)
	e := Entry{Path: path, Type: kind, Mode: modeOf(st)}
	if kind != TypeFile {
		s.entries = append(s.entries, e)
		return nil
	}
	data, err := s.read(fd, st.Size)
	e.Size, e.Links = int64(len(data)), uint64(st.Nlink)
	s.entries = append(s.entries, e)
	if err != nil {
		return s.blame(len(s.entries)-1, err)
	}
	sum := sha256.Sum256(data)
	s.entries[len(s.entries)-1].Sum = Digest(hex.EncodeToString(sum[:]))
	if s.contents != nil {
		s.contents[path] = slices.Clone(data)
	}
	return nil
}

// errTooLarge is the problem of a file over MaxFileSize.
var errTooLarge = errors.New("larger than 64 MiB")

// read returns the whole file in a buffer that the next read reuses.
func (s *scanner) read(fd int, size int64) ([]byte, error) {
	if size > MaxFileSize {
		return nil, errTooLarge
	}
	// One byte more than the size, so that the read that finds the end needs no
	// larger buffer, and a file that grows meanwhile is seen to grow.
	data := slices.Grow(s.buf[:0], int(size)+1)
	for {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Read(fd, data[len(data):cap(data)])
			return err
		})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			s.buf = data
			return data, nil
		}
		data = data[:len(data)+n]
		if len(data) > MaxFileSize {
			return nil, errTooLarge
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, 64<<10)
		}
	}
}

// blame records why an entry could not be read. Running out of descriptors or
// memory is ours, not the suite's: it must not be mistaken for drift.
func (s *scanner) blame(i int, err error) error {
	if exhausted(err) {
		return fmt.Errorf("read %s: %w", s.entries[i].Path, err)
	}
	if inner, ok := errors.AsType[unix.Errno](err); ok {
		err = inner
	}
	s.entries[i].Problem = err.Error()
	return nil
}

func exhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func retryOpen(parent int, name string, extra int) (int, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat(parent, name, openFlags|extra, 0)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}

func modeOf(st *unix.Stat_t) uint32 { return uint32(st.Mode) & 0o7777 }

func typeOf(st *unix.Stat_t) Type {
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFDIR:
		return TypeDir
	case unix.S_IFREG:
		return TypeFile
	case unix.S_IFLNK:
		return TypeLink
	case unix.S_IFIFO:
		return TypePipe
	case unix.S_IFSOCK:
		return TypeSocket
	case unix.S_IFCHR:
		return TypeChar
	case unix.S_IFBLK:
		return TypeBlock
	default:
		return TypeUnknown
	}
}

// readManifestFile opens the seal with the care given to sealed files: a link
// or pipe in its place is refused.
func readManifestFile(dir string) ([]byte, error) {
	fd, err := retryOpen(unix.AT_FDCWD, dir+"/"+ManifestName, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", ManifestName, err)
	}
	f := os.NewFile(uintptr(fd), ManifestName)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: not a regular file", ManifestName)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err == nil && len(text) > MaxFileSize {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ManifestName, err)
	}
	return text, nil
}
