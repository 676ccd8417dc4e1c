package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Special is the mode of what is neither a file nor a link: a pipe, a socket, a
// device. It is not opened.
const Special Mode = "special"

// WorkFile is one file as it lies in the worktree, tracked or not.
type WorkFile struct {
	Path   string // from Root, with slashes
	Mode   Mode
	Digest string // sha256 of the content, or of a link's target; hex
	Bytes  int64
}

// Worktree reads what lies in the worktree, in the order of the paths. Nothing
// in it is run, no link is followed, and whatever is called .git is left out.
func (u *User) Worktree(ctx context.Context) ([]WorkFile, error) {
	root, err := os.OpenRoot(u.place.root)
	if err != nil {
		return nil, fmt.Errorf("read worktree: %w", err)
	}
	defer root.Close()
	var out []WorkFile
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git", d.IsDir():
			return ctx.Err()
		case len(out) == maxTreeFiles:
			return fmt.Errorf("more than %d files", maxTreeFiles)
		}
		f, err := readWorkFile(root, name)
		out = append(out, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read worktree %s: %w", u.place.root, err)
	}
	return out, nil
}

func readWorkFile(root *os.Root, name string) (WorkFile, error) {
	f := WorkFile{Path: name, Mode: Special}
	info, err := root.Lstat(name)
	if err != nil {
		return f, err
	}
	h := sha256.New()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return f, err
		}
		f.Mode, f.Bytes = Symlink, int64(len(target))
		io.WriteString(h, target)
	case info.Mode().IsRegular():
		if f.Mode = Regular; info.Mode()&0o111 != 0 {
			f.Mode = Executable
		}
		// Never waiting, should a pipe have taken the file's place.
		in, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return f, err
		}
		defer in.Close()
		if f.Bytes, err = io.Copy(h, in); err != nil {
			return f, err
		}
	default:
		return f, nil
	}
	f.Digest = hex.EncodeToString(h.Sum(nil))
	return f, nil
}
