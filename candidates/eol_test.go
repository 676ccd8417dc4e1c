package candidates

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// applied is the note after edits, or the reason why not.
func applied(t testing.TB, content string, edits []Edit) string {
	t.Helper()
	const note = "hooks/note.md"
	tree := map[string][]byte{note: []byte(content)}
	next, err := NewSurface(tree, note).Apply(tree, edits)
	if err != nil {
		return err.Error()
	}
	return string(next[note])
}

// A file keeps its line ends, whoever wrote the edit on whatever machine.
func TestEditsKeepLineEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ content, old, next, want string }{
		"LF into CRLF":              {"a\r\nb\r\nc\r\n", "a\nb\n", "a\nB\nnew\n", "a\r\nB\r\nnew\r\nc\r\n"},
		"CRLF into LF":              {"a\nb\nc\n", "a\r\nb\r\n", "a\r\nB\r\nnew\r\n", "a\nB\nnew\nc\n"},
		"CRLF into CRLF":            {"a\r\nb\r\n", "b\r\n", "B\r\nnew\r\n", "a\r\nB\r\nnew\r\n"},
		"within a line":             {"a b c\r\nd\r\n", "b", "x\ny", "a x\r\ny c\r\nd\r\n"},
		"mixed, LF is changed":      {"a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\nd\n"},
		"mixed, CRLF is changed":    {"a\nb\r\nc\nd\r\n", "a\nb\nc\nd\n", "a\nB\nnew\nc\nd\n", "a\nB\r\nnew\r\nc\nd\r\n"},
		"mixed, a line goes":        {"a\nb\r\nc\nd\r\n", "a\nb\nc\n", "a\nc\n", "a\nc\nd\r\n"},
		"no last line end":          {"a\r\nb", "a\nb", "a\nB\nnew", "a\r\nB\r\nnew"},
		"no last line end, but one": {"a\nb", "a\nb\n", "a\nb\nc\n", "a\nb\nc"},
		"a mark stays":              {bom + "a\r\nb\r\n", "a\n", "A\n", bom + "A\r\nb\r\n"},
		"a mark in the edit":        {bom + "a\nb\n", bom + "a\n", "A\n", bom + "A\nb\n"},
		"a return of its own":       {"a\rb\r\nc\r\n", "a\rb\n", "a\rB\n", "a\rB\r\nc\r\n"},
		"up to the line end":        {"ab\r\nc\r\n", "b", "B", "aB\r\nc\r\n"},
		"nothing but the line end":  {"a\r\nb\r\n", "a\n", "a ", "a b\r\n"},
		"two places":                {"a\r\nb\na\nb\n", "a\nb\n", "c\n", "more than one place"},
		"not there":                 {"a\r\nb\r\n", "a\nc\n", "c\n", "not there"},
		"not at the end":            {"b\na", "b\n\n", "c\n", "not there"},
	} {
		got := applied(t, tc.content, []Edit{{Path: "hooks/note.md", Old: tc.old, New: tc.next}})
		if got != tc.want && !(strings.HasPrefix(got, "apply edits") && strings.Contains(got, tc.want)) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// A patch made on one kind of file applies to the other.
func TestPatchesKeepLineEnds(t *testing.T) {
	t.Parallel()
	const patch = "--- a/hooks/note.md\n+++ b/hooks/note.md\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+and\n three\n"
	const last = "--- a/hooks/note.md\n+++ b/hooks/note.md\n@@ -2,2 +2,2 @@\n two\n-three\n\\ No newline at end of file\n+THREE\n\\ No newline at end of file\n"
	crlf := strings.NewReplacer("\n", "\r\n").Replace
	for name, tc := range map[string]struct{ content, patch, want string }{
		"LF on CRLF":        {"one\r\ntwo\r\nthree\r\n", patch, "one\r\nTWO\r\nand\r\nthree\r\n"},
		"all CRLF on LF":    {"one\ntwo\nthree\n", crlf(patch), "one\nTWO\nand\nthree\n"},
		"all CRLF on CRLF":  {"one\r\ntwo\r\nthree\r\n", crlf(patch), "one\r\nTWO\r\nand\r\nthree\r\n"},
		"on mixed":          {"one\r\ntwo\nthree\r\n", patch, "one\r\nTWO\nand\nthree\r\n"},
		"on a mark":         {bom + "one\r\ntwo\r\nthree\r\n", patch, bom + "one\r\nTWO\r\nand\r\nthree\r\n"},
		"no last line end":  {"one\r\ntwo\r\nthree", last, "one\r\ntwo\r\nTHREE"},
		"one that was lost": {"one\ntwo\nthree", patch, "one\nTWO\nand\nthree"},
	} {
		edits, err := ParsePatch(tc.patch)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := applied(t, tc.content, edits); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestEditsOfAnyLineEnds changes one line of a file whose lines end at random.
func TestEditsOfAnyLineEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		ends := rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\r\n"}), 3, 8).Draw(r, "ends")
		at := rapid.IntRange(1, len(ends)-1).Draw(r, "changed")
		theirs := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "ends of the edit")
		var was, want strings.Builder
		for i, end := range ends {
			name := "line " + string(rune('a'+i))
			was.WriteString(name + end)
			if i == at {
				name = "changed" + end + "more"
			}
			want.WriteString(name + end)
		}
		lead := "line " + string(rune('a'+at-1)) + theirs
		edit := Edit{Path: "hooks/note.md", Old: lead + "line " + string(rune('a'+at)) + theirs, New: lead + "changed" + theirs + "more" + theirs}
		if got := applied(t, was.String(), []Edit{edit}); got != want.String() {
			r.Fatalf("%+v in %q: got %q, want %q", edit, was.String(), got, want.String())
		}
	})
}

// FuzzPatchOnCRLF wants a patch to make the same of a file with either line end.
func FuzzPatchOnCRLF(f *testing.F) {
	f.Add("one\ntwo\nthree\n", "--- a/hooks/note.md\n+++ b/hooks/note.md\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")
	f.Add("one\ntwo", "--- a/hooks/note.md\n+++ b/hooks/note.md\n@@ -2 +2 @@\n-two\n+TWO\n")
	f.Fuzz(func(t *testing.T, content, patch string) {
		edits, err := ParsePatch(patch)
		if err != nil || strings.ContainsAny(content+patch, "\r") || strings.HasPrefix(content, bom) {
			return
		}
		crlf := strings.ReplaceAll(content, "\n", "\r\n")
		if crlf == content { // nothing says which line end the file is for
			return
		}
		onLF, onCRLF := applied(t, content, edits), applied(t, crlf, edits)
		if want := strings.ReplaceAll(onLF, "\n", "\r\n"); onCRLF != want && !strings.HasPrefix(onLF, "apply edits") {
			t.Fatalf("got %q, want %q", onCRLF, want)
		}
		if bytes.ContainsRune([]byte(onLF), '\r') {
			t.Fatalf("carriage returns in %q", onLF)
		}
	})
}
