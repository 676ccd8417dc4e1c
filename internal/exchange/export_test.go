package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopd/fixtures"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/scenarios"
)

// bundled is the bundled suite and its scenario files by id.
func bundled(t *testing.T) (harness.Suite, map[string][]byte) {
	t.Helper()
	all := make(fstest.MapFS)
	add := func(fsys fs.FS, root string, place func(string) string) {
		err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(fsys, name)
			all[place(name)] = &fstest.MapFile{Data: data, Mode: 0o644}
			return err
		})
		testenv.Must(t, err)
	}
	add(scenarios.FS(), "os-adr", func(name string) string {
		name = path.Base(name)
		if path.Ext(name) == ".md" && name != "rubric.md" {
			return "scenarios/" + name
		}
		return name
	})
	add(fixtures.FS(), "webhook-relay", func(name string) string { return "fixtures/" + name })
	suite, err := harness.ParseSuite(all)
	testenv.Must(t, err)
	files := make(map[string][]byte)
	for _, sc := range suite.Scenarios {
		files[sc.ID] = all["scenarios/"+sc.ID+".md"].Data
	}
	return suite, files
}

func idsOf(suite harness.Suite) []string {
	var out []string
	for _, sc := range suite.Scenarios {
		out = append(out, sc.ID)
	}
	return out
}

// texts are what patterns are compared on: everything the made-up sessions of
// the suite say, and a few lines that sit on an edge.
func texts(suite harness.Suite) []string {
	out := []string{"", "UTC", "utc", "iso 8601", "a conflict", "no conflict", "x\nconflict", "at odds", "goes  against", "FALSE", "false", "ab", "a.b", "7", "a\u00a0b"}
	for _, sc := range suite.Scenarios {
		for _, step := range append(sc.Oracle, sc.Nop...) {
			out = append(out, step.Text)
		}
	}
	return out
}

func anyMatches(patterns []string, text string) bool {
	for _, p := range patterns {
		if regexp.MustCompile(p).MatchString(text) {
			return true
		}
	}
	return false
}

