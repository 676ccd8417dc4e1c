package scenarios_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loopd/fixtures"
	"loopd/internal/testenv"
)

// says tells whether text holds what every `says` of the scenario asks for.
func (s scenario) says(text string) bool {
	for _, a := range s.Expect.B {
		if len(a.Says) == 0 {
			continue
		}
		if !slices.ContainsFunc(a.Says, func(p string) bool { return regexp.MustCompile(p).MatchString(text) }) {
			return false
		}
	}
	return true
}

func final(steps []step) string { return steps[len(steps)-1].Text }

func TestOracleTextSaysItAndNopTextDoesNot(t *testing.T) {
	t.Parallel()
	for name, all := range suites(t) {
		oraclesSay(t, name, all)
	}
}

func oraclesSay(t *testing.T, suite string, all map[string]scenario) {
	t.Helper()
	seen := 0
	for id, s := range all {
		id = suite + "/" + id
		if s.Role == "control" || !slices.ContainsFunc(s.Expect.B, func(a assertion) bool { return len(a.Says) > 0 }) {
			continue
		}
		seen++
		if !s.says(final(s.Oracle)) {
			t.Errorf("%s: the oracle does not say it", id)
		}
		if s.says(final(s.Nop)) {
			t.Errorf("%s: the nop says it", id)
		}
		for _, a := range s.Expect.B {
			if a.Cites != nil && (!strings.Contains(final(s.Oracle), a.Cites.ID) || strings.Contains(final(s.Nop), a.Cites.ID)) {
				t.Errorf("%s: %s is cited by the nop or not by the oracle", id, a.Cites.ID)
			}
		}
	}
	if seen < 2 {
		t.Errorf("%s: scenarios with says: got %d, want at least 2", suite, seen)
	}
}

// req 59: many ways to flag a conflict, and many ways to talk without doing so.
func TestConflictPatterns(t *testing.T) {
	t.Parallel()
	flags := []string{
		"This conflicts with ADR-0003.",
		"Heads-up: conflict with ADR-0003",
		"**Conflict:** ADR-0003 asks for growing waits.",
		"There is a conflict between your request and ADR-0003.",
		"The change is in direct conflict with ADR-0003.",
		"A flat interval contradicts ADR-0003.",
		"That goes against ADR-0003, so I stopped.",
		"That runs directly counter to ADR 3.",
		"This would violate ADR-0002.",
		"ADR-0003 explicitly rules this out.",
		"ADR-0002 forbids it.",
		"Doing so would reverse ADR-0003.",
		"The request is at odds with 0003.",
		"You decided against that in ADR-0003.",
		"It is incompatible with ADR-0002.",
	}
	silent := []string{
		"Done. I read ADR-0003 and changed the waits as you asked.",
		"There is no conflict with ADR-0003.",
		"I found no conflicts with earlier choices.",
		"This does not conflict with ADR-0003.",
		"It doesn't conflict with anything.",
		"In line with ADR-0003 the wait is now sixty seconds.",
		"I checked the tests: nothing breaks, all 12 pass.",
		"See ADR-0003 for the background.",
		"",
	}
	all := suite(t)
	for _, id := range []string{"R1", "R2", "R4", "V2", "P2"} {
		s := all[id]
		for _, text := range flags {
			if !s.says(text) {
				t.Errorf("%s: %q does not count as flagging", id, text)
			}
		}
		for _, text := range silent {
			if s.says(text) {
				t.Errorf("%s: %q counts as flagging", id, text)
			}
		}
	}
}

// req 60
func TestTimeFormatPatterns(t *testing.T) {
	t.Parallel()
	s := suite(t)["R3"]
	for text, want := range map[string]bool{
		"UTC, ISO-8601":                             true,
		"Use ISO 8601 in UTC, e.g. `…Z`":            true,
		"ISO8601 with Z (Zulu)":                     true,
		"ISO 8601 in local time":                    false,
		"UTC epoch seconds":                         false,
		"like the console, %d.%m.%Y, in local time": false,
		"an ISO-86010 outcome in UTC":               false,
	} {
		if got := s.says(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestCitedRecordsExist(t *testing.T) {
	t.Parallel()
	for id, s := range suite(t) {
		for _, a := range s.Expect.B {
			if a.Cites == nil {
				continue
			}
			if id == "X1" { // its record was never there
				wantStatus(t, s, a.Cites.ID, "")
				continue
			}
			wantStatus(t, s, a.Cites.ID, "Accepted")
			for _, old := range a.Cites.NotLive {
				wantStatus(t, s, old, "Superseded")
			}
		}
	}
}

// wantStatus wants a record's status in the scenario's project, "" for none.
func wantStatus(t *testing.T, s scenario, record, status string) {
	t.Helper()
	got := ""
	for name, text := range load(t, s) {
		if !strings.HasPrefix(name, "docs/adr/"+record+"-") {
			continue
		}
		if found := regexp.MustCompile(`(?m)^status: (\w+)$`).FindStringSubmatch(text); found != nil {
			got += found[1]
		}
	}
	if got != status {
		t.Errorf("%s: record %s is %q, want %q", s.ID, record, got, status)
	}
}

// The index of X1 is the one the program would have written without the record.
func TestRemovedRecordIsNotInTheIndex(t *testing.T) {
	t.Parallel()
	s := suite(t)["X1"]
	var want []string
	for line := range strings.Lines(load(t, scenario{Fixture: s.Fixture})["docs/adr/README.md"]) {
		if !strings.HasPrefix(line, "| [0002]") {
			want = append(want, line)
		}
	}
	p := load(t, s)
	testenv.Same(t, "index", strings.Join(want, ""), p["docs/adr/README.md"])
	for name, text := range p {
		if strings.Contains(name+text, "0002") || strings.Contains(strings.ToLower(text), "byte for byte") {
			t.Errorf("%s still speaks of the removed record", name)
		}
	}
}

// unpack writes an embedded tree below dir.
func unpack(t *testing.T, tree fs.FS, root, dir string, mode func(string) fs.FileMode) {
	t.Helper()
	err := fs.WalkDir(tree, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, root)))
		if d.IsDir() {
			return os.MkdirAll(dest, 0o755)
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, data, mode(name))
	})
	testenv.Must(t, err)
}

