package setup

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/rehearsal"
	"loopd/internal/testenv"
)

// secret is the task of the scenario that is broken below: no finding may hold
// five words of it in a row.
const secret = "Customers of the small shop ask when their parcels leave the house each day."

const front = `---
id: S1
role: objective
skill: find-thing
fixture: shop
hook: note
never_say: [ledger, "opening hours"]
expect:
  a:
    - consults: true
  b:
    - says: ['noon']
oracle:
  - read: hours.txt
  - text: "At noon."
nop:
  - text: "I do not know."
---
## Task

`

func subject(t *testing.T, file string) Subject {
	t.Helper()
	sc, err := harness.ParseScenario("scenarios/S1.md", []byte(file))
	testenv.Must(t, err)
	text := func(s string) harness.File { return harness.File{Mode: 0o644, Data: []byte(s)} }
	return Subject{
		Suite: harness.Suite{
			Scenarios: []harness.Scenario{sc},
			Checker:   harness.Checker{Plugin: "keeper", Consult: []harness.Assertion{{Skill: "keeper:*"}}},
			Launch:    harness.Launch{Tiers: []harness.Tier{{Name: "small", Model: "m-1"}}, Note: harness.Note{Kind: harness.NoteFile, File: "note.md"}},
			Fixtures:  map[string]harness.Tree{"shop": {"hours.txt": text("noon"), "lib/a.rb": text("a")}},
		},
		Plugin: harness.Tree{
			".claude-plugin/plugin.json": text(`{"name": "keeper"}`),
			"skills/find-thing/SKILL.md": text("---\nname: find-thing\ndescription: Looks up when the parcels of a house go out.\n---\n"),
			"skills/review/SKILL.md":     text("---\nname: review\ndescription: Reviews.\n---\n"),
			"bin/thing-list":             {Mode: 0o755, Data: []byte("#!/bin/sh\n")},
			"commands/tidy.md":           text("Tidy up."),
			"note.md":                    text("[keeper] Answers lie in a drawer next to the red door of this shop."),
		},
	}
}

func lines(list []Finding) []string {
	out := []string{}
	for _, f := range list {
		out = append(out, strings.TrimSpace(f.Scenario+" "+f.String()))
	}
	return out
}

