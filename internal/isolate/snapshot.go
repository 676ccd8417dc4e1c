package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"loopd/harness"
)

// Limit names what a session left too much of.
type Limit string

// The limits of a snapshot.
const (
	LimitEntries Limit = "entries"
	LimitBytes   Limit = "bytes"
	LimitDepth   Limit = "depth"
)

// LimitError says that the project has grown beyond what is read back.
type LimitError struct {
	Limit Limit
	Max   int64
	Path  string // where the limit was passed
}

// Error names the limit and the place.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: more than %d %s", e.Path, e.Max, e.Limit)
}

type limits struct {
	entries, bytes int64
	depth          int
}

// Snapshot reads the project as the session left it. Regular files come with
// their bytes. A symbolic link comes with its type bit and its target as the
// bytes; it is not followed. FIFOs, sockets and devices come with their type
// bits and no bytes; they are not opened. Anything called .git is left out.
// Passing a cap is a *LimitError. Call it when no process of the session lives.
func (b *Box) Snapshot(ctx context.Context) (harness.Tree, error) {
	tree, err := snapshot(ctx, b.work, projectLimits(), "")
	if err != nil {
		return nil, fmt.Errorf("snapshot sandbox: %w", err)
	}
	return tree, nil
}

type walk struct {
	left, max limits
	except    string // a path not read
	tree      harness.Tree
}

func snapshot(ctx context.Context, root *os.Root, max limits, except string) (harness.Tree, error) {
	w := walk{left: max, max: max, except: except, tree: make(harness.Tree)}
	err := w.dir(ctx, root, ".", 0)
	return w.tree, err
}

func (w *walk) dir(ctx context.Context, dir *os.Root, name string, depth int) error {
	if depth > w.max.depth {
		return &LimitError{LimitDepth, int64(w.max.depth), name}
	}
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		// In portions: a directory of a million names must not be listed whole.
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			if err := w.entry(ctx, dir, path.Join(name, e.Name()), e, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

func (w *walk) entry(ctx context.Context, dir *os.Root, name string, e fs.DirEntry, depth int) error {
	if w.left.entries--; w.left.entries < 0 {
		return &LimitError{LimitEntries, w.max.entries, name}
	}
	if e.Name() == ".git" || name == w.except {
		return nil
	}
	info, err := dir.Lstat(e.Name())
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return w.enter(ctx, dir, name, info, depth)
	case info.Mode().IsRegular():
		return w.file(dir, name, info)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := dir.Readlink(e.Name())
		w.tree[name] = harness.File{Mode: info.Mode(), Data: []byte(target)}
		return err
	default:
		w.tree[name] = harness.File{Mode: info.Mode()}
		return nil
	}
}

func (w *walk) enter(ctx context.Context, parent *os.Root, name string, info fs.FileInfo, depth int) error {
	if err := readable(parent, info, 0o500); err != nil {
		return err
	}
	dir, err := parent.OpenRoot(info.Name())
	if err != nil {
		return err
	}
	defer dir.Close()
	return w.dir(ctx, dir, name, depth+1)
}

func (w *walk) file(dir *os.Root, name string, info fs.FileInfo) error {
	if err := readable(dir, info, 0o400); err != nil {
		return err
	}
	f, err := dir.OpenFile(info.Name(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// The size first, so that a sparse file of a terabyte is refused unread.
	if info.Size() > w.left.bytes {
		return &LimitError{LimitBytes, w.max.bytes, name}
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, w.left.bytes+1)); err != nil {
		return err
	}
	if w.left.bytes -= int64(data.Len()); w.left.bytes < 0 {
		return &LimitError{LimitBytes, w.max.bytes, name}
	}
	w.tree[name] = harness.File{Mode: info.Mode(), Data: data.Bytes()}
	return nil
}

// readable gives the owner back the right to read what a session locked: a
// chmod must not be able to make a measurement fail. The mode recorded is the
// one the session left.
func readable(dir *os.Root, info fs.FileInfo, need fs.FileMode) error {
	if info.Mode()&need == need {
		return nil
	}
	return dir.Chmod(info.Name(), info.Mode().Perm()|need)
}

// ReadProject reads any directory the way Snapshot reads a box: without
// following links, opening pipes or looking into .git, and within the same
// limits. What lies at the path except, if any, is left out.
func ReadProject(ctx context.Context, dir, except string) (harness.Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	defer root.Close()
	tree, err := snapshot(ctx, root, projectLimits(), except)
	if err != nil {
		return nil, fmt.Errorf("read project %s: %w", dir, err)
	}
	return tree, nil
}

func projectLimits() limits { return limits{entries: 50_000, bytes: 256 << 20, depth: 64} }
