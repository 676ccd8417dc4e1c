package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// The bounds of what is read. A plugin beyond them is surveyed as far as they
// reach.
const (
	maxFile    = 1 << 20 // bytes of one file
	maxEntries = 20_000  // of the whole tree
	maxListed  = 2_000   // of one directory
	maxDepth   = 12
)

// errNotRegular says that a path is a link, a directory or a device: opening
// one could leave the plugin, or block.
var errNotRegular = errors.New("not a regular file")

// read returns a regular file of bounded size.
func read(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Lstat(fsys, name)
	switch {
	case err != nil:
		return nil, bare(err)
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%d bytes, over the limit of %d", info.Size(), maxFile)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return data, bare(err)
}

// bare takes operation and path off an error that will be told with the path.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// list returns a directory's entries, none where there is no such directory. A
// directory that is a link has none.
func list(fsys fs.FS, name string) []fs.DirEntry {
	if info, err := fs.Lstat(fsys, name); err != nil || !info.IsDir() {
		return nil
	}
	entries, _ := fs.ReadDir(fsys, name) // what cannot be read, sessions cannot read either
	return entries[:min(len(entries), maxListed)]
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Lstat(fsys, name)
	return err == nil && info.IsDir()
}

func isFile(fsys fs.FS, name string) bool {
	info, err := fs.Lstat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Lstat(fsys, name)
	return err == nil
}

// walk calls visit for what lies below a directory, within the bounds and
// without the repository's own files.
func walk(fsys fs.FS, dir string, visit func(name string, d fs.DirEntry)) {
	left := maxEntries
	var down func(dir string, depth int)
	down = func(dir string, depth int) {
		for _, d := range list(fsys, dir) {
			if left--; left < 0 || d.Name() == ".git" {
				continue
			}
			name := path.Join(dir, d.Name())
			visit(name, d)
			if d.IsDir() && depth < maxDepth {
				down(name, depth+1)
			}
		}
	}
	down(dir, 0)
}

// links warns of links: a plugin that has one cannot be copied for a session.
func (r *reader) links() {
	n := 0
	walk(r.fsys, ".", func(name string, d fs.DirEntry) {
		if d.Type()&fs.ModeSymlink == 0 {
			return
		}
		if n++; n <= maxLinks {
			r.block(name, "put the file itself there", "is a link, and a plugin with links is not copied for a session")
		}
	})
	if n > maxLinks {
		r.block(".", "put the files themselves there", "%d more links", n-maxLinks)
	}
}

// maxLinks is how many links are named one by one.
const maxLinks = 3

// trimMark takes off the byte order mark that some editors write.
func trimMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// jsonReason says what is wrong with JSON without repeating any of it.
func jsonReason(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := strings.SplitN(t.Value, " ", 2)[0]
		is := "is a " + kind
		if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "o") {
			is = "is an " + kind
		}
		if t.Field == "" {
			return is + ", which it may not be"
		}
		return t.Field + " " + is + ", which it may not be"
	}
	return "not valid JSON: " + err.Error()
}
