package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loopd/internal/atomicfile"
	"loopd/internal/trial"
	"loopd/loop"
)

// Pruned is what a pruning dropped, or would drop.
type Pruned struct {
	DryRun bool      `json:"dry_run"`
	Before time.Time `json:"before"` // trials that started earlier
	Trials int       `json:"trials"`
	Files  int       `json:"files"`
	Bytes  int64     `json:"bytes"`
	// Strays are attempts that were cut short and are in no ledger.
	Strays int `json:"strays"`
	// UnderWay is how many trials were spared because their campaign goes on.
	UnderWay int `json:"under_way"`
	Kept     int `json:"kept"`    // trials that are not old enough
	Already  int `json:"already"` // trials that were pruned before
}

// Prune drops what was kept of trials that started before a moment: transcripts,
// what sessions left, what was known of the launch. The ledger is not touched, so
// rows, digests and verdicts stay; scoring such a trial again is no longer
// possible, and a note in its place says since when. Nothing of a campaign under
// way is dropped. now is written into the notes; a dry run drops nothing.
func (h Home) Prune(states []*loop.State, before, now time.Time, dry bool) (Pruned, error) {
	p := Pruned{DryRun: dry, Before: before}
	known := make(map[string]bool)
	going := false
	for _, s := range states {
		going = going || s.Ended == nil
		for _, t := range s.Trials {
			known[t.ID] = true
			switch {
			case s.Ended == nil:
				p.UnderWay++
			case !t.Started.Before(before):
				p.Kept++
			default:
				if err := p.drop(filepath.Join(h.Trials(), t.ID), now); err != nil {
					return p, fmt.Errorf("prune trial %s: %w", t.ID, err)
				}
			}
		}
	}
	if going {
		return p, nil // what is in no ledger may be running now
	}
	return p, p.dropStrays(h.Trials(), known)
}

// drop replaces what is kept of a trial by a note. The note is written first: a
// folder with a note and more is one whose pruning was cut short.
func (p *Pruned) drop(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dropped := 0
	for _, e := range entries {
		if e.Name() == trial.PrunedFile {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if dropped++; dropped == 1 && !p.DryRun {
			if err := trial.MarkPruned(dir, now); err != nil {
				return err
			}
			atomicfile.Failpoint("prune.noted")
		}
		p.Files, p.Bytes = p.Files+1, p.Bytes+info.Size()
		if p.DryRun {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if dropped > 0 {
		p.Trials++
	} else {
		p.Already++
	}
	if dropped == 0 || p.DryRun {
		return nil
	}
	return atomicfile.SyncDir(dir)
}

// dropStrays removes folders that no ledger knows, by the time they were last
// changed.
func (p *Pruned) dropStrays(trials string, known map[string]bool) error {
	entries, err := os.ReadDir(trials)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		if err = errors.Join(err, infoErr); err != nil || !e.IsDir() || known[e.Name()] || !info.ModTime().Before(p.Before) {
			continue
		}
		if p.Strays++; !p.DryRun {
			err = os.RemoveAll(filepath.Join(trials, e.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("prune attempts that were cut short: %w", err)
	}
	return nil
}
