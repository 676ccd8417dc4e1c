package git

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// PublishedPrefix is where the user's repository may get branches from loopd.
const PublishedPrefix = "refs/heads/loopd/"

func checkRef(name, prefix string) error {
	if err := plumbing.ReferenceName(name).Validate(); err != nil || !strings.HasPrefix(name, prefix) {
		return fmt.Errorf("reference %q is not a valid name under %s", name, prefix)
	}
	return nil
}

func parseHash(hash string) (plumbing.Hash, error) {
	if !isHash(hash) {
		return plumbing.ZeroHash, fmt.Errorf("%q is not an object hash", hash)
	}
	return plumbing.NewHash(hash), nil
}

func isHash(text string) bool {
	const digits = "0123456789abcdef"
	return len(text) == 40 && strings.Trim(text, digits) == ""
}

// checkPath refuses a path that could leave the tree or reach git's own files on some file system.
func checkPath(path string) error {
	if !fs.ValidPath(path) || path == "." || strings.ContainsAny(path, "\x00\\") {
		return fmt.Errorf("path %q is not valid in a tree", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		// Some file systems drop trailing spaces and dots, ignore case, or know a short alias.
		plain := strings.ToLower(strings.TrimRight(part, " ."))
		if plain == ".git" || plain == "git~1" {
			return fmt.Errorf("path %q is not valid in a tree", path)
		}
	}
	return nil
}
