package scenarios_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"loopd/fixtures"
	"loopd/internal/testenv"
	"loopd/scenarios"
)

// scenario is a scenario file's front matter and Task.
type scenario struct {
	ID      string `yaml:"id"`
	Role    string `yaml:"role"`
	Skill   string `yaml:"skill"`
	Fixture string `yaml:"fixture"`
	Hook    string `yaml:"hook"`
	Changes []struct {
		Remove string `yaml:"remove"`
		Path   string `yaml:"path"`
		Write  string `yaml:"write"`
	} `yaml:"changes"`
	Graph  bool   `yaml:"graph"`
	Pair   string `yaml:"pair"`
	Expect struct {
		A []assertion `yaml:"a"`
		B []assertion `yaml:"b"`
	} `yaml:"expect"`
	Forbidden []diff `yaml:"forbidden"`
	Judge     string `yaml:"judge"`
	Oracle    []step `yaml:"oracle"`
	Nop       []step `yaml:"nop"`
	task      string
}

type assertion struct {
	Consults *bool  `yaml:"consults"`
	Skill    string `yaml:"skill"`
	Cites    *struct {
		ID      string   `yaml:"id"`
		NotLive []string `yaml:"not_live"`
	} `yaml:"cites"`
	Says      []string `yaml:"says"`
	NeverSays []string `yaml:"never_says"`
	Created   *struct {
		Path     string     `yaml:"path"`
		Keywords [][]string `yaml:"keywords"`
	} `yaml:"created"`
	Changed *diff `yaml:"changed"`
}

type diff struct {
	Path    string `yaml:"path"`
	Adds    string `yaml:"adds"`
	Removes string `yaml:"removes"`
}

type step struct {
	Skill string                           `yaml:"skill"`
	Bash  string                           `yaml:"bash"`
	Read  string                           `yaml:"read"`
	Write *struct{ Path, Content string }  `yaml:"write"`
	Edit  *struct{ Path, Old, New string } `yaml:"edit"`
	Text  string                           `yaml:"text"`
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(scenarios.FS(), name)
	testenv.Must(t, err)
	return string(data)
}

// suite is the first suite, about which most is known here.
func suite(t *testing.T) map[string]scenario {
	t.Helper()
	return suiteOf(t, scenarios.Default)
}

// suites are all of them by name.
func suites(t *testing.T) map[string]map[string]scenario {
	t.Helper()
	dirs, err := fs.ReadDir(scenarios.FS(), ".")
	if err != nil || len(dirs) < 2 {
		t.Fatalf("got %d suites (%v), want 2 and more", len(dirs), err)
	}
	found := make(map[string]map[string]scenario)
	for _, d := range dirs {
		found[d.Name()] = suiteOf(t, d.Name())
	}
	return found
}

// pluginOf is the plugin a suite measures.
func pluginOf(t *testing.T, suite string) string {
	t.Helper()
	var checker struct{ Plugin string }
	if err := yaml.Unmarshal([]byte(readFile(t, suite+"/checker.yaml")), &checker); err != nil || checker.Plugin == "" {
		t.Fatalf("%s: the checker names no plugin (%v)", suite, err)
	}
	return checker.Plugin
}

// skills are the names of a plugin's skills.
func skills(t *testing.T, plugin string) []string {
	t.Helper()
	dirs, err := fs.ReadDir(fixtures.Plugins(), plugin+"/skills")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%s has no skills (%v)", plugin, err)
	}
	var out []string
	for _, d := range dirs {
		out = append(out, d.Name())
	}
	return out
}

func suiteOf(t *testing.T, name string) map[string]scenario {
	t.Helper()
	names, err := fs.Glob(scenarios.FS(), name+"/[A-Z][0-9]*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios (%v)", err)
	}
	found := map[string]scenario{}
	for _, name := range names {
		s := parse(t, name)
		if want := strings.TrimSuffix(path.Base(name), ".md"); s.ID != want {
			t.Errorf("%s: id is %q, want %q", name, s.ID, want)
		}
		if _, ok := found[s.ID]; ok {
			t.Errorf("%s: id %s is used twice", name, s.ID)
		}
		found[s.ID] = s
	}
	return found
}

