package harness

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"loopd/internal/testenv"
)

const scenarioText = `---
id: S1
role: objective
fixture: shop
hook: note
expect:
  a:
    - consults: true
  b:
    - cites: {id: "0002", not_live: ["0001"]}
forbidden:
  - {path: "lib/till.rb", adds: 'round\('}
oracle:
  - bash: ls docs
  - text: done
nop:
  - text: done
---
# A heading of its own

## Task

Please change the till to round down.

## Notes

Not part of the task.
`

func TestParseScenario(t *testing.T) { // req 44
	s, err := ParseScenario("S1.md", []byte(scenarioText))
	testenv.Must(t, err)
	if s.ID != "S1" || s.Role != Objective || s.Expect.B[0].Cites.NotLive[0] != "0001" || len(s.Oracle) != 2 {
		t.Errorf("got %+v", s)
	}
	if got := s.Task.Reveal(); got != "Please change the till to round down." {
		t.Errorf("task is %q", got)
	}
	if s.PracticeTask != "" {
		t.Error("the task of an objective scenario is an ordinary string too")
	}
	practice, err := ParseScenario("S1.md", []byte(strings.Replace(scenarioText, "objective", "practice", 1)))
	testenv.Must(t, err)
	if practice.PracticeTask == "" || !practice.Task.IsZero() {
		t.Error("the task of a practice scenario is held out")
	}
}

// Each damage names what is wrong, the file and the key, and never the task.
func TestParseScenarioNamesTheDamage(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"no front matter": {"---\nid", "id", "front matter"},
		"no task":         {"Please change the till to round down.", "", "## Task"},
		"no task heading": {"## Task", "## Tusk", "## Task"},
		"unknown key":     {"hook: note", "hook: note\nhoook: x", "hoook"},
		"unknown role":    {"objective", "main", "role"},
		"unknown hook":    {"hook: note", "hook: loud", "hook"},
		"no fixture":      {"fixture: shop", "skill: x", "fixture"},
		"no id":           {"id: S1\n", "", "id"},
		"two kinds":       {"consults: true", "consults: true\n      skill: x", "exactly one"},
		"bad pattern":     {`round\(`, `round(`, "pattern"},
		"no text at end":  {"  - bash: ls docs\n  - text: done\n", "  - bash: ls docs\n", "oracle"},
		"empty b":         {"  b:\n    - cites: {id: \"0002\", not_live: [\"0001\"]}\n", "  b: []\n", "expect"},
	} {
		damaged := strings.Replace(scenarioText, tc.old, tc.new, 1)
		if damaged == scenarioText {
			t.Fatalf("%s: the damage did not apply", name)
		}
		_, err := ParseScenario("S1.md", []byte(damaged))
		switch {
		case err == nil:
			t.Errorf("%s: accepted", name)
		case !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "S1.md"):
			t.Errorf("%s: error %q does not name S1.md and %q", name, err, tc.want)
		case strings.Contains(err.Error(), "round down"):
			t.Errorf("%s: the error gives the task away: %q", name, err)
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte(scenarioText))
	f.Add([]byte("---\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScenario("f.md", data)
		if err == nil && s.Task.IsZero() && strings.TrimSpace(s.PracticeTask) == "" {
			t.Error("accepted a scenario without a task")
		}
	})
}

func suiteFS() fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), Mode: 0o644} }
	return fstest.MapFS{
		"scenarios/S1.md":           file(scenarioText),
		"fixtures/shop/lib/till.rb": file("x"),
		"fixtures/shop/bin/run":     {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"rubric.md":                 file("judge"),
		"checker.yaml":              file("plugin: p\nrecords: {dir: docs/adr, file: '*.md'}\nconsult: [{skill: 'p:*'}]\ncitation: {prefix: ADR, digits: 4, max_live: 2}\n"),
		"launch.yaml":               file("tiers: [{name: small, model: m-1}, {name: big, model: m-2}]\nmax_turns: 3\nnote: {kind: computed}\nclocks: {startup: 1s, idle: 2s, total: 3s, grace: 1s}\n"),
	}
}

