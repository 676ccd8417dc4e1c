package frozen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

// suite is a small directory with everything a real one has: an executable, an
// empty directory, an empty file, and a name that sorts before ".".
func suite(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	write(t, dir, "scenarios/ask-before-build.md", "# Task\nPlan the import.\n", 0o644)
	write(t, dir, "fixtures/tide-table/bin/run", "#!/bin/sh\necho tide\n", 0o755)
	write(t, dir, "fixtures/tide-table/lib/moon phase.rb", "PHASES = 8\n", 0o644)
	write(t, dir, "fixtures/tide-table-old/notes", "", 0o600)
	write(t, dir, "-rubric.md", "Full marks when the plan names a file.\n", 0o644)
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "fixtures/empty"), 0o755))
	return dir
}

func write(t testing.TB, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	testenv.WriteMode(t, path, text, mode)
}

func seal(t testing.TB, dir string) Manifest {
	t.Helper()
	m, err := Seal(t.Context(), dir)
	testenv.Must(t, err)
	return m
}

// verify returns the deltas as "kind path" lines.
func verify(t testing.TB, dir string, want Manifest) []string {
	t.Helper()
	drift, err := Verify(t.Context(), dir, want)
	testenv.Must(t, err)
	if drift == nil {
		return nil
	}
	if len(drift.Deltas) == 0 {
		t.Fatal("a drift without deltas")
	}
	var got []string
	for _, d := range drift.Deltas {
		got = append(got, string(d.Kind)+" "+d.Path)
	}
	return got
}

const (
	scenario   = "scenarios/ask-before-build.md"
	executable = "fixtures/tide-table/bin/run"
)

