package frozen

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

// The text is a published format: a change here breaks every sealed suite.
func TestManifestText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.Chmod(dir, 0o755))
	write(t, dir, "lib/a b.rb", "hi\n", 0o644)
	write(t, dir, "run", "", 0o755)
	seal(t, dir)
	got, err := os.ReadFile(filepath.Join(dir, ManifestName))
	testenv.Must(t, err)
	want := `. type=dir mode=0755
./lib type=dir mode=0755
./lib/a\040b.rb type=file mode=0644 size=3 nlink=1 sha256digest=98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4
./run type=file mode=0755 size=0 nlink=1 sha256digest=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
`
	testenv.Same(t, "text", want, string(got))
}

func TestReadManifestReturnsTheSeal(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	sealed := seal(t, dir)
	got, err := ReadManifest(dir)
	testenv.Must(t, err)
	testenv.Same(t, "entries", sealed.Entries(), got.Entries())
	if got.Digest() != sealed.Digest() {
		t.Errorf("digest: got %q, want %q", got.Digest(), sealed.Digest())
	}
	if again := seal(t, dir); again.Digest() != sealed.Digest() {
		t.Errorf("sealing twice: got %q, want %q", again.Digest(), sealed.Digest())
	}
	if got := verify(t, dir, got); got != nil {
		t.Errorf("verify against the file: got %q, want no drift", got)
	}
}

// Editing a file and its line in the seal together leaves a consistent pair;
// only the digest gives it away.
func TestEditedManifestHasAnotherDigest(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	sealed := seal(t, dir)
	write(t, dir, scenario, "# Task\nForged.\n", 0o644)
	forged := seal(t, dir)
	if got := verify(t, dir, forged); got != nil {
		t.Fatalf("against the forged seal: got %q, want no drift", got)
	}
	read, err := ReadManifest(dir)
	testenv.Must(t, err)
	if read.Digest() == sealed.Digest() {
		t.Error("the forged seal has the digest of the true one")
	}
	if got, want := verify(t, dir, sealed), []string{"changed " + scenario}; !slices.Equal(got, want) {
		t.Errorf("against the true seal: got %q, want %q", got, want)
	}
}

func TestReadManifestRefusesOtherThanAFile(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	if _, err := ReadManifest(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("never sealed: got %v, want fs.ErrNotExist", err)
	}
	seal(t, dir)
	path := filepath.Join(dir, ManifestName)
	testenv.Must(t, os.Rename(path, path+".real"))
	testenv.Must(t, os.Symlink(path+".real", path))
	if _, err := ReadManifest(dir); err == nil {
		t.Error("a link as seal: got nil, want an error")
	}
	testenv.Must(t, os.Remove(path))
	testenv.Must(t, unix.Mkfifo(path, 0o644))
	if _, err := ReadManifest(dir); err == nil {
		t.Error("a pipe as seal: got nil, want an error")
	}
}

func TestParseManifestRefusesOtherSpellings(t *testing.T) {
	t.Parallel()
	good := ". type=dir mode=0755\n./a type=file mode=0644 size=1 nlink=1 sha256digest=" + strings.Repeat("ab", 32) + "\n"
	if _, err := ParseManifest([]byte(good)); err != nil {
		t.Fatalf("the good case: %v", err)
	}
	edits := map[string][2]string{
		"comment":          {". type", "# note\n. type"},
		"blank line":       {"\n./a", "\n\n./a"},
		"set line":         {". type", "/set mode=0755\n. type"},
		"short digest":     {"abab\n", "ab\n"},
		"upper digest":     {"sha256digest=ab", "sha256digest=AB"},
		"unknown keyword":  {" size=1", " size=1 flags=none"},
		"time":             {" size=1", " size=1 time=1.0"},
		"link":             {"type=file", "type=link"},
		"mode without 0":   {"mode=0644", "mode=644"},
		"bad mode":         {"mode=0644", "mode=99"},
		"bad size":         {"size=1", "size=one"},
		"escaping path":    {"./a", "./../a"},
		"absolute path":    {"./a", "/a"},
		"no final newline": {"ab\n", "ab"},
		"duplicate root":   {". type=dir mode=0755\n", ". type=dir mode=0755\n. type=dir mode=0755\n"},
		"unordered":        {". type=dir mode=0755\n", "./b type=dir mode=0755\n. type=dir mode=0755\n"},
	}
	for name, edit := range edits {
		text := strings.Replace(good, edit[0], edit[1], 1)
		if text == good {
			t.Fatalf("%s: the edit changes nothing", name)
		}
		if m, err := ParseManifest([]byte(text)); err == nil {
			t.Errorf("%s: got %d entries, want an error", name, len(m.Entries()))
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(". type=dir mode=0755\n./a\\040b type=dir mode=0700\n"))
	f.Add([]byte("/set type=file\n./a\n..\n"))
	f.Add([]byte("./x \\\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		again, err := m.Text()
		testenv.Must(t, err)
		if !bytes.Equal(again, text) {
			t.Errorf("parse and print: got %q, want %q", again, text)
		}
	})
}

// Names no sane person uses must survive the format's escaping.
func TestManifestRoundTripsAnyName(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[ -~\n\t\\#*?\[é]{1,12}`).Filter(func(s string) bool {
		return !strings.Contains(s, "/") && s != "." && s != ".."
	})
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 1, 5, rapid.ID[string]).Draw(rt, "names")
		m := Manifest{entries: []Entry{{Path: ".", Type: TypeDir, Mode: 0o755}}}
		for _, n := range names {
			m.entries = append(m.entries, Entry{Path: n, Type: TypeFile, Mode: 0o644, Links: 1, Sum: digestOf([]byte(n))})
		}
		slices.SortFunc(m.entries, byPath)
		text, err := m.Text()
		testenv.Must(t, err)
		got, err := ParseManifest(text)
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(m.Entries(), got.Entries()); diff != "" {
			rt.Fatalf("entries (-want +got):\n%s", diff)
		}
	})
}

