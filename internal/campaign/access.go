package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"loopd/internal/store"
)

// What other users may do with a state directory: nothing.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// asSealed are the entries of a state directory whose insides have modes of their
// own: those of the seal, of git, of a built graph. The directories around them
// keep others out.
var asSealed = []string{"suite", "graph", "repo.git"}

// sealedEntry says whether an entry of the state directory is one of those.
func sealedEntry(name string) bool {
	for _, s := range asSealed {
		if name == s {
			return true
		}
	}
	return false
}

// Open lists what in the state directory other users could read or change: of its
// own entries, and with deep of what is below them too. A directory that is not
// there yet is open to nobody.
func (h Home) Open(deep bool) ([]*store.AccessError, error) {
	var out []*store.AccessError
	err := filepath.WalkDir(h.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // never made, or removed meanwhile
		}
		if err != nil {
			return err
		}
		top := filepath.Dir(path) == filepath.Clean(h.Dir)
		if top && sealedEntry(d.Name()) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if wide := tooWide(path, info.Mode()); wide != nil {
			out = append(out, wide)
		}
		// What people drop into the spool has the modes they gave it.
		if d.IsDir() && top && (!deep || d.Name() == filepath.Base(h.Spool())) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look who may read %s: %w", h.Dir, err)
	}
	return out, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tooWide compares a mode with what is allowed. A link's own mode says nothing.
func tooWide(path string, mode fs.FileMode) *store.AccessError {
	want := fileMode
	switch {
	case mode.IsDir():
		want = dirMode
	case mode&fs.ModeSymlink != 0:
		return nil
	}
	if mode.Perm()&0o077 == 0 {
		return nil
	}
	return &store.AccessError{Path: path, Mode: mode.Perm(), Want: want}
}

// KeptFromOthers refuses a state directory that other users can look into or
// change: what measures and what was measured would be theirs too.
func (h Home) KeptFromOthers() error {
	if _, err := os.Stat(h.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	open, err := h.Open(false)
	if err != nil || len(open) == 0 {
		return err
	}
	return fmt.Errorf("open state directory: %w", open[0])
}
