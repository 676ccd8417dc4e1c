package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"
)

// Suite is everything that measures, read from the sealed bytes.
type Suite struct {
	Scenarios []Scenario // sorted by id
	Checker   Checker
	Launch    Launch
	Rubric    string          // empty where no scenario asks a judge
	Gold      []GoldItem      // tests a judge; empty where the suite has no gold.yaml
	Fixtures  map[string]Tree // by fixture name
}

// Checker holds what the two-axis checker needs to know about the plugin.
type Checker struct {
	Plugin   string      `yaml:"plugin"`
	Records  Records     `yaml:"records"`
	Consult  []Assertion `yaml:"consult"` // any of these is consulting
	Citation Citation    `yaml:"citation"`
	Graph    []GraphRule `yaml:"graph,omitempty"`
}

// GraphRule asks that two files of a fixture are exactly one hop apart in its
// code graph. A graph that breaks a rule is not used.
type GraphRule struct {
	Fixture string `yaml:"fixture"`
	From    string `yaml:"from"`
	To      string `yaml:"to"`
}

// Records says where the plugin keeps its records.
type Records struct {
	Dir  string `yaml:"dir"`  // below the project
	File string `yaml:"file"` // glob of a record's base name
}

// Citation says how records are cited in prose.
type Citation struct {
	Prefix  string `yaml:"prefix"`   // such as RFC
	Digits  int    `yaml:"digits"`   // digits of a full id
	MaxLive int    `yaml:"max_live"` // more ids cited as live is a shotgun answer
	// Nouns are words for a record that may stand before its number, such as
	// decision. The prefix and its plural are among them without being listed.
	Nouns []string `yaml:"nouns,omitempty"`
}

// Launch is the sealed launch profile: how every session is started.
type Launch struct {
	Tiers           []Tier   `yaml:"tiers"`
	MaxTurns        int      `yaml:"max_turns"`
	MaxRetries      int      `yaml:"max_retries"`
	Env             []string `yaml:"env"`
	DisallowedTools []string `yaml:"disallowed_tools"`
	BuiltinPlugins  []string `yaml:"builtin_plugins"`
	CLIVersion      string   `yaml:"cli_version,omitempty"`
	Note            Note     `yaml:"note"`
	Clocks          Clocks   `yaml:"clocks"`
	// Judge is asked where no file settles a scenario and no command is set.
	Judge JudgeProfile `yaml:"judge,omitempty"`
}

// JudgeProfile is the judge that is a session of the agent CLI.
type JudgeProfile struct {
	Model string `yaml:"model"` // pinned id; empty for no such judge
	// CommandEnv is an environment variable that may name a judge command, beside
	// LOOPD_JUDGE_CMD.
	CommandEnv string `yaml:"command_env,omitempty"`
}

// Tier is one model of the grid: the name used in cells and its pinned id.
type Tier struct {
	Name  string `yaml:"name"`
	Model string `yaml:"model"`
	// Price is the list price of the model's tokens, nil for unknown. It is used
	// for limits of spending and for sessions that do not say what they cost.
	Price *Price `yaml:"price,omitempty"`
}

// NoteKind says where the hook's text comes from.
type NoteKind string

// The kinds of hook note.
const (
	NoteNone NoteKind = "none"
	// NoteFile: the text of a file of the plugin's.
	NoteFile NoteKind = "file"
	// NoteComputed: whatever the hook prints in a fresh copy of the project.
	NoteComputed NoteKind = "computed"
)

// Envelope is how the hook hands over its text.
type Envelope string

// The envelopes a hook may use.
const (
	EnvelopeJSON Envelope = "json"
	EnvelopeText Envelope = "text"
)

// Note describes the SessionStart hook of the plugin.
type Note struct {
	Kind NoteKind `yaml:"kind"`
	// File is the note's text, below the plugin. A computed note may name the
	// file whose wording goes into it.
	File     string   `yaml:"file,omitempty"`
	Envelope Envelope `yaml:"envelope,omitempty"`
}

func (n Note) validate() error {
	switch {
	case !slices.Contains([]NoteKind{NoteNone, NoteFile, NoteComputed}, n.Kind):
		return fmt.Errorf("kind: %q is none of none, file, computed", n.Kind)
	case n.Kind == NoteFile && n.File == "":
		return errors.New("file: missing, and the kind is file")
	case n.Kind == NoteNone && n.File != "":
		return errors.New("file: given, and the kind is none")
	case n.File != "" && !fs.ValidPath(n.File):
		return fmt.Errorf("file: %q is not a path below the plugin", n.File)
	case !slices.Contains([]Envelope{"", EnvelopeJSON, EnvelopeText}, n.Envelope):
		return fmt.Errorf("envelope: %q is neither json nor text", n.Envelope)
	}
	return nil
}

// Clocks bound a session from outside.
type Clocks struct {
	Startup time.Duration `yaml:"startup"`
	Idle    time.Duration `yaml:"idle"`
	Total   time.Duration `yaml:"total"`
	Grace   time.Duration `yaml:"grace"`
}