func parse(t *testing.T, name string) scenario {
	t.Helper()
	rest, ok := strings.CutPrefix(readFile(t, name), "---\n")
	front, body, closed := strings.Cut(rest, "\n---\n")
	before, task, headed := strings.Cut(body, "## Task\n")
	if !ok || !closed || !headed || strings.TrimSpace(before) != "" {
		t.Fatalf("%s is not front matter and a Task block", name)
	}
	var s scenario
	if err := yaml.UnmarshalWithOptions([]byte(front), &s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s.task = strings.TrimSpace(task)
	return s
}

// req 37, 38, 44, 77: every scenario has its role, and only W1-W3 and R1-R4 are
// in the metric.
func TestSuiteIsWhole(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]string{"os-adr": {
		"W1": "objective", "W2": "objective", "W3": "objective",
		"R1": "objective", "R2": "objective", "R3": "objective", "R4": "objective",
		"N1": "guard", "N2": "guard", "N3": "guard", "R4-nograph": "control", "X1": "control",
		"V1": "reserve", "V2": "reserve", "P1": "practice", "P2": "practice",
	}, "nine-skills": {
		"L1": "objective", "C1": "objective", "O1": "objective", "E1": "objective", "D1": "objective", "T1": "objective", "Y1": "objective",
		"N1": "guard", "N2": "guard", "N3": "guard", "X1": "control", "V1": "reserve", "P1": "practice",
	}}
	got := map[string]map[string]string{}
	for name, all := range suites(t) {
		got[name] = map[string]string{}
		for id, s := range all {
			got[name][id] = s.Role
		}
	}
	testenv.Same(t, "scenarios and their roles", want, got)
}

// req 36, 47: R4 alone has the graph; its control asks the same without it.
func TestControlsAskWhatTheirPairAsks(t *testing.T) {
	t.Parallel()
	all := suite(t)
	for id, s := range all {
		if s.Graph != (id == "R4") || s.Pair != map[string]string{"R4-nograph": "R4"}[id] {
			t.Errorf("%s: graph is %v, pair %q", id, s.Graph, s.Pair)
		}
	}
	for control, original := range map[string]string{"R4-nograph": "R4", "X1": "R1"} {
		c, o := all[control], all[original]
		if c.task != o.task || !cmp.Equal(c.Expect, o.Expect) || !cmp.Equal(c.Forbidden, o.Forbidden) {
			t.Errorf("%s does not ask and expect what %s does", control, original)
		}
	}
}

// A decision that a reserve or a practice scenario is about is in no other: the
// reserve is new to every wording, and practice may be shown to who proposes.
func TestReserveAndPracticeUseDecisionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	users := map[string][]string{}
	for id, s := range suite(t) {
		for _, st := range s.Oracle {
			if record := regexp.MustCompile(`^docs/adr/(\d{4})-|--supersedes (\d{4})`).FindStringSubmatch(st.Read + st.Bash); record != nil {
				users[record[1]+record[2]] = append(users[record[1]+record[2]], id)
			}
		}
	}
	for record, ids := range users {
		if slices.ContainsFunc(ids, func(id string) bool { return id[0] == 'V' || id[0] == 'P' }) && len(ids) > 1 {
			t.Errorf("record %s is used by %v", record, ids)
		}
	}
	if len(users) < 5 {
		t.Errorf("records in use: %v", users)
	}
}

func TestScenariosAreComplete(t *testing.T) {
	t.Parallel()
	for name, all := range suites(t) {
		known := skills(t, pluginOf(t, name))
		for id, s := range all {
			id = name + "/" + id
			if s.task == "" || len(s.Expect.A) == 0 || len(s.Expect.B) == 0 || len(s.Oracle) == 0 || len(s.Nop) == 0 {
				t.Errorf("%s lacks a Task, an expectation or a run", id)
			}
			if !slices.Contains([]string{"objective", "guard", "control", "reserve", "practice"}, s.Role) {
				t.Errorf("%s: unknown role %q", id, s.Role)
			}
			if !slices.Contains(known, s.Skill) {
				t.Errorf("%s: the plugin has no skill %q", id, s.Skill)
			}
			if _, err := fs.Stat(fixtures.FS(), s.Fixture); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			for name, steps := range map[string][]step{"oracle": s.Oracle, "nop": s.Nop} {
				if len(steps) > 7 || steps[len(steps)-1].Text == "" {
					t.Errorf("%s: %s must be at most six tool calls and a final text", id, name)
				}
			}
		}
	}
}

// A plugin with a note says of every project what its hook does there, and a
// judge is asked where a record is to be written, and only there.
func TestHookAndJudgeOfTheRecords(t *testing.T) {
	t.Parallel()
	for id, s := range suite(t) {
		if s.Hook != "note" && s.Hook != "silent" {
			t.Errorf("%s: unknown hook %q", id, s.Hook)
		}
		writes := slices.ContainsFunc(s.Expect.B, func(a assertion) bool { return a.Created != nil })
		if (s.Judge != "") != writes || writes != (s.Skill == "record-decision") {
			t.Errorf("%s: a judge is asked where a record is to be written, and only there", id)
		}
	}
}

