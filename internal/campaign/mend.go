package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loopd/internal/atomicfile"
	"loopd/internal/failpoint"
	"loopd/internal/gitrepo"
	"loopd/loop"
)

// mend repairs what a killed loopd left. Everything comes from the ledger.
func (c *Campaign) mend(ctx context.Context) error {
	if err := errors.Join(c.sweep(), c.restore(ctx)); err != nil {
		return err
	}
	return c.project(c.states...)
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
	if _, err := c.repo.SweepLocks(); err != nil {
		return err
	}
	if _, err := c.user.SweepLocks(c.Now().Add(-staleLock)); err != nil {
		return err
	}
	for _, s := range c.states {
		if err := c.restoreCommits(ctx, s); err != nil {
			return err
		}
	}
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
	if s.Twin != "" {
		out = append(out, &loop.Progress{Candidate: twin(), Commit: s.Twin, Ref: s.TwinRef, Parent: s.Started.Start})
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
	failpoint.Hit("mend.commit")
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
	if conflict, moved := errors.AsType[*gitrepo.ConflictError](err); moved {
		c.Log.Warn("branch moved by someone else", "ref", p.Ref, "want", p.Commit, "got", conflict.Got)
		c.moved = append(c.moved, p.Ref)
		return nil
	}
	if locked, held := errors.AsType[*gitrepo.LockedError](err); held {
		c.Log.Warn("branch is locked", "ref", p.Ref, "lock", locked.Path)
		c.moved = append(c.moved, p.Ref)
		return nil
	}
	return err
}
