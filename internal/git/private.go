package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"loopd/internal/atomicfile"
)

// Private is loopd's own bare repository in the state directory. It may be used by several goroutines; other
// processes are kept out by the lock of the state directory.
type Private struct {
	dir string
	mu  sync.Mutex // held while a reference changes
}

// InitPrivate makes an empty repository at dir, which must not exist or be empty. A crash leaves either none or a
// whole one.
func InitPrivate(dir string) (*Private, error) {
	parent := filepath.Dir(dir)
	if err := sweepUnfinished(parent); err != nil {
		return nil, fmt.Errorf("make private repository: %w", err)
	}
	temp, err := os.MkdirTemp(parent, unfinished+"*")
	if err != nil {
		return nil, fmt.Errorf("make private repository: %w", err)
	}
	defer os.RemoveAll(temp) // gone by then unless a step failed
	if err := initBare(temp); err != nil {
		return nil, fmt.Errorf("make private repository: %w", err)
	}
	atomicfile.Failpoint("git.init.written")
	if err := os.Rename(temp, dir); err != nil {
		return nil, fmt.Errorf("make private repository: %w", err)
	}
	atomicfile.Failpoint("git.init.renamed")
	if err := atomicfile.SyncDir(parent); err != nil {
		return nil, fmt.Errorf("make private repository: %w", err)
	}
	return OpenPrivate(dir)
}

// unfinished begins the name of a repository that is being made.
const unfinished = ".new-repo-"

// sweepUnfinished removes what an InitPrivate that was killed left. The caller
// holds the lock of the state directory.
func sweepUnfinished(parent string) error {
	left, err := filepath.Glob(filepath.Join(escapeGlob(parent), unfinished+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

func initBare(dir string) error {
	store := filesystem.NewStorage(newSyncFS(dir), cache.NewObjectLRUDefault())
	repo, err := gogit.InitWithOptions(store, nil, gogit.InitOptions{DefaultBranch: plumbing.Main})
	if err != nil {
		return err
	}
	cfg, err := repo.Config()
	if err != nil {
		return err
	}
	// The base is named by no branch of the user's and must not be collected.
	cfg.Raw.Section("gc").SetOption("auto", "0")
	if err := store.SetConfig(cfg); err != nil {
		return err
	}
	for _, name := range []string{"HEAD", "config"} {
		if err := syncFileAt(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(dir)
}

// OpenPrivate opens a repository made by InitPrivate. A directory that is none gives a *NotRepositoryError.
func OpenPrivate(dir string) (*Private, error) {
	if !looksBare(dir) {
		return nil, fmt.Errorf("open private repository: %w", &NotRepositoryError{Dir: dir})
	}
	p := &Private{dir: dir}
	if _, err := p.store().Reference(plumbing.HEAD); err != nil {
		return nil, fmt.Errorf("open private repository: %w", err)
	}
	return p, nil
}

// Dir is where the repository is.
func (p *Private) Dir() string { return p.dir }

// store opens the object store anew: an opened one does not see packs that came or went since.
func (p *Private) store() *filesystem.Storage {
	return filesystem.NewStorage(newSyncFS(p.dir), cache.NewObjectLRUDefault())
}

// Tree returns every file of a commit.
func (p *Private) Tree(commit string) (map[string]File, error) {
	files, err := readTree(p.store(), commit, "")
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	return files, nil
}

// Has reports whether the repository holds every one of these objects.
func (p *Private) Has(hashes ...string) bool {
	store := p.store()
	for _, hash := range hashes {
		h, err := parseHash(hash)
		if err != nil || store.HasEncodedObject(h) != nil {
			return false
		}
	}
	return true
}

// Ref returns the hash a reference names, or "" when there is no such reference or a crash left it broken.
func (p *Private) Ref(name string) (string, error) {
	if err := checkRef(name, "refs/"); err != nil {
		return "", fmt.Errorf("read reference: %w", err)
	}
	return readRef(p.dir, p.store(), name)
}

// SetRef makes a reference name the commit, provided that it names old now; an empty old means that it must not
// exist. A reference that already names the commit is left alone, so that a step cut short can be repeated.
func (p *Private) SetRef(name, hash, old string) error {
	if err := p.setRef(name, hash, old); err != nil {
		return fmt.Errorf("set reference: %w", err)
	}
	return nil
}

func (p *Private) setRef(name, hash, old string) error {
	if err := checkRef(name, "refs/"); err != nil {
		return err
	}
	h, err := parseHash(hash)
	if err != nil {
		return err
	}
	if err := p.store().HasEncodedObject(h); err != nil {
		return fmt.Errorf("object %s: %w", hash, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lock, err := lockRef(p.dir, name)
	if err != nil {
		return err
	}
	got, err := p.Ref(name)
	if err != nil || got == hash {
		return errors.Join(err, lock.release())
	}
	if got != old {
		return errors.Join(&ConflictError{Ref: name, Want: old, Got: got}, lock.release())
	}
	return lock.commit(hash)
}

// SweepLocks removes lock files and half-written objects that a killed loopd left, and names them. The caller holds
// the lock of the state directory, so nobody else's can be among them.
func (p *Private) SweepLocks() ([]string, error) {
	removed, err := sweep(filepath.Join(p.dir, "refs"), "*.lock", always)
	if err != nil {
		return removed, fmt.Errorf("sweep locks: %w", err)
	}
	objects, err := sweep(filepath.Join(p.dir, "objects"), "tmp_*", always)
	if err != nil {
		return removed, fmt.Errorf("sweep locks: %w", err)
	}
	return append(removed, objects...), nil
}