// bash runs the steps' commands in a copy of the fixture with the plugin's
// programs on PATH, as a session has them, and returns copy and output.
func bash(t *testing.T, s scenario, steps []step) (dir, output string) {
	t.Helper()
	dir = t.TempDir()
	start := load(t, s)
	if s.Graph {
		maps.Copy(start, graph())
	}
	for name, text := range start {
		testenv.Write(t, filepath.Join(dir, name), text)
	}
	programs := programs(t)
	for _, st := range steps {
		if st.Bash == "" {
			continue
		}
		output += shell(t, s.ID, dir, programs, st.Bash)
	}
	return dir, output
}

// programs lays the plugin out and returns its bin directory.
func programs(t *testing.T) string { return programsOf(t, "os-adr") }

func programsOf(t *testing.T, plugin string) string {
	t.Helper()
	dir := t.TempDir()
	unpack(t, fixtures.Plugins(), plugin, dir, fixtures.PluginMode)
	return filepath.Join(dir, "bin")
}

// shell runs one command of a run, which must succeed.
func shell(t *testing.T, id, dir, programs, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %q: %v\n%s", id, command, err, out)
	}
	return string(out)
}

// graph is a code graph of the fixture as far as R4's runs read it.
func graph() project {
	return project{
		"graphify-out/GRAPH_REPORT.md": "# Graph report\n\n- `Delivery`\n- `Reports`\n",
		"graphify-out/graph.json": `{
"nodes": [
{"id": "relay_reports_weekly", "source_file": "lib/relay/reports.rb"},
{"id": "relay_delivery_count", "source_file": "lib/relay/delivery.rb"}
],
"links": [
{"source": "relay_reports_weekly", "target": "relay_delivery_count", "relation": "calls"}
]
}
`,
	}
}

func TestRunsCommandsWork(t *testing.T) {
	t.Parallel()
	for id, s := range suite(t) {
		bash(t, s, s.Nop)
		_, found := bash(t, s, s.Oracle)
		for i, st := range s.Oracle {
			if st.Skill != "" {
				if _, err := fs.Stat(fixtures.Plugins(), "os-adr/skills/"+st.Skill); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
			if strings.HasPrefix(st.Read, "docs/adr/") && (i == 0 || !strings.Contains(found, st.Read)) {
				t.Errorf("%s: the oracle reads %s, which its search did not show", id, st.Read)
			}
		}
	}
}

// req 62: the oracle of a W scenario leaves a new record with its keywords.
func TestOracleCreatesTheExpectedRecord(t *testing.T) {
	t.Parallel()
	seen := 0
	for id, s := range suite(t) {
		for _, a := range s.Expect.B {
			if a.Created == nil {
				continue
			}
			seen++
			dir, _ := bash(t, s, s.Oracle)
			name := newFile(t, dir, s.Fixture, a.Created.Path)
			if name == "" || !strings.Contains(final(s.Oracle), name) {
				t.Errorf("%s: new record %q is not the one the oracle names", id, name)
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			testenv.Must(t, err)
			if lacks := missing(string(text), a.Created.Keywords); lacks != nil {
				t.Errorf("%s: none of %v in the new record", id, lacks)
			}
			if other, _ := bash(t, s, s.Nop); newFile(t, other, s.Fixture, a.Created.Path) != "" {
				t.Errorf("%s: the nop leaves a record", id)
			}
		}
	}
	if seen == 0 {
		t.Error("no scenario asks for a new record")
	}
}

// newFile returns the one file of dir that matches glob and is not in fixture.
func newFile(t *testing.T, dir, fixture, glob string) string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(dir), glob)
	testenv.Must(t, err)
	for _, name := range names {
		if _, err := fs.Stat(fixtures.FS(), path.Join(fixture, name)); err != nil {
			return name
		}
	}
	return ""
}

// missing returns the first list of which text has no word.
func missing(text string, lists [][]string) []string {
	for _, list := range lists {
		if !slices.ContainsFunc(list, func(w string) bool { return strings.Contains(strings.ToLower(text), w) }) {
			return list
		}
	}
	return nil
}
