package propose

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/internal/testenv"
)

// bundled is the brief on a bundled plugin, whose note is named; empty for none.
func bundled(t *testing.T, plugin, note string) Brief {
	t.Helper()
	b := Brief{Version: Version, N: 1, Ask: Edit, Limits: LimitsOf()}
	plugins := os.DirFS("../../fixtures/plugins")
	err := fs.WalkDir(plugins, plugin, func(name string, d fs.DirEntry, err error) error {
		below := strings.TrimPrefix(name, plugin+"/")
		if err != nil || d.IsDir() || path.Base(name) != "SKILL.md" && below != note {
			return err
		}
		data, err := fs.ReadFile(plugins, name)
		b.Wording = append(b.Wording, File{Path: below, Text: string(data), Note: below == note})
		return err
	})
	if err != nil || len(b.Wording) < 4 {
		t.Fatalf("%s: got %d files, %v", plugin, len(b.Wording), err)
	}
	return b
}

func osADR(t *testing.T) Brief { return bundled(t, "os-adr", "hooks/session-start-note.md") }

// next asks Builtin and notes what came as tried.
func next(t *testing.T, m Builtin, b *Brief) candidates.Candidate {
	t.Helper()
	list, err := m.Propose(t.Context(), *b)
	if err != nil || len(list) != 1 {
		t.Fatalf("ask %d: got %d candidates, %v, want one", b.N, len(list), err)
	}
	tree, err := b.Surface().Apply(b.Base(), list[0].Edits)
	if err != nil {
		t.Fatalf("ask %d: %v", b.N, err)
	}
	b.Tried = append(b.Tried, b.Surface().Digest(tree))
	b.N++
	return list[0]
}

// A night's worth of asks: each candidate passes the lint, none comes twice, and every ask for a deletion shortens.
// A nightly run asks more often than any night does.
func TestBuiltinNeverRepeatsAndPassesTheLint(t *testing.T) {
	t.Parallel()
	asks := testenv.Count(15, 150)
	for plugin, note := range map[string]string{"os-adr": "hooks/session-start-note.md", "quayside": ""} {
		b := bundled(t, plugin, note)
		base := b.Surface().Digest(b.Base())
		operators := make(map[string]bool)
		for range asks {
			asked := b
			asked.Ask = AskOf(b.N, .25)
			b.Ask = asked.Ask
			c := next(t, Builtin{Seed: 7}, &b)
			operators[strings.SplitN(c.Rationale, ":", 2)[0]] = true
			if found := asked.Lint(c); len(found) > 0 {
				t.Errorf("%s, ask %d: %s: the lint finds %v", plugin, asked.N, c.Rationale, found)
			}
			if c.Source != candidates.Operator || c.Simplify != (asked.Ask == Delete) {
				t.Errorf("%s, ask %d for %s: got source %s, simplify %v", plugin, asked.N, asked.Ask, c.Source, c.Simplify)
			}
			if err := c.Validate(); err != nil {
				t.Errorf("%s, ask %d: %v", plugin, asked.N, err)
			}
		}
		if slices.Contains(b.Tried, base) || len(slices.Compact(slices.Sorted(slices.Values(b.Tried)))) != asks {
			t.Errorf("%s: a wording came twice", plugin)
		}
		for _, want := range []string{"delete a sentence", "swap two sentences"} {
			if !operators[want] {
				t.Errorf("%s: %q was never drawn in %d asks: %v", plugin, want, asks, operators)
			}
		}
	}
}

func TestBuiltinIsAFunctionOfSeedAndAsk(t *testing.T) {
	t.Parallel()
	b := osADR(t)
	seen := make(map[string]int)
	for _, seed := range []uint64{1, 2, 3} {
		for n := range 4 {
			b.N = n + 1
			first, err := Builtin{seed}.Propose(t.Context(), b)
			again, err2 := Builtin{seed}.Propose(t.Context(), b)
			if err != nil || err2 != nil || candidates.Digest(first[0].Edits) != candidates.Digest(again[0].Edits) {
				t.Fatalf("seed %d, ask %d: two answers differ (%v, %v)", seed, n+1, err, err2)
			}
			seen[candidates.Digest(first[0].Edits)]++
		}
	}
	if len(seen) < 8 {
		t.Errorf("12 draws gave %d different candidates, want at least 8", len(seen))
	}
}

func TestBuiltinEndsWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	b := Brief{N: 1, Ask: Edit, Wording: []File{{Path: "note.md", Text: "[a] One thing only.\n", Note: true}}}
	_, err := Builtin{}.Propose(t.Context(), b)
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Why != Nothing {
		t.Errorf("got %v, want the refusal %s", err, Nothing)
	}
}