// A clean suite has no finding; each thing broken has its own and no other.
func TestLintFinds(t *testing.T) {
	t.Parallel()
	clean := front + secret + "\n"
	if got := lines(Lint(subject(t, clean))); len(got) != 0 {
		t.Fatalf("a clean suite: %q", got)
	}
	task := func(text string) string { return front + text + "\n" }
	swap := func(old, new string) string {
		if !strings.Contains(clean, old) {
			t.Fatalf("no %q to replace", old)
		}
		return strings.Replace(clean, old, new, 1)
	}
	none := func(*Subject) {}
	for name, c := range map[string]struct {
		file   string
		change func(*Subject)
		want   []string
	}{
		"plugin named":          {task("Ask Keeper when it opens."), none, []string{"S1 coaching: ## Task: names the plugin"}},
		"skill named":           {task("Find-Thing says when it opens."), none, []string{"S1 coaching: ## Task: names a skill of the plugin"}},
		"everyday word":         {task("Please review the list, and tidy it."), none, []string{}},
		"word called a skill":   {task("Take the review skill for the list."), none, []string{"S1 coaching: ## Task: names a skill of the plugin"}},
		"word to be used":       {task("Use review on the list."), none, []string{"S1 coaching: ## Task: names a skill of the plugin"}},
		"program named":         {task("See thing-list."), none, []string{"S1 coaching: ## Task: names a command of the plugin"}},
		"slash command":         {task("Run /tidy first."), none, []string{"S1 coaching: ## Task: names a command of the plugin"}},
		"phrase never to say":   {task("What are the opening hours?"), none, []string{"S1 coaching: ## Task: says a phrase of never_say"}},
		"echo of a description": {task("Say when the parcels of a house leave."), none, []string{"S1 echo: ## Task: 6 words in a row are also in a description or the note"}},
		"echo of the note":      {task("Is it next to the red door?"), none, []string{"S1 echo: ## Task: 5 words in a row are also in a description or the note"}},
		"practice coaches too":  {strings.Replace(task("Ask keeper."), "objective", "practice", 1), withObjective, []string{"S1 coaching: ## Task: names the plugin"}},
		"no objective":          {swap("role: objective", "role: reserve"), none, []string{"no_objective: scenarios: none has the role objective, so nothing enters the metric"}},
		"no fixture":            {swap("fixture: shop", "fixture: mill"), none, []string{"S1 fixture: fixture: no directory fixtures/mill"}},
		"nothing to remove":     {swap("hook: note\n", "hook: note\nchanges: [{remove: docs}]\n"), none, []string{`S1 fixture: changes[0]: fixtures/shop has nothing at "docs"`}},
		"removed and read":      {swap("hook: note\n", "hook: note\nchanges: [{remove: hours.txt}]\n"), none, []string{`S1 fixture: oracle[0].read: the project has no file "hours.txt"`}},
		"edit of no file":       {swap("  - text: \"I do", "  - edit: {path: lib/b.rb, old: a, new: b}\n  - text: \"I do"), none, []string{`S1 fixture: nop[0].edit.path: the project has no file "lib/b.rb"`}},
		"written, then read":    {swap("  - read: hours.txt", "  - write: {path: lib/b.rb, content: b}\n  - read: lib/b.rb"), none, []string{}},
		"made by a command":     {swap("  - read: hours.txt", "  - bash: make\n  - read: lib/b.rb"), none, []string{}},
		"no such skill":         {swap("skill: find-thing", "skill: find-thong"), none, []string{`S1 skill: skill: the plugin has no skill "find-thong"`}},
		"no such skill in a run": {swap("  - read: hours", "  - skill: other\n  - read: hours"), none,
			[]string{`S1 skill: oracle[0].skill: the plugin has no skill "other"`}},
		"skill of another plugin": {swap("    - consults: true", "    - skill: \"tiller:*\""), none,
			[]string{`S1 plugin: expect.a[0].skill: "tiller:*" is a skill of another plugin than keeper`}},
		"pair":            {swap("hook: note\n", "hook: note\npair: S7\n"), none, []string{`S1 pair: pair: the suite has no scenario "S7"`}},
		"checker":         {clean, func(s *Subject) { s.Suite.Checker.Plugin = "tiller" }, []string{"plugin: checker.yaml: plugin: is tiller, and this plugin is keeper"}},
		"consult":         {clean, func(s *Subject) { s.Suite.Checker.Consult[0].Skill = "tiller:*" }, []string{`plugin: checker.yaml: consult[0].skill: "tiller:*" is a skill of another plugin than keeper`}},
		"note":            {clean, func(s *Subject) { s.Suite.Launch.Note.File = "hooks/n.md" }, []string{"plugin: launch.yaml: note.file: the plugin keeper has no hooks/n.md"}},
		"no front matter": {clean, func(s *Subject) { s.Plugin["skills/review/SKILL.md"] = harness.File{Data: []byte("Reviews.")} }, []string{"plugin: skills: skills/review/SKILL.md: no front matter"}},
		"fill in":         {swap("noon']", "FILL IN']"), none, []string{"S1 fill_in: expect.b[0].says[0]: still to be filled in"}},
		"a fault": {clean, func(s *Subject) {
			s.Faults = []harness.DraftFault{{Scenario: "S1", Err: &harness.PatternError{Pattern: "(", Err: os.ErrInvalid}}, {Err: os.ErrInvalid}}
		}, []string{"format: gold.yaml: invalid argument", `S1 pattern: scenarios/S1.md: pattern "(": invalid argument (patterns are RE2, as Go's regexp takes them)`}},
	} {
		s := subject(t, c.file)
		c.change(&s)
		got := lines(Lint(s))
		testenv.Same(t, name, c.want, got)
		for _, line := range got {
			if spans := harness.NewHeldOut(secret).Overlap(line, 5); len(spans) > 0 {
				t.Errorf("%s: shows the task: %q", name, line)
			}
		}
	}
}

