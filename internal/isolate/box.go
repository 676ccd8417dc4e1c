package isolate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	b, err := build(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("make sandbox: %w", err)
	}
	return b, nil
}

func build(ctx context.Context, o Options) (*Box, error) {
	switch {
	case o.Git == nil:
		return nil, errors.New("no git template")
	case o.Git.fixture != digest(o.Fixture):
		return nil, ErrOtherFixture
	case o.PluginName == "" || o.PluginName != filepath.Base(o.PluginName) || !filepath.IsLocal(o.PluginName):
		return nil, fmt.Errorf("plugin name %q is not a plain directory name", o.PluginName)
	}
	base, err := neutralBase(o.Base)
	if err != nil {
		return nil, err
	}
	b, err := claim(base)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ctx.Err(), b.fill(o)); err != nil {
		return nil, errors.Join(err, b.Remove())
	}
	return b, nil
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
	own := owner{set: os.Geteuid() == 0 && o.UID != 0, uid: o.UID, gid: o.GID}
	if own.set {
		// The session's user must pass through, but not look around.
		if err := root.Chmod(".", 0o711); err != nil {
			return err
		}
	}
	for _, path := range []*string{&b.Home, &b.Config, &b.Tmp} {
		if err := b.addDir(root, path, own, func(*os.Root) error { return nil }); err != nil {
			return err
		}
	}
	err = b.addDir(root, &b.Work, own, func(dir *os.Root) error {
		if b.work, err = dir.OpenRoot("."); err != nil {
			return err
		}
		return errors.Join(writeTree(dir, o.Fixture, own), writeTree(dir, o.Git.files, own))
	})
	if err != nil {
		return err
	}
	atomicfile.Failpoint("sandbox.half")
	err = b.addDir(root, &b.Plugin, own, func(dir *os.Root) error {
		copied, err := makeDir(dir, o.PluginName, 0o700, own)
		if err != nil {
			return err
		}
		defer copied.Close()
		return writeTree(copied, o.Plugin, own)
	})
	b.Plugin = filepath.Join(b.Plugin, o.PluginName)
	atomicfile.Failpoint("sandbox.laid")
	return err
}

// addDir makes a randomly named directory that only its owner may enter, and
// lets fill write it.
func (b *Box) addDir(root *os.Root, path *string, own owner, fill func(*os.Root) error) error {
	name := randomName()
	dir, err := makeDir(root, name, 0o700, own)
	if err != nil {
		return err
	}
	defer dir.Close()
	*path = filepath.Join(b.Root, name)
	return fill(dir)
}

// Remove deletes the box, read-only directories included, and gives up its
// lock. It is safe to call twice.
func (b *Box) Remove() error {
	var closed error
	if b.work != nil {
		closed = b.work.Close()
		b.work = nil
	}
	atomicfile.Failpoint("sandbox.removing")
	err := errors.Join(closed, removeAll(b.Root), b.lock.Close())
	atomicfile.Failpoint("sandbox.removed")
	if err != nil {
		return fmt.Errorf("remove sandbox: %w", err)
	}
	return nil
}

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

const (
	nameLen  = 10 // random characters of a box's name
	checkLen = 8  // characters that only follow from the first ten
)

// randomName returns a short neutral directory name.
func randomName() string { return strings.ToLower(rand.Text())[:nameLen] }

// boxName returns a random name that Sweep recognises. The second half follows
// from the first, so a directory of someone else is taken for a box with a
// chance of one in 2^40, and nothing in the name tells a session what it is.
func boxName() string {
	random := randomName()
	return random + checkOf(random)
}

// isBoxName reports whether boxName could have made the name.
func isBoxName(name string) bool {
	return len(name) == nameLen+checkLen && checkOf(name[:nameLen]) == name[nameLen:]
}

func checkOf(random string) string {
	sum := sha256.Sum256([]byte("directory " + random))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:checkLen]
}