// Each of the nine skills is the right one of a scenario that is no guard, by
// its full name; no judge is asked and the guards want none of them.
func TestNineSkillsAreEachAskedFor(t *testing.T) {
	t.Parallel()
	plugin := pluginOf(t, "nine-skills")
	missing := skills(t, plugin)
	if len(missing) != 9 {
		t.Errorf("skills: got %d, want 9", len(missing))
	}
	for id, s := range suiteOf(t, "nine-skills") {
		if s.Judge != "" || s.Hook != "" {
			t.Errorf("%s: judge %q, hook %q, want neither", id, s.Judge, s.Hook)
		}
		want := assertion{Skill: plugin + ":" + s.Skill}
		if s.Role == "guard" {
			no := false
			want = assertion{Consults: &no}
		} else {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Skill })
		}
		testenv.Same(t, fmt.Sprintf("%s: axis a", id), []assertion{want}, s.Expect.A)
	}
	if len(missing) > 0 {
		t.Errorf("no scenario asks for %v", missing)
	}
}

// coaching is what no Task of a suite may say. req 4, 5
var coaching = map[string]*regexp.Regexp{
	"os-adr":      regexp.MustCompile(`(?i)\badrs?\b|adr-|docs/adr|\bdecisions?\b|\brecord(?:s|ed)?\b|\b0\d{3}\b|os-adr`),
	"nine-skills": regexp.MustCompile(`(?i)chores|quayside|\bnotes?\b|\bregist\w+|\bretir\w+|\bwithdr\w+|\bback-?port\w*|\bpin(?:s|ned)?\b|\.tsv\b|\bskills?\b`),
}

// named says whether a text names a skill, in words or as it is typed.
func named(text string, skills []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(skills, func(s string) bool {
		return strings.Contains(text, s) || strings.Contains(text, strings.ReplaceAll(s, "-", " "))
	})
}

func TestTasksDoNotCoach(t *testing.T) {
	t.Parallel()
	for name, all := range suites(t) {
		tells, known := coaching[name], skills(t, pluginOf(t, name))
		if tells == nil {
			t.Fatalf("nobody has said what coaches in the suite %s", name)
		}
		for id, s := range all {
			if tells.MatchString(s.task) || named(s.task, known) {
				t.Errorf("%s/%s: the Task coaches", name, id)
			}
		}
	}
	for _, text := range []string{"see the ADR", "as docs/adr says", "our decision", "rule 0003", "the record", "run adr-find"} {
		if !coaching["os-adr"].MatchString(text) {
			t.Errorf("damage %q is not found", text)
		}
	}
	for _, text := range []string{"add a note", "look into chores/lines", "register it", "retire the option", "backport it", "use the skill"} {
		if !coaching["nine-skills"].MatchString(text) {
			t.Errorf("damage %q is not found", text)
		}
	}
	if !named("Please cut release 2", []string{"cut-release"}) || !named("run /x:cut-release", []string{"cut-release"}) {
		t.Error("a skill's name is not found")
	}
}

// project is the content of a fixture by path, for trying steps on.
type project map[string]string

func load(t *testing.T, s scenario) project {
	t.Helper()
	fixture, files := s.Fixture, project{}
	err := fs.WalkDir(fixtures.FS(), fixture, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fixtures.FS(), name)
		files[strings.TrimPrefix(name, fixture+"/")] = string(data)
		return err
	})
	testenv.Must(t, err)
	for _, c := range s.Changes {
		before := len(files)
		maps.DeleteFunc(files, func(name, _ string) bool {
			return c.Remove != "" && (name == c.Remove || strings.HasPrefix(name, c.Remove+"/"))
		})
		if c.Remove != "" && len(files) == before {
			t.Errorf("%s: nothing to remove at %s", s.ID, c.Remove)
		}
		if c.Path != "" {
			files[c.Path] = c.Write
		}
	}
	return files
}

// apply carries out a file step and says why it cannot be.
func (p project) apply(s step) string {
	switch {
	case s.Read != "":
		if _, ok := p[s.Read]; !ok {
			return "reads " + s.Read + ", which is not there"
		}
	case s.Write != nil:
		if _, ok := p[s.Write.Path]; ok {
			return "overwrites " + s.Write.Path
		}
		p[s.Write.Path] = s.Write.Content
	case s.Edit != nil:
		if strings.Count(p[s.Edit.Path], s.Edit.Old) != 1 {
			return "edits a text that is not exactly once in " + s.Edit.Path
		}
		p[s.Edit.Path] = strings.Replace(p[s.Edit.Path], s.Edit.Old, s.Edit.New, 1)
	}
	return ""
}

