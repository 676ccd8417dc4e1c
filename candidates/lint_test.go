package candidates

import (
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/internal/testenv"
)

func rewrite(path, text string) Candidate {
	return Candidate{ID: "c009", Source: Proposer, Edits: []Edit{{Path: path, Whole: &text}}}
}

func head(front string) string { return "---\n" + front + "---\n# Notes\n\nOpen the book.\n" }

const named = "name: keep-notes\n"

func lintStart(c Candidate) []Finding {
	return Lint(LintInput{Surface: startSurface(), Base: startTree(), Candidate: c})
}

func TestLintPassesGoodWording(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Candidate{
		"body":        rewrite(skillPath, startText+"\nThen close it.\n"),
		"description": rewrite(skillPath, head(named+"description: >-\n  Write it down, folded\n  over two lines.\n")),
		"quoted":      rewrite(skillPath, head(named+"description: \"Use when: x & y * z\"\n")),
		"when to use": rewrite(skillPath, head(named+"description: d\nwhen_to_use: whenever [a, b] is said\n")),
		"longest":     rewrite(skillPath, head(named+"description: "+strings.Repeat("é", MaxDescription)+"\n")),
		"rule":        rewrite(skillPath, startText+"\n---\n\nAfter a rule.\n"),
		"full note":   rewrite(notePath, strings.Repeat("ü", MaxNote)+"\n"),
		"emoji":       rewrite(notePath, "[book] ⚠️ → 😀 naïve 日本語\n"),
		"edit":        {Edits: []Edit{{Path: skillPath, Old: "Open the book.", New: "Open the book now."}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lintStart(c); len(got) != 0 {
				t.Errorf("got %v, want nothing", got)
			}
		})
	}
}

// Each case breaks one thing and names the one class that must be found.
func TestLintFinds(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n"
	for name, test := range map[string]struct {
		c      Candidate
		want   Class
		detail string
	}{
		"off the surface":     {rewrite("hooks/print", "x"), OffSurface, ""},
		"not there":           {Candidate{Edits: []Edit{{Path: notePath, Old: "absent", New: "x"}}}, NotApplicable, ""},
		"nothing":             {Candidate{}, NoOp, ""},
		"white space":         {rewrite(notePath, "\n[book]  There is\n a book.  "), NoOp, ""},
		"note":                {rewrite(notePath, strings.Repeat("x", MaxNote+1)), NoteTooLong, "10001 characters"},
		"note in runes":       {rewrite(notePath, strings.Repeat("é", MaxNote+1)+"\n"), NoteTooLong, "10001 characters"},
		"no front matter":     {rewrite(skillPath, "# Notes\n"), FrontMatter, "first line"},
		"unclosed":            {rewrite(skillPath, "---\n"+named+"description: d\n# Notes\n"), FrontMatter, "no --- closes"},
		"colon":               {rewrite(skillPath, head(named+"description: Use when: x\n")), FrontMatter, "invalid YAML"},
		"tab":                 {rewrite(skillPath, head(named+"description: d\nmetadata:\n\ta: b\n")), FrontMatter, "invalid YAML"},
		"list":                {rewrite(skillPath, head("- a\n- b\n")), FrontMatter, "invalid YAML"},
		"duplicate key":       {rewrite(skillPath, head(named+"description: d\ndescription: e\n")), FrontMatter, "invalid YAML"},
		"no name":             {rewrite(skillPath, head("description: d\n")), FrontMatter, "name is missing"},
		"name changed":        {rewrite(skillPath, head("name: other\ndescription: d\n")), FrontMatter, `"name" may not change`},
		"no description":      {rewrite(skillPath, head(named)), FrontMatter, "description is empty"},
		"blank description":   {rewrite(skillPath, head(named+"description: \"  \"\n")), FrontMatter, "description is empty"},
		"number":              {rewrite(skillPath, head(named+"description: 12\n")), FrontMatter, "description is empty"},
		"long description":    {rewrite(skillPath, head(named+"description: "+strings.Repeat("é", MaxDescription+1)+"\n")), FrontMatter, "1025 characters"},
		"model":               {rewrite(skillPath, head(named+"description: d\nmodel: opus\n")), FrontMatter, `"model" may not change`},
		"hooks":               {rewrite(skillPath, head(named+"description: d\nhooks: {Stop: [{hooks: []}]}\n")), FrontMatter, `"hooks" may not change`},
		"no body":             {rewrite(skillPath, "---\n"+named+"description: d\n---\n \n"), FrontMatter, "body is empty"},
		"bomb":                {rewrite(skillPath, head(named+"description: d\n"+bomb)), FrontMatter, "anchors"},
		"tag":                 {rewrite(skillPath, head(named+"description: !!binary aGk=\n")), FrontMatter, "tags"},
		"deep":                {rewrite(skillPath, head(named+"description: "+strings.Repeat("[", 298)+strings.Repeat("]", 298)+"\n")), FrontMatter, "300 list"},
		"long head":           {rewrite(skillPath, head(named+"description: d\n"+strings.Repeat("# padding\n", 2000))), FrontMatter, "over the limit"},
		"zero width":          {rewrite(notePath, "[book] here\u200b.\n"), HiddenUnicode, "U+200B x1"},
		"bidi":                {rewrite(notePath, "[book] \u202eereh\u202c.\n"), HiddenUnicode, "U+202E"},
		"tag characters":      {rewrite(skillPath, startText+"\U000E0041\U000E0042\n"), HiddenUnicode, "U+E0041"},
		"private use":         {rewrite(notePath, "[book] \uE001\n"), HiddenUnicode, "U+E001"},
		"variation selectors": {rewrite(notePath, "[book] ⚠\uFE0F\uFE0F\uFE0Fx\uFE0E\n"), HiddenUnicode, "U+FE0F x2"},
		"soft hyphen":         {rewrite(notePath, "[book] so\u00adft\n"), HiddenUnicode, "U+00AD"},
		"filler":              {rewrite(notePath, "[book] \u3164\n"), HiddenUnicode, "U+3164"},
		"escaped":             {rewrite(skillPath, head(named+`description: "Write\u200b down"`+"\n")), HiddenUnicode, "escaped"},
		"NUL":                 {rewrite(notePath, "[book] \x00\n"), NotText, "0x00 at byte 7"},
		"delete character":    {rewrite(notePath, "[book] \x7f\n"), NotText, "0x7f"},
		"escape character":    {rewrite(notePath, "[book] \x1b[31m\n"), NotText, "0x1b"},
		"invalid UTF-8":       {rewrite(notePath, "[book] \xff\n"), NotText, "UTF-8"},
		"line ends":           {rewrite(notePath, "[book] other words\r\n"), NotText, "carriage"},
		"large":               {rewrite(skillPath, startText+strings.Repeat("x", MaxFile)), TooLarge, "over the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lintStart(test.c)
			if classes := Classes(got); !slices.Equal(classes, []Class{test.want}) {
				t.Fatalf("got %v, want only %s", got, test.want)
			}
			if !strings.Contains(got[0].Detail, test.detail) {
				t.Errorf("got detail %q, want %q in it", got[0].Detail, test.detail)
			}
		})
	}
}