// Each damage is one way a sealed directory can be moved; the lines are all the
// deltas it must yield and nothing else.
var damages = []struct {
	name string
	do   func(t *testing.T, dir string)
	want []string
}{
	{"content", func(t *testing.T, dir string) {
		write(t, dir, scenario, "# Task\nPlan nothing.\n", 0o644)
	}, []string{"changed " + scenario}},
	{"same size and restored time", func(t *testing.T, dir string) {
		path := filepath.Join(dir, scenario)
		info, err := os.Stat(path)
		testenv.Must(t, err)
		write(t, dir, scenario, "# Task\nPlan the export.\n"[:info.Size()], 0o644)
		testenv.Must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	}, []string{"changed " + scenario}},
	{"chmod of a file", func(t *testing.T, dir string) {
		testenv.Must(t, os.Chmod(filepath.Join(dir, executable), 0o644))
	}, []string{"mode " + executable}},
	{"chmod of a directory", func(t *testing.T, dir string) {
		testenv.Must(t, os.Chmod(filepath.Join(dir, "fixtures/empty"), 0o700))
	}, []string{"mode fixtures/empty"}},
	{"chmod of the root", func(t *testing.T, dir string) {
		testenv.Must(t, os.Chmod(dir, 0o750))
	}, []string{"mode ."}},
	{"setuid", func(t *testing.T, dir string) {
		testenv.Must(t, unix.Chmod(filepath.Join(dir, executable), 0o4755))
	}, []string{"mode " + executable}},
	{"content and mode", func(t *testing.T, dir string) {
		write(t, dir, scenario, "x", 0o600)
	}, []string{"changed " + scenario, "mode " + scenario}},
	{"added file", func(t *testing.T, dir string) {
		write(t, dir, "scenarios/hint.md", "", 0o644)
	}, []string{"added scenarios/hint.md"}},
	{"added hidden file", func(t *testing.T, dir string) {
		write(t, dir, ".swp", "", 0o644)
	}, []string{"added .swp"}},
	{"added second seal", func(t *testing.T, dir string) {
		write(t, dir, "scenarios/"+ManifestName, "", 0o644)
	}, []string{"added scenarios/" + ManifestName}},
	{"added empty directory", func(t *testing.T, dir string) {
		testenv.Must(t, os.Mkdir(filepath.Join(dir, "fixtures/spare"), 0o755))
	}, []string{"added fixtures/spare"}},
	{"deleted file", func(t *testing.T, dir string) {
		testenv.Must(t, os.Remove(filepath.Join(dir, scenario)))
	}, []string{"missing " + scenario}},
	{"deleted empty directory", func(t *testing.T, dir string) {
		testenv.Must(t, os.Remove(filepath.Join(dir, "fixtures/empty")))
	}, []string{"missing fixtures/empty"}},
	{"rename", func(t *testing.T, dir string) {
		testenv.Must(t, os.Rename(filepath.Join(dir, scenario), filepath.Join(dir, "scenarios/ask.md")))
	}, []string{"missing " + scenario, "added scenarios/ask.md"}},
	{"move between directories", func(t *testing.T, dir string) {
		testenv.Must(t, os.Rename(filepath.Join(dir, scenario), filepath.Join(dir, "fixtures/empty/ask-before-build.md")))
	}, []string{"added fixtures/empty/ask-before-build.md", "missing " + scenario}},
	{"symbolic link with the same content", func(t *testing.T, dir string) {
		outside := filepath.Join(t.TempDir(), "copy")
		testenv.Must(t, os.Rename(filepath.Join(dir, scenario), outside))
		testenv.Must(t, os.Symlink(outside, filepath.Join(dir, scenario)))
	}, []string{"type " + scenario}},
	{"symbolic link within the tree", func(t *testing.T, dir string) {
		testenv.Must(t, os.Remove(filepath.Join(dir, scenario)))
		testenv.Must(t, os.Symlink("../"+executable, filepath.Join(dir, scenario)))
	}, []string{"type " + scenario}},
	{"directory replaced by a link to its copy", func(t *testing.T, dir string) {
		outside := filepath.Join(t.TempDir(), "copy")
		testenv.Must(t, os.Rename(filepath.Join(dir, "fixtures/tide-table"), outside))
		testenv.Must(t, os.Symlink(outside, filepath.Join(dir, "fixtures/tide-table")))
	}, []string{"type fixtures/tide-table"}},
	{"hard link outside", func(t *testing.T, dir string) {
		testenv.Must(t, os.Link(filepath.Join(dir, scenario), filepath.Join(t.TempDir(), "alias")))
	}, []string{"changed " + scenario}},
	{"pipe instead of a file", func(t *testing.T, dir string) {
		testenv.Must(t, os.Remove(filepath.Join(dir, scenario)))
		testenv.Must(t, unix.Mkfifo(filepath.Join(dir, scenario), 0o644))
	}, []string{"type " + scenario}},
	{"pipe instead of the seal", func(t *testing.T, dir string) {
		testenv.Must(t, os.Remove(filepath.Join(dir, ManifestName)))
		testenv.Must(t, unix.Mkfifo(filepath.Join(dir, ManifestName), 0o644))
	}, []string{"added " + ManifestName}},
	{"file beyond the size limit", func(t *testing.T, dir string) {
		testenv.Must(t, os.Truncate(filepath.Join(dir, scenario), MaxFileSize+1))
	}, []string{"unreadable " + scenario}},
	{"root swapped for a link", func(t *testing.T, dir string) {
		testenv.Must(t, os.Rename(dir, dir+"-moved"))
		testenv.Must(t, os.Symlink(dir+"-moved", dir))
	}, []string{"type ."}},
	{"root swapped for an identical copy", func(t *testing.T, dir string) {
		testenv.Must(t, os.Rename(dir, dir+"-moved"))
		testenv.Must(t, os.CopyFS(dir, os.DirFS(dir+"-moved")))
		testenv.Must(t, os.Chmod(filepath.Join(dir, "fixtures/tide-table-old/notes"), 0o600))
	}, []string{"changed ."}},
	{"root gone", func(t *testing.T, dir string) {
		testenv.Must(t, os.RemoveAll(dir))
	}, []string{"unreadable ."}},
}

func TestVerifyNamesEveryDamage(t *testing.T) {
	t.Parallel()
	for _, damage := range damages {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			dir := suite(t)
			sealed := seal(t, dir)
			if got := verify(t, dir, sealed); got != nil {
				t.Fatalf("before the damage: got %q, want no drift", got)
			}
			damage.do(t, dir)
			testenv.Same(t, "deltas", damage.want, verify(t, dir, sealed))
		})
	}
}