func TestCompareHidesWhatAnUnreadableDirectoryHolds(t *testing.T) {
	t.Parallel()
	dir := func(path, problem string) Entry {
		return Entry{Path: path, Type: TypeDir, Mode: 0o755, Problem: problem}
	}
	file := func(path, problem string) Entry {
		return Entry{Path: path, Type: TypeFile, Mode: 0o644, Links: 1, Sum: digestOf([]byte(path)), Problem: problem}
	}
	want := Manifest{entries: []Entry{dir(".", ""), dir("a", ""), dir("a-b", ""), file("a-b/x", ""), file("a/x", ""), file("c", "")}}
	got := Manifest{entries: []Entry{dir(".", ""), dir("a", "permission denied"), dir("a-b", "input/output error"), file("c", "permission denied")}}
	deltas := []Delta{
		{Path: "a", Kind: Unreadable, New: "permission denied"},
		{Path: "a-b", Kind: Unreadable, New: "input/output error"},
		{Path: "c", Kind: Unreadable, Old: string(digestOf([]byte("c"))), New: "permission denied"},
	}
	testenv.Same(t, "deltas", deltas, Compare(want, got))
	if got := Compare(want, want); got != nil {
		t.Errorf("against itself: got %v, want none", got)
	}
}

// Swapping the two sides turns added into missing and old into new.
func TestCompareIsAntisymmetric(t *testing.T) {
	t.Parallel()
	manifest := rapid.Custom(func(rt *rapid.T) Manifest {
		m := Manifest{entries: []Entry{{Path: ".", Type: TypeDir, Mode: 0o755}}}
		for _, path := range []string{"a", "b", "c", "d"} {
			if rapid.Bool().Draw(rt, "present") {
				m.entries = append(m.entries, Entry{
					Path: path, Type: TypeFile, Links: rapid.Uint64Range(1, 2).Draw(rt, "links"),
					Mode: rapid.SampledFrom([]uint32{0o644, 0o755}).Draw(rt, "mode"),
					Sum:  digestOf(rapid.SliceOfN(rapid.ByteRange('x', 'z'), 1, 1).Draw(rt, "content")),
				})
			}
		}
		return m
	})
	swap := map[Kind]Kind{Added: Missing, Missing: Added}
	rapid.Check(t, func(rt *rapid.T) {
		x, y := manifest.Draw(rt, "x"), manifest.Draw(rt, "y")
		back := Compare(y, x)
		for i, d := range back {
			kind := d.Kind
			if other, ok := swap[kind]; ok {
				kind = other
			}
			back[i] = Delta{Path: d.Path, Kind: kind, Old: d.New, New: d.Old}
		}
		if diff := cmp.Diff(Compare(x, y), back); diff != "" {
			rt.Fatalf("forward and back (-forward +back):\n%s", diff)
		}
		if equal := x.Digest() == y.Digest(); equal != (len(back) == 0) {
			rt.Fatalf("digests equal: %v, deltas: %d", equal, len(back))
		}
	})
}
