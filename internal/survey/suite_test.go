package survey

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/scenarios"
)

// filled is a worded suite with its own example and a project added, as a user
// would.
func filled(t *testing.T, p Plugin) fstest.MapFS {
	t.Helper()
	fsys, err := Suite(p)
	if err != nil {
		t.Fatal(err)
	}
	out := maps.Clone(fsys.(fstest.MapFS))
	_, example, ok := strings.Cut(string(out["scenarios/README.txt"].Data), "\n----------------------------------------------------------------------------\n")
	if !ok {
		t.Fatal("scenarios/README.txt has no line above its example")
	}
	out["scenarios/S1.md"] = &fstest.MapFile{Data: []byte(example), Mode: 0o644}
	out["fixtures/project/src/a.txt"] = &fstest.MapFile{Data: []byte("a\n"), Mode: 0o644}
	return out
}

// What init writes is a suite once a project is there: its example is no
// pseudo-code.
func TestSuiteTeachesByWhatHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook Hook
		want harness.Note
		says harness.HookExpectation
	}{
		"no hook":        {Hook{}, harness.Note{Kind: harness.NoteNone}, harness.HookSilent},
		"plain text":     {Hook{Commands: []string{"x"}, Envelope: harness.EnvelopeText}, harness.Note{Kind: harness.NoteComputed, Envelope: harness.EnvelopeText}, harness.HookNote},
		"text in a file": {Hook{Commands: []string{"x"}, Envelope: harness.EnvelopeJSON, Text: "hooks/a \"b\".md"}, harness.Note{Kind: harness.NoteComputed, Envelope: harness.EnvelopeJSON, File: "hooks/a \"b\".md"}, harness.HookNote},
	} {
		p := survey(t, nil)
		p.Hook, p.Programs = test.hook, []string{"tide-now", "odd[name"}
		s, err := harness.ParseSuite(filled(t, p))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, s.Launch.Note); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if s.Checker.Plugin != "tide" || len(s.Checker.Consult) != 2 || s.Checker.Consult[0].Skill != "tide:*" || s.Checker.Consult[1].Command != "tide-now" {
			t.Errorf("%s: got %+v", name, s.Checker)
		}
		if sc := s.Scenarios[0]; sc.Hook != test.says || sc.Skill != "almanac" || sc.Role != harness.Objective {
			t.Errorf("%s: got %+v", name, sc)
		}
	}
}

// Models and limits are the bundled suite's; what is its own alone is not there.
func TestSuiteTakesTheBundledProfile(t *testing.T) {
	t.Parallel()
	bundled, err := fs.ReadFile(scenarios.FS(), scenarios.Default+"/launch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fsys := filled(t, survey(t, nil))
	got, err := harness.ParseSuite(fsys)
	if err != nil {
		t.Fatal(err)
	}
	fsys["launch.yaml"] = &fstest.MapFile{Data: bundled}
	want, err := harness.ParseSuite(fsys)
	if err != nil {
		t.Fatal(err)
	}
	want.Launch.Note, want.Launch.Judge.CommandEnv = harness.Note{Kind: harness.NoteNone}, ""
	if diff := cmp.Diff(want.Launch, got.Launch); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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

// A plugin without any skill is taught without one.
func TestSuiteForAPluginWithoutSkills(t *testing.T) {
	t.Parallel()
	p := survey(t, nil)
	p.Skills = nil
	s, err := harness.ParseSuite(filled(t, p))
	if err != nil || s.Scenarios[0].Skill != "" {
		t.Errorf("got %+v, %v", s.Scenarios, err)
	}
}
