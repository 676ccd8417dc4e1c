package scenarios_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loopd/fixtures"
	"loopd/plugins"
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
	seen := 0
	for id, s := range suite(t) {
		if !slices.ContainsFunc(s.Expect.B, func(a assertion) bool { return len(a.Says) > 0 }) {
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
	if seen < 3 {
		t.Errorf("scenarios with says: got %d, want at least 3", seen)
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
	for _, id := range []string{"R1", "R2"} {
		s := suite(t)[id]
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
			wantStatus(t, id, s.Fixture, a.Cites.ID, "Accepted")
			for _, old := range a.Cites.NotLive {
				wantStatus(t, id, s.Fixture, old, "Superseded")
			}
		}
	}
}

func wantStatus(t *testing.T, id, fixture, record, status string) {
	t.Helper()
	names, err := fs.Glob(fixtures.FS(), fixture+"/docs/adr/"+record+"-*.md")
	if err != nil || len(names) != 1 {
		t.Errorf("%s: record %s: %v (%v)", id, record, names, err)
		return
	}
	data, err := fs.ReadFile(fixtures.FS(), names[0])
	if err != nil || !strings.Contains(string(data), "\nstatus: "+status+"\n") {
		t.Errorf("%s: record %s is not %s (%v)", id, record, status, err)
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
	if err != nil {
		t.Fatal(err)
	}
}

// bash runs the steps' commands in a copy of the fixture with the plugin's
// programs on PATH, as a session has them, and returns copy and output.
func bash(t *testing.T, s scenario, steps []step) (dir, output string) {
	t.Helper()
	plugin, dir := t.TempDir(), t.TempDir()
	unpack(t, plugins.FS(), "os-adr", plugin, plugins.Mode)
	unpack(t, fixtures.FS(), s.Fixture, dir, func(string) fs.FileMode { return 0o644 })
	for _, st := range steps {
		if st.Bash == "" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", st.Bash)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Join(plugin, "bin") + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %q: %v\n%s", s.ID, st.Bash, err, out)
		}
		output += string(out)
	}
	return dir, output
}

func TestRunsCommandsWork(t *testing.T) {
	t.Parallel()
	for id, s := range suite(t) {
		bash(t, s, s.Nop)
		_, found := bash(t, s, s.Oracle)
		for i, st := range s.Oracle {
			if st.Skill != "" {
				if _, err := fs.Stat(plugins.FS(), "os-adr/skills/"+st.Skill); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
			if st.Read != "" && (i == 0 || !strings.Contains(found, st.Read)) {
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
			if err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
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