func TestLintExemptsHiddenUnicodeOfTheBase(t *testing.T) {
	t.Parallel()
	base := startTree()
	base[notePath] = []byte("[book] one\u200b two.\n")
	lint := func(text string) []Class {
		return Classes(Lint(LintInput{Surface: startSurface(), Base: base, Candidate: rewrite(notePath, text)}))
	}
	if got := lint("[book] one\u200b three.\n"); len(got) != 0 {
		t.Errorf("the base's own: got %v, want nothing", got)
	}
	if got := lint("[book] one\u200b two\u200b three.\n"); !slices.Equal(got, []Class{HiddenUnicode}) {
		t.Errorf("one more than the base: got %v, want %s", got, HiddenUnicode)
	}
}

func TestLintKeepsEveryOtherKey(t *testing.T) {
	t.Parallel()
	base := startTree()
	base[skillPath] = []byte(head(named + "description: d\nallowed-tools: [Read]\n"))
	for front, want := range map[string][]Class{
		"description: e\nallowed-tools: [Read]\n":       nil,
		"description: e\n":                              {FrontMatter},
		"description: e\nallowed-tools: [Read, Bash]\n": {FrontMatter},
	} {
		in := LintInput{Surface: startSurface(), Base: base, Candidate: rewrite(skillPath, head(named+front))}
		if got := Lint(in); !slices.Equal(Classes(got), want) {
			t.Errorf("%q: got %v, want %v", front, got, want)
		}
	}
}

func TestLintLeavesUnchangedFilesAlone(t *testing.T) {
	t.Parallel()
	base := startTree()
	base[skillPath] = []byte("broken before the candidate came\n")
	got := Lint(LintInput{Surface: startSurface(), Base: base, Candidate: rewrite(notePath, "[book] Better words.\n")})
	if len(got) != 0 {
		t.Errorf("got %v, want nothing: the candidate did not touch that file", got)
	}
}

