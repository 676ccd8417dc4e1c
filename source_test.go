package loopd

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"loopd/internal/testenv"
)

// measuring lists the folders the Instrument is made of, with all below them;
// stats has subfolders that only simulate.
var measuring = []string{"harness", "stats", "internal/agent", "internal/isolate", "internal/gateway", "internal/trial"}

// TestSourceDigestHoldsEveryMeasuringFile compares the embedded files with the
// checkout, so that a new folder or a new kind of file cannot stay outside.
func TestSourceDigestHoldsEveryMeasuringFile(t *testing.T) {
	t.Parallel()
	want := 0
	for _, dir := range measuring {
		for _, name := range measuringFiles(t, dir) {
			want++
			on, err := os.ReadFile(name)
			testenv.Must(t, err)
			in, err := sources.ReadFile(name)
			if err != nil || string(in) != string(on) {
				t.Errorf("%s measures and is not in the digest: %v", name, err)
			}
		}
	}
	if want < 30 {
		t.Fatalf("found %d measuring files: not the root of the checkout", want)
	}
}

// measuringFiles lists the non-test files below dir that are compiled or
// embedded there.
func measuringFiles(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS("."), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path.Dir(name) == "stats"):
			return fs.SkipDir
		case !d.IsDir() && !strings.HasSuffix(name, "_test.go"):
			out = append(out, name)
		}
		return nil
	})
	testenv.Must(t, err)
	return out
}

// TestSourceDigestChanges proves that the digest depends on name, length and
// content of every file, and on no test file.
func TestSourceDigestChanges(t *testing.T) {
	t.Parallel()
	sum := func(files map[string]string) string {
		m := fstest.MapFS{}
		for name, text := range files {
			m[name] = &fstest.MapFile{Data: []byte(text)}
		}
		s, err := digest(m)
		testenv.Must(t, err)
		return s
	}
	seen := []string{sum(map[string]string{"a/a.go": "one", "a/b.go": "two"})}
	for _, files := range []map[string]string{
		{"a/a.go": "onet", "a/b.go": "wo"},
		{"a/a.go": "one", "a/c.go": "two"},
		{"a/a.go": "one", "a/b.go": "twp"},
		{"a/a.go": "one"},
	} {
		s := sum(files)
		if slices.Contains(seen, s) {
			t.Errorf("%v has the digest of another file set", files)
		}
		seen = append(seen, s)
	}
	if sum(map[string]string{"a/a.go": "one", "a/b.go": "two", "a/b_test.go": "three"}) != seen[0] {
		t.Error("a test file changes the digest")
	}
	if got := SourceDigest(); len(got) != 64 || got != SourceDigest() {
		t.Errorf("got %q, want one stable sha256", got)
	}
}

// TestSourceDigestOf is of one folder and of no other.
func TestSourceDigestOf(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, dir := range []string{"harness/trace", "harness/repostate"} {
		sum, err := SourceDigestOf(dir)
		if err != nil || len(sum) != 64 || seen[sum] != "" {
			t.Errorf("%s: got %q, %v; want a digest of its own", dir, sum, err)
		}
		seen[sum] = dir
	}
	if sum, err := SourceDigestOf("harness/none"); err == nil {
		t.Errorf("a folder that is not there: got %q", sum)
	}
}
