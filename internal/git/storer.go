package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"loopd/internal/hint"
)

var errReadOnly = errors.New("the user's repository is read-only here")

// readOnlyFS refuses whatever would change a file, so that nothing go-git does can change the user's repository.
type readOnlyFS struct{ billy.Filesystem }

func (f readOnlyFS) OpenFile(name string, flag int, mode os.FileMode) (billy.File, error) {
	if flag != os.O_RDONLY {
		return nil, errReadOnly
	}
	return f.Filesystem.OpenFile(name, flag, mode)
}

func (readOnlyFS) Create(string) (billy.File, error)           { return nil, errReadOnly }
func (readOnlyFS) TempFile(string, string) (billy.File, error) { return nil, errReadOnly }
func (readOnlyFS) Rename(string, string) error                 { return errReadOnly }
func (readOnlyFS) Remove(string) error                         { return errReadOnly }
func (readOnlyFS) MkdirAll(string, os.FileMode) error          { return errReadOnly }
func (readOnlyFS) Symlink(string, string) error                { return errReadOnly }

func (f readOnlyFS) Chroot(dir string) (billy.Filesystem, error) {
	below, err := f.Filesystem.Chroot(dir)
	return readOnlyFS{below}, err
}

// openReadOnly opens the objects and references of the user's repository.
func openReadOnly(p place) *filesystem.Storage {
	fsys := readOnlyFS{dotgit.NewRepositoryFilesystem(osfs.New(p.gitDir), osfs.New(p.common))}
	return filesystem.NewStorageWithOptions(fsys, cache.NewObjectLRUDefault(), filesystem.Options{
		AlternatesFS: readOnlyFS{osfs.New(string(filepath.Separator))},
	})
}

// harmless holds for extensions that change nothing about how objects and references are read. Claude Code's own
// worktrees and sparse checkouts turn worktreeConfig on.
func harmless(o *format.Option) bool {
	switch strings.ToLower(o.Key) {
	case "worktreeconfig":
		return true
	case "objectformat":
		return strings.EqualFold(o.Value, "sha1")
	case "refstorage":
		return strings.EqualFold(o.Value, "files")
	case "preciousobjects", "relativeworktrees", "partialclone":
		return o.Value == "" || strings.EqualFold(o.Value, "false")
	}
	return false
}

// checkSupported says which property of a repository loopd cannot work with, if any. It reads the shared
// configuration file alone, as git does for extensions.
func checkSupported(p place) error {
	f, err := os.Open(filepath.Join(p.common, "config"))
	if err != nil {
		return err
	}
	defer f.Close()
	cfg := format.New()
	if err := format.NewDecoder(f).Decode(cfg); err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	for _, option := range cfg.Section("extensions").Options {
		if !harmless(option) {
			return unsupportedExtension(p.root, option)
		}
	}
	for _, remote := range cfg.Section("remote").Subsections {
		if strings.EqualFold(remote.Option("promisor"), "true") {
			return unsupportedExtension(p.root, &format.Option{Key: "partialClone"})
		}
	}
	core := cfg.Section("core")
	if version := core.Option("repositoryformatversion"); version > "1" {
		return unsupported(p.root, "format version "+version, "run loopd in a plain clone")
	}
	// A linked worktree of a bare repository is a checkout like any other.
	if p.gitDir == p.common && strings.EqualFold(core.Option("bare"), "true") {
		return unsupported(p.root, "core.bare", "name a directory of a checkout")
	}
	return nil
}

func unsupportedExtension(root string, o *format.Option) error {
	switch strings.ToLower(o.Key) {
	case "refstorage":
		return unsupported(root, "reference storage "+o.Value, "git refs migrate --ref-format=files")
	case "objectformat":
		return unsupported(root, "object format "+o.Value, "export it into a repository made with --object-format=sha1")
	case "partialclone":
		return unsupported(root, "a partial clone", "make a full clone, without --filter")
	case "relativeworktrees":
		return unsupported(root, "extensions.relativeWorktrees", "git config --unset extensions.relativeWorktrees after git worktree repair --no-relative-paths")
	}
	return unsupported(root, "extensions."+o.Key, "run loopd in a plain clone: git clone --no-local ORIGINAL COPY")
}

func unsupported(root, feature, help string) error {
	return hint.Usagef("", "repository %s uses %s, which is not supported: %s", root, feature, help)
}