// ParseSuite reads a suite from the bytes that were sealed. Errors name the
// file and the key.
func ParseSuite(fsys fs.FS) (Suite, error) {
	var s Suite
	var errs []error
	errs = append(errs, readYAML(fsys, "checker.yaml", CheckerSchema, &s.Checker), readYAML(fsys, "launch.yaml", LaunchSchema, &s.Launch))
	var err error
	s.Scenarios, err = readScenarios(fsys)
	errs = append(errs, err)
	s.Rubric, err = readRubric(fsys, s.Scenarios)
	errs = append(errs, err)
	s.Gold, err = readGold(fsys)
	errs = append(errs, err)
	s.Fixtures, err = readFixtures(fsys)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return Suite{}, fmt.Errorf("read suite: %w", err)
	}
	if err := s.validate(); err != nil {
		return Suite{}, fmt.Errorf("read suite: %w", err)
	}
	return s, nil
}

func readYAML(fsys fs.FS, name string, k SchemaKind, into any) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if err := decode(k, data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readScenarios(fsys fs.FS) ([]Scenario, error) {
	files, err := fs.Glob(fsys, "scenarios/*.md")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("scenarios: no *.md file")
	}
	var out []Scenario
	for _, f := range files {
		data, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		s, err := ParseScenario(f, data)
		if err != nil {
			return nil, err
		}
		if s.ID+".md" != path.Base(f) {
			return nil, fmt.Errorf("%s: id %q is not the file's name", f, s.ID)
		}
		out = append(out, s)
	}
	return out, nil
}

// readRubric reads what a judge is told; a suite without a question for one may
// do without.
func readRubric(fsys fs.FS, scenarios []Scenario) (string, error) {
	data, err := fs.ReadFile(fsys, "rubric.md")
	asks := slices.ContainsFunc(scenarios, func(s Scenario) bool { return s.Judge != "" })
	if errors.Is(err, fs.ErrNotExist) && !asks {
		return "", nil
	}
	return string(data), err
}

func readFixtures(fsys fs.FS) (map[string]Tree, error) {
	dirs, err := fs.ReadDir(fsys, "fixtures")
	if err != nil {
		return nil, err
	}
	out := make(map[string]Tree, len(dirs))
	for _, d := range dirs {
		if !d.IsDir() {
			return nil, fmt.Errorf("fixtures/%s: not a directory", d.Name())
		}
		sub, err := fs.Sub(fsys, "fixtures/"+d.Name())
		if err != nil {
			return nil, err
		}
		if out[d.Name()], err = ReadTree(sub); err != nil {
			return nil, fmt.Errorf("fixtures/%s: %w", d.Name(), err)
		}
	}
	return out, nil
}

func (s Suite) validate() error {
	errs := []error{s.validateProfile()}
	if len(s.Cells(Objective)) == 0 {
		errs = append(errs, errors.New("scenarios: no objective cell: give at least one scenario the role objective"))
	}
	for _, sc := range s.Scenarios {
		if _, ok := s.Fixtures[sc.Fixture]; !ok {
			errs = append(errs, fmt.Errorf("scenarios/%s.md: fixture: no directory fixtures/%s", sc.ID, sc.Fixture))
		}
		if sc.Hook == "" && s.Launch.Note.Kind != NoteNone {
			errs = append(errs, fmt.Errorf("scenarios/%s.md: hook: missing, and launch.yaml names a note", sc.ID))
		}
	}
	return errors.Join(append(errs, s.validateGold())...)
}

// validateProfile finds what is wrong with checker.yaml and launch.yaml.
func (s Suite) validateProfile() error {
	var errs []error
	if len(s.Launch.Tiers) == 0 {
		errs = append(errs, errors.New("launch.yaml: tiers: empty"))
	}
	if err := s.Checker.validate(); err != nil {
		errs = append(errs, fmt.Errorf("checker.yaml: %w", err))
	}
	if err := s.Launch.validate(); err != nil {
		errs = append(errs, fmt.Errorf("launch.yaml: %w", err))
	}
	if err := s.Launch.Note.validate(); err != nil {
		errs = append(errs, fmt.Errorf("launch.yaml: note: %w", err))
	}
	if len(s.Launch.Env) > 16 {
		errs = append(errs, fmt.Errorf("launch.yaml: env: %d names, at most 16", len(s.Launch.Env)))
	}
	return errors.Join(errs...)
}

// Cells lists the cells of a role, scenario by scenario, in tier order.
func (s Suite) Cells(role Role) []Cell {
	var out []Cell
	for _, sc := range s.Scenarios {
		if sc.Role != role {
			continue
		}
		for _, t := range s.Launch.Tiers {
			out = append(out, Cell{Scenario: sc.ID, Tier: t.Name})
		}
	}
	return out
}

// Scenario returns the scenario of that id.
func (s Suite) Scenario(id string) (Scenario, bool) {
	i := slices.IndexFunc(s.Scenarios, func(sc Scenario) bool { return sc.ID == id })
	if i < 0 {
		return Scenario{}, false
	}
	return s.Scenarios[i], true
}

// Model returns the pinned model id of a tier.
func (l Launch) Model(tier string) (string, bool) {
	for _, t := range l.Tiers {
		if t.Name == tier {
			return t.Model, true
		}
	}
	return "", false
}

// Prices are the list prices of the tiers' models, by model id.
func (l Launch) Prices() map[string]Price {
	out := make(map[string]Price)
	for _, t := range l.Tiers {
		if t.Price != nil {
			out[t.Model] = *t.Price
		}
	}
	return out
}
