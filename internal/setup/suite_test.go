package setup

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/scenarios"
)

// scenario is one that a user may have written.
const scenario = `---
id: S1
role: objective
fixture: project
hook: HOOK
expect:
  a: [{consults: true}]
  b: [{says: ["the tide"]}]
oracle:
  - text: "I minded the tide."
nop:
  - text: "I looked around."
---
## Task

When can one land?
`

// filled is a worded suite with a scenario and a project added, as a user would.
func filled(t *testing.T, p Plugin) fstest.MapFS {
	t.Helper()
	fsys, err := NewSuite(p)
	testenv.Must(t, err)
	out := maps.Clone(fsys.(fstest.MapFS))
	hook := harness.HookSilent
	if len(p.Hook.Commands) > 0 {
		hook = harness.HookNote
	}
	out["scenarios/S1.md"] = &fstest.MapFile{Data: []byte(strings.Replace(scenario, "HOOK", string(hook), 1)), Mode: 0o644}
	out["fixtures/project/src/a.txt"] = &fstest.MapFile{Data: []byte("a\n"), Mode: 0o644}
	return out
}

// What init writes is a suite once a project and a scenario are there.
func TestSuiteTeachesByWhatHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook Hook
		want harness.Note
	}{
		"no hook":        {Hook{}, harness.Note{Kind: harness.NoteNone}},
		"plain text":     {Hook{Commands: []string{"x"}, Envelope: harness.EnvelopeText}, harness.Note{Kind: harness.NoteComputed, Envelope: harness.EnvelopeText}},
		"text in a file": {Hook{Commands: []string{"x"}, Envelope: harness.EnvelopeJSON, Text: "hooks/a \"b\".md"}, harness.Note{Kind: harness.NoteComputed, Envelope: harness.EnvelopeJSON, File: "hooks/a \"b\".md"}},
	} {
		p := survey(t, nil)
		p.Hook, p.Programs = test.hook, []string{"tide-now", "odd[name"}
		s, err := harness.ParseSuite(filled(t, p))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		testenv.Same(t, name, test.want, s.Launch.Note)
		if s.Checker.Plugin != "tide" || len(s.Checker.Consult) != 2 || s.Checker.Consult[0].Skill != "tide:*" || s.Checker.Consult[1].Command != "tide-now" {
			t.Errorf("%s: got %+v", name, s.Checker)
		}
	}
}

// Models and limits are the bundled suite's; what is its own alone is not there.
func TestSuiteTakesTheBundledProfile(t *testing.T) {
	t.Parallel()
	bundled, err := fs.ReadFile(scenarios.FS(), scenarios.Default+"/launch.yaml")
	testenv.Must(t, err)
	fsys := filled(t, survey(t, nil))
	got, err := harness.ParseSuite(fsys)
	testenv.Must(t, err)
	fsys["launch.yaml"] = &fstest.MapFile{Data: bundled}
	want, err := harness.ParseSuite(fsys)
	testenv.Must(t, err)
	want.Launch.Note, want.Launch.Judge.CommandEnv = harness.Note{Kind: harness.NoteNone}, ""
	testenv.Same(t, "result", want.Launch, got.Launch)
	for name, f := range fsys {
		for _, own := range []string{"ADR_EVAL", "os-adr", "docs/adr"} {
			if name != "launch.yaml" && strings.Contains(string(f.Data), own) {
				t.Errorf("%s speaks of %s", name, own)
			}
		}
		for line := range strings.Lines(string(f.Data)) {
			if name == "README.md" && len([]rune(line)) > 90 {
				t.Errorf("%s: a line of %d characters: %s", name, len([]rune(line)), line)
			}
		}
	}
}

// A suite says in one place how a scenario is made, with a skill the plugin has.
func TestSuiteNamesTheCommand(t *testing.T) {
	t.Parallel()
	bare := survey(t, nil)
	bare.Skills = nil
	for skill, p := range map[string]Plugin{"almanac": survey(t, nil), "SKILL": bare} {
		fsys := filled(t, p)
		if want := "\n  loopd scenario new W1 --skill " + skill + " --fixture project\n"; !strings.Contains(string(fsys["scenarios/README.txt"].Data), want) {
			t.Errorf("got %s, want %q", fsys["scenarios/README.txt"].Data, want)
		}
	}
}
