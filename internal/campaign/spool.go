package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"loopd/candidates"
	"loopd/internal/atomicfile"
	"loopd/loop"
)

// Dropped is a candidate as a person drops it into the spool: a patch, or whole
// files of the Surface.
type Dropped struct {
	Rationale string            `yaml:"rationale,omitempty"`
	Author    string            `yaml:"author,omitempty"`
	Source    candidates.Source `yaml:"source,omitempty"`
	Targets   []string          `yaml:"targets,omitempty"`
	Patch     string            `yaml:"patch,omitempty"`
	Files     map[string]string `yaml:"files,omitempty"`
}

// maxDropped bounds a spool file: no wording is near that.
const maxDropped = 1 << 20

// Candidate turns what was dropped into a candidate without an id.
func (d Dropped) Candidate() (candidates.Candidate, error) {
	c := candidates.Candidate{Source: d.Source, Author: d.Author, Rationale: d.Rationale, Targets: d.Targets}
	if c.Source == "" {
		c.Source = candidates.Person
	}
	if d.Patch != "" {
		edits, err := candidates.ParsePatch(d.Patch)
		if err != nil {
			return c, fmt.Errorf("patch: %w", err)
		}
		c.Edits = edits
	}
	for _, p := range slices.Sorted(maps.Keys(d.Files)) {
		text := d.Files[p]
		c.Edits = append(c.Edits, candidates.Edit{Path: p, Whole: &text})
	}
	if len(c.Edits) == 0 {
		return c, errors.New("neither a patch nor files")
	}
	return c, nil
}

// Drop puts a candidate into the spool, whole or not at all, and returns the
// name it can be taken back by.
func (h Home) Drop(d Dropped) (string, error) {
	c, err := d.Candidate()
	if err != nil {
		return "", fmt.Errorf("add candidate: %w", err)
	}
	data, err := yaml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("add candidate: %w", err)
	}
	if len(data) > maxDropped {
		return "", fmt.Errorf("add candidate: %d bytes, at most %d", len(data), maxDropped)
	}
	if err := os.MkdirAll(h.Spool(), 0o700); err != nil {
		return "", fmt.Errorf("add candidate: %w", err)
	}
	name := candidates.Digest(c.Edits)[:12]
	if err := atomicfile.WriteFile(filepath.Join(h.Spool(), name+".yaml"), data, 0o600); err != nil {
		return "", fmt.Errorf("add candidate: %w", err)
	}
	return name, nil
}

// Spooled is one file of the spool: its name, and the candidate or why there is
// none.
type Spooled struct {
	Name      string
	Candidate candidates.Candidate
	Err       error
}

// Spooled reads the spool in order of names. Anything that is not a regular
// YAML file of reasonable size is reported, never followed.
func (h Home) Spooled() ([]Spooled, error) {
	entries, err := os.ReadDir(h.Spool())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	var out []Spooled
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		if !ok || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		c, err := readDropped(filepath.Join(h.Spool(), e.Name()), e)
		out = append(out, Spooled{Name: name, Candidate: c, Err: err})
	}
	return out, nil
}

func readDropped(path string, e fs.DirEntry) (candidates.Candidate, error) {
	if !e.Type().IsRegular() {
		return candidates.Candidate{}, errors.New("not a regular file")
	}
	info, err := e.Info()
	if err != nil {
		return candidates.Candidate{}, err
	}
	if info.Size() > maxDropped {
		return candidates.Candidate{}, fmt.Errorf("%d bytes, at most %d", info.Size(), maxDropped)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return candidates.Candidate{}, err
	}
	var d Dropped
	if err := yaml.UnmarshalWithOptions(data, &d, yaml.Strict()); err != nil {
		return candidates.Candidate{}, fmt.Errorf("%s", strings.SplitN(err.Error(), "\n", 2)[0])
	}
	return d.Candidate()
}

// Undrop takes a candidate out of the spool again.
func (h Home) Undrop(name string) error {
	if name != filepath.Base(name) {
		return fmt.Errorf("drop candidate %s: not a name in the spool", name)
	}
	if err := os.Remove(filepath.Join(h.Spool(), name+".yaml")); err != nil {
		return fmt.Errorf("drop candidate %s: %w", name, err)
	}
	return nil
}

// intake turns spool files into candidates with ids. Files already in the
// ledger are what a crash left between recording and removing; they go.
func (c *Campaign) intake(_ context.Context, s *loop.State) ([]candidates.Candidate, error) {
	spooled, err := c.Home.Spooled()
	if err != nil {
		return nil, err
	}
	var out []candidates.Candidate
	for _, f := range spooled {
		if f.Err != nil {
			if err := c.setAside(f); err != nil {
				return nil, err
			}
			continue
		}
		if c.known(s, f.Candidate) {
			if err := c.Home.Undrop(f.Name); err != nil {
				return nil, err
			}
			continue
		}
		f.Candidate.ID = c.nextID(len(out))
		out = append(out, f.Candidate)
	}
	return out, nil
}

// known says whether the candidate is in this campaign already.
func (c *Campaign) known(s *loop.State, cand candidates.Candidate) bool {
	digest := candidates.Digest(cand.Edits)
	return slices.ContainsFunc(s.Progress, func(p *loop.Progress) bool {
		return candidates.Digest(p.Candidate.Edits) == digest && p.Candidate.Rationale == cand.Rationale
	})
}

// setAside keeps a file that cannot be read out of the way, under a name that
// says so.
func (c *Campaign) setAside(f Spooled) error {
	from := filepath.Join(c.Home.Spool(), f.Name+".yaml")
	c.Log.Warn("spool file refused", "file", from, "error", f.Err)
	if err := os.Rename(from, from+".refused"); err != nil {
		return fmt.Errorf("set spool file aside: %w", err)
	}
	return nil
}

// nextID numbers candidates over all campaigns of the ledger.
func (c *Campaign) nextID(ahead int) string {
	n := 0
	for _, s := range c.states {
		n += len(s.Progress)
	}
	return fmt.Sprintf("c%03d", n+ahead+1)
}
