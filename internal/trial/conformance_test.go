package trial

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/testenv"
)

// conformanceRows are the faults of harnesses and of the agent CLI, as people
// met and reported them, that the corpus must hold: C what is read of a stream,
// D what counts as consulting and citing, E environment, hooks and plugins, F
// the judge.
const conformanceRows = `C1 C2 C3 C6 C7 C8 C9 C10 C14
	D1 D2 D3 D4 D5 D6 D7 D8 D10 D11 D12 D13 D14 D15 D16 D17 D19 D21
	E1 E2 E3 E4 E5 E6 E7 E8 E9 E10 E11 E12 E14 E15 E16 E18 E19 E20
	F1 F2 F4 F5`

// fixture is one case of the corpus: a file ROW-NAME.txtar with case.yaml and
// what it speaks of.
type fixture struct {
	Row  string `yaml:"row"`
	Says string `yaml:"says"` // in one line
	Kind string `yaml:"kind"` // stream, wording, launch or judge

	// Of a stream: the scenario of suite.txtar, the project's directory when
	// it is not the usual one, records taken away at the end, what is known
	// from outside, and a judge's answer when one was given. The file transcript
	// holds the session in the form of expand, end/ the files it left.
	Scenario string   `yaml:"scenario"`
	Project  string   `yaml:"project"`
	Removed  []string `yaml:"removed"`
	Outside  outside  `yaml:"outside"`
	Answer   *bool    `yaml:"answer"`
	// Of a wording: what is written over the file that Edit names, Times over.
	Edit  string `yaml:"edit"`
	Text  string `yaml:"text"`
	Times int    `yaml:"times"`
	// Of a launch: which of launchChecks looks, and where.
	Check string `yaml:"check"`
	Place string `yaml:"place"`
	// Of a judge: the command, in which $DIR is a directory for its notes, and
	// the message it is asked about.
	Command string `yaml:"command"`
	Message string `yaml:"message"`

	Want wanted `yaml:"want"`

	name  string
	files map[string]string
}

// outside is what the stream does not say of its session.
type outside struct {
	ExitCode   int           `yaml:"exit_code"`
	Killed     bool          `yaml:"killed"`
	LimitTime  bool          `yaml:"limit_time"`
	Unexposed  bool          `yaml:"unexposed"`
	Cause      harness.Class `yaml:"cause"`
	PluginPath string        `yaml:"plugin_path"` // of this trial's copy
}

// wanted is what must come of a fixture. What is not named is not compared.
type wanted struct {
	Class    harness.Class      `yaml:"class"`
	Fate     harness.Fate       `yaml:"fate"`
	Why      string             `yaml:"why"` // a part of it
	A        harness.Outcome    `yaml:"axis_a"`
	B        harness.Outcome    `yaml:"axis_b"`
	ReasonA  *string            `yaml:"reason_a"`
	ReasonB  *string            `yaml:"reason_b"`
	Evidence []string           `yaml:"evidence"` // "line 5: skill keeper:x", of both axes
	Near     []string           `yaml:"near"`     // likewise, all of them
	Counts   map[string]float64 `yaml:"counts"`   // see counted
	Final    *string            `yaml:"final"`
	Judged   string             `yaml:"judged"` // what a judge is asked about
	Findings []candidates.Class `yaml:"findings"`
	Starts   bool               `yaml:"starts"` // the launch is not refused
	Error    string             `yaml:"error"`  // a part of why it is
	Replies  []string           `yaml:"replies"`
	Asked    int                `yaml:"asked"` // how often the judge was asked
}

func TestConformance(t *testing.T) {
	t.Parallel()
	fixtures, suite := conformance(t), conformanceSuite(t)
	kinds := map[string]func(fixture, *testing.T, harness.Suite){
		"stream": fixture.stream, "wording": fixture.wording, "launch": fixture.launch, "judge": fixture.judge,
	}
	for _, f := range fixtures {
		run := kinds[f.Kind]
		if run == nil {
			t.Fatalf("%s: kind %q is none of stream, wording, launch, judge", f.name, f.Kind)
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			run(f, t, suite)
		})
	}
}

