package campaign

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"loopd/candidates"
	"loopd/fixtures"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/scenarios"
)

// bundledLeaks is the leak search of a bundled suite with its plugin's files.
func bundledLeaks(t testing.TB, name string) (*leaks, harness.Suite, harness.Tree) {
	t.Helper()
	suite, err := ReadBundled(name)
	testenv.Must(t, err)
	sub, err := fs.Sub(fixtures.Plugins(), suite.Checker.Plugin)
	testenv.Must(t, err)
	tree, err := harness.ReadTree(sub)
	testenv.Must(t, err)
	return newLeaks(suite, tree), suite, tree
}

// The start has nothing from the suite, by the very search that candidates go
// through: else nothing could be proposed at all.
func TestStartPassesItsOwnLint(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"os-adr", "nine-skills"} {
		l, suite, tree := bundledLeaks(t, name)
		paths := candidates.NewSurface(bytesOf(tree), suite.Launch.Note.File).Paths
		if len(paths) < 4 {
			t.Fatalf("%s: got %d files", name, len(paths))
		}
		for _, p := range paths {
			text := string(tree[p].Data)
			for _, s := range l.find(text) {
				t.Errorf("%s: %s: %q", name, p, text[s.Start:s.End])
			}
		}
	}
}

// phrased is a phrase of the table of leaks and clean edits.
type phrased struct {
	Place  string `yaml:"place"`
	Phrase string `yaml:"phrase"`
}

func proposals(t *testing.T, plugin string) (leaking, clean []phrased) {
	t.Helper()
	data, err := scenarios.Rehearsal(plugin + ".proposals.yaml")
	testenv.Must(t, err)
	var doc struct{ Leaks, Clean []phrased }
	testenv.Must(t, yaml.Unmarshal(data, &doc))
	return doc.Leaks, doc.Clean
}

// firstSkill is the path of the first skill of a plugin.
func firstSkill(t testing.TB, tree harness.Tree) string {
	t.Helper()
	for _, p := range tree.Paths() {
		if strings.HasSuffix(p, "/SKILL.md") {
			return p
		}
	}
	t.Fatal("no skill")
	return ""
}

// linted lints a phrase put at the end of the note, the first description or the
// first body, or as a line into the first head.
func linted(t testing.TB, suite harness.Suite, tree harness.Tree, l *leaks, p phrased) []candidates.Class {
	t.Helper()
	skill := firstSkill(t, tree)
	if p.Place == "note" && suite.Launch.Note.File == "" {
		p.Place = "body"
	}
	c := candidates.Candidate{ID: "c001", Source: candidates.Proposer}
	switch p.Place {
	case "note":
		text := strings.TrimSpace(string(tree[suite.Launch.Note.File].Data)) + " " + p.Phrase + "\n"
		c.Edits = []candidates.Edit{{Path: suite.Launch.Note.File, Whole: &text}}
	case "description":
		was, err := candidates.Description(tree[skill].Data)
		testenv.Must(t, err)
		next, err := candidates.SetDescription(tree[skill].Data, was+" "+p.Phrase)
		testenv.Must(t, err)
		text := string(next)
		c.Edits = []candidates.Edit{{Path: skill, Whole: &text}}
	case "head":
		text := strings.Replace(string(tree[skill].Data), "\n", "\n"+p.Phrase+"\n", 1)
		c.Edits = []candidates.Edit{{Path: skill, Whole: &text}}
	default:
		text := strings.TrimSpace(string(tree[skill].Data)) + " " + p.Phrase + "\n"
		c.Edits = []candidates.Edit{{Path: skill, Whole: &text}}
	}
	base := bytesOf(tree)
	return candidates.Classes(candidates.Lint(candidates.LintInput{
		Surface: candidates.NewSurface(base, suite.Launch.Note.File), Base: base, Candidate: c, Echo: l.find,
	}))
}

func TestLeakLint(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"os-adr", "nine-skills"} {
		l, suite, tree := bundledLeaks(t, name)
		leaking, clean := proposals(t, suite.Checker.Plugin)
		if len(leaking) != 40 || len(clean) != 40 {
			t.Fatalf("%s: got %d leaks and %d clean edits, want 40 of each", name, len(leaking), len(clean))
		}
		for _, p := range leaking {
			if got := linted(t, suite, tree, l, p); !slices.Equal(got, []candidates.Class{candidates.Echo}) {
				t.Errorf("%s: a leak passes: %q: got %v", name, p.Phrase, got)
			}
		}
		refused := 0
		for _, p := range clean {
			if got := linted(t, suite, tree, l, p); len(got) > 0 {
				refused++
				t.Logf("%s: a clean edit is refused: %q: %v", name, p.Phrase, got)
			}
		}
		if refused > 2 {
			t.Errorf("%s: %d of 40 clean edits are refused, want at most 2", name, refused)
		}
	}
}