// withObjective adds a scenario that is in the metric.
func withObjective(s *Subject) {
	other, err := harness.ParseScenario("scenarios/S0.md", []byte(strings.Replace(front, "id: S1", "id: S0", 1)+secret))
	if err != nil {
		panic(err) // the text is part of the test
	}
	s.Suite.Scenarios = append(s.Suite.Scenarios, other)
}

// With names given, what makes any run impossible is still said.
func TestOnly(t *testing.T) {
	t.Parallel()
	all := []Finding{{"", RuleObjective, "scenarios", "a"}, {"", RulePlugin, "launch.yaml", "b"}, {"S1", RuleEcho, "## Task", "c"}, {"S2", RuleSkill, "skill", "d"}}
	testenv.Same(t, "one name", []Finding{all[1], all[3]}, OfScenarios(all, []string{"S2"}))
	testenv.Same(t, "no name", all, OfScenarios(all, nil))
}

// A new scenario of each role can be read, and lint names what is left to fill
// in and nothing else.
func TestNewScenarioLacksWhatIsMarked(t *testing.T) {
	t.Parallel()
	common := []string{"never_say[0]", "expect.b[0].says[0]", "expect.b[1].never_says[0]", "oracle[1].read", "oracle[2].text", "nop[0].text", "## Task"}
	for role, want := range map[harness.Role][]string{
		harness.Objective: common, harness.Reserve: common, harness.Practice: common,
		harness.Control: append([]string{"pair"}, common...),
		harness.Guard: {"never_say[0]", "expect.b[0].changed.path", "expect.b[0].changed.adds", "oracle[0].edit.path", "oracle[0].edit.old", "oracle[0].edit.new",
			"oracle[1].text", "nop[1].text", "## Task"},
	} {
		text, err := WriteScenario(NewScenario{ID: "S1", Role: role, Skill: "find-thing", Fixture: "shop"})
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		s := subject(t, string(text))
		withObjective(&s)
		var got []string
		for _, f := range Lint(s) {
			if f.Rule != RuleFillIn || f.Scenario != "S1" {
				t.Errorf("%s: %s", role, f)
			}
			got = append(got, f.Place)
		}
		testenv.Same(t, string(role), want, got)
		for line := range strings.Lines(string(text)) {
			if len(line) > 81 {
				t.Errorf("%s: a line of %d characters: %s", role, len(line), line)
			}
		}
		if marks := strings.Count(string(text), mark) - 1; marks != len(want) { // the first comment names the mark
			t.Errorf("%s: %d marks, %d findings", role, marks, len(want))
		}
	}
}

// A name that YAML would read as something else is quoted; one that is no file
// name is refused.
func TestNamesOfNewScenarios(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"W4", "no", "True", "null", "x-1_b", "R4-nograph"} {
		if _, err := WriteScenario(NewScenario{ID: id, Role: harness.Objective, Skill: "on", Fixture: "12"}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"", "1a", "a b", "a/b", "../a", ".a", "a.md", "ä", strings.Repeat("a", 41)} {
		if _, err := WriteScenario(NewScenario{ID: id, Role: harness.Objective, Fixture: "shop"}); err == nil {
			t.Errorf("%q: accepted", id)
		}
	}
	if _, err := WriteScenario(NewScenario{ID: "W4", Role: "main", Fixture: "shop"}); err == nil {
		t.Error("role main: accepted")
	}
}

