package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"loopd/internal/testenv"
)

func TestWriteFileReplacesContentAndMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	testenv.Must(t, os.WriteFile(path, []byte("old and longer"), 0o666))
	testenv.Must(t, os.Chmod(path, 0o666))
	testenv.Must(t, WriteFile(path, []byte("new"), 0o600))
	got, err := os.ReadFile(path)
	testenv.Must(t, err)
	if string(got) != "new" {
		t.Errorf("content: got %q, want %q", got, "new")
	}
	info, err := os.Stat(path)
	testenv.Must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, want %v", info.Mode().Perm(), fs.FileMode(0o600))
	}
}

// The usual umask of 022 would take the write permission of others away.
func TestWriteFileIgnoresTheUmask(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shared")
	testenv.Must(t, WriteFile(path, []byte("x"), 0o666))
	info, err := os.Stat(path)
	testenv.Must(t, err)
	if info.Mode() != 0o666 {
		t.Errorf("mode: got %v, want %v", info.Mode(), fs.FileMode(0o666))
	}
}

func TestWriteFileLeavesNothingBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "taken"), 0o755))
	if err := WriteFile(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
		t.Error("replacing a directory: got nil, want an error")
	}
	testenv.Must(t, WriteFile(filepath.Join(dir, "ok"), []byte("x"), 0o600))
	entries, err := os.ReadDir(dir)
	testenv.Must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "ok taken"; got != want {
		t.Errorf("files: got %q, want %q", got, want)
	}
}

func TestWriteFileNamesThePath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "no", "such", "file")
	err := WriteFile(path, nil, 0o600)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want a not-exist error naming %s", err, path)
	}
	if err := SyncDir(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a missing directory: got %v, want not-exist", err)
	}
}

// A reader that looks at any time sees one whole version.
func TestWriteFileIsNeverSeenHalf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	versions := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<17)}
	testenv.Must(t, WriteFile(path, []byte(versions[0]), 0o600))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 50 {
			if err := WriteFile(path, []byte(versions[i%2]), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	for {
		got, err := os.ReadFile(path)
		if err != nil || (string(got) != versions[0] && string(got) != versions[1]) {
			t.Fatalf("got %d bytes, error %v, want one whole version", len(got), err)
		}
		select {
		case <-done:
			wg.Wait()
			return
		default:
		}
	}
}

func TestCreateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	broken := errors.New("no more to write")
	if err := CreateFile(path, 0o644, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the writer's error", err)
	}
	testenv.Must(t, CreateFile(path, 0o640, text("first")))
	if err := CreateFile(path, 0o644, text("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want fs.ErrExist for a file that is there", err)
	}
	data, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(data) != "first" || info.Mode() != 0o640 {
		t.Errorf("got %q, %v, %v; want the first text and its mode", data, info.Mode(), errors.Join(err, statErr))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("got %d files, %v; want no temporary one left", len(entries), err)
	}
	if err := CreateFile(filepath.Join(dir, "none", "x"), 0o644, text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist without the directory", err)
	}
}

// What a killed WriteFile left goes; what only looks like it stays.
func TestSweepRemovesWhatAKillLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".results.tsv4037200794235010051", ".a.md123456789012", ".hidden", ".notes2026", "results.tsv4037200794235010051"} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	testenv.Must(t, os.Mkdir(filepath.Join(dir, ".d4037200794235010051"), 0o700))
	list := func() string {
		var names []string
		entries, err := os.ReadDir(dir)
		testenv.Must(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	testenv.Must(t, Sweep(dir, "a.md"))
	if got, want := list(), ".d4037200794235010051 .hidden .notes2026 .results.tsv4037200794235010051 results.tsv4037200794235010051"; got != want {
		t.Errorf("of one name: got %q, want %q", got, want)
	}
	testenv.Must(t, Sweep(dir, ""))
	if got, want := list(), ".d4037200794235010051 .hidden .notes2026 results.tsv4037200794235010051"; got != want {
		t.Errorf("of all: got %q, want %q", got, want)
	}
	if err := Sweep(filepath.Join(dir, "none"), ""); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}