func TestParseSuite(t *testing.T) {
	s, err := ParseSuite(suiteFS())
	testenv.Must(t, err)
	cells := s.Cells(Objective)
	if len(cells) != 2 || cells[0].String() != "S1/small" || cells[1].String() != "S1/big" {
		t.Errorf("cells are %v", cells)
	}
	if got := s.Fixtures["shop"]["bin/run"].Mode; got != 0o755 {
		t.Errorf("mode of bin/run is %v", got)
	}
	if m, ok := s.Launch.Model("big"); !ok || m != "m-2" {
		t.Errorf("model of big is %q", m)
	}
}

// launch is a launch profile with that note.
func launch(note string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("tiers: [{name: small, model: m-1}]\nnote: " + note + "\n"), Mode: 0o644}
}

// launchOf is one with those tiers, checkerFile a checker of one line.
func launchOf(tiers, more string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("tiers: [" + tiers + "]\nnote: {kind: computed}\n" + more), Mode: 0o644}
}

func checkerFile(line string) *fstest.MapFile {
	if !strings.Contains(line, "consult:") {
		line += "\nconsult: [{skill: p}]"
	}
	return &fstest.MapFile{Data: []byte("plugin: p\n" + line + "\n"), Mode: 0o644}
}

func TestParseSuiteNamesTheDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		path string
		file *fstest.MapFile
		want string
	}{
		"no hook":      {"scenarios/S1.md", &fstest.MapFile{Data: []byte(strings.Replace(scenarioText, "hook: note\n", "", 1))}, "scenarios/S1.md: hook: missing"},
		"no checker":   {"checker.yaml", nil, "checker.yaml"},
		"unknown key":  {"launch.yaml", &fstest.MapFile{Data: []byte("tiers: []\nturns: 3\n")}, "launch.yaml"},
		"note unknown": {"launch.yaml", launch("{kind: spoken}"), `note.kind: "spoken"`},
		"note missing": {"launch.yaml", launch("{}"), "note.kind: missing"},
		"note no file": {"launch.yaml", launch("{kind: file}"), "note: file: missing"},
		"file no note": {"launch.yaml", launch("{kind: none, file: hooks/n.md}"), "note: file: given"},
		"note outside": {"launch.yaml", launch("{kind: computed, file: ../n.md}"), "not a path below"},
		"no envelope":  {"launch.yaml", launch("{kind: computed, envelope: xml}"), "note.envelope"},
		"no objective": {"scenarios/S1.md", &fstest.MapFile{Data: []byte(strings.Replace(scenarioText, "objective", "reserve", 1))}, "no objective cell"},
		"no fixture":   {"scenarios/S1.md", &fstest.MapFile{Data: []byte(strings.Replace(scenarioText, "shop", "shed", 1))}, "fixtures/shed"},
		"bad glob":     {"checker.yaml", checkerFile("consult: [{touches: 'docs/[a'}]"), `consult: entry 1: "docs/[a" is no glob`},
		"bad records":  {"checker.yaml", checkerFile("records: {dir: d, file: '[a'}"), "records: file: \"[a\" is no glob"},
		"no act":       {"checker.yaml", checkerFile("consult: [{consults: true}]"), "consult: entry 1: is none of"},
		"two acts":     {"checker.yaml", checkerFile("consult: [{skill: a, command: b}]"), "consult[0]: has 2 keys"},
		"no digits":    {"checker.yaml", checkerFile("citation: {prefix: ADR}"), "citation: digits: 0"},
		"many digits":  {"checker.yaml", checkerFile("citation: {prefix: ADR, digits: 4000}"), "citation.digits: want at most 9"},
		"below none":   {"checker.yaml", checkerFile("citation: {max_live: -1}"), "citation.max_live: want at least 0"},
		"same tier":    {"launch.yaml", launchOf("{name: a, model: x}, {name: a, model: y}", ""), "tiers: entry 2"},
		"no model":     {"launch.yaml", launchOf("{name: a}", ""), "tiers[0].model: missing"},
		"tier of two":  {"launch.yaml", launchOf("{name: a/b, model: x}", ""), "tiers: entry 1"},
		"clock":        {"launch.yaml", launchOf("{name: a, model: x}", "clocks: {idle: -5s}\n"), "clocks.idle"},
		"turns":        {"launch.yaml", launchOf("{name: a, model: x}", "max_turns: -1\n"), "max_turns"},
		"lost glob":    {"scenarios/S1.md", &fstest.MapFile{Data: []byte(strings.Replace(scenarioText, `"lib/till.rb"`, `"lib/[till"`, 1))}, "is no glob"},
		"wrong name":   {"scenarios/S1.md", &fstest.MapFile{Data: []byte(strings.Replace(scenarioText, "id: S1", "id: S2", 1))}, "S2"},
		"stray file":   {"fixtures/note.txt", &fstest.MapFile{Data: []byte("x")}, "fixtures/note.txt"},
		"fixture link": {"fixtures/shop/link", &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink}, "link"},
	} {
		fsys := suiteFS()
		if tc.file == nil {
			delete(fsys, tc.path)
		} else {
			fsys[tc.path] = tc.file
		}
		if _, err := ParseSuite(fsys); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v does not name %q", name, err, tc.want)
		}
	}
}

