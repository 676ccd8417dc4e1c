package testenv

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating reports whether the golden files are being rewritten.
func Updating() bool { return *update }

// Golden compares got with the file at path, which -update rewrites.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		WriteMode(t, path, string(got), 0o644)
	}
	if want := Read(t, path); !bytes.Equal([]byte(want), got) {
		t.Errorf("%s (-want +got; go test -update rewrites it):\n%s", path, cmp.Diff(want, string(got)))
	}
}

// Must fails the test at once when err is not nil. A property's rapid.T will do
// for a test.
func Must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a file and makes the folders above it. A text that begins with
// "#!" is a program, and "->" makes a symbolic link to what follows.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if to, link := strings.CutPrefix(text, "->"); link {
		Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		Must(t, os.Symlink(to, path))
		return
	}
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	WriteMode(t, path, text, mode)
}

// WriteMode writes a text as it is, with a mode that no umask changes, and makes
// the folders above.
func WriteMode(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(t, os.WriteFile(path, []byte(text), mode))
	Must(t, os.Chmod(path, mode))
}

// Tree writes files below dir and returns dir.
func Tree(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// Copy writes every file of a tree below dir, with the modes that mode gives by
// name.
func Copy(t testing.TB, tree fs.FS, dir string, mode func(name string) fs.FileMode) {
	t.Helper()
	for name, text := range ReadTree(t, tree, ".") {
		WriteMode(t, filepath.Join(dir, name), text, mode(name))
	}
}

// Read returns the text of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	Must(t, err)
	return string(data)
}

// ReadTree returns the text of every regular file below root by its name below
// root. A tree without a file is fatal.
func ReadTree(t testing.TB, tree fs.FS, root string) map[string]string {
	t.Helper()
	sub, err := fs.Sub(tree, root)
	Must(t, err)
	files := make(map[string]string)
	Must(t, fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(sub, name)
		files[name] = string(data)
		return err
	}))
	if len(files) == 0 {
		t.Fatalf("%s has no files", root)
	}
	return files
}

// Table returns the rows of a file of cases, whose columns are parted by tabs. Lines
// that begin with "# " are comments; a file without a row is fatal.
func Table(t testing.TB, path string) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(Read(t, path)) {
		if row := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); !strings.HasPrefix(line, "# ") {
			rows = append(rows, row)
		}
		if n := len(rows); n > 0 && len(rows[n-1]) != len(rows[0]) {
			t.Fatalf("%s: %q has %d columns, want %d", path, line, len(rows[n-1]), len(rows[0]))
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", path)
	}
	return rows
}

// Glob returns the files that match a pattern, in order. None is fatal: cases
// that went missing are no success.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	Must(t, err)
	if len(names) == 0 {
		t.Fatalf("no file matches %s", pattern)
	}
	return names
}

// Snapshot describes everything below dir: mode and time of each entry, the
// digest of a file, the target of a link. What skip names, with all below it, is
// left out.
func Snapshot(t testing.TB, dir string, skip ...string) map[string]string {
	t.Helper()
	entries := make(map[string]string)
	Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if slices.Contains(skip, filepath.ToSlash(name)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		entries[filepath.ToSlash(name)], err = entry(path, d)
		return err
	}))
	if len(entries) < 2 {
		t.Fatalf("%s is empty", dir)
	}
	return entries
}

func entry(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	text := info.Mode().String()
	switch {
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%s %d %x", text, info.ModTime().UnixNano(), sha256.Sum256(data)), err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return text + " " + target, err
	}
	return text, nil
}

// Same fails the test where two values differ: what names them.
func Same[T any](t testing.TB, what string, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// OpenDir makes a folder that every user of the machine may enter; t.TempDir is
// closed to others. Its name tells a session nothing of tests.
func OpenDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	Must(t, os.Chmod(dir, 0o755))
	return dir
}

// JSON returns a value as JSON.
func JSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	Must(t, err)
	return string(data)
}