// carried compares a scenario with what came back, by what a case can carry, and
// wants everything else in the list of what is left out. It says what differs.
func carried(suite harness.Suite, sc harness.Scenario, left []string, got harness.Scenario) error {
	listed := func(what string) bool {
		for _, l := range left {
			if strings.Contains(l, what) {
				return true
			}
		}
		return false
	}
	type labels struct {
		ID, Skill, Fixture, Pair, Judge string
		Role                            harness.Role
		Hook                            harness.HookExpectation
		Graph                           bool
	}
	of := func(s harness.Scenario) labels {
		return labels{s.ID, s.Skill, s.Fixture, s.Pair, s.Judge, s.Role, s.Hook, s.Graph}
	}
	if diff := cmp.Diff(of(sc), of(got)); diff != "" {
		return fmt.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(carriedA(sc, suite.Checker), got.Expect.A); diff != "" {
		return fmt.Errorf("axis a, -want +got:\n%s", diff)
	}
	rest := got.Expect.B
	for i, a := range sc.Expect.B {
		if listed(fmt.Sprintf("expect.b[%d]", i)) && a.Created == nil {
			continue
		}
		if len(rest) == 0 {
			return fmt.Errorf("expect.b[%d] is gone and not listed", i)
		}
		if err := sameCheck(suite, a, rest[0]); err != nil {
			return fmt.Errorf("expect.b[%d]: %w", i, err)
		}
		if a.Created != nil && len(a.Created.Keywords) > 0 && !listed("keywords in "+a.Created.Path) {
			return fmt.Errorf("expect.b[%d]: its keywords are not listed", i)
		}
		rest = rest[1:]
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%d checks too many", len(rest))
	case len(sc.Forbidden) > 0 && !listed("forbidden"), len(sc.Changes) > 0 && !listed("changes"), sc.Graph && !listed("graph"), !listed("oracle"):
		return fmt.Errorf("something left out is not listed: %q", left)
	}
	return nil
}

// carriedA is axis a as a case can say it: skills alone.
func carriedA(sc harness.Scenario, c harness.Checker) []harness.Assertion {
	var out []harness.Assertion
	for _, a := range sc.Expect.A {
		switch {
		case a.Consults != nil && !*a.Consults:
			return sc.Expect.A
		case a.Consults != nil:
			for _, one := range c.Consult {
				if one.Skill != "" {
					out = append(out, one)
				}
			}
		case a.Skill != "":
			out = append(out, a)
		}
	}
	return out
}

func sameCheck(suite harness.Suite, want, got harness.Assertion) error {
	if want.Created != nil {
		if got.Created == nil || got.Created.Path != want.Created.Path {
			return fmt.Errorf("got %+v", got)
		}
		return nil
	}
	if (len(want.Says) > 0) != (len(got.Says) > 0) || (len(want.NeverSays) > 0) != (len(got.NeverSays) > 0) || want.Command != got.Command {
		return fmt.Errorf("got another kind of check: %+v", got)
	}
	for _, text := range texts(suite) {
		if anyMatches(want.Says, text) != anyMatches(got.Says, text) || anyMatches(want.NeverSays, text) != anyMatches(got.NeverSays, text) {
			return fmt.Errorf("%v and %v differ on %q", want, got, text)
		}
	}
	return nil
}

func TestBundledSuiteGoesRound(t *testing.T) {
	t.Parallel()
	suite, files := bundled(t)
	dir := t.TempDir()
	out, err := Export(dir, suite, idsOf(suite), files)
	testenv.Must(t, err)
	found, err := Import(dir, Options{})
	testenv.Must(t, err)
	if len(found.Drafts) != len(suite.Scenarios) || len(out) != len(suite.Scenarios) {
		t.Fatalf("got %d drafts of %d cases, want %d", len(found.Drafts), len(out), len(suite.Scenarios))
	}
	byID := make(map[string]Draft)
	for _, d := range found.Drafts {
		byID[d.Scenario.ID] = d
	}
	for _, c := range out {
		sc, _ := suite.Scenario(c.ID)
		d := byID[c.ID]
		if err := carried(suite, sc, c.Left, d.Scenario); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		if taskOf(d.text) != taskOf(files[c.ID]) || taskOf(d.text) == "" {
			t.Errorf("%s: the task is another", c.ID)
		}
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	testenv.Must(t, err)
	for _, c := range out {
		for _, l := range c.Left {
			if !strings.Contains(string(readme), "- "+l+"\n") {
				t.Errorf("%s: README.md does not list %q", c.ID, l)
			}
		}
	}
}

// The comparison above notices what is lost: each damage of a case must fail it.
func TestRoundIsNotBlind(t *testing.T) {
	t.Parallel()
	suite, files := bundled(t)
	for name, tc := range map[string]struct{ id, file, old, new string }{
		"another role":       {"R1", "prompt.md", "role:objective", "role:reserve"},
		"no hook":            {"R1", "prompt.md", `"hook:note", `, ""},
		"another skill":      {"R1", "graders/axis-a.md", "os-adr:", "os-adv:"},
		"a wider skill":      {"R1", "graders/axis-a.md", "os-adr:", ""},
		"another pattern":    {"R1", "graders/axis-b-2.md", "contradict", "contrast"},
		"no flag":            {"R1", "graders/axis-b-2.md", `flags: "im"`, `flags: "m"`},
		"turned around":      {"R1", "graders/axis-b-2.md", `"contains"`, `"not_contains"`},
		"another file":       {"W1", "graders/axis-b-1.md", "docs/adr", "docs"},
		"another question":   {"W1", "graders/judge.md", "SQLite", "Redis"},
		"a call that may be": {"N1", "graders/axis-a.md", "min: 0\nmax: 0\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, err := Export(dir, suite, []string{tc.id}, files)
			testenv.Must(t, err)
			at := filepath.Join(dir, tc.id, tc.file)
			data, err := os.ReadFile(at)
			testenv.Must(t, err)
			damaged := strings.Replace(string(data), tc.old, tc.new, 1)
			if damaged == string(data) {
				t.Fatal("the damage did not apply")
			}
			testenv.Must(t, os.WriteFile(at, []byte(damaged), 0o644))
			found, err := Import(dir, Options{})
			testenv.Must(t, err)
			sc, _ := suite.Scenario(tc.id)
			if err := carried(suite, sc, out[0].Left, found.Drafts[0].Scenario); err == nil {
				t.Error("not noticed")
			}
		})
	}
}

// drawn are scenarios of every form, by chance.
var drawn = rapid.Custom(func(t *rapid.T) harness.Scenario {
	word := rapid.StringMatching(`[a-z][a-z0-9-]{0,8}[a-z0-9]`)
	sc := harness.Scenario{
		ID: rapid.StringMatching(`[A-Z][A-Za-z0-9-]{0,6}[a-z0-9]`).Draw(t, "id"), Fixture: "shop",
		Role:  rapid.SampledFrom([]harness.Role{harness.Objective, harness.Guard, harness.Control, harness.Reserve, harness.Practice}).Draw(t, "role"),
		Hook:  rapid.SampledFrom([]harness.HookExpectation{harness.HookNote, harness.HookSilent}).Draw(t, "hook"),
		Graph: rapid.Bool().Draw(t, "graph"), Oracle: []harness.Step{{Text: "done"}}, Nop: []harness.Step{{Text: "done"}},
	}
	if rapid.Bool().Draw(t, "has skill") {
		sc.Skill, sc.Pair = word.Draw(t, "skill"), word.Draw(t, "pair")
	}
	if rapid.Bool().Draw(t, "has judge") {
		sc.Judge = "Is " + word.Draw(t, "judge") + " said?"
	}
	yes := rapid.Bool().Draw(t, "consults")
	sc.Expect.A = []harness.Assertion{{Consults: &yes}}
	if rapid.Bool().Draw(t, "skills") {
		sc.Expect.A = nil
		for _, g := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "*:a", "p:b-c", "p:*", "p:x.y", "?:z", "*"}), 1, 3).Draw(t, "globs") {
			sc.Expect.A = append(sc.Expect.A, harness.Assertion{Skill: g})
		}
	}
	pattern := rapid.SampledFrom([]string{
		`ab`, `(?i)ab`, `a.b`, `(?s)a.b`, `(?im)^conflict$`, `a\s+b`, `[^\s]b`, `\bUTC\b`, `(?i)\bat\s+odds\b`, `[.:;(]x`, `a\.b`, `7|8`, `a\W7`, `(?i)x(?:y|z)?`, `\S\d`,
	})
	kinds := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 4).Draw(t, "kinds")
	for _, kind := range kinds {
		patterns := rapid.SliceOfN(pattern, 1, 3).Draw(t, "patterns")
		sc.Expect.B = append(sc.Expect.B, []harness.Assertion{
			{Says: patterns}, {NeverSays: patterns}, {Created: &harness.Created{Path: "docs/**/*.md"}},
			{Created: &harness.Created{Path: "x-[0-9].txt", Keywords: [][]string{{"a"}}}}, {Command: "*"}, {Cites: &harness.Cites{ID: "0003"}},
		}[kind])
	}
	if rapid.Bool().Draw(t, "forbids") {
		sc.Forbidden = []harness.Diff{{Path: "a", Adds: "b"}}
	}
	return sc
})

