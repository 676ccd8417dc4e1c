package exchange

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"loopd/harness"
	"loopd/internal/testenv"
)

// sound wants an import either to be refused in one line or to give drafts that
// can be read, with files that stay below their fixture.
func sound(t *testing.T, at string, files map[string][]byte) {
	t.Helper()
	fsys := make(fstest.MapFS)
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	found, err := importFrom(fsys, at, at == ".", Options{Skill: "s"})
	if err != nil {
		if strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %q", err)
		}
		return
	}
	ids := make(map[string]bool)
	for _, d := range found.Drafts {
		sc, err := harness.ParseDraft("x.md", d.text)
		if err != nil {
			t.Fatalf("a draft that cannot be read: %v\n%s", err, d.text)
		}
		low := strings.ToLower(sc.ID)
		if ids[low] || fileName(sc.ID) != sc.ID || sc.ID == "" {
			t.Fatalf("the id %q is none, or is used twice", sc.ID)
		}
		ids[low] = true
		if len(sc.Draft.Origin.SHA256) != 64 || sc.Draft.Origin.File == "" {
			t.Fatalf("no origin: %+v", sc.Draft.Origin)
		}
		for _, p := range d.Files.Paths() {
			if !inside(p) {
				t.Fatalf("the file %q leads out of its fixture", p)
			}
		}
	}
	if len(found.Drafts) == 0 {
		t.Fatal("neither drafts nor an error")
	}
}

// seeds adds files of testdata that match a glob.
func seeds(f *testing.F, glob string) {
	f.Helper()
	files := testenv.Glob(f, glob)
	for _, name := range files {
		data, err := os.ReadFile(name)
		testenv.Must(f, err)
		f.Add(data)
	}
}

func FuzzEvals(f *testing.F) {
	seeds(f, "testdata/import/evals/evals/evals.json")
	f.Add([]byte(`{"skill_name":"s","evals":[{"id":1.50,"prompt":"## Task\n---\n","assertions":[{"text":"\u0000"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { sound(t, "e.json", map[string][]byte{"e.json": data}) })
}

func FuzzTriggers(f *testing.F) {
	seeds(f, "testdata/import/triggers/*.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		sound(t, "q.json", map[string][]byte{"q.json": data})
	})
}

func FuzzPromptfoo(f *testing.F) {
	seeds(f, "testdata/import/promptfoo*/*.[yj]*")
	f.Fuzz(func(t *testing.T, data []byte) {
		sound(t, ".", map[string][]byte{"p.yaml": data, "ask.txt": []byte("a {{ask}}"), "bench/x": nil})
	})
}

func FuzzPluginEval(f *testing.F) {
	f.Add([]byte("---\nruns: 007\n---\n## Task\nx\n"), []byte("schema_version: \"1.1\"\nname: a\ncontext: {add_dirs: [b]}\n"), []byte("---\ntype: regex\npattern: 'a\\sb'\nflags: i\n---\n"))
	f.Add([]byte("x"), []byte(goodCase), []byte("---\ntype: tool_used\ntool: Skill\ninput_match: p:s\nmin: 0\nmax: 0\n---\n"))
	f.Add([]byte(""), []byte(goodCase), []byte("---\ntype: llm\n---\nIs it so?\n"))
	f.Fuzz(func(t *testing.T, prompt, doc, grader []byte) {
		sound(t, ".", map[string][]byte{"c/prompt.md": prompt, "c/case.yaml": doc, "c/graders/g.md": grader, "c/b/x": nil})
	})
}