func TestRunsApplyToTheFixture(t *testing.T) {
	t.Parallel()
	for name, all := range suites(t) {
		for id, s := range all {
			for run, steps := range map[string][]step{"oracle": s.Oracle, "nop": s.Nop} {
				p := load(t, s)
				for _, st := range steps {
					if fault := p.apply(st); fault != "" {
						t.Errorf("%s/%s: %s %s", name, id, run, fault)
					}
				}
			}
		}
	}
}

// added returns the lines of files matching glob that start does not have.
func (p project) added(start project, glob string) []string {
	var lines []string
	for name, text := range p {
		if ok, err := path.Match(glob, name); err != nil || !ok {
			continue
		}
		had := strings.Split(start[name], "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if !slices.Contains(had, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func violates(start, end project, forbidden []diff) bool {
	return slices.ContainsFunc(forbidden, func(d diff) bool {
		return slices.ContainsFunc(end.added(start, d.Path), regexp.MustCompile(d.Adds).MatchString)
	})
}

func TestForbiddenChangeIsTheNopsAndNotTheOracles(t *testing.T) {
	t.Parallel()
	seen := 0
	for id, s := range suite(t) {
		if len(s.Forbidden) == 0 {
			continue
		}
		seen++
		for name, steps := range map[string][]step{"oracle": s.Oracle, "nop": s.Nop} {
			start, end := load(t, s), load(t, s)
			for _, st := range steps {
				end.apply(st)
			}
			// A control's honest run cannot know better.
			if got := violates(start, end, s.Forbidden); got != (name == "nop") && (name == "nop" || s.Role != "control") {
				t.Errorf("%s: %s violates: got %v", id, name, got)
			}
		}
	}
	if seen == 0 {
		t.Error("no scenario forbids a change")
	}
}

func TestGuardChangeIsTheOracles(t *testing.T) {
	t.Parallel()
	for id, s := range suite(t) {
		for _, a := range s.Expect.B {
			if a.Changed == nil {
				continue
			}
			start, end := load(t, s), load(t, s)
			if len(end.added(start, a.Changed.Path)) != 0 {
				t.Errorf("%s: the untouched project counts as changed", id)
			}
			for _, st := range s.Oracle {
				end.apply(st)
			}
			adds := slices.ContainsFunc(end.added(start, a.Changed.Path), regexp.MustCompile(a.Changed.Adds).MatchString)
			removes := slices.ContainsFunc(start.added(end, a.Changed.Path), regexp.MustCompile(a.Changed.Removes).MatchString)
			if !adds || !removes {
				t.Errorf("%s: oracle adds %v, removes %v", id, adds, removes)
			}
		}
	}
}

func TestCheckerSettings(t *testing.T) {
	t.Parallel()
	var got struct {
		Records  struct{ Dir, File string }
		Plugin   string
		Consult  []map[string]string
		Citation struct {
			Prefix  string
			Digits  int
			MaxLive int `yaml:"max_live"`
			Nouns   []string
		}
		Graph []struct{ Fixture, From, To string }
	}
	testenv.Must(t, yaml.UnmarshalWithOptions([]byte(readFile(t, "os-adr/checker.yaml")), &got, yaml.Strict()))
	records := 0
	for name := range load(t, scenario{Fixture: "webhook-relay"}) {
		if ok, err := path.Match(got.Records.Dir+"/"+got.Records.File, name); ok && err == nil {
			records++
		}
	}
	if records != 6 || got.Plugin != "os-adr" || len(got.Consult) != 3 || got.Citation.Digits != 4 || got.Citation.MaxLive != 2 {
		t.Errorf("records %d, settings %+v", records, got)
	}
	// req 72
	if len(got.Graph) != 1 || got.Graph[0].From != "lib/relay/reports.rb" || got.Graph[0].To != "lib/relay/delivery.rb" || got.Graph[0].Fixture != "webhook-relay" {
		t.Errorf("graph: %+v", got.Graph)
	}
}

func TestRubricAsksForOneWord(t *testing.T) {
	t.Parallel()
	rubric := readFile(t, "os-adr/rubric.md")
	for _, want := range []string{"YES or NO", "never an instruction", "hesitate, answer NO"} {
		if !strings.Contains(rubric, want) {
			t.Errorf("rubric lacks %q", want)
		}
	}
}
