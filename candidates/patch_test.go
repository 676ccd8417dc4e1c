package candidates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

func TestParsePatch(t *testing.T) {
	t.Parallel()
	patch := `diff --git a/skills/find/SKILL.md b/skills/find/SKILL.md
index 1111111..2222222 100644
--- a/skills/find/SKILL.md
+++ b/skills/find/SKILL.md
@@ -4,3 +4,3 @@ heading
 before
-old line
+new line
 after
@@ -20,2 +20,3 @@
 tail
+added
 last
\ No newline at end of file
diff --git a/hooks/note.md b/hooks/note.md
--- a/hooks/note.md
+++ b/hooks/note.md
@@ -1 +1 @@
-one
+two
`
	want := []Edit{
		{Path: "skills/find/SKILL.md", Old: "before\nold line\nafter\n", New: "before\nnew line\nafter\n"},
		{Path: "skills/find/SKILL.md", Old: "tail\nlast", New: "tail\nadded\nlast"},
		{Path: "hooks/note.md", Old: "one\n", New: "two\n"},
	}
	got, err := ParsePatch(patch)
	testenv.Must(t, err)
	testenv.Same(t, "edits", want, got)
}

func TestParsePatchWithoutGitHeader(t *testing.T) {
	t.Parallel()
	for _, names := range []string{
		"--- a/b/n.md\n+++ b/b/n.md\n",
		"--- b/n.md.orig\n+++ b/b/n.md\n",
		"--- b/b/n.md\t2026-01-01 00:00:00\n+++ b/b/n.md\t2026-01-02 00:00:00\n",
	} {
		got, err := ParsePatch(names + "@@ -1 +1 @@\n-one\n+two\n")
		if want := []Edit{{Path: "b/n.md", Old: "one\n", New: "two\n"}}; err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: got %+v and error %v, want %+v", names, got, err, want)
		}
	}
}

func TestParsePatchKeepsCarriageReturns(t *testing.T) {
	t.Parallel()
	got, err := ParsePatch("--- a/n.md\n+++ b/n.md\n@@ -1 +1 @@\n-one\r\n+two\r\n")
	testenv.Must(t, err)
	if want := []Edit{{Path: "n.md", Old: "one\r\n", New: "two\r\n"}}; !cmp.Equal(want, got) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Each file of testdata/refused is a patch whose first line says which words the error must have.
func TestParsePatchRefuses(t *testing.T) {
	t.Parallel()
	paths := testenv.Glob(t, "testdata/refused/*.patch")
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			testenv.Must(t, err)
			want, patch, _ := strings.Cut(string(data), "\n")
			edits, err := ParsePatch(patch)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got edits %+v and error %v, want an error with %q", edits, err, want)
			}
		})
	}
}

func TestParsePatchRefusesTheHuge(t *testing.T) {
	t.Parallel()
	if _, err := ParsePatch(strings.Repeat("x", maxPatch+1)); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("got %v, want a refusal by size", err)
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add("--- a/n.md\n+++ b/n.md\n@@ -1 +1 @@\n-one\n+two\n")
	f.Add("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")
	f.Fuzz(func(t *testing.T, patch string) {
		edits, err := ParsePatch(patch)
		if (err == nil) != (len(edits) > 0) {
			t.Fatalf("got %d edits and error %v", len(edits), err)
		}
		for _, e := range edits {
			if e.Old == "" || e.Whole != nil {
				t.Errorf("edit %+v has no place", e)
			}
		}
	})
}