// The wrong run is named with what it came to.
func TestWrongRun(t *testing.T) {
	t.Parallel()
	suite := harness.Suite{Scenarios: []harness.Scenario{{ID: "S1", Role: harness.Objective}, {ID: "X1", Role: harness.Control}}}
	for want, c := range map[string]rehearsal.SelfCase{
		"oracle: oracle: it fails its own expectation: a pass, b fail (not_said)": {Scenario: "S1", Run: rehearsal.OracleRun, Class: harness.Valid, Got: harness.Fail,
			AxisA: harness.Pass, AxisB: harness.Fail, Reasons: []string{"not_said"}},
		"nop: nop: it passes, and an idle run must not":               {Scenario: "S1", Run: rehearsal.NopRun, Class: harness.Valid, Got: harness.Pass, AxisB: harness.Pass},
		"oracle: oracle: the run is no evidence (plugin_not_loaded)":  {Scenario: "S1", Run: rehearsal.OracleRun, Class: harness.PluginNotLoaded},
		"oracle: oracle: axis b passes, and of a control it must not": {Scenario: "X1", Run: rehearsal.OracleRun, Class: harness.Valid, Got: harness.Fail, AxisB: harness.Pass},
		"": {Scenario: "S1", Run: rehearsal.OracleRun, Right: true},
	} {
		f, wrong := wrongRun(suite, c)
		if wrong != (want != "") || wrong && f.String() != want {
			t.Errorf("got %q, want %q", f, want)
		}
	}
}

// A run that comes out wrong names the expectation that failed, with what it asks
// for; of one that has words of the task only the place and the kind.
func TestFailedItems(t *testing.T) {
	t.Parallel()
	sc, err := harness.ParseScenario("scenarios/S1.md", []byte(strings.Replace(front, "says: ['noon']",
		"changed: {path: hours.txt, adds: x}\n    - says: ['(?i)noon']\n    - never_says: ['Customers of the small shop']\n    - created: {path: a.md}", 1)+secret))
	testenv.Must(t, err)
	got := items(sc, []string{"expect.a[0]", "expect.b[0]", "expect.b[1]", "expect.b[2]", "expect.b[3]", "forbidden"})
	want := `expect.a[0] consults, expect.b[0] changed "hours.txt", expect.b[1] says "(?i)noon", expect.b[2] never_says, expect.b[3] created "a.md", forbidden`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What cannot be played is not played, and said.
func TestPerformPlaysOnlyWhatIsFit(t *testing.T) {
	t.Parallel()
	s := subject(t, front+secret+"\n")
	static := []Finding{{"S1", RuleFillIn, "oracle[0].read", "still to be filled in"}}
	got, err := Play(context.Background(), s, static, nil, Stage{})
	if err != nil || got.Runs != 0 || len(got.NotRun) != 1 || got.NotRun[0].Reason != "fill_in: oracle[0].read" {
		t.Errorf("got %+v, %v", got, err)
	}
	s.Plugin = maps.Clone(s.Plugin)
	delete(s.Plugin, "note.md")
	got, err = Play(context.Background(), s, nil, nil, Stage{})
	if err != nil || got.Runs != 0 || len(got.NotRun) != 1 || !strings.Contains(got.NotRun[0].Reason, "no note note.md") {
		t.Errorf("without its note: got %+v, %v", got, err)
	}
}

// The bundled suite is clean on the plugin it is for.
func TestBundledSuiteIsClean(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "suite")
	testenv.Must(t, campaign.WriteBundled(dir))
	suite, faults, err := harness.ReadDraft(os.DirFS(dir))
	if err != nil || len(faults) != 0 || len(suite.Scenarios) == 0 {
		t.Fatalf("%d scenarios, faults %v, error %v", len(suite.Scenarios), faults, err)
	}
	w, err := rehearsal.BundledPlugin(suite)
	testenv.Must(t, err)
	s := Subject{Suite: suite, Plugin: w.Plugin}
	if got := lines(Lint(s)); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	if !slices.Contains(s.IDs(), suite.Scenarios[0].ID) {
		t.Errorf("ids are %v", s.IDs())
	}
}
