package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"loopd/internal/atomicfile"
	"loopd/loop"
	"loopd/report"
)

// Project writes every file that follows the ledger. Files that have the right
// bytes already are not touched.
func (c *Campaign) Project() error {
	files, err := c.projections()
	if err != nil {
		return err
	}
	for path, data := range files {
		if err := writeChanged(path, data); err != nil {
			return err
		}
	}
	return nil
}

// Stale lists the projections that differ from what the ledger gives.
func (c *Campaign) Stale() ([]string, error) {
	files, err := c.projections()
	if err != nil {
		return nil, err
	}
	var out []string
	for path, want := range files {
		got, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(got, want) {
			out = append(out, path)
		}
	}
	return out, nil
}

// projections renders all files of the newest campaign and the two tables.
func (c *Campaign) projections() (map[string][]byte, error) {
	files := make(map[string][]byte)
	s := c.Current()
	if s == nil || s.Started.Campaign == "" {
		return files, nil
	}
	files[c.Home.Results()] = report.Results(c.states...)
	files[c.Home.LoopResults()] = report.LoopResults(s)
	dir := c.Home.Report(s.Started.Campaign)
	rep := report.Build(s)
	files[filepath.Join(dir, "campaign.md")] = rep.Markdown()
	if err := addJSON(files, filepath.Join(dir, "campaign.json"), rep); err != nil {
		return nil, err
	}
	for _, p := range s.Progress {
		one, err := c.candidateReport(s, p)
		if err != nil {
			return nil, err
		}
		files[filepath.Join(dir, p.Candidate.ID+".md")] = one.Markdown()
		if err := addJSON(files, filepath.Join(dir, p.Candidate.ID+".json"), one); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (c *Campaign) candidateReport(s *loop.State, p *loop.Progress) (report.Candidate, error) {
	before, err := c.Wordings.Texts(p.Parent)
	if err != nil {
		return report.Candidate{}, err
	}
	after, err := c.Wordings.Texts(p.Commit)
	if err != nil {
		return report.Candidate{}, err
	}
	one, _ := report.BuildCandidate(s, p.Candidate.ID, before, after)
	return one, nil
}

func addJSON(files map[string][]byte, path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", path, err)
	}
	files[path] = append(data, '\n')
	return nil
}

func writeChanged(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.WriteFile(path, data, 0o600)
}
