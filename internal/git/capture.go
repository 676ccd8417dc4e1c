package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// maxCommits bounds the history that is read of one branch.
const maxCommits = 50_000

// Branch is a branch with the subjects of its commits, newest first.
type Branch struct {
	Name     string // without refs/heads/
	Commit   string
	Tree     string // hash of its files: the same files have the same one
	Subjects []string
}

// Tag is a tag and the commit it leads to.
type Tag struct {
	Name    string // without refs/tags/
	Commit  string
	Tree    string
	Subject string // of the commit
	Message string // first line of an annotated tag's own, else empty
}

// Branches reads every branch, in the order of their names. A shallow clone's
// history ends where the clone does.
func (u *User) Branches(ctx context.Context) ([]Branch, error) {
	store := openReadOnly(u.place)
	refs, err := refsBelow(store, "refs/heads/")
	if err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	cut, err := beyondShallow(store)
	if err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	var out []Branch
	for _, ref := range refs {
		c, err := object.GetCommit(store, ref.hash)
		if err != nil {
			return nil, fmt.Errorf("read branch %s: %w", ref.name, err)
		}
		subjects, err := subjectsOf(ctx, c, cut)
		if err != nil {
			return nil, fmt.Errorf("read branch %s: %w", ref.name, err)
		}
		out = append(out, Branch{Name: ref.name, Commit: c.Hash.String(), Tree: c.TreeHash.String(), Subjects: subjects})
	}
	return out, nil
}

// Tags reads every tag that leads to a commit, in the order of their names.
func (u *User) Tags() ([]Tag, error) {
	store := openReadOnly(u.place)
	refs, err := refsBelow(store, "refs/tags/")
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	var out []Tag
	for _, ref := range refs {
		t, err := readTag(store, ref)
		if err != nil {
			return nil, fmt.Errorf("read tag %s: %w", ref.name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

func readTag(store storer.EncodedObjectStorer, ref namedRef) (Tag, error) {
	out := Tag{Name: ref.name}
	hash := ref.hash
	// A tag may be of a tag; the bound is against a loop in a broken store.
	for range 10 {
		t, err := object.GetTag(store, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			break
		}
		if err != nil {
			return out, err
		}
		if out.Message == "" {
			out.Message = subject(t.Message)
		}
		hash = t.Target
	}
	c, err := object.GetCommit(store, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) && store.HasEncodedObject(hash) == nil {
		out.Commit = hash.String() // of a file or a tree
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Commit, out.Tree, out.Subject = c.Hash.String(), c.TreeHash.String(), subject(c.Message)
	return out, nil
}

// namedRef is a reference without the part of its name that all have.
type namedRef struct {
	name string
	hash plumbing.Hash
}

func refsBelow(store storer.ReferenceStorer, prefix string) ([]namedRef, error) {
	iter, err := store.IterReferences()
	if err != nil {
		return nil, err
	}
	var out []namedRef
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		name, ok := strings.CutPrefix(ref.Name().String(), prefix)
		if !ok {
			return nil
		}
		resolved, err := storer.ResolveReference(store, ref.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", ref.Name(), err)
		}
		out = append(out, namedRef{name, resolved.Hash()})
		return nil
	})
	slices.SortFunc(out, func(a, b namedRef) int { return strings.Compare(a.name, b.name) })
	return out, err
}

// beyondShallow lists the parents a shallow clone does not have.
func beyondShallow(store *filesystem.Storage) ([]plumbing.Hash, error) {
	edges, err := store.Shallow()
	if err != nil {
		return nil, err
	}
	var out []plumbing.Hash
	for _, h := range edges {
		c, err := object.GetCommit(store, h)
		if err != nil {
			return nil, err
		}
		out = append(out, c.ParentHashes...)
	}
	return out, nil
}

func subjectsOf(ctx context.Context, c *object.Commit, cut []plumbing.Hash) ([]string, error) {
	iter := object.NewCommitIterCTime(c, nil, cut)
	defer iter.Close()
	var out []string
	for {
		c, err := iter.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if out = append(out, subject(c.Message)); len(out) > maxCommits {
			return nil, fmt.Errorf("more than %d commits", maxCommits)
		}
	}
}

// subject is the first line of a message.
func subject(message string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSpace(first)
}

// Tracked lists the paths of a commit's files.
func (u *User) Tracked(commit string) (map[string]bool, error) {
	out := make(map[string]bool)
	err := walkTree(openReadOnly(u.place), commit, "", func(path string, _ object.TreeEntry) error {
		out[path] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", commit, err)
	}
	return out, nil
}
