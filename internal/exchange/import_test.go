package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

// told is everything an import gives: the files of the drafts, the fixtures by
// name, and what was left out; or its error.
func told(found Found, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range found.Suites {
		fmt.Fprintf(&b, "suite %s %s %s %d\n", s.File, s.Format, s.Name, s.Cases)
	}
	for _, s := range found.Skipped {
		fmt.Fprintf(&b, "left out %v\n", s)
	}
	for _, d := range found.Drafts {
		fmt.Fprintf(&b, "\n=== %s %q\n%s", d.Scenario.ID, d.Files.Paths(), d.text)
	}
	return b.String()
}

// Every folder of testdata/import is one import; beside it lies what comes out.
func TestImportGoldens(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/import/*")
	if err != nil || len(cases) < 10 {
		t.Fatalf("got %d folders, %v", len(cases), err)
	}
	for _, dir := range cases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			testenv.Golden(t, filepath.Join("testdata/golden", filepath.Base(dir)+".txt"), []byte(told(Import(dir, Options{}))))
		})
	}
}

// Nothing of a suite is run: what its scripts would leave behind is not there.
func TestNothingIsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.CopyFS(dir, os.DirFS("testdata/import/native")))
	if _, err := Import(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "only-files"), nil, 0o644))
	after := paths(t, dir)
	testenv.Same(t, "the import changed its source", append(paths(t, "testdata/import/native"), "only-files"), after, cmp.Transformer("set", asSet))
}

func asSet(list []string) map[string]bool {
	out := make(map[string]bool)
	for _, s := range list {
		out[s] = true
	}
	return out
}

func paths(t *testing.T, dir string) []string {
	t.Helper()
	tree, err := harness.ReadTree(os.DirFS(dir))
	testenv.Must(t, err)
	return tree.Paths()
}

const (
	secretTask = "please tighten the fourth nipple from the valve"
	goodEvals  = `{"skill_name": "true-wheel", "evals": [{"id": "a", "prompt": "` + secretTask + `"}]}`
	goodCase   = "schema_version: \"1.1\"\nname: a\nexecution:\n  prompt: " + secretTask + "\ngraders:\n  - {type: regex, name: r, pattern: x}\n"
)

// What cannot be imported is one line, and the line holds no task.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		at    string
		want  string
	}{
		"nothing there":               {nil, "suite.json", "no such file or folder"},
		"an empty folder":             {nil, "", "no suite of a known format"},
		"another file":                {map[string]string{"x.json": `{"a": 1}`}, "x.json", "x.json: no suite of a known format"},
		"broken JSON":                 {map[string]string{"x.json": `{"evals": [` + secretTask}, "x.json", "x.json: no JSON at byte"},
		"JSON that ends early":        {map[string]string{"x.json": `{"evals": [`}, "x.json", "x.json: the JSON ends too early"},
		"broken YAML":                 {map[string]string{"x.yaml": "a: [\n" + secretTask}, "x.yaml", "x.yaml: "},
		"a key twice":                 {map[string]string{"x.json": `{"evals": [], "evals": []}`}, "x.json", "x.json: key evals stands twice"},
		"a key that is text":          {map[string]string{"x.json": `{"` + secretTask + `": 1, "` + secretTask + `": 1}`}, "x.json", "key (not a word) stands twice"},
		"code":                        {map[string]string{"promptfooconfig.js": "module.exports = {}"}, "promptfooconfig.js", "code, and nothing of a suite is ever run"},
		"two cases of one id":         {map[string]string{"e.json": `{"skill_name": "s", "evals": [{"id": 1, "prompt": "` + secretTask + `"}, {"id": "1", "prompt": "y"}]}`}, "e.json", "e.json: two cases have the id 1"},
		"two cases of one name":       {map[string]string{"a/case.yaml": goodCase, "b/case.yaml": goodCase}, "", "two cases have the id a"},
		"one query twice":             {map[string]string{"skills/s/SKILL.md": "x", "q.json": `[{"query": "` + secretTask + `", "should_trigger": true}, {"query": "` + secretTask + `", "should_trigger": false}]`}, "", "q.json: the query at /1 stands twice"},
		"no skill":                    {map[string]string{"q.json": `[{"query": "x", "should_trigger": true}]`}, "q.json", "q.json names no skill"},
		"another version":             {map[string]string{"a/case.yaml": strings.Replace(goodCase, "1.1", "2.0", 1)}, "", "a: schema_version 2.0: this loopd reads 1.1"},
		"a version that is a number":  {map[string]string{"a/case.yaml": strings.Replace(goodCase, `"1.1"`, "1.10", 1)}, "", "schema_version 1.10"},
		"a result":                    {map[string]string{"grading.json": `{"assertion_results": [{"text": "x", "passed": true}]}`}, "grading.json", "grading.json is a result file, not a suite"},
		"an unknown skill":            {map[string]string{"skills/true-wheel/SKILL.md": "x", ".claude-plugin/plugin.json": `{"name": "p"}`, "evals/e.json": strings.Replace(goodEvals, "true-wheel", "true-whel", 1)}, "", "the plugin has no skill true-whel; did you mean true-wheel?"},
		"no case":                     {map[string]string{"e.json": `{"skill_name": "s", "evals": []}`}, "e.json", "e.json: no case in it"},
		"only blank prompts":          {map[string]string{"e.json": `{"skill_name": "s", "evals": [{"id": 1, "prompt": " "}]}`}, "e.json", "e.json#/evals/0: no prompt"},
		"an item that is no map":      {map[string]string{"e.json": `{"skill_name": "s", "evals": ["` + secretTask + `"]}`}, "e.json", "e.json#/evals/0: want a map"},
		"graders of one name":         {map[string]string{"a/case.yaml": goodCase, "a/graders/r.md": "---\ntype: llm\n---\nGood?\n"}, "", "a: two graders have the name r"},
		"a broken grader":             {map[string]string{"a/case.yaml": goodCase, "a/graders/s.md": "---\n[\n---\n" + secretTask}, "", "a: graders/s.md: "},
		"a file beside that is lost":  {map[string]string{"p.yaml": "prompts: [x]\nproviders: [y]\ntests: ['file://t.yaml']\n"}, "p.yaml", "p.yaml: t.yaml: no such file"},
		"a file that leads out":       {map[string]string{"p.yaml": "prompts: [x]\nproviders: [y]\ntests: ['file://../t.yaml']\n"}, "p.yaml", `p.yaml: path "../t.yaml" leads out of the suite`},
		"aliases without end":         {map[string]string{"p.yaml": bomb()}, "p.yaml", "p.yaml: "},
		"a test that is a text":       {map[string]string{"p.json": `{"prompts": ["x"], "providers": ["y"], "tests": ["` + secretTask + `"]}`}, "p.json", "p.json#/tests/0: tests that are no YAML"},
		"a name that is no skill":     {map[string]string{"e.json": strings.Replace(goodEvals, "true-wheel", "true wheel", 1)}, "e.json", "skill_name is no name of a skill"},
		"a template that is a prompt": {map[string]string{"p.yaml": "prompts: ['{{x}} {% if y %}']\nproviders: [y]\ntests: [{vars: {x: a}}]\n"}, "p.yaml", "the prompt is a template"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testenv.Tree(t, t.TempDir(), tc.files)
			_, err := Import(filepath.Join(dir, tc.at), Options{})
			switch {
			case err == nil:
				t.Fatal("imported")
			case !strings.Contains(err.Error(), tc.want):
				t.Errorf("got %q, want %q in it", err, tc.want)
			case strings.Contains(err.Error(), "\n"):
				t.Errorf("more than one line: %q", err)
			case strings.Contains(err.Error(), "nipple"):
				t.Errorf("the error shows a task: %q", err)
			}
		})
	}
}

// bomb is a small file that aliases blow up.
func bomb() string {
	text := "prompts: [x]\nproviders: [y]\na0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 1; i < 12; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return text
}

// A path that leads out is never read, by whichever way.
func TestPathsThatLeadOut(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(testenv.Tree(t, t.TempDir(), map[string]string{"key": "sesame"}), "key")
	for name, file := range map[string]string{
		"absolute": outside, "above": "../key", "above later": "a/../../key", "a link": "link", "through a link": "up/key", "lost": "no.csv", "a folder": "dir",
		"backslashes": `..\\key`, "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quoted, _ := json.Marshal(file)
			dir := testenv.Tree(t, t.TempDir(), map[string]string{
				"e.json": `{"skill_name": "s", "evals": [{"id": "a", "prompt": "x", "files": [` + string(quoted) + `]}]}`,
				"link":   "->" + outside, "up": "->" + filepath.Dir(outside), "dir/x": "",
			})
			found, err := Import(filepath.Join(dir, "e.json"), Options{})
			testenv.Must(t, err)
			d := found.Drafts[0]
			if len(d.Files) != 0 || strings.Contains(string(d.text), "sesame") {
				t.Errorf("got the files %q", d.Files.Paths())
			}
			want := []harness.SourceField{{Field: "files", Value: file}}
			testenv.Same(t, "unmapped,", want, d.Scenario.Draft.Unmapped)
			if d.Scenario.Fixture != "" {
				t.Errorf("got the fixture %s of no files", d.Scenario.Fixture)
			}
		})
	}
}

// Numbers, versions and words keep the text that was written.
func TestScalarsAreRaw(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"007", "1.10", "yes", "30%", "0x1f", "1e3", "2026-01-02", "~x", "'true'", `"null"`, "0o17", "+5", ".5", "1_000"} {
		for format, text := range map[string]string{
			"block": "schema_version: \"1.1\"\nname: a\nsize: " + value + "\nexecution: {prompt: x}\n",
			"flow":  "{schema_version: \"1.1\", name: a, size: " + value + ", execution: {prompt: x}}\n",
		} {
			found, err := Import(testenv.Tree(t, t.TempDir(), map[string]string{"a/case.yaml": text}), Options{})
			if err != nil {
				t.Errorf("%s, %s: %v", value, format, err)
				continue
			}
			want := []harness.SourceField{{Field: "size", Value: strings.Trim(value, `'"`)}}
			testenv.Same(t, fmt.Sprintf("%s, %s", value, format), want, found.Drafts[0].Scenario.Draft.Unmapped)
		}
	}
}

// A prompt comes out as it went in, whatever is in it.
func TestPromptsAreVerbatim(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{
		"## Task\n\nDo it.\n\n## Notes\n\nSoon.", "one\n---\ntwo", `\## x`, "a\n\\\\## b\n# c\n### d", "{{not}} a %{template}", "tab\there", "é – ✓ 🛞",
		"```yaml\n---\nid: x\n---\n```", "a  \nb", "#", "'\"`$(x)",
	} {
		data, err := json.Marshal([]map[string]any{{"query": prompt, "should_trigger": true}})
		testenv.Must(t, err)
		found, err := Import(testenv.Tree(t, t.TempDir(), map[string]string{"q.json": string(data)}), Options{Skill: "s"})
		if err != nil {
			t.Errorf("%q: %v", prompt, err)
			continue
		}
		// A practice scenario's task is plain text.
		text := strings.Replace(string(found.Drafts[0].text), "role: objective", "role: practice", 1)
		got, err := harness.ParseDraft("x.md", []byte(text))
		if err != nil || got.PracticeTask != prompt {
			t.Errorf("got %q, %v, want %q", got.PracticeTask, err, prompt)
		}
	}
}

// A draft cannot be taken for a scenario, and without its key and with what it
// lacks it is one.
func TestADraftIsConfirmedByAPerson(t *testing.T) {
	t.Parallel()
	found, err := Import("testdata/import/native", Options{})
	testenv.Must(t, err)
	dir := t.TempDir()
	names, err := found.Write(dir)
	if err != nil || len(names) == 0 {
		t.Fatalf("got %q, %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		testenv.Must(t, err)
		if _, err := harness.ParseScenario(name, data); err == nil || !strings.Contains(err.Error(), "draft: imported and not confirmed") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// Nothing is overwritten, and where one file stands nothing is written.
func TestWriteOverwritesNothing(t *testing.T) {
	t.Parallel()
	found, err := Import("testdata/import/native", Options{})
	testenv.Must(t, err)
	for _, name := range []string{"scenarios/wobble.md", "fixtures/wobble/other", "scenarios/brakes.md"} {
		dir := testenv.Tree(t, t.TempDir(), map[string]string{name: "mine"})
		_, err := found.Write(dir)
		if _, exists := errors.AsType[*ExistsError](err); !exists {
			t.Errorf("%s: got %v, want ExistsError", name, err)
		}
		testenv.Same(t, name, []string{name}, paths(t, dir))
	}
	dir := testenv.Tree(t, t.TempDir(), map[string]string{"scenarios": "a file where a folder belongs"})
	if _, err := found.Write(dir); err == nil {
		t.Error("wrote below a file")
	}
	testenv.Same(t, "half a write is left", []string{"scenarios"}, paths(t, dir))
}

// A tag that would open a task to proposers does not do so unseen.
func TestAPracticeTagIsFlagged(t *testing.T) {
	t.Parallel()
	found, err := Import(testenv.Tree(t, t.TempDir(), map[string]string{"a/case.yaml": goodCase + "tags: ['role:practice', 'hook:loud', 'role:king', other]\n"}), Options{})
	testenv.Must(t, err)
	sc := found.Drafts[0].Scenario
	if sc.Role != harness.Practice || !strings.Contains(strings.Join(sc.Draft.Flags, "\n"), "may be shown to proposers") {
		t.Errorf("got the role %s, flags %q", sc.Role, sc.Draft.Flags)
	}
	want := []harness.SourceField{{Field: "tags", Value: `["hook:loud","role:king","other"]`}}
	testenv.Same(t, "result", want, sc.Draft.Meta)
}
