package harness

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"loopd/internal/testenv"
)

func TestReadDraftOfAWholeSuite(t *testing.T) {
	s, faults, err := ReadDraft(suiteFS())
	if err != nil || len(faults) != 0 {
		t.Fatalf("faults %v, error %v", faults, err)
	}
	want, err := ParseSuite(suiteFS())
	testenv.Must(t, err)
	if len(s.Scenarios) != 1 || s.Scenarios[0].ID != want.Scenarios[0].ID || s.Checker.Plugin != want.Checker.Plugin || len(s.Fixtures) != len(want.Fixtures) {
		t.Errorf("got %+v", s)
	}
}

// What is wrong with a scenario is listed, and the rest is read all the same.
func TestReadDraftListsFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		file, old, new string
		want           []string // scenario and part of the error
		kept           int
	}{
		"schema":        {"scenarios/S1.md", "hook: note", "hoook: note", []string{"S1 hoook: unknown key"}, 1},
		"two patterns":  {"scenarios/S1.md", `round\(`, `round(`, []string{`S1 pattern "round("`}, 2},
		"another id":    {"scenarios/S1.md", "id: S1", "id: S9", []string{`S1 id: "S9" is not the file's name`}, 2},
		"no task":       {"scenarios/S1.md", "## Task", "## Tusk", []string{"S1 no text under ## Task"}, 1},
		"end of a run":  {"scenarios/S1.md", "  - text: done\nnop", "nop", []string{"S1 oracle: must end with a text step"}, 2},
		"never_say":     {"scenarios/S1.md", "hook: note", "hook: note\nnever_say: ['--']", []string{"S1 never_say: entry 1 holds no word"}, 2},
		"no objective":  {"scenarios/S1.md", "role: objective", "role: reserve", nil, 2},
		"other fixture": {"scenarios/S1.md", "fixture: shop", "fixture: nowhere", nil, 2},
		"gold":          {"gold.yaml", "", "items: [{scenario: S7, kind: yes, message: m}]\n", []string{" read"}, 2},
	} {
		fsys := suiteFS()
		fsys["scenarios/S2.md"] = &fstest.MapFile{Data: []byte(strings.Replace(scenarioText, "id: S1", "id: S2", 1)), Mode: 0o644}
		if name == "gold" {
			fsys[tc.file] = &fstest.MapFile{Data: []byte(tc.new), Mode: 0o644}
			tc.want = []string{` gold.yaml`}
		} else {
			text := string(fsys[tc.file].Data)
			if !strings.Contains(text, tc.old) {
				t.Fatalf("%s: the damage does not apply", name)
			}
			fsys[tc.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, tc.old, tc.new, 1)), Mode: 0o644}
		}
		s, faults, err := ReadDraft(fsys)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range faults {
			got = append(got, f.Scenario+" "+f.Err.Error())
		}
		ok := len(got) == len(tc.want) && len(s.Scenarios) == tc.kept
		for i := range min(len(got), len(tc.want)) {
			ok = ok && strings.HasPrefix(got[i], strings.SplitAfter(tc.want[i], " ")[0]) && strings.Contains(got[i], strings.TrimSpace(tc.want[i][strings.Index(tc.want[i], " ")+1:]))
		}
		if !ok {
			t.Errorf("%s: got %q with %d scenarios, want %q with %d", name, got, len(s.Scenarios), tc.want, tc.kept)
		}
		for _, g := range got {
			if strings.Contains(g, "round down") {
				t.Errorf("%s: the fault gives the task away: %q", name, g)
			}
		}
	}
}

// A suite to which no scenario was written yet is one with a fault.
func TestReadDraftOfNoScenario(t *testing.T) {
	fsys := suiteFS()
	delete(fsys, "scenarios/S1.md")
	s, faults, err := ReadDraft(fsys)
	if err != nil || len(s.Scenarios) != 0 || len(faults) != 1 || faults[0].Scenario != "" {
		t.Errorf("got %d scenarios, faults %v, %v", len(s.Scenarios), faults, err)
	}
}

// A suite of which nothing can be said is an error.
func TestReadDraftRefusesWhatSaysNothing(t *testing.T) {
	for _, file := range []string{"checker.yaml", "launch.yaml", "rubric.md"} {
		fsys := suiteFS()
		asking := strings.Replace(scenarioText, "\noracle:", "\njudge: Is it so?\noracle:", 1)
		fsys["scenarios/S1.md"] = &fstest.MapFile{Data: []byte(asking)}
		if _, faults, err := ReadDraft(fsys); err != nil || len(faults) > 0 || asking == scenarioText {
			t.Fatalf("whole: %v, %v", faults, err)
		}
		delete(fsys, file)
		if _, _, err := ReadDraft(fsys); err == nil {
			t.Errorf("without %s: accepted", file)
		}
	}
	fsys := suiteFS()
	fsys["launch.yaml"] = launchOf("{name: a/b, model: m}", "")
	if _, _, err := ReadDraft(fsys); err == nil {
		t.Error("a tier that no cell can be named after: accepted")
	}
	if _, _, err := ReadDraft(fs.FS(fstest.MapFS{})); err == nil {
		t.Error("an empty folder: accepted")
	}
}

func TestTaskSaysAndEchoes(t *testing.T) {
	for _, role := range []Role{Objective, Practice} {
		s, err := ParseScenario("S1.md", []byte(strings.Replace(scenarioText, "objective", string(role), 1)))
		testenv.Must(t, err)
		says := map[string]bool{}
		for _, phrase := range []string{"till", "TILL", "the-till", "to round", "tills", "round till", "", "--"} {
			says[phrase] = s.TaskSays(phrase)
		}
		want := map[string]bool{"till": true, "TILL": true, "the-till": true, "to round": true, "tills": false, "round till": false, "": false, "--": false}
		testenv.Same(t, fmt.Sprintf("%s: says", role), want, says)
		for text, n := range map[string]int{"change the till to round up": 5, "then change the till, to round": 5, "change the till": 0, "": 0} {
			if got := s.TaskEchoes(text, 5); got != n {
				t.Errorf("%s: %q echoes %d words, want %d", role, text, got, n)
			}
		}
	}
}