// A suite of a plugin without a hook need not say what the hook does, and one
// whose scenarios ask no judge has nothing to tell one.
func TestParseSuiteWithoutHookAndJudge(t *testing.T) {
	t.Parallel()
	fsys := suiteFS()
	delete(fsys, "rubric.md")
	fsys["launch.yaml"] = launch("{kind: none}")
	silent := strings.Replace(scenarioText, "hook: note\n", "", 1)
	fsys["scenarios/S1.md"] = &fstest.MapFile{Data: []byte(silent)}
	s, err := ParseSuite(fsys)
	if err != nil || s.Rubric != "" || s.Scenarios[0].Hook != "" {
		t.Errorf("got rubric %q, hook %q, %v", s.Rubric, s.Scenarios[0].Hook, err)
	}
	fsys["scenarios/S1.md"] = &fstest.MapFile{Data: []byte(strings.Replace(silent, "oracle:", "judge: Does it?\noracle:", 1))}
	if _, err := ParseSuite(fsys); err == nil || !strings.Contains(err.Error(), "rubric.md") {
		t.Errorf("a judge without a rubric: got %v", err)
	}
}

// Nothing in the two profiles stops the reader, and a suite that is accepted
// holds nothing the checker would choke on or pass over.
func FuzzParseSuite(f *testing.F) {
	seed := suiteFS()
	f.Add(seed["checker.yaml"].Data, seed["launch.yaml"].Data)
	f.Add([]byte("consult: [{skill: '['}]\ncitation: {prefix: 'A', digits: 1001}\n"), []byte("tiers: [{name: a, model: b}, {name: a, model: c}]\nnote: {kind: none}\n"))
	f.Add([]byte("a: &a [*a]\n"), []byte("clocks: {idle: 9e99h}\n"))
	f.Fuzz(func(t *testing.T, checker, launch []byte) {
		fsys := suiteFS()
		fsys["checker.yaml"], fsys["launch.yaml"] = &fstest.MapFile{Data: checker}, &fstest.MapFile{Data: launch}
		s, err := ParseSuite(fsys)
		if err != nil {
			return
		}
		for _, a := range s.Checker.Consult {
			if err := a.validate(); err != nil || a.Skill+a.Command+a.Touches == "" {
				t.Errorf("accepted %+v: %v", a, err)
			}
		}
		if d := s.Checker.Citation.Digits; d < 0 || d > 9 {
			t.Errorf("accepted ids of %d digits", d)
		}
		names := make(map[string]bool)
		for _, tier := range s.Launch.Tiers {
			if names[tier.Name] {
				t.Errorf("accepted %q twice", tier.Name)
			}
			names[tier.Name] = true
		}
		if len(s.Launch.Tiers) == 0 || len(s.Launch.Env) > 16 || s.Launch.Clocks.Total < 0 {
			t.Errorf("accepted %+v", s.Launch)
		}
	})
}

func TestTreeWith(t *testing.T) {
	tree := Tree{"docs/adr/0001-a.md": {}, "docs/adr/README.md": {}, "docs/adrs.md": {}, "lib/a.rb": {}}
	got, err := tree.With([]Change{{Remove: "docs/adr"}, {Path: "NOTES.md", Write: "x"}})
	testenv.Must(t, err)
	if want := "NOTES.md docs/adrs.md lib/a.rb"; strings.Join(got.Paths(), " ") != want {
		t.Errorf("got %v, want %s", got.Paths(), want)
	}
	if len(tree) != 4 {
		t.Error("the tree it was made from changed")
	}
	if _, err := tree.With([]Change{{Remove: "docs/none"}}); err == nil {
		t.Error("a removal that matches nothing was accepted")
	}
}

