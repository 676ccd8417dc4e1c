package git

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Commit describes a commit completely: the same description has the same hash, on any machine, at any time.
type Commit struct {
	// Base is a commit whose tree is kept outside Subdir; Tree replaces Subdir. An empty Base means that Tree, put
	// into Subdir, is all there is.
	Base, Subdir            string
	Tree                    map[string]File
	Parents                 []string
	AuthorName, AuthorEmail string
	Time                    time.Time // written in UTC, to the second
	Message                 string
}

// WriteCommit stores the commit and everything it holds, durably, and returns its hash. No reference changes.
func (p *Private) WriteCommit(c Commit) (string, error) {
	h, err := c.store(p.store())
	if err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	return h.String(), nil
}

// store stores the commit and everything it holds.
func (c Commit) store(store storer.EncodedObjectStorer) (plumbing.Hash, error) {
	if err := c.check(store); err != nil {
		return plumbing.ZeroHash, err
	}
	tree, err := c.writeTree(store)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return writeObject(store, c.encode(tree))
}

func (c Commit) check(store storer.EncodedObjectStorer) error {
	switch {
	case len(c.Tree) == 0:
		return errors.New("the tree is empty")
	case strings.TrimSpace(c.Message) == "" || strings.ContainsRune(c.Message, 0):
		return errors.New("the message is empty or holds a NUL")
	case badIdent(c.AuthorName) || badIdent(c.AuthorEmail):
		return fmt.Errorf("author %q <%s> is not valid", c.AuthorName, c.AuthorEmail)
	case c.Time.Unix() < 0:
		return errors.New("the time is before 1970")
	}
	commits := slices.Clone(c.Parents)
	if c.Base != "" {
		commits = append(commits, c.Base)
	}
	for _, commit := range commits {
		h, err := parseHash(commit)
		if err != nil {
			return err
		}
		if _, err := object.GetCommit(store, h); err != nil {
			return fmt.Errorf("commit %s is not in the repository, import it first: %w", commit, err)
		}
	}
	return nil
}

func badIdent(text string) bool {
	return strings.TrimSpace(text) == "" || text != strings.TrimSpace(text) || strings.ContainsAny(text, "<>\n\x00")
}

func (c Commit) writeTree(store storer.EncodedObjectStorer) (plumbing.Hash, error) {
	if err := checkFiles(c.Tree); err != nil {
		return plumbing.ZeroHash, err
	}
	tree, err := writeTree(store, c.Tree)
	if err != nil || c.Subdir == "" || c.Subdir == "." {
		return tree, err
	}
	if err := checkPath(c.Subdir); err != nil {
		return plumbing.ZeroHash, err
	}
	root := plumbing.ZeroHash
	if c.Base != "" {
		base, err := object.GetCommit(store, plumbing.NewHash(c.Base))
		if err != nil {
			return plumbing.ZeroHash, err
		}
		root = base.TreeHash
	}
	return graft(store, root, strings.Split(c.Subdir, "/"), tree)
}

// graft returns the tree root with the directory at parts replaced. A zero root is an empty tree.
func graft(store storer.EncodedObjectStorer, root plumbing.Hash, parts []string, tree plumbing.Hash) (plumbing.Hash, error) {
	if len(parts) == 0 {
		return tree, nil
	}
	var entries []object.TreeEntry
	if root != plumbing.ZeroHash {
		t, err := object.GetTree(store, root)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		entries = slices.Clone(t.Entries)
	}
	sub := plumbing.ZeroHash
	i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == parts[0] })
	if i >= 0 {
		if entries[i].Mode != filemode.Dir {
			return plumbing.ZeroHash, fmt.Errorf("%q is not a directory in the base", parts[0])
		}
		sub = entries[i].Hash
		entries = slices.Delete(entries, i, i+1)
	}
	h, err := graft(store, sub, parts[1:], tree)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	entries = append(entries, object.TreeEntry{Name: parts[0], Mode: filemode.Dir, Hash: h})
	return writeEntries(store, entries)
}

func (c Commit) encode(tree plumbing.Hash) plumbing.EncodedObject {
	who := object.Signature{Name: c.AuthorName, Email: c.AuthorEmail, When: c.Time.UTC()}
	commit := &object.Commit{Author: who, Committer: who, TreeHash: tree}
	commit.Message = strings.TrimRight(c.Message, "\n") + "\n"
	for _, parent := range c.Parents {
		commit.ParentHashes = append(commit.ParentHashes, plumbing.NewHash(parent))
	}
	o := &plumbing.MemoryObject{}
	if err := commit.Encode(o); err != nil {
		panic(fmt.Sprintf("git: encode a commit in memory: %v", err)) // memory takes every write
	}
	return o
}
