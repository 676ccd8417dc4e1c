package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loopd/harness"
)

// Home is a state directory: where one plugin's ledger and its projections
// live. It is 0700 and has one owner at a time.
type Home struct{ Dir string }

// DefaultHome is the state directory of a plugin: below XDG_STATE_HOME, named
// after the plugin and the place it lies in.
func DefaultHome(plugin string, getenv func(string) string) (Home, error) {
	base := getenv("XDG_STATE_HOME")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return Home{}, fmt.Errorf("find state directory: neither XDG_STATE_HOME nor HOME is set")
		}
		base = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(plugin))
	return Home{Dir: filepath.Join(base, "loopd", filepath.Base(plugin)+"-"+hex.EncodeToString(sum[:4]))}, nil
}

// Make creates the directory with nobody else allowed in.
func (h Home) Make() error {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	return nil
}

// Repo is the private bare repository.
func (h Home) Repo() string { return filepath.Join(h.Dir, "repo.git") }

// Trials holds a directory for every attempt.
func (h Home) Trials() string { return filepath.Join(h.Dir, "trials") }

// Suite is where the bundled suite is laid out.
func (h Home) Suite() string { return filepath.Join(h.Dir, "suite") }

// Spool is where candidates are dropped.
func (h Home) Spool() string { return filepath.Join(h.Dir, "spool") }

// Graph holds the built code graphs, a directory a fixture.
func (h Home) Graph() string { return filepath.Join(h.Dir, "graph") }

// Graphs reads the code graphs that have been built, by fixture.
func (h Home) Graphs() (map[string]harness.Tree, error) {
	dirs, err := os.ReadDir(h.Graph())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read code graphs: %w", err)
	}
	out := make(map[string]harness.Tree, len(dirs))
	for _, d := range dirs {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		if out[d.Name()], err = harness.ReadTree(os.DirFS(filepath.Join(h.Graph(), d.Name()))); err != nil {
			return nil, fmt.Errorf("read the code graph of %s: %w", d.Name(), err)
		}
	}
	return out, nil
}

// Evals holds the reports of evaluators that pages show.
func (h Home) Evals() string { return filepath.Join(h.Dir, "eval") }

// Report is the directory of a campaign's reports.
func (h Home) Report(campaign string) string { return filepath.Join(h.Dir, "reports", campaign) }

// Results is results.tsv.
func (h Home) Results() string { return filepath.Join(h.Dir, "results.tsv") }

// LoopResults is loop-results.tsv.
func (h Home) LoopResults() string { return filepath.Join(h.Dir, "loop-results.tsv") }