// Each operator on one page, told apart by what it makes.
func TestOperators(t *testing.T) {
	t.Parallel()
	const page = "# Title\n\nFirst do this. Please look at the very end (see `x. Y`).\n\n1. One.\n   More of one.\n2. Two.\n3. Three.\n\n## Part\n\nLast words.\n\n## Other\n\nEnd.\n"
	b := Brief{N: 1, Ask: Edit, Wording: []File{
		{Path: "hooks/note.md", Text: page, Note: true},
		{Path: "skills/a/SKILL.md", Text: "---\nname: a\ndescription: Does it. Use when asked.\n---\n\n# A\n\nBody here. And more.\n"},
	}}
	made := make(map[string][]string)
	for _, v := range variants(b) {
		for _, text := range v.texts {
			made[v.operator] = append(made[v.operator], text)
		}
	}
	for operator, want := range map[string]string{
		"delete a sentence":  "# Title\n\nPlease look at the very end (see `x. Y`).\n\n1. One.",
		"delete an item":     "`x. Y`).\n\n1. Two.\n2. Three.\n\n## Part",
		"delete a paragraph": "# Title\n\n1. One.",
		"delete a section":   "3. Three.\n\n## Other\n\nEnd.\n",
		"swap two sentences": "Please look at the very end (see `x. Y`). First do this.\n",
		"swap two items":     "1. Two.\n2. One.\n   More of one.\n3. Three.\n",
		"swap two sections":  "## Other\n\nEnd.\n\n## Part\n\nLast words.\n",
		"number the steps":   "1. Do this.\n2. Look at the very end",
		"move a sentence from the description to the body": "description: Use when asked.\n---\n\n# A\n\nDoes it.\n\nBody here. And more.\n",
		"move a sentence from the body to the description": "description: Does it. Use when asked. And more.\n---\n\n# A\n\nBody here.\n",
		"move a sentence to the note":                      "End. And more.\n",
	} {
		if !slices.ContainsFunc(made[operator], func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s: none of %d has %q:\n%s", operator, len(made[operator]), want, strings.Join(made[operator], "\n----\n"))
		}
	}
	// A sentence with code in it is left alone, whatever hedge it has.
	for _, text := range made["tighten"] {
		if strings.Contains(text, "look at the end") {
			t.Errorf("tightened around code: %s", text)
		}
	}
}

// What the lint would refuse is not brought: here a description that is full.
func TestBuiltinAsksTheLint(t *testing.T) {
	t.Parallel()
	full := strings.TrimSpace(strings.Repeat("It is said at length. ", candidates.MaxDescription/22))
	b := Brief{N: 1, Ask: Edit, Wording: []File{{Path: "skills/a/SKILL.md", Text: "---\nname: a\ndescription: " + full + "\n---\n\nOne thing to be done here. Another thing to be done there.\n"}}}
	refused := 0
	for _, v := range variants(b) {
		if len(b.Lint(v.candidate(Edit))) > 0 {
			refused++
		}
	}
	if refused == 0 {
		t.Fatal("no variant is one that the lint refuses")
	}
	for range 12 {
		asked := b
		if c := next(t, Builtin{Seed: 3}, &b); len(asked.Lint(c)) > 0 {
			t.Errorf("ask %d: %s: the lint finds %v", asked.N, c.Rationale, asked.Lint(c))
		}
	}
}

func TestTighten(t *testing.T) {
	t.Parallel()
	p := newPage(File{Path: "note.md", Note: true, Text: "Please read it in order to know. It is really short.\n"})
	var got []string
	for _, r := range p.tightened() {
		got = append(got, r.body)
	}
	want := []string{
		"Please read it in order to know. It is short.\n", "Read it in order to know. It is really short.\n",
		"Please read it to know. It is really short.\n", "Read it to know. It is short.\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOperatorsKeepLineEnds(t *testing.T) {
	t.Parallel()
	text := "---\r\nname: a\r\ndescription: Does it.\r\n---\r\n\r\nOne here. Two here.\r\nThree here.\r\n"
	all := variants(Brief{Ask: Edit, Wording: []File{{Path: "skills/a/SKILL.md", Text: text}}})
	if len(all) < 5 {
		t.Fatalf("got %d variants, want more", len(all))
	}
	for _, v := range all {
		got := v.texts["skills/a/SKILL.md"]
		if strings.Count(got, "\n") != strings.Count(got, "\r\n") {
			t.Errorf("%s: mixed line ends in %q", v.operator, got)
		}
	}
}

func TestAskOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share float64
		want  string
	}{
		{0, "eeeeeeee"}, {.25, "eeedeeed"}, {.5, "edededed"}, {1, "dddddddd"}, {.3, "eeedeede"},
	} {
		var b strings.Builder
		for n := range 8 {
			fmt.Fprintf(&b, "%.1s", AskOf(n+1, c.share))
		}
		if b.String() != c.want {
			t.Errorf("share %v: got %s, want %s", c.share, b.String(), c.want)
		}
	}
}

// FuzzVariants wants every variant of any file to apply and to keep the front matter: what the lint would find, it finds
// without a panic.
func FuzzVariants(f *testing.F) {
	f.Add("---\nname: a\ndescription: Does it. Use it.\n---\n\n# A\n\n1. One. Two!\n\n```sh\nx\n```\n", "[n] A note. Two.")
	f.Add("---\nname: a\ndescription: >-\n  x\n---\n- a\n  ```\n- b\n", "~~~\n")
	f.Add("\ufeff---\r\nname: é\r\n---\r\n* É. É?\r\n\t* x\r\n", "")
	f.Fuzz(func(t *testing.T, skill, note string) {
		if len(skill)+len(note) > 4<<10 {
			return
		}
		b := Brief{N: 1, Ask: Edit, Wording: []File{{Path: "hooks/n.md", Text: note, Note: true}, {Path: "skills/a/SKILL.md", Text: skill}}}
		for _, v := range variants(b) {
			if _, err := b.Surface().Apply(b.Base(), v.edits()); err != nil {
				t.Errorf("%s: %v", v.operator, err)
			}
		}
	})
}