func TestScenariosGoRound(t *testing.T) {
	t.Parallel()
	tree := harness.Tree{"till.rb": {Mode: 0o644, Data: []byte("x\n")}}
	checker := harness.Checker{Plugin: "p", Consult: []harness.Assertion{{Skill: "p:*"}, {Command: "p-*"}}}
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawn.Draw(rt, "scenario")
		task := strings.TrimSpace(rapid.StringMatching(`[a-zA-Z#][a-zA-Z0-9 #\\.:'"{}\n-]{0,60}`).Draw(rt, "task"))
		front, err := yaml.Marshal(sc)
		if err != nil {
			rt.Fatal(err)
		}
		file := []byte("---\n" + string(front) + "---\n## Task\n\n" + escapeHeadings(task) + "\n")
		sc, err = harness.ParseScenario(sc.ID+".md", file)
		if err != nil {
			rt.Fatal(err)
		}
		suite := harness.Suite{Scenarios: []harness.Scenario{sc}, Checker: checker, Fixtures: map[string]harness.Tree{"shop": tree}}
		dir, err := os.MkdirTemp(t.TempDir(), "case")
		if err != nil {
			rt.Fatal(err)
		}
		out, err := Export(dir, suite, []string{sc.ID}, map[string][]byte{sc.ID: file})
		if err != nil {
			rt.Fatal(err)
		}
		if out[0].Graders == 0 {
			return
		}
		found, err := Import(dir, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		d := found.Drafts[0]
		if err := carried(suite, sc, out[0].Left, d.Scenario); err != nil {
			rt.Fatal(err)
		}
		if taskOf(d.text) != escapeHeadings(task) {
			rt.Fatalf("the task went in as %q and came out as %q", task, taskOf(d.text))
		}
	})
}

// The script lays out the project byte for byte, whatever its names and content.
func TestStageScript(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	suite, _ := bundled(t)
	for name, tree := range map[string]harness.Tree{
		"the bundled project": suite.Fixtures["webhook-relay"],
		"odd names": {
			"it's $HOME/a b": {Mode: 0o644, Data: []byte("x")}, "-n": {Mode: 0o755, Data: nil}, "EOF": {Mode: 0o644, Data: []byte("EOF\n\x00\xff")},
			"long": {Mode: 0o644, Data: []byte(strings.Repeat("0123456789\n", 500))},
		},
	} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), sh)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stageScript(tree))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		got, err := harness.ReadTree(os.DirFS(dir))
		testenv.Must(t, err)
		if !sameTree(tree, got) {
			t.Errorf("%s: got another tree: %q", name, got.Paths())
		}
	}
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	suite, files := bundled(t)
	if _, err := Export(t.TempDir(), suite, []string{"Z9"}, files); err == nil || !strings.Contains(err.Error(), "no scenario Z9") {
		t.Errorf("got %v", err)
	}
	dir := testenv.Tree(t, t.TempDir(), map[string]string{"R1/prompt.md": "mine"})
	_, err := Export(dir, suite, []string{"R1"}, files)
	if _, exists := errors.AsType[*ExistsError](err); !exists {
		t.Errorf("got %v, want ExistsError", err)
	}
	testenv.Same(t, "result", []string{"R1/prompt.md"}, paths(t, dir))
}
