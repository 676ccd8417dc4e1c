package campaign

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
)

// What a wording expects of its hook follows from the kind of note.
func TestWordingOfLeavesAComputedNoteOpen(t *testing.T) {
	t.Parallel()
	tree := harness.Tree{
		"hooks/words.md":         {Data: []byte("[tide] Look first.\n")},
		"skills/find/SKILL.md":   {Data: []byte("---\nname: find\ndescription: Finds it.\n---\nBody.\n")},
		"skills/find/extra/x.md": {Data: []byte("x")},
	}
	for name, c := range map[string]struct {
		note harness.Note
		want string // the note, or a piece of the error
		ok   bool
	}{
		"file":          {harness.Note{Kind: harness.NoteFile, File: "hooks/words.md"}, "[tide] Look first.", true},
		"file missing":  {harness.Note{Kind: harness.NoteFile, File: "hooks/none.md"}, "no note hooks/none.md", false},
		"computed":      {harness.Note{Kind: harness.NoteComputed}, "", true},
		"computed from": {harness.Note{Kind: harness.NoteComputed, File: "hooks/words.md"}, "", true},
		"from nothing":  {harness.Note{Kind: harness.NoteComputed, File: "hooks/none.md"}, "no note hooks/none.md", false},
		"none":          {harness.Note{Kind: harness.NoteNone}, "", true},
	} {
		w, err := WordingOf(tree, c.note)
		if !c.ok && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if c.ok && (err != nil || w.Note != c.want || len(w.Descriptions) != 1 || w.Descriptions[0] != "Finds it.") {
			t.Errorf("%s: got %+v, %v, want the note %q", name, w, err, c.want)
		}
	}
}

// A file saved on another machine says the same.
func TestWordingOfReadsMarksAndReturns(t *testing.T) {
	t.Parallel()
	for name, skill := range map[string]string{
		"carriage returns": "---\r\nname: find\r\ndescription: Finds it.\r\n---\r\nBody.\r\n",
		"byte order mark":  "\ufeff---\nname: find\ndescription: Finds it.\n---\nBody.\n",
	} {
		w, err := WordingOf(harness.Tree{"skills/find/SKILL.md": {Data: []byte(skill)}}, harness.Note{Kind: harness.NoteNone})
		if err != nil || len(w.Descriptions) != 1 || w.Descriptions[0] != "Finds it." {
			t.Errorf("%s: got %q, %v", name, w.Descriptions, err)
		}
	}
}

// A session must have been shown every skill as the agent CLI lists it, and no
// skill that it does not list.
func TestWordingOfExpectsWhatTheCLILists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head string
		want []string
	}{
		"block on two lines":     {"description: |\n  Finds it.\n  At once.\n", []string{"Finds it. At once."}},
		"colon without quotes":   {"description: Use when: lost\n", []string{"Use when: lost"}},
		"when to use it":         {"description: Finds it.\nwhen_to_use: lost\n", []string{"Finds it. - lost"}},
		"for a user alone":       {"description: Finds it.\ndisable-model-invocation: true\n", nil},
		"without a description":  {"name: find\n", nil},
		"with an anchor in text": {"name: find\ndescription: \"*all*\"\n", []string{"*all*"}},
	} {
		w, err := WordingOf(harness.Tree{"skills/find/SKILL.md": {Data: []byte("---\n" + c.head + "---\nBody.\n")}}, harness.Note{Kind: harness.NoteNone})
		if err != nil || !slices.Equal(w.Descriptions, c.want) {
			t.Errorf("%s: got %q, %v, want %q", name, w.Descriptions, err, c.want)
		}
	}
}