func TestLintDuplicate(t *testing.T) {
	t.Parallel()
	s := startSurface()
	earlier := startTree()
	earlier[notePath] = []byte("[book] Earlier words.\n")
	in := LintInput{Surface: s, Base: startTree(), Seen: map[string]string{s.Digest(startTree()): "the start", s.Digest(earlier): "c003"}}
	in.Candidate = rewrite(notePath, "[book] Earlier words.\n")
	want := []Finding{{Duplicate, "", "the wording is that of c003"}}
	testenv.Same(t, "findings", want, Lint(in))
	in.Base = earlier // the champion moved; going back to the start is nothing new
	in.Candidate = rewrite(notePath, string(startTree()[notePath]))
	if got := Lint(in); len(got) != 1 || got[0].Detail != "the wording is that of the start" {
		t.Errorf("back to the start: got %v", got)
	}
}

func TestLintGrowth(t *testing.T) {
	t.Parallel()
	in := LintInput{Surface: startSurface(), Base: startTree(), MaxGrowth: 10, Candidate: rewrite(skillPath, startText+"123456789\n")}
	if got := Lint(in); len(got) != 0 {
		t.Errorf("ten bytes more: got %v, want nothing", got)
	}
	in.Candidate = rewrite(skillPath, startText+"1234567890\n")
	if got := Classes(Lint(in)); !slices.Equal(got, []Class{TooLarge}) {
		t.Errorf("eleven bytes more: got %v, want %s", got, TooLarge)
	}
}

// find is an echo search for given phrases, as the caller of Lint hands one in.
func find(phrases ...string) func(string) []Span {
	return func(text string) []Span {
		var spans []Span
		for _, p := range phrases {
			if i := strings.Index(strings.ToLower(text), p); i >= 0 {
				spans = append(spans, Span{i, i + len(p)})
			}
		}
		return spans
	}
}

func TestLintEcho(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		c    Candidate
		want []Class
	}{
		"none":                {rewrite(notePath, "[book] Plain words.\n"), nil},
		"leak":                {rewrite(notePath, "[book] Move the red lamp to the attic.\n"), []Class{Echo}},
		"in the base":         {rewrite(notePath, "[book] Now, there is a book.\n"), nil},
		"in the base, moved":  {rewrite(skillPath, startText+"There is a book!\n"), nil},
		"longer than base":    {rewrite(skillPath, startText+"there is a book. of lamps\n"), []Class{Echo}},
		"part of a base word": {rewrite(notePath, "[book] Here is a boo.\n"), []Class{Echo}},
		"off surface text":    {rewrite(notePath, "[book] cat note.md\n"), []Class{Echo}},
		"rationale":           {Candidate{Rationale: "helps with: the red lamp", Edits: rewrite(notePath, "[book] x\n").Edits}, []Class{Echo}},
		"escaped":             {rewrite(skillPath, head(named+`description: "the \x72ed lamp"`+"\n")), []Class{Echo}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := LintInput{Surface: startSurface(), Base: startTree(), Candidate: test.c}
			in.Echo = find("the red lamp", "there is a book", "there is a book. of lamps", "cat note.md", "here is a boo.")
			got := Lint(in)
			if !slices.Equal(Classes(got), test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			for _, f := range got {
				if strings.Contains(f.Detail, "lamp") {
					t.Errorf("the detail %q repeats the held-out text", f.Detail)
				}
			}
		})
	}
}

func TestLintSurvivesSpansOutsideTheText(t *testing.T) {
	t.Parallel()
	in := LintInput{Surface: startSurface(), Base: startTree(), Candidate: rewrite(notePath, "[book] words\n")}
	in.Echo = func(string) []Span { return []Span{{-5, 3}, {9, 2}, {4, 1 << 40}} }
	if got := Classes(Lint(in)); !slices.Equal(got, []Class{Echo}) {
		t.Errorf("got %v, want %s", got, Echo)
	}
}

func FuzzParseSkill(f *testing.F) {
	f.Add(startText)
	f.Add("---\na: &x [*x]\n---\nb")
	f.Add("---\n" + strings.Repeat("- ", 249) + "\n---\nb")
	f.Add("---\n" + strings.Repeat("{a: ", 150) + strings.Repeat("}", 150) + "\n---\nb")
	f.Add("---\n" + strings.Repeat("? ", 249) + "\n---\nb")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxFile {
			return
		}
		began := time.Now()
		head, body, err := parseSkill(text)
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v, want far less", took)
		}
		if err == nil && !strings.HasSuffix(text, body) {
			t.Errorf("body %q is not the end of %q (%v)", body, text, head)
		}
	})
}

func BenchmarkLint(b *testing.B) {
	c := rewrite(skillPath, startText+strings.Repeat("A sentence of the body that says something.\n", 200))
	b.ReportAllocs()
	for b.Loop() {
		if got := lintStart(c); len(got) != 0 {
			b.Fatal(got)
		}
	}
}