// Where a leak stands and how it is written does not matter.
func TestLeakLintDisguises(t *testing.T) {
	t.Parallel()
	l, suite, _ := bundledLeaks(t, "os-adr")
	task := suite.Scenarios[slices.IndexFunc(suite.Scenarios, func(s harness.Scenario) bool { return s.ID == "R1" })].Task.Reveal()
	five := strings.Join(strings.Fields(task)[:5], " ")
	four := strings.Join(strings.Fields(task)[:4], " ")
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"five words":        {five, true},
		"four words":        {four, false},
		"upper case":        {strings.ToUpper(five), true},
		"over lines":        {strings.ReplaceAll(five, " ", "\n> "), true},
		"emphasised":        {"**" + strings.ReplaceAll(five, " ", "** _") + "_", true},
		"with dashes":       {strings.ReplaceAll(five, " ", "—"), true},
		"id with a dash":    {"ADR\u20110002", true},
		"id without zeros":  {"adr#2", true},
		"another number":    {"ADR-0009", false},
		"a longer number":   {"ADR-00020 and 100023", false},
		"placeholder":       {"ADR-NNNN", false},
		"path in capitals":  {"LIB/RELAY/STORE.RB", true},
		"plugin's own path": {"docs/adr and bin/adr-find and docs/adr/README.md", false},
		"practice":          {"compare Puma and Falcon", false},
		"scenario":          {"for W3.", true},
		"no scenario":       {"for W35 or xW3", false},
		"fixture":           {"in webhook-relay", true},
		"judging":           {"whether the message explicitly proposes to record a decision, or asks the user whether", true},
		"plugin's subject":  {"ask the user whether the decision should be recorded", false},
	} {
		if got := len(l.find(c.text)) > 0; got != c.want {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
		}
	}
}

// A title of three or four words is known by all of them; ids that are plain words
// are anyone's.
func TestLeakLintOfASmallSuite(t *testing.T) {
	t.Parallel()
	suite := harness.Suite{
		Checker: harness.Checker{Plugin: "ferry", Records: harness.Records{Dir: "rec", File: "*.md"}, Citation: harness.Citation{Prefix: "REC", Digits: 3}},
		Fixtures: map[string]harness.Tree{"harbour": {
			"rec/007-two-red-boats.md": {Data: []byte("Paint.\n")}, "rec/008-tides.md": {Data: []byte("Tides.\n")}, "README.md": {Data: []byte("one two three four five six\n")},
		}},
		Scenarios: []harness.Scenario{
			{ID: "night-run", Role: harness.Objective, Task: harness.NewHeldOut("Sail FARE_MAX to five."), Expect: harness.Expect{
				B: []harness.Assertion{{Cites: &harness.Cites{ID: "007"}}, {Changed: &harness.Diff{Path: "lib/fare.rb", Adds: `\bFARE_\w+ = 12\b`}}, {Says: []string{`(?i)\bzone-map\b|tariffZone`}}},
			}},
			{ID: "billing", Role: harness.Guard, Task: harness.NewHeldOut("Pay."), Judge: "Is it paid?"},
			{ID: "P9", Role: harness.Practice, PracticeTask: "Moor ROPE_LEN.", Oracle: []harness.Step{{Edit: &harness.EditStep{Path: "lib/rope.rb"}}}},
		},
	}
	l := newLeaks(suite, harness.Tree{})
	for text, want := range map[string]bool{
		"two red boats": true, "Two, red BOATS!": true, "two red ferries": false, "007-two-red-boats.md": true, "tides": false, "rec/008-tides.md": true,
		"REC 7": true, "rec-007": true, "REC 70": false, "007": true, "7 boats": false, "night-run": true, "billing": false, "harbour": false,
		"lib/fare.rb": true, "fare.rb": true, "FARE_MAX": true, "FARE_MIN": false, "zone map": false, "tariffZone": true, "TariffZone": true,
		"one two three four five six": false, "P9": false, "lib/rope.rb": false, "ROPE_LEN": false, "is it paid": false,
	} {
		if got := len(l.find("Say "+text+" now.")) > 0; got != want {
			t.Errorf("%q: found %v, want %v", text, got, want)
		}
	}
}

// What the suite says and the plugin says as well is no leak: of a plugin that
// names the path, the path may stay.
func TestLeakLintExemptsThePluginsOwnWords(t *testing.T) {
	t.Parallel()
	_, suite, tree := bundledLeaks(t, "os-adr")
	more := make(harness.Tree)
	for name, f := range tree {
		more[name] = f
	}
	more["README.md"] = harness.File{Mode: 0o644, Data: []byte("Try lib/relay/store.rb, where the journal grows by two gigabytes.\n")}
	l := newLeaks(suite, more)
	if found := l.find("See lib/relay/store.rb. The journal grows by two gigabytes!"); len(found) > 0 {
		t.Errorf("got %v, want nothing", found)
	}
	if found := l.find("The journal grows by two gigabytes a week."); len(found) == 0 {
		t.Error("a longer run than the plugin's own passes")
	}
}

// BenchmarkLeaks is the whole lint of one candidate, with the search made anew.
func BenchmarkLeaks(b *testing.B) {
	_, suite, tree := bundledLeaks(b, "os-adr")
	b.ReportAllocs()
	for b.Loop() {
		linted(b, suite, tree, newLeaks(suite, tree), phrased{"body", strings.Repeat("lib/relay/x_y.rb and 12345. ", 1500)})
	}
}
