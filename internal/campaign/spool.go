package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/atomicfile"
	"loopd/internal/redact"
	"loopd/loop"
)

// Dropped is a candidate as a person drops it into the spool: a patch, or whole
// files of the Surface.
type Dropped struct {
	Rationale string            `yaml:"rationale,omitempty"`
	Author    string            `yaml:"author,omitempty"`
	Source    candidates.Source `yaml:"source,omitempty"`
	Targets   []string          `yaml:"targets,omitempty"`
	Simplify  bool              `yaml:"simplify,omitempty"`
	Patch     string            `yaml:"patch,omitempty"`
	Files     map[string]string `yaml:"files,omitempty"`
}

// maxDropped bounds a spool file: no wording is near that.
const maxDropped = 1 << 20

// Candidate turns what was dropped into a candidate without an id.
func (d Dropped) Candidate() (candidates.Candidate, error) {
	c := candidates.Candidate{Source: d.Source, Author: d.Author, Rationale: d.Rationale, Targets: d.Targets, Simplify: d.Simplify}
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
	return c, errors.Join(d.text(), c.Validate(), noSecret(c))
}

// noSecret refuses what looks like a key or a token in the words of a candidate or
// in the text it puts in: both go into the ledger, into commits and reports, and
// nothing is taken out of these afterwards.
func noSecret(c candidates.Candidate) error {
	var errs []error
	redactor := redact.New()
	look := func(what, text string) {
		if clean := redactor.Bytes([]byte(text)); string(clean) != text {
			errs = append(errs, fmt.Errorf("%s holds what looks like a secret", what))
		}
	}
	look("the rationale", c.Rationale)
	look("the author", c.Author)
	for i, e := range c.Edits {
		look(fmt.Sprintf("edit %d", i+1), e.New)
		if e.Whole != nil {
			look(fmt.Sprintf("edit %d", i+1), *e.Whole)
		}
	}
	return errors.Join(errs...)
}

// text refuses what is not UTF-8: the ledger's JSON would keep something else,
// and a commit made from that has another hash.
func (d Dropped) text() error {
	all := append([]string{d.Rationale, d.Author, string(d.Source), d.Patch}, d.Targets...)
	for name, content := range d.Files {
		all = append(all, name, content)
	}
	for _, s := range all {
		if !utf8.ValidString(s) {
			return errors.New("not UTF-8 text")
		}
	}
	return nil
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
	data, err := readRegular(path)
	if err != nil {
		return candidates.Candidate{}, err
	}
	if !utf8.Valid(data) {
		return candidates.Candidate{}, errors.New("not UTF-8 text")
	}
	var d Dropped
	if err := yaml.UnmarshalWithOptions(data, &d, yaml.Strict()); err != nil {
		return candidates.Candidate{}, fmt.Errorf("%s", strings.SplitN(err.Error(), "\n", 2)[0])
	}
	return d.Candidate()
}

// readRegular reads what was a regular file when the folder was listed. A link
// or pipe that took its place since is neither followed nor waited for.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxDropped:
		return nil, fmt.Errorf("%d bytes, at most %d", info.Size(), maxDropped)
	}
	return io.ReadAll(io.LimitReader(f, maxDropped))
}

// Waits says whether there is something to try in a new campaign: a candidate in
// the spool, or one that the last campaign never came to.
func (c *Campaign) Waits() (bool, error) {
	spooled, err := c.Home.Spooled()
	if err != nil {
		return false, err
	}
	readable := func(f Spooled) bool { return f.Err == nil }
	return slices.ContainsFunc(spooled, readable) || len(c.leftOver()) > 0, nil
}

// Undrop takes a candidate out of the spool again.
func (h Home) Undrop(name string) error {
	if name != filepath.Base(name) {
		return fmt.Errorf("drop candidate %s: not a name in the spool", name)
	}
	atomicfile.Failpoint("spool.undrop")
	if err := os.Remove(filepath.Join(h.Spool(), name+".yaml")); err != nil {
		return fmt.Errorf("drop candidate %s: %w", name, err)
	}
	atomicfile.Failpoint("spool.undropped")
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
	known := make(map[proposal]bool) // in this campaign already, or among these
	for _, p := range s.Progress {
		known[proposalOf(p.Candidate)] = true
	}
	for _, f := range spooled {
		if f.Err == nil {
			f.Candidate, f.Err = c.aim(s, f.Candidate)
		}
		if f.Err != nil {
			if err := c.setAside(f); err != nil {
				return nil, err
			}
			continue
		}
		if known[proposalOf(f.Candidate)] {
			if err := c.Home.Undrop(f.Name); err != nil {
				return nil, err
			}
			continue
		}
		known[proposalOf(f.Candidate)] = true
		f.Candidate.ID = c.nextID(len(out))
		out = append(out, f.Candidate)
	}
	return out, nil
}

// proposal is what makes two candidates the same: what they say, and why.
type proposal struct{ rationale, edits string }

func proposalOf(c candidates.Candidate) proposal {
	return proposal{c.Rationale, candidates.Digest(c.Edits)}
}

// aim settles which cells a candidate is weighed on, before its first trial: those
// it declares, or those that follow from what it edits.
func (c *Campaign) aim(s *loop.State, cand candidates.Candidate) (candidates.Candidate, error) {
	for _, t := range cand.Targets {
		if t != candidates.AllCells && !slices.ContainsFunc(s.Started.Objective, func(cell harness.Cell) bool { return cell.String() == t }) {
			return cand, fmt.Errorf("target %s is no cell of the metric", t)
		}
	}
	if len(cand.Targets) == 0 {
		cand.Targets, cand.TargetsFrom = Targets(c.Sealed.Suite, s.Started.Objective, cand.Edits)
	}
	return cand, nil
}

// setAside keeps a file that cannot be read out of the way, under a name that
// says so and is not taken.
func (c *Campaign) setAside(f Spooled) error {
	from := filepath.Join(c.Home.Spool(), f.Name+".yaml")
	c.Log.Warn("spool file refused", "file", from, "error", f.Err)
	to := from + ".refused"
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.refused-%d", from, n)
	}
	atomicfile.Failpoint("spool.aside")
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("set spool file aside: %w", err)
	}
	atomicfile.Failpoint("spool.setaside")
	return withoutSecrets(to)
}

// withoutSecrets takes secrets out of a file that is kept. One that cannot be read
// as a file is left alone.
func withoutSecrets(path string) error {
	data, err := readRegular(path)
	if err != nil {
		return nil
	}
	if clean := redact.New().Bytes(data); !bytes.Equal(clean, data) {
		return atomicfile.WriteFile(path, clean, 0o600)
	}
	return nil
}

// nextID numbers candidates over all campaigns of the ledger, after the highest
// number given so far.
func (c *Campaign) nextID(ahead int) string {
	last := 0
	for _, s := range c.states {
		for _, p := range s.Progress {
			n, err := strconv.Atoi(strings.TrimPrefix(p.Candidate.ID, "c"))
			if err == nil {
				last = max(last, n)
			}
		}
	}
	return fmt.Sprintf("c%03d", last+ahead+1)
}