// conformance reads the corpus. No fixture, a row without one and a fixture of
// no row are fatal: a case that is not run shows nothing.
func conformance(t *testing.T) []fixture {
	t.Helper()
	paths := testenv.Glob(t, "testdata/conformance/*.txtar")
	rows, seen := strings.Fields(conformanceRows), make(map[string]bool)
	var out []fixture
	for _, p := range paths {
		f := readFixture(t, p)
		if !slices.Contains(rows, f.Row) || f.Row != strings.SplitN(f.name, "-", 2)[0] {
			t.Fatalf("%s: row %q is not one of the table, or not the file's", p, f.Row)
		}
		seen[f.Row] = true
		out = append(out, f)
	}
	for _, row := range rows {
		if !seen[row] {
			t.Errorf("row %s has no fixture", row)
		}
	}
	return out
}

func readFixture(t *testing.T, path string) fixture {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	testenv.Must(t, err)
	f := fixture{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), files: make(map[string]string)}
	for _, file := range archive.Files {
		f.files[file.Name] = string(file.Data)
	}
	if err := yaml.UnmarshalWithOptions([]byte(f.files["case.yaml"]), &f, yaml.Strict()); err != nil {
		t.Fatalf("%s: case.yaml: %v", path, err)
	}
	if f.Says == "" || strings.Contains(f.Says, "\n") || cmp.Equal(f.Want, wanted{}) {
		t.Fatalf("%s: says one line and wants something", path)
	}
	return f
}

func conformanceSuite(t testing.TB) harness.Suite {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/suite.txtar")
	testenv.Must(t, err)
	files := make(fstest.MapFS)
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	suite, err := harness.ParseSuite(files)
	testenv.Must(t, err)
	return suite
}

// tree is the files of a fixture below a directory of its archive.
func (f fixture) tree(dir string) harness.Tree {
	out := make(harness.Tree)
	for name, text := range f.files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = harness.File{Mode: fs.FileMode(0o644), Data: []byte(text)}
		}
	}
	return out
}

// wording lints a candidate that writes one file anew.
func (f fixture) wording(t *testing.T, _ harness.Suite) {
	base := map[string][]byte{
		"hooks/note.md": []byte(keeperNote + "\n"), "hooks/start": []byte("#!/bin/sh\n"), ".claude-plugin/plugin.json": []byte("{}"),
		"skills/find/SKILL.md": []byte("---\nname: find\ndescription: Use before a settled thing is changed.\n---\n\nLook in docs/adr.\n"),
	}
	if _, ok := base[f.Edit]; !ok {
		t.Fatalf("the plugin has no %s", f.Edit)
	}
	whole := strings.Repeat(f.Text, max(1, f.Times))
	c := candidates.Candidate{ID: "c001", Source: candidates.Person, Edits: []candidates.Edit{{Path: f.Edit, Whole: &whole}}}
	got := candidates.Classes(candidates.Lint(candidates.LintInput{
		Surface: candidates.NewSurface(base, "hooks/note.md"), Base: base, Candidate: c,
	}))
	if diff := cmp.Diff(f.Want.Findings, got); f.Want.Findings == nil || len(f.Want.Findings)+len(got) > 0 && diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestConformance_FormIsRead damages the corpus's own form: a typing error in a
// fixture must not weaken it in silence.
func TestConformance_FormIsRead(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"no such verb": "sing: la", "nothing to change": "failed: no", "no document": "+ {", "no call before it": "output: x", "no size": "bash: x\ngrow: much",
		"nothing to cut": "cut: 999999",
	} {
		if _, err := expand("/p", line+"\n"); err == nil {
			t.Errorf("%s: %q was taken", name, line)
		}
	}
	got, err := expand("/p", "bash: \"a\\nb\"\noutput: x\ngrow: 1 KiB\n")
	if err != nil || !bytes.Contains(got, []byte(`"command":"a\nb"`)) || len(got) < 1024 {
		t.Errorf("got %s (%v)", got, err)
	}
	if first := fmt.Sprintf("%.40s", got); !strings.HasPrefix(first, `{"message"`) {
		t.Errorf("got %s", first)
	}
}
