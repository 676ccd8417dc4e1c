package report

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

// TestWords: only the words that changed are marked, and nothing of an added line
// that has no counterpart.
func TestWords(t *testing.T) {
	t.Parallel()
	got := Words(diff(Texts{"a.md": "one two three\nsame\n"}, Texts{"a.md": "one 2 three\nsame\nnew line\n"}))
	want := []DiffLine{
		{"file", []Piece{{"a.md", false}}},
		{"place", []Piece{{"@@ -1,2 +1,3 @@", false}}},
		{"removed", []Piece{{"one ", false}, {"two", true}, {" three", false}}},
		{"added", []Piece{{"one ", false}, {"2", true}, {" three", false}}},
		{"same", []Piece{{"same", false}}},
		{"added", []Piece{{"new line", false}}},
	}
	testenv.Same(t, "result", want, got)
}

// TestWordsLoseNothing: whatever the texts are, the lines say what the diff says.
func TestWordsLoseNothing(t *testing.T) {
	t.Parallel()
	line := rapid.StringMatching(`[a-c äé.()-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return strings.Join(rapid.SliceOfN(line, 0, 6).Draw(t, name), "\n") + "\n"
		}
		unified := diff(Texts{"a": text("before")}, Texts{"a": text("after")})
		var b strings.Builder
		for _, l := range Words(unified) {
			sign := map[string]string{"removed": "-", "added": "+", "same": " "}[l.Kind]
			if sign == "" {
				continue
			}
			b.WriteString(sign)
			for _, p := range l.Pieces {
				b.WriteString(p.Text)
			}
			b.WriteString("\n")
		}
		var want strings.Builder
		for l := range strings.Lines(unified) {
			if !strings.HasPrefix(l, "--- a/") && !strings.HasPrefix(l, "+++ b/") && !strings.HasPrefix(l, "@@") {
				want.WriteString(l)
			}
		}
		if b.String() != want.String() {
			t.Fatalf("got\n%s\nwant\n%s", b.String(), want.String())
		}
	})
}
