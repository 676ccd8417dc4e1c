package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"loopd/internal/atomicfile"
	"loopd/internal/git"
	"loopd/loop"
)

// mend repairs what a killed loopd left. Everything comes from the ledger. Of
// campaigns that are over it makes again what is not there: a start must not take
// longer with every campaign there has been. Check looks at all of them closely.
func (c *Campaign) mend(ctx context.Context) error {
	if err := errors.Join(c.sweep(), c.sweepLocks()); err != nil {
		return err
	}
	var lacking []*loop.State
	for _, s := range c.Before() {
		if !c.hasCommits(s) {
			if err := c.restoreCommits(ctx, s); err != nil {
				return err
			}
		}
		if !c.hasReports(s) {
			lacking = append(lacking, s)
		}
	}
	s := c.Current()
	if s == nil {
		return nil
	}
	if err := errors.Join(c.restoreCommits(ctx, s), c.restoreNewest(ctx)); err != nil {
		return err
	}
	return c.project(append(lacking, s)...)
}

// hasCommits says whether the private repository has what a campaign committed,
// under its name.
func (c *Campaign) hasCommits(s *loop.State) bool {
	commits := []string{s.Started.Start}
	for _, p := range committed(s) {
		if got, err := c.repo.Ref(p.Ref); err != nil || got != p.Commit {
			return false
		}
		commits = append(commits, p.Commit)
	}
	return c.repo.Has(commits...)
}

// hasReports says whether every report of a campaign is there.
func (c *Campaign) hasReports(s *loop.State) bool {
	names := []string{"campaign"}
	for _, p := range s.Progress {
		names = append(names, p.Candidate.ID)
	}
	for _, n := range names {
		for _, ext := range []string{".md", ".json"} {
			if _, err := os.Lstat(filepath.Join(c.Home.Report(s.Started.Campaign), n+ext)); err != nil {
				return false
			}
		}
	}
	return true
}

// sweep removes what a crash left of files that were being replaced. Attempts
// need none: one that was not recorded is cleared when its slot is run again.
func (c *Campaign) sweep() error {
	errs := []error{atomicfile.Sweep(c.Home.Dir, ""), atomicfile.Sweep(c.Home.Spool(), "")}
	for _, s := range c.states {
		errs = append(errs, atomicfile.Sweep(c.Home.Report(s.Started.Campaign), ""))
	}
	return errors.Join(errs...)
}

// staleLock is how old a lock file in the user's repository must be to be
// nobody's: git holds one for moments.
const staleLock = 10 * time.Minute

// restore makes both repositories hold what the ledger says: the commits of
// every campaign in the private one, the branches of the newest in the user's.
// Branches of a campaign that is over are theirs to delete.
func (c *Campaign) restore(ctx context.Context) error {
	if err := c.sweepLocks(); err != nil {
		return err
	}
	for _, s := range c.states {
		if err := c.restoreCommits(ctx, s); err != nil {
			return err
		}
	}
	return c.restoreNewest(ctx)
}

// sweepLocks removes locks that nobody holds any more.
func (c *Campaign) sweepLocks() error {
	if _, err := c.repo.SweepLocks(); err != nil {
		return err
	}
	_, err := c.user.SweepLocks(c.Now().Add(-staleLock))
	return err
}

func (c *Campaign) restoreNewest(ctx context.Context) error {
	if s := c.Current(); s != nil {
		return c.restoreBranches(ctx, s)
	}
	return nil
}

func (c *Campaign) restoreCommits(ctx context.Context, s *loop.State) error {
	if err := importStart(ctx, c.repo, c.user, s.Started.Start); err != nil {
		return err
	}
	for _, p := range committed(s) {
		if err := c.restoreCommit(s, p); err != nil {
			return fmt.Errorf("restore %s of campaign %s: %w", p.Candidate.ID, s.Started.Campaign, err)
		}
	}
	return nil
}

// committed lists what a campaign has committed, the A/A pilot's second label
// included.
func committed(s *loop.State) []*loop.Progress {
	var out []*loop.Progress
	if s.AAArm != "" {
		out = append(out, &loop.Progress{Candidate: unchanged(), Commit: s.AAArm, Ref: s.AAArmRef, Parent: s.Started.Start})
	}
	for _, p := range s.Progress {
		if p.Commit != "" {
			out = append(out, p)
		}
	}
	return out
}

// restoreCommit makes a lost commit again by applying the recorded edits to the
// recorded parent, and its reference in the private repository.
func (c *Campaign) restoreCommit(s *loop.State, p *loop.Progress) error {
	if _, err := c.Wordings.Tree(p.Commit); err != nil {
		made, writeErr := c.preparer(s).write(p.Parent, p.Candidate)
		switch {
		case writeErr != nil:
			return errors.Join(err, writeErr)
		case made != p.Commit:
			return fmt.Errorf("the ledger's edits make commit %.12s, not %.12s", made, p.Commit)
		}
	}
	atomicfile.Failpoint("mend.commit")
	old, err := c.repo.Ref(p.Ref)
	if err != nil {
		return err
	}
	return c.repo.SetRef(p.Ref, p.Commit, old)
}

func (c *Campaign) restoreBranches(ctx context.Context, s *loop.State) error {
	for _, p := range s.Progress {
		if p.Commit == "" {
			continue
		}
		if err := c.republish(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// republish makes a lost branch of a candidate again. A branch that someone
// moved on purpose or holds locked is left alone: the commit stays in the
// private repository.
func (c *Campaign) republish(ctx context.Context, p *loop.Progress) error {
	err := c.user.Publish(ctx, c.repo, p.Commit, p.Ref, "")
	if conflict, moved := errors.AsType[*git.ConflictError](err); moved {
		c.Log.Warn("branch moved by someone else", "ref", p.Ref, "want", p.Commit, "got", conflict.Got)
		c.moved = append(c.moved, p.Ref)
		return nil
	}
	if locked, held := errors.AsType[*git.LockedError](err); held {
		c.Log.Warn("branch is locked", "ref", p.Ref, "lock", locked.Path)
		c.moved = append(c.moved, p.Ref)
		return nil
	}
	return err
}
