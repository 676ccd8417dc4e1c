package candidates

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

const (
	notePath  = "hooks/note.md"
	skillPath = "skills/keep-notes/SKILL.md"
	startText = "---\nname: keep-notes\ndescription: Write down what was settled.\n---\n# Notes\n\nOpen the book.\nTurn the page.\n"
)

func startTree() map[string][]byte {
	return map[string][]byte{
		skillPath:              []byte(startText),
		"skills/keep/SKILL.md": []byte("---\nname: keep\ndescription: Keep it.\n---\nKeep.\n"),
		notePath:               []byte("[book] There is a book.\n"),
		"hooks/print":          []byte("#!/bin/sh\ncat note.md\n"),
		"skills/SKILL.md":      []byte("too shallow\n"),
		"skills/a/b/SKILL.md":  []byte("too deep\n"),
		"skills/keep/skill.md": []byte("wrong case\n"),
		"skills/c/SKILL.md/x":  []byte("a directory of that name\n"),
	}
}

func startSurface() Surface { return NewSurface(startTree(), notePath) }

func TestNewSurfaceFindsWordingOnly(t *testing.T) {
	t.Parallel()
	want := []string{notePath, skillPath, "skills/keep/SKILL.md"}
	if got := startSurface().Paths; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := NewSurface(startTree(), "hooks/absent.md").Paths; slices.Contains(got, "hooks/absent.md") {
		t.Errorf("got %v with a note the tree does not have", got)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	base, whole := startTree(), "[book] New.\n"
	next, err := startSurface().Apply(base, []Edit{
		{Path: skillPath, Old: "Open the book.\n", New: "Open the book first.\n"},
		{Path: skillPath, Old: "book first", New: "book at once"},
		{Path: notePath, Whole: &whole},
	})
	testenv.Must(t, err)
	want := startTree()
	want[skillPath] = []byte(strings.Replace(startText, "Open the book.", "Open the book at once.", 1))
	want[notePath] = []byte(whole)
	testenv.Same(t, "tree", want, next)
	testenv.Same(t, "the base changed", startTree(), base)
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	whole := "x"
	for name, test := range map[string]struct {
		edit Edit
		want Class
	}{
		"script":          {Edit{Path: "hooks/print", Whole: &whole}, OffSurface},
		"new skill":       {Edit{Path: "skills/more/SKILL.md", Whole: &whole}, OffSurface},
		"up and back":     {Edit{Path: "skills/../" + skillPath, Whole: &whole}, OffSurface},
		"absolute":        {Edit{Path: "/" + skillPath, Whole: &whole}, OffSurface},
		"dot":             {Edit{Path: "./" + skillPath, Whole: &whole}, OffSurface},
		"backslash":       {Edit{Path: `skills\keep-notes\SKILL.md`, Whole: &whole}, OffSurface},
		"NUL":             {Edit{Path: skillPath + "\x00", Whole: &whole}, OffSurface},
		"case":            {Edit{Path: "Skills/keep-notes/SKILL.md", Whole: &whole}, OffSurface},
		"git":             {Edit{Path: ".git/hooks/pre-commit", Whole: &whole}, OffSurface},
		"empty path":      {Edit{Whole: &whole}, OffSurface},
		"long":            {Edit{Path: strings.Repeat("a", 4096), Whole: &whole}, OffSurface},
		"old is absent":   {Edit{Path: notePath, Old: "no such words", New: "x"}, NotApplicable},
		"old is twice":    {Edit{Path: skillPath, Old: "the ", New: "a "}, NotApplicable},
		"old is empty":    {Edit{Path: notePath, New: "x"}, NotApplicable},
		"old and whole":   {Edit{Path: notePath, Old: "There", Whole: &whole}, NotApplicable},
		"old is stale":    {Edit{Path: notePath, Old: "There was a book", New: "x"}, NotApplicable},
		"old, other case": {Edit{Path: notePath, Old: "there is a book", New: "x"}, NotApplicable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, err := startSurface().Apply(startTree(), []Edit{{Path: notePath, Old: "There is", New: "Here is"}, test.edit})
			refused, ok := errors.AsType[*RefusedError](err)
			if !ok || next != nil || len(refused.Findings) != 1 {
				t.Fatalf("got %v and error %v, want one refusal and no tree", next, err)
			}
			if got := refused.Findings[0].Class; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestApplyCountsOverlappingPlaces(t *testing.T) {
	t.Parallel()
	s, base := Surface{Paths: []string{"n"}}, map[string][]byte{"n": []byte("anana")}
	if next, err := s.Apply(base, []Edit{{Path: "n", Old: "ana", New: "x"}}); err == nil {
		t.Errorf("got %q, want a refusal: ana stands at 0 and at 2", next["n"])
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	base, next := startTree(), startTree()
	next[notePath] = []byte("moved")
	if got := startSurface().Check(base, next); len(got) != 0 {
		t.Fatalf("wording on the surface: got %v, want nothing", got)
	}
	next["hooks/print"] = []byte("moved")
	next["skills/new/SKILL.md"] = []byte("new")
	delete(next, skillPath)
	want := []string{"hooks/print: the file may not change", skillPath + ": the file is gone", "skills/new/SKILL.md: the file is new"}
	var got []string
	for _, f := range startSurface().Check(base, next) {
		if f.Class != OffSurface {
			t.Errorf("got class %s, want %s", f.Class, OffSurface)
		}
		got = append(got, f.Path+": "+f.Detail)
	}
	testenv.Same(t, "findings", want, got)
}

func TestApplyStaysOnTheSurface(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		paths := append(slices.Sorted(maps.Keys(startTree())), "../x", "", "new")
		base := startTree()
		var edits []Edit
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			text := rapid.StringN(0, 20, -1).Draw(t, "text")
			e := Edit{Path: rapid.SampledFrom(paths).Draw(t, "path"), Whole: &text}
			if rapid.Bool().Draw(t, "replace") {
				e = Edit{Path: e.Path, Old: rapid.SampledFrom([]string{"book", "the ", "K", ""}).Draw(t, "old"), New: text}
			}
			edits = append(edits, e)
		}
		next, err := startSurface().Apply(base, edits)
		if !maps.EqualFunc(base, startTree(), bytes.Equal) {
			t.Fatal("the base changed")
		}
		if (err == nil) != (next != nil) {
			t.Fatalf("got tree %v with error %v", next != nil, err)
		}
		if err == nil && len(startSurface().Check(base, next)) > 0 {
			t.Errorf("edits %+v left the surface", edits)
		}
	})
}

func TestSurfaceDigest(t *testing.T) {
	t.Parallel()
	s, start := startSurface(), startSurface().Digest(startTree())
	moved := startTree()
	moved["hooks/print"] = []byte("another script")
	if got := s.Digest(moved); got != start {
		t.Error("a file off the surface changes the digest of the wording")
	}
	for _, path := range s.Paths {
		tree := startTree()
		tree[path] = append(slices.Clone(tree[path]), ' ')
		if s.Digest(tree) == start {
			t.Errorf("one more space in %s keeps the digest", path)
		}
	}
	shifted := Surface{Paths: []string{"a", "b"}}
	if shifted.Digest(map[string][]byte{"a": []byte("xy"), "b": []byte("z")}) == shifted.Digest(map[string][]byte{"a": []byte("x"), "b": []byte("yz")}) {
		t.Error("text moved from one file to the next keeps the digest")
	}
}