func TestMatchPath(t *testing.T) {
	for _, tc := range []struct {
		glob, name string
		want       bool
	}{
		{"docs/adr/**", "docs/adr/0001-a.md", true}, {"docs/adr/**", "docs/adr-archive/0001.md", false},
		{"docs/adr", "docs/adr/x/y", true}, {"docs/adr", "docs/adrs", false}, {"docs/**/*.md", "docs/a/b/c.md", true},
		{"docs/**/*.md", "docs/c.md", true}, {"**/x", "x", true}, {"*.md", "a/b.md", false},
		{"docs/adr/[0-9][0-9]-*.md", "docs/adr/01-a.md", true}, {"docs/adr/[0-9][0-9]-*.md", "docs/adr/1-a.md", false},
	} {
		if got := MatchPath(tc.glob, tc.name); got != tc.want {
			t.Errorf("MatchPath(%q, %q) = %v, want %v", tc.glob, tc.name, got, tc.want)
		}
	}
}

// A draft may lack what a person has to add, and nothing measures by it.
func TestDrafts(t *testing.T) {
	const draft = "---\nid: S1\nrole: objective\nexpect: {b: [{says: [x]}]}\ndraft:\n  origin: {format: f, file: a.json, sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}\n---\n## Task\n\nRound down.\n"
	s, err := ParseDraft("S1.md", []byte(draft))
	if err != nil || s.Draft == nil || s.Draft.Origin.File != "a.json" || len(s.Expect.B) != 1 {
		t.Fatalf("got %+v, %v", s, err)
	}
	for name, tc := range map[string]struct {
		parse    func(string, []byte) (Scenario, error)
		old, new string
		want     string
	}{
		"a draft as a scenario":     {ParseScenario, "", "", "draft: imported and not confirmed"},
		"a scenario as a draft":     {ParseDraft, draft, scenarioText, "no draft: the key draft is missing"},
		"confirmed, and not whole":  {ParseScenario, draft[strings.Index(draft, "draft:"):strings.Index(draft, "---\n## Task")], "", "expect.a: missing; fixture: missing; nop: missing; oracle: missing"},
		"a draft without an origin": {ParseDraft, draft[strings.Index(draft, "  origin"):strings.Index(draft, "---\n## Task")], "  flags: [x]\n", "draft.origin: missing"},
		"a digest that is none":     {ParseDraft, "0123456789abcdef0123", "0123", "draft.origin.sha256: want text of the form"},
		"an unsound check":          {ParseDraft, "says: [x]", "says: ['(']", "expect.b[0]: pattern"},
		"no role":                   {ParseDraft, "role: objective\n", "", "role: missing"},
		"no task":                   {ParseDraft, "Round down.", "", "no text under ## Task"},
	} {
		text := strings.Replace(draft, tc.old, tc.new, 1)
		if _, err := tc.parse("S1.md", []byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, tc.want)
		}
	}
}

// A suite with a draft in it cannot be read, and so not sealed.
func TestSuiteRefusesDrafts(t *testing.T) {
	fsys := suiteFS()
	fsys["scenarios/D1.md"] = &fstest.MapFile{Data: []byte("---\nid: D1\nrole: guard\ndraft: {origin: {format: f, file: a, sha256: " + strings.Repeat("a", 64) + "}}\n---\n## Task\n\nx\n")}
	if _, err := ParseSuite(fsys); err == nil || !strings.Contains(err.Error(), "scenarios/D1.md: draft: imported and not confirmed") {
		t.Errorf("got %v", err)
	}
}

// A line of the task that looks like the next heading is written with a
// backslash.
func TestHeadingsInATask(t *testing.T) {
	for written, want := range map[string]string{
		"\\## a\nb\n## c": "## a\nb", "a\n\\\\## b": "a\n\\## b", "a \\## b": "a \\## b", "\\### a": "\\### a", "a\n\\## Task\nb": "a\n## Task\nb",
	} {
		text := strings.Replace(scenarioText, "Please change the till to round down.", written, 1)
		s, err := ParseScenario("S1.md", []byte(text))
		if err != nil || s.Task.Reveal() != want {
			t.Errorf("%q: got %q, %v, want %q", written, s.Task.Reveal(), err, want)
		}
	}
}