func TestVerifyIgnoresBenignTouches(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	sealed := seal(t, dir)
	for i := range 50 {
		testenv.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Type().IsRegular() {
				if _, err := os.ReadFile(path); err != nil {
					return err
				}
			}
			when := time.Unix(int64(1_600_000_000+i*977), 0)
			return os.Chtimes(path, when, when)
		}))
		// The same content written again in the same file is not a change.
		write(t, dir, scenario, "# Task\nPlan the import.\n", 0o644)
		if got := verify(t, dir, sealed); got != nil {
			t.Fatalf("round %d: got %q, want no drift", i, got)
		}
	}
}

func TestAnyFlippedByteIsDrift(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	sealed := seal(t, dir)
	var files []Entry
	for _, e := range sealed.Entries() {
		if e.Size > 0 {
			files = append(files, e)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		e := rapid.SampledFrom(files).Draw(rt, "file")
		at := rapid.Int64Range(0, e.Size-1).Draw(rt, "offset")
		bit := rapid.IntRange(0, 7).Draw(rt, "bit")
		path := filepath.Join(dir, filepath.FromSlash(e.Path))
		data, err := os.ReadFile(path)
		testenv.Must(t, err)
		data[at] ^= 1 << bit
		testenv.Must(t, os.WriteFile(path, data, 0o644))
		got := verify(t, dir, sealed)
		data[at] ^= 1 << bit
		testenv.Must(t, os.WriteFile(path, data, 0o644))
		if want := []string{"changed " + e.Path}; !slices.Equal(got, want) {
			rt.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestSealRefusesWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, path, why string
		do              func(t *testing.T, dir string)
	}{
		{"symbolic link", "b/link", "symbolic link", func(t *testing.T, dir string) {
			testenv.Must(t, os.Symlink("x", filepath.Join(dir, "b/link")))
		}},
		{"hard link", "b/alias", "2 hard links", func(t *testing.T, dir string) {
			testenv.Must(t, os.Link(filepath.Join(dir, "b/x"), filepath.Join(dir, "b/alias")))
		}},
		{"pipe", "b/pipe", "named pipe", func(t *testing.T, dir string) {
			testenv.Must(t, unix.Mkfifo(filepath.Join(dir, "b/pipe"), 0o644))
		}},
		{"case twin", "b/x", `same name as "b/X"`, func(t *testing.T, dir string) {
			write(t, dir, "b/X", "", 0o644)
		}},
		{"Unicode twin", "b/\u00e9", "same name as", func(t *testing.T, dir string) {
			write(t, dir, "b/\u00e9", "", 0o644)
			write(t, dir, "b/e\u0301", "", 0o644)
		}},
		{"repository", "b/.git", "git repository", func(t *testing.T, dir string) {
			testenv.Must(t, os.Mkdir(filepath.Join(dir, "b/.git"), 0o755))
		}},
		{"repository in capitals", "b/.Git", "git repository", func(t *testing.T, dir string) {
			testenv.Must(t, os.Mkdir(filepath.Join(dir, "b/.Git"), 0o755))
		}},
		{"broken name", "b/\xff", "UTF-8", func(t *testing.T, dir string) {
			write(t, dir, "b/\xff", "", 0o644)
		}},
		{"huge file", "b/huge", "64 MiB", func(t *testing.T, dir string) {
			write(t, dir, "b/huge", "", 0o644)
			testenv.Must(t, os.Truncate(filepath.Join(dir, "b/huge"), MaxFileSize+1))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "b/x", "x", 0o644)
			c.do(t, dir)
			_, sealErr := Seal(t.Context(), dir)
			_, loadErr := Load(dir)
			for _, err := range []error{sealErr, loadErr} {
				refused, ok := errors.AsType[*RefusedError](err)
				if !ok || !strings.Contains(err.Error(), c.path+": ") || !strings.Contains(err.Error(), c.why) {
					t.Errorf("got %v (%v), want a refusal of %s: %s", err, refused, c.path, c.why)
				}
			}
			if _, err := os.Lstat(filepath.Join(dir, ManifestName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a refused seal was written: %v", err)
			}
		})
	}
}

func TestSealRefusesALinkAsRoot(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	link := dir + "-link"
	testenv.Must(t, os.Symlink(dir, link))
	_, err := Seal(t.Context(), link)
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Path != "." {
		t.Errorf("got %v, want a refusal of the root", err)
	}
	if _, err := Seal(t.Context(), filepath.Join(dir, "nowhere")); err == nil {
		t.Error("sealing a missing directory: got nil, want an error")
	}
}

func TestLoadServesTheBytesThatWereHashed(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	sealed := seal(t, dir)
	s, err := Load(dir)
	testenv.Must(t, err)
	if s.Digest() != sealed.Digest() || s.Digest() == "" {
		t.Errorf("digest: got %q, want %q", s.Digest(), sealed.Digest())
	}
	write(t, dir, scenario, "changed after the load", 0o644)
	got, err := fs.ReadFile(s.FS(), scenario)
	testenv.Must(t, err)
	if want := "# Task\nPlan the import.\n"; string(got) != want {
		t.Errorf("content: got %q, want %q", got, want)
	}
	got[0] = 'X'
	again, err := fs.ReadFile(s.FS(), scenario)
	testenv.Must(t, err)
	if again[0] != '#' {
		t.Error("a caller's write reached the suite")
	}
	info, err := fs.Stat(s.FS(), executable)
	testenv.Must(t, err)
	if info.Mode() != 0o755 {
		t.Errorf("mode: got %v, want %v", info.Mode(), fs.FileMode(0o755))
	}
	testenv.Must(t, fstest.TestFS(s.FS(), scenario, executable, "fixtures/empty", "-rubric.md"))
	if _, err := fs.Stat(s.FS(), ManifestName); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the seal is served: %v", err)
	}
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	sealed := seal(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	drift, err := Verify(ctx, dir, sealed)
	if drift != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want no drift and the context's error", drift, err)
	}
}

func TestMaterialise(t *testing.T) {
	t.Parallel()
	source := suite(t)
	sealed := seal(t, source)
	s, err := Load(source)
	testenv.Must(t, err)
	parent := t.TempDir()
	dir := filepath.Join(parent, "copy")
	// What an interrupted attempt left must not survive the next.
	testenv.Must(t, os.MkdirAll(filepath.Join(parent, ".copy.partial-1", "x"), 0o755))
	testenv.Must(t, Materialise(s.FS(), sealed.Mode, dir))
	got, err := Load(dir)
	testenv.Must(t, err)
	testenv.Same(t, "entries", materialised(sealed.Entries()), got.Manifest().Entries())
	if err := Materialise(s.FS(), nil, dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an existing directory: got %v, want fs.ErrExist", err)
	}
	left, err := os.ReadDir(parent)
	testenv.Must(t, err)
	if len(left) != 1 {
		t.Errorf("beside the copy: got %v, want nothing", left)
	}
}

// materialised is what a copy has: the same entries with normalised modes.
func materialised(entries []Entry) []Entry {
	for i, e := range entries {
		switch {
		case e.Type == TypeDir || e.Mode&0o111 != 0:
			entries[i].Mode = 0o755
		default:
			entries[i].Mode = 0o644
		}
	}
	return entries
}

func TestMaterialiseAllOrNothing(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "copy")
	bad := fstest.MapFS{"a": {Data: []byte("a")}, "link": {Mode: fs.ModeSymlink, Data: []byte("a")}}
	if err := Materialise(bad, nil, dir); err == nil {
		t.Error("got nil, want an error")
	}
	left, err := os.ReadDir(parent)
	testenv.Must(t, err)
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, size := range []struct{ files, bytes int }{{60, 200 << 10}, {500, 10 << 20}} {
		b.Run(fmt.Sprintf("%dfiles", size.files), func(b *testing.B) {
			dir := b.TempDir()
			each := size.bytes / size.files
			for i := range size.files {
				text := string(bytes.Repeat([]byte{byte(i)}, each))
				write(b, dir, fmt.Sprintf("fixtures/f%d/lib/part%d.rb", i%20, i), text, 0o644)
			}
			sealed := seal(b, dir)
			b.SetBytes(int64(each * size.files))
			b.ReportAllocs()
			for b.Loop() {
				if drift, err := Verify(b.Context(), dir, sealed); drift != nil || err != nil {
					b.Fatal(drift, err)
				}
			}
		})
	}
}
