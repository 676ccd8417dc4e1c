package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BaseError says that a directory cannot hold boxes because a session in it
// would read, or be changed by, a file of one of the directories above.
type BaseError struct {
	Base string // where boxes were to be made
	Path string // what is in the way
}

// Error names both, and what is wrong with it.
func (e *BaseError) Error() string {
	return fmt.Sprintf("sandbox base %s: a session would read %s", e.Base, e.Path)
}

// neutralBase resolves where boxes go and refuses a place that is not neutral.
func neutralBase(base string) (string, error) {
	if base == "" {
		base = os.TempDir()
	}
	abs, err := filepath.Abs(base)
	if err != nil {
		return "", err
	}
	// Programs inside see the resolved path, so that is the one to judge.
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude", ".mcp.json", ".git"} {
			p := filepath.Join(dir, name)
			if _, err := os.Lstat(p); err == nil {
				return "", &BaseError{Base: base, Path: p}
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if dir == filepath.Dir(dir) {
			return abs, nil
		}
	}
}
