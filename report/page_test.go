package report

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

// Characters that take two cells, none, or that go from right to left.
const (
	wideText   = "数据库"       // 6 cells
	emojiText  = "👩‍🔧"       // 2 cells, three runes
	accentText = "e\u0301"   // 1 cell
	hebrewText = "שלום"      // 4 cells
	turnsText  = "a\u202eb"  // turnsText the direction
	clearsText = "a\x1b[2Jb" // clearsText a screen
)

func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, wideText: 6, emojiText: 2, accentText: 1, hebrewText: 4} {
		if got := Width(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{turnsText: "a b", clearsText: "a [2Jb", emojiText: emojiText, "a\tb\n": "a b ", hebrewText: hebrewText} {
		if got := printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"id", "said", "n"}, {wideText, "one two three four", "1"}, {"b", "", "22"}}
	for width, want := range map[int]string{
		0:  "id      said                n\n数据库  one two three four  1\nb                           22\n",
		30: "id      said                n\n数据库  one two three four  1\nb                           22\n",
		22: "id      said        n\n数据库  one two     1\n        three four\nb                   22\n",
		14: "id    said  n\n数据  one   1\n库    two\n      thre\n      e\n      four\nb           22\n",
	} {
		if got := Table(rows, width); got != want {
			t.Errorf("on %d cells: got\n%swant\n%s", width, got, want)
		}
	}
}

// Nothing is lost, no line is too wide while there is room for a few cells a
// column, and no line ends in blanks.
func TestTable_KeepsEverythingWithinThePage(t *testing.T) {
	t.Parallel()
	cell := rapid.OneOf(rapid.StringN(0, 30, -1), rapid.SampledFrom([]string{wideText, emojiText, accentText, hebrewText, turnsText, clearsText, strings.Repeat("x", 300), "one two", " "}))
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 1, 5), 1, 6).Draw(t, "rows")
		width := rapid.IntRange(40, 160).Draw(t, "width")
		got := Table(rows, width)
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if Width(line) > width || strings.HasSuffix(line, " ") || printable(line) != line {
				t.Fatalf("a line of %d cells on a page of %d: %q", Width(line), width, line)
			}
		}
		count := func(text string) (n int) {
			for _, r := range text {
				if r != ' ' && r != '\n' {
					n++
				}
			}
			return n
		}
		said := 0
		for _, row := range rows {
			for _, c := range row {
				said += count(printable(c))
			}
		}
		if count(got) != said {
			t.Fatalf("got %d characters of %d in\n%s", count(got), said, got)
		}
	})
}

func TestTableWriter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := NewTableWriter(&b, 0)
	if _, err := w.Write([]byte("head\n\na\tb\nlonger\tc\n\nd\te\n")); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 0 {
		t.Errorf("before Flush: %q", b.String())
	}
	testenv.Must(t, w.Flush())
	if got, want := b.String(), "head\n\na       b\nlonger  c\n\nd  e\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLayOut(t *testing.T) {
	t.Parallel()
	const text = "# Head\n\n| cell | why |\n|---|---:|\n| `a\\|b` | x &lt; y |\n| - | - |\n\n- an item that is longer than the page is wide\n\n```diff\n-| a | line that stays as wide as it is |\n```\n\n| | |\n|---|---|\n| no | head |\n"
	const want = "# Head\n\ncell  why\na|b   x < y\n-     -\n\n- an item that is longer than\n  the page is wide\n\n```diff\n-| a | line that stays as wide as it is |\n```\n\nno  head\n"
	if got := LayOut(text, 30); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
