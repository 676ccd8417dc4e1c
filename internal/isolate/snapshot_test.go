package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loopd/internal/testenv"
)

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	testenv.Must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func wide() limits { return limits{entries: 1000, bytes: 1 << 20, depth: 64} }

func TestSnapshotNeitherFollowsNorBlocks(t *testing.T) {
	t.Parallel()
	b := newBox(t, options(t, testenv.OpenDir(t)))
	secret := filepath.Join(t.TempDir(), "secret")
	traps := []error{
		os.WriteFile(secret, []byte("canary"), 0o600),
		os.Symlink(secret, filepath.Join(b.Work, "link-file")),
		os.Symlink(filepath.Dir(secret), filepath.Join(b.Work, "link-dir")),
		os.Symlink(".", filepath.Join(b.Work, "loop")),
		syscall.Mkfifo(filepath.Join(b.Work, "fifo"), 0o600),
		os.WriteFile(filepath.Join(b.Work, ".git/canary"), []byte("canary"), 0o600),
		os.MkdirAll(filepath.Join(b.Work, "vendor/x/.git"), 0o755),
		os.WriteFile(filepath.Join(b.Work, "vendor/x/.git/config"), []byte("canary"), 0o600),
		os.WriteFile(filepath.Join(b.Work, "locked"), []byte("kept"), 0o000),
		os.WriteFile(filepath.Join(b.Work, "raised"), nil, 0o755),
		os.Chmod(filepath.Join(b.Work, "raised"), 0o755|fs.ModeSetuid),
	}
	testenv.Must(t, errors.Join(traps...))
	got, err := b.Snapshot(t.Context())
	testenv.Must(t, err)
	for name, f := range got {
		if strings.Contains(string(f.Data), "canary") || strings.Contains(name, ".git/") {
			t.Errorf("%s was read: %q", name, f.Data)
		}
	}
	for name, want := range map[string]fs.FileMode{
		"link-file": fs.ModeSymlink, "link-dir": fs.ModeSymlink, "loop": fs.ModeSymlink, "fifo": fs.ModeNamedPipe,
	} {
		if got[name].Mode.Type() != want {
			t.Errorf("%s: mode %v, want type %v", name, got[name].Mode, want)
		}
	}
	if s := string(got["link-file"].Data); s != secret {
		t.Errorf("link-file: target %q, want %q", s, secret)
	}
	if f := got["locked"]; f.Mode != 0 || string(f.Data) != "kept" {
		t.Errorf("locked: got mode %v and %q, want mode 0 and its bytes", f.Mode, f.Data)
	}
	if f := got["raised"]; f.Mode != 0o755|fs.ModeSetuid {
		t.Errorf("raised: mode %v, want setuid kept", f.Mode)
	}
}

func TestSnapshotReadsTheBoxItself(t *testing.T) {
	t.Parallel()
	b := newBox(t, options(t, testenv.OpenDir(t)))
	// A session that owns the directory above may swap the project for a link.
	testenv.Must(t, errors.Join(os.Rename(b.Work, b.Work+"x"), os.Symlink("/etc", b.Work)))
	got, err := b.Snapshot(t.Context())
	testenv.Must(t, err)
	if len(got) != len(fixture()) {
		t.Errorf("got %d files, want the %d of the project", len(got), len(fixture()))
	}
}

func TestSnapshotLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		max  limits
		want Limit
		make func(dir string) error
	}{
		{"entries", limits{entries: 3, bytes: 100, depth: 2}, LimitEntries, func(dir string) error {
			var errs []error
			for i := range 4 {
				errs = append(errs, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
			return errors.Join(errs...)
		}},
		{"bytes in two files", limits{entries: 3, bytes: 100, depth: 2}, LimitBytes, func(dir string) error {
			return errors.Join(
				os.WriteFile(filepath.Join(dir, "a"), make([]byte, 60), 0o600),
				os.WriteFile(filepath.Join(dir, "b"), make([]byte, 60), 0o600))
		}},
		{"sparse terabyte", wide(), LimitBytes, func(dir string) error {
			f := filepath.Join(dir, "a")
			return errors.Join(os.WriteFile(f, nil, 0o600), os.Truncate(f, 1<<40))
		}},
		{"depth", limits{entries: 9, bytes: 100, depth: 2}, LimitDepth, func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755)
		}},
	} {
		dir := t.TempDir()
		testenv.Must(t, tt.make(dir))
		_, err := snapshot(t.Context(), open(t, dir), tt.max, "")
		if e, ok := errors.AsType[*LimitError](err); !ok || e.Limit != tt.want {
			t.Errorf("%s: got %v, want a *LimitError of %s", tt.name, err, tt.want)
		}
	}
}

func TestSnapshotAtTheLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "a/b"), 0o755),
		os.WriteFile(filepath.Join(dir, "a/b/f"), make([]byte, 100), 0o600))
	testenv.Must(t, err)
	got, err := snapshot(t.Context(), open(t, dir), limits{entries: 3, bytes: 100, depth: 2}, "")
	if err != nil || len(got["a/b/f"].Data) != 100 {
		t.Errorf("exactly at every cap: got %d bytes, %v", len(got["a/b/f"].Data), err)
	}
}

func TestBoxNames(t *testing.T) {
	t.Parallel()
	for range 100 {
		name := boxName()
		if !isBoxName(name) {
			t.Fatalf("%q is not recognised", name)
		}
		for i := range name {
			other := name[:i] + string('a'+(name[i]-'a'+1)%26) + name[i+1:]
			if isBoxName(other) {
				t.Errorf("%q, one letter away from %q, is recognised", other, name)
			}
		}
	}
}
