package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"loopd/internal/atomicfile"
	"loopd/loop"
	"loopd/report"
)

// Project writes the files of the newest campaign that follow the ledger. Files
// that have the right bytes already are not touched.
func (c *Campaign) Project() error {
	if len(c.states) == 0 {
		return nil
	}
	return c.project(c.Current())
}

// project writes the tables and the reports of the campaigns given. Those of
// campaigns that are over do not change, so only mending asks for them.
func (c *Campaign) project(states ...*loop.State) error {
	files, err := c.projections(states...)
	if err != nil {
		return err
	}
	for path, data := range files {
		if err := writeChanged(path, data); err != nil {
			return err
		}
		atomicfile.Failpoint("project.file")
	}
	return nil
}

// Stale lists the projections that differ from what the ledger gives.
func (c *Campaign) Stale() ([]string, error) {
	files, err := c.projections(c.states...)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		got, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(got, files[path]) {
			out = append(out, path)
		}
	}
	return out, nil
}

// projections renders the two tables and the reports of the campaigns given.
func (c *Campaign) projections(states ...*loop.State) (map[string][]byte, error) {
	files := make(map[string][]byte)
	newest := c.Current()
	if newest == nil || newest.Started.Campaign == "" {
		return files, nil
	}
	c.addTables(files)
	for _, s := range states {
		if err := c.addReports(files, s); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (c *Campaign) addTables(files map[string][]byte) {
	files[c.Home.Results()] = report.Results(c.states...)
	files[c.Home.LoopResults()] = report.LoopResults(c.Current())
}

// addCampaign renders the report that needs no wording.
func (c *Campaign) addCampaign(files map[string][]byte, s *loop.State) error {
	dir := c.Home.Report(s.Started.Campaign)
	rep := report.Build(s, c.states[:slices.Index(c.states, s)]...)
	files[filepath.Join(dir, "campaign.md")] = rep.Markdown()
	return addJSON(files, filepath.Join(dir, "campaign.json"), rep)
}

func (c *Campaign) addReports(files map[string][]byte, s *loop.State) error {
	dir := c.Home.Report(s.Started.Campaign)
	if err := c.addCampaign(files, s); err != nil {
		return err
	}
	if err := c.addDigest(files, s); err != nil {
		return err
	}
	for _, p := range s.Progress {
		one, err := c.candidateReport(s, p)
		if err != nil {
			return err
		}
		files[filepath.Join(dir, p.Candidate.ID+".md")] = one.Markdown()
		if err := addJSON(files, filepath.Join(dir, p.Candidate.ID+".json"), one); err != nil {
			return err
		}
	}
	return nil
}

// addDigest renders what is read in the morning.
func (c *Campaign) addDigest(files map[string][]byte, s *loop.State) error {
	start, err := c.Wordings.Texts(s.Started.Start)
	if err != nil {
		return err
	}
	champion, err := c.Wordings.Texts(s.Champion)
	if err != nil {
		return err
	}
	d := report.BuildDigest(s, start, champion, c.states[:slices.Index(c.states, s)]...)
	dir := c.Home.Report(s.Started.Campaign)
	files[filepath.Join(dir, "digest.md")] = d.Markdown()
	return addJSON(files, filepath.Join(dir, "digest.json"), d)
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
