package git

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/storage"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

var errReadOnly = errors.New("the user's repository is read-only here")

// readOnly is the user's repository as go-git sees it: everything can be read and nothing written. It also hides the
// extensions that go-git does not know although reading objects and references works the same with them.
type readOnly struct {
	*filesystem.Storage
}

var _ storage.Storer = readOnly{}

func openReadOnly(p place) readOnly {
	fsys := dotgit.NewRepositoryFilesystem(osfs.New(p.gitDir), osfs.New(p.common))
	return readOnly{filesystem.NewStorageWithOptions(fsys, cache.NewObjectLRUDefault(), filesystem.Options{
		AlternatesFS: osfs.New(string(filepath.Separator)),
	})}
}

// Config drops what go-git would refuse without need.
func (r readOnly) Config() (*config.Config, error) {
	cfg, err := r.Storage.Config()
	if err != nil {
		return nil, err
	}
	section := cfg.Raw.Section("extensions")
	for _, option := range section.Options {
		if harmless(option) {
			section.RemoveOption(option.Key)
		}
	}
	if len(section.Options) == 0 {
		cfg.Raw.RemoveSection("extensions")
	}
	return cfg, nil
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
			feature, help := unsupported(option)
			return &UnsupportedError{Dir: p.root, Feature: feature, Help: help}
		}
	}
	for _, remote := range cfg.Section("remote").Subsections {
		if strings.EqualFold(remote.Option("promisor"), "true") {
			feature, help := unsupported(&format.Option{Key: "partialClone"})
			return &UnsupportedError{Dir: p.root, Feature: feature, Help: help}
		}
	}
	// A linked worktree of a bare repository is a checkout like any other.
	if p.gitDir == p.common && strings.EqualFold(cfg.Section("core").Option("bare"), "true") {
		return &UnsupportedError{Dir: p.root, Feature: "core.bare", Help: "name a directory of a checkout"}
	}
	return nil
}

func unsupported(o *format.Option) (feature, help string) {
	const clone = "run loopd in a plain clone: git clone --no-local "
	switch strings.ToLower(o.Key) {
	case "refstorage":
		return "reference storage " + o.Value, "git refs migrate --ref-format=files"
	case "objectformat":
		return "object format " + o.Value, "export it into a repository made with --object-format=sha1"
	case "partialclone":
		return "a partial clone", "make a full clone, without --filter"
	case "preciousobjects":
		return "extensions.preciousObjects", clone + "ORIGINAL COPY"
	case "relativeworktrees":
		return "extensions.relativeWorktrees", "git config --unset extensions.relativeWorktrees after git worktree repair --no-relative-paths"
	}
	return "extensions." + o.Key, clone + "ORIGINAL COPY"
}

// SetConfig refuses.
func (readOnly) SetConfig(*config.Config) error { return errReadOnly }

// SetReference refuses.
func (readOnly) SetReference(*plumbing.Reference) error { return errReadOnly }

// CheckAndSetReference refuses.
func (readOnly) CheckAndSetReference(_, _ *plumbing.Reference) error { return errReadOnly }

// RemoveReference refuses.
func (readOnly) RemoveReference(plumbing.ReferenceName) error { return errReadOnly }

// PackRefs refuses.
func (readOnly) PackRefs() error { return errReadOnly }

// SetIndex refuses.
func (readOnly) SetIndex(*index.Index) error { return errReadOnly }

// SetShallow refuses.
func (readOnly) SetShallow([]plumbing.Hash) error { return errReadOnly }

// SetEncodedObject refuses.
func (readOnly) SetEncodedObject(plumbing.EncodedObject) (plumbing.Hash, error) {
	return plumbing.ZeroHash, errReadOnly
}

// PackfileWriter refuses.
func (readOnly) PackfileWriter() (io.WriteCloser, error) { return nil, errReadOnly }

// AddAlternate refuses.
func (readOnly) AddAlternate(string) error { return errReadOnly }

// Init refuses.
func (readOnly) Init() error { return errReadOnly }
