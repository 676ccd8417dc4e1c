package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// DraftFault is one thing that is wrong with a scenario file, or with gold.yaml,
// in which case Scenario is empty. No text of a task is in Err.
type DraftFault struct {
	Scenario string
	Err      error
}

// ReadDraft reads a suite that need not be whole: what is wrong with a scenario
// is listed fault by fault, and everything that can be read is returned. An
// error is for a suite of which nothing can be said: its checker.yaml,
// launch.yaml, rubric or fixtures cannot be read.
func ReadDraft(fsys fs.FS) (Suite, []DraftFault, error) {
	var s Suite
	errs := []error{readYAML(fsys, "checker.yaml", CheckerSchema, &s.Checker), readYAML(fsys, "launch.yaml", LaunchSchema, &s.Launch)}
	var err error
	s.Fixtures, err = readFixtures(fsys)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return Suite{}, nil, fmt.Errorf("read suite: %w", err)
	}
	if err := s.validateProfile(); err != nil {
		return Suite{}, nil, fmt.Errorf("read suite: %w", err)
	}
	faults, err := s.draftScenarios(fsys)
	if err == nil {
		s.Rubric, err = readRubric(fsys, s.Scenarios)
	}
	if err != nil {
		return Suite{}, nil, fmt.Errorf("read suite: %w", err)
	}
	if s.Gold, err = readGold(fsys); err != nil {
		return s, append(faults, DraftFault{Err: err}), nil
	}
	if len(faults) == 0 { // else an item may be about a scenario that cannot be read
		if err := s.validateGold(); err != nil {
			faults = append(faults, DraftFault{Err: err})
		}
	}
	return s, faults, nil
}

// draftScenarios reads the scenario files one by one. One that fits its schema
// is kept whatever else is wrong with it.
func (s *Suite) draftScenarios(fsys fs.FS) ([]DraftFault, error) {
	files, err := fs.Glob(fsys, "scenarios/*.md")
	if err != nil {
		return nil, err
	}
	var faults []DraftFault
	if len(files) == 0 {
		faults = append(faults, DraftFault{Err: errors.New("scenarios: no *.md file")})
	}
	for _, f := range files {
		id := strings.TrimSuffix(path.Base(f), ".md")
		data, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		sc, err := decodeScenario(f, data)
		switch {
		case err != nil:
			faults = append(faults, DraftFault{id, err})
			continue
		case sc.ID != id:
			faults = append(faults, DraftFault{id, fmt.Errorf("id: %q is not the file's name", sc.ID)})
			sc.ID = id
		}
		if sc.Draft != nil {
			faults = append(faults, DraftFault{id, draftError(f, sc.Draft)})
		}
		for _, err := range parts(sc.validate()) {
			faults = append(faults, DraftFault{id, err})
		}
		s.Scenarios = append(s.Scenarios, sc)
	}
	return faults, nil
}

// parts takes a joined error apart.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	return joined.Unwrap()
}

// task is the scenario's task as text to compare with, also where the role is
// practice.
func (s Scenario) task() HeldOut {
	if s.Role == Practice {
		return NewHeldOut(s.PracticeTask)
	}
	return s.Task
}

// TaskSays reports whether the task holds the words of a phrase in a row. Case
// and punctuation do not count; a phrase without a word is in no task.
func (s Scenario) TaskSays(phrase string) bool {
	return len(s.task().Overlap(phrase, len(words(phrase)))) > 0
}

// TaskEchoes counts the words of the longest stretch that the task shares with a
// text: 0 where they have no n words in a row in common.
func (s Scenario) TaskEchoes(text string, n int) int {
	longest := 0
	for _, span := range s.task().Overlap(text, n) {
		longest = max(longest, len(words(text[span.Start:span.End])))
	}
	return longest
}
