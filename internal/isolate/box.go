package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"loopd/harness"
	"loopd/internal/atomicfile"
)

// Options says what a box is made of and where.
type Options struct {
	// Base is the directory the box is made in; os.TempDir() when empty.
	Base string
	// Fixture is the project, after the scenario's changes.
	Fixture harness.Tree
	// Plugin is the plugin under test, and PluginName the last element of the
	// directory it is copied to.
	Plugin     harness.Tree
	PluginName string
	// Git is the template made from the same Fixture.
	Git *GitTemplate
	// UID and GID own what the session may write, when loopd runs as root.
	// With UID 0, or without root, ownership is left as it is.
	UID, GID int
}

// Box is the directories of one session. All paths are absolute and random.
type Box struct {
	// Root holds the others. It stays in loopd's hands even when the session
	// has a user of its own, so that a session cannot move its own box away.
	Root string
	// Work is the project, a git repository with one commit.
	Work string
	// Plugin is the plugin's copy.
	Plugin string
	// Home, Config and Tmp are empty, for HOME, CLAUDE_CONFIG_DIR and TMPDIR.
	Home, Config, Tmp string

	work *os.Root // the directory itself, whatever its path comes to mean
	lock *flock.Flock
}

// New builds a box. On error nothing is left behind.
func New(ctx context.Context, o Options) (*Box, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("make sandbox: %w", err)
	}
	base, err := neutralBase(o.Base)
	if err != nil {
		return nil, fmt.Errorf("make sandbox: %w", err)
	}
	b, err := claim(base)
	if err != nil {
		return nil, fmt.Errorf("make sandbox: %w", err)
	}
	if err := errors.Join(ctx.Err(), b.fill(o)); err != nil {
		return nil, errors.Join(fmt.Errorf("make sandbox: %w", err), b.Remove())
	}
	return b, nil
}

func (o Options) validate() error {
	switch {
	case o.Git == nil:
		return errors.New("no git template")
	case o.Git.fixture != digest(o.Fixture):
		return ErrOtherFixture
	case o.PluginName == "" || o.PluginName != filepath.Base(o.PluginName) || !filepath.IsLocal(o.PluginName):
		return fmt.Errorf("plugin name %q is not a plain directory name", o.PluginName)
	}
	return nil
}

// claim makes the box's directory and locks it. A Sweep that looks between the
// two takes the lock first; then another name is tried.
func claim(base string) (*Box, error) {
	for range 8 {
		root := filepath.Join(base, boxName())
		if err := os.Mkdir(root, 0o700); err != nil {
			return nil, err
		}
		atomicfile.Failpoint("sandbox.claimed")
		lock := lockOf(root)
		locked, err := lock.TryLock()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", root, err), os.Remove(root))
		}
		if locked && sameDir(lock, root) {
			return &Box{Root: root, lock: lock}, nil
		}
		lock.Close()
	}
	return nil, fmt.Errorf("claim a directory in %s: taken away every time", base)
}

func (b *Box) fill(o Options) error {
	root, err := os.OpenRoot(b.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	own := ownerOf(o)
	if own.set {
		// The session's user must pass through, but not look around.
		if err := root.Chmod(".", 0o711); err != nil {
			return err
		}
	}
	for _, dir := range []*string{&b.Home, &b.Config, &b.Tmp} {
		if *dir, err = b.addDir(root, nil, own); err != nil {
			return err
		}
	}
	if b.Work, err = b.addDir(root, b.fillWork(o, own), own); err != nil {
		return err
	}
	atomicfile.Failpoint("sandbox.half")
	shelf, err := b.addDir(root, fillPlugin(o, own), own)
	b.Plugin = filepath.Join(shelf, o.PluginName)
	atomicfile.Failpoint("sandbox.laid")
	return err
}

// addDir makes a randomly named directory of mode 0700 and lets fill write it.
func (b *Box) addDir(root *os.Root, fill func(*os.Root) error, own owner) (string, error) {
	name := randomName()
	dir, err := makeDir(root, name, own)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if fill != nil {
		err = fill(dir)
	}
	return filepath.Join(b.Root, name), err
}

func (b *Box) fillWork(o Options, own owner) func(*os.Root) error {
	return func(dir *os.Root) error {
		held, err := dir.OpenRoot(".")
		if err != nil {
			return err
		}
		b.work = held
		if err := writeTree(dir, o.Fixture, own); err != nil {
			return err
		}
		meta, err := makeDirMode(dir, ".git", 0o755, own)
		if err != nil {
			return err
		}
		defer meta.Close()
		return writeTree(meta, o.Git.files, own)
	}
}

func fillPlugin(o Options, own owner) func(*os.Root) error {
	return func(shelf *os.Root) error {
		dir, err := makeDir(shelf, o.PluginName, own)
		if err != nil {
			return err
		}
		defer dir.Close()
		return writeTree(dir, o.Plugin, own)
	}
}

// Remove deletes the box, read-only directories included, and gives up its
// lock. It is safe to call twice.
func (b *Box) Remove() error {
	var errs []error
	if b.work != nil {
		errs = append(errs, b.work.Close())
		b.work = nil
	}
	atomicfile.Failpoint("sandbox.removing")
	errs = append(errs, removeAll(b.Root), b.lock.Close())
	atomicfile.Failpoint("sandbox.removed")
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove sandbox: %w", err)
	}
	return nil
}
