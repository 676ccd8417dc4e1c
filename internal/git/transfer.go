package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"loopd/internal/atomicfile"
)

// Import copies a commit of the user's with its tree, and without its history, into the private repository, so that
// candidates can be built on it. Importing again does nothing.
func (p *Private) Import(ctx context.Context, u *User, commit string) error {
	if err := p.importCommit(ctx, u, commit); err != nil {
		return fmt.Errorf("import commit %s: %w", commit, err)
	}
	return nil
}

func (p *Private) importCommit(ctx context.Context, u *User, commit string) error {
	h, err := parseHash(commit)
	if err != nil {
		return err
	}
	if bases, err := p.bases(); err != nil || slices.Contains(bases, h) {
		return err
	}
	d := newDiffer(openReadOnly(u.place), p.store())
	c, err := object.GetCommit(d.from, h)
	if err != nil {
		return err
	}
	d.add(h)
	if err := d.trees(plumbing.ZeroHash, c.TreeHash); err != nil {
		return err
	}
	if err := send(ctx, p.git, d.from, d.missing); err != nil {
		return err
	}
	if err := p.addBase(h); err != nil {
		return err
	}
	// A reference keeps the base from being collected should someone run git gc there.
	return p.setRef("refs/imported/"+commit, commit, "")
}

// bases are the imported commits: those whose parents are not here. git calls that shallow.
func (p *Private) bases() ([]plumbing.Hash, error) { return p.store().Shallow() }

func (p *Private) addBase(h plumbing.Hash) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	bases, err := p.bases()
	if err != nil {
		return err
	}
	var lines []string
	for _, base := range append(bases, h) {
		lines = append(lines, base.String())
	}
	slices.Sort(lines)
	text := strings.Join(slices.Compact(lines), "\n") + "\n"
	return atomicfile.WriteFile(filepath.Join(p.dir, "shallow"), []byte(text), 0o600)
}

// differ collects the objects that one store has and another lacks.
type differ struct {
	from, to storer.EncodedObjectStorer
	seen     map[plumbing.Hash]bool
	missing  []plumbing.Hash
}

func newDiffer(from, to storer.EncodedObjectStorer) *differ {
	return &differ{from: from, to: to, seen: map[plumbing.Hash]bool{}}
}

func (d *differ) add(h plumbing.Hash) {
	if !d.seen[h] && !has(d.to, h) {
		d.missing = append(d.missing, h)
	}
	d.seen[h] = true
}

// has looks for an object. The quick way does not see packs that a repository borrows from another; reading does.
func has(store storer.EncodedObjectStorer, h plumbing.Hash) bool {
	if store.HasEncodedObject(h) == nil {
		return true
	}
	_, err := store.EncodedObject(plumbing.AnyObject, h)
	return err == nil
}

// commits adds what the commit and its ancestors brought, down to the imported bases, which the other side must have.
// Every object is looked for, not only the commits: after a collection there some may be gone and others not.
func (d *differ) commits(h plumbing.Hash, bases []plumbing.Hash) error {
	if d.seen[h] {
		return nil
	}
	if slices.Contains(bases, h) {
		if !has(d.to, h) {
			return fmt.Errorf("the commit it is based on, %s, is gone from the repository", h)
		}
		return nil
	}
	c, err := object.GetCommit(d.from, h)
	if err != nil {
		return fmt.Errorf("commit %s: %w", h, err)
	}
	d.add(h)
	known := plumbing.ZeroHash
	for i, parent := range c.ParentHashes {
		if err := d.commits(parent, bases); err != nil {
			return err
		}
		if i == 0 {
			p, err := object.GetCommit(d.from, parent)
			if err != nil {
				return fmt.Errorf("commit %s: %w", parent, err)
			}
			known = p.TreeHash
		}
	}
	return d.trees(known, c.TreeHash)
}

// trees adds a tree with all in it that the known tree does not have at the same place.
func (d *differ) trees(known, tree plumbing.Hash) error {
	if known == tree {
		return nil
	}
	d.add(tree)
	t, err := object.GetTree(d.from, tree)
	if err != nil {
		return fmt.Errorf("tree %s: %w", tree, err)
	}
	old, err := entriesOf(d.from, known)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		was := old[e.Name]
		switch {
		case e.Mode == filemode.Submodule || was.Hash == e.Hash:
		case e.Mode != filemode.Dir:
			d.add(e.Hash)
		default:
			if was.Mode != filemode.Dir {
				was.Hash = plumbing.ZeroHash
			}
			if err := d.trees(was.Hash, e.Hash); err != nil {
				return err
			}
		}
	}
	return nil
}

func entriesOf(store storer.EncodedObjectStorer, tree plumbing.Hash) (map[string]object.TreeEntry, error) {
	entries := map[string]object.TreeEntry{}
	if tree == plumbing.ZeroHash {
		return entries, nil
	}
	t, err := object.GetTree(store, tree)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", tree, err)
	}
	for _, e := range t.Entries {
		entries[e.Name] = e
	}
	return entries, nil
}

// looseLimit is up to how many objects are stored one by one; more are kept as a pack.
const looseLimit = 200

// gitFunc runs git in one repository.
type gitFunc func(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error)

// send has git itself store the objects: it knows the permissions the repository wants, renews the age of objects
// that are there already, and leaves nothing half-written under a final name.
func send(ctx context.Context, git gitFunc, from storer.EncodedObjectStorer, objects []plumbing.Hash) error {
	if len(objects) == 0 {
		return nil
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, from, false).Encode(objects, 0); err != nil {
		return fmt.Errorf("pack objects: %w", err)
	}
	args := []string{"unpack-objects", "-q"}
	if len(objects) > looseLimit {
		args = []string{"index-pack", "--stdin"}
	}
	if _, err := git(ctx, &pack, args...); err != nil {
		return fmt.Errorf("store %d objects: %w", len(objects), err)
	}
	return nil
}
