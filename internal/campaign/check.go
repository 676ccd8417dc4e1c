package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"loopd/internal/store"
	"loopd/internal/trial"
	"loopd/loop"
)

// Found is what a check of a state directory found and mended.
type Found struct {
	Events    int64    `json:"events"`
	Campaigns int      `json:"campaigns"`
	Trials    int      `json:"trials"`
	Seal      string   `json:"seal,omitempty"`
	Mended    []string `json:"mended"` // projections made again
	// Moved are branches that somebody moved or holds: the commits they named are in
	// the private repository.
	Moved []string `json:"moved,omitempty"`
	// A deep check counts the trials whose files are Kept as they were recorded and
	// those that were Pruned on purpose, and lists what is Lost: gone, or not what was
	// recorded.
	Kept   int      `json:"kept,omitempty"`
	Lost   []string `json:"lost,omitempty"`
	Pruned int      `json:"pruned,omitempty"`
	// Audits are set by a deep check: every campaign derived again.
	Audits []loop.Audit `json:"audits,omitempty"`
}

// Check recomputes every hash of the ledger, replays it, compares every
// projection with it, and mends what can be mended. Damage to the ledger is an
// error naming the first bad event.
//
// A deep check derives every bet, e-value and verdict of every campaign again
// from the events before it, too, and compares what is kept of each trial with its
// digests.
func Check(ctx context.Context, o Options, deep bool) (Found, error) {
	f := Found{Mended: []string{}}
	l, err := store.OpenReadOnly(o.Home.Dir)
	if _, missing := errors.AsType[*store.MissingError](err); missing {
		if left := o.Home.leftBehind(); left != "" {
			return f, &store.DamageError{What: fmt.Sprintf("%v, and %s is left of its campaigns", err, left)}
		}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	err = l.Verify(ctx)
	for entry, iterErr := range l.Entries(ctx, 1) {
		if iterErr != nil {
			err = errors.Join(err, iterErr)
			break
		}
		f.Events = entry.Seq
	}
	if deep && err == nil {
		f.Audits, err = Audits(ctx, l)
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return f, err
	}
	if err := f.mend(ctx, o); err != nil || !deep {
		return f, err
	}
	return f, f.kept(ctx, o.Home)
}

// leftBehind is something that only a campaign makes, empty where there is none.
func (h Home) leftBehind() string {
	for _, path := range []string{h.Results(), h.Trials()} {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

// kept compares what is kept of each trial with the digests in the ledger.
func (f *Found) kept(ctx context.Context, h Home) error {
	l, err := store.OpenReadOnly(h.Dir)
	if err != nil {
		return err
	}
	defer l.Close()
	states, err := Replay(ctx, l)
	if err != nil {
		return err
	}
	for _, s := range states {
		for _, t := range s.Trials {
			recorded := t.Trial
			if t.Recorded != nil {
				recorded = *t.Recorded
			}
			err := trial.CheckKept(h.Trials(), recorded)
			if _, pruned := errors.AsType[*trial.PrunedError](err); pruned {
				f.Pruned++
			} else if err != nil {
				f.Lost = append(f.Lost, err.Error())
			} else if trial.Scorable(recorded) {
				f.Kept++
			}
		}
	}
	return nil
}

func (f *Found) mend(ctx context.Context, o Options) error {
	c, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	f.Campaigns = len(c.states)
	for _, s := range c.states {
		f.Trials += len(s.Trials)
	}
	if o.Sealed.Frozen == nil {
		return nil // without the suite nobody knows which file the note is
	}
	f.Seal = o.Sealed.Frozen.Digest().Short()
	if err := c.restore(ctx); err != nil {
		return err
	}
	f.Moved = c.moved
	if f.Mended, err = c.Stale(); err != nil {
		return err
	}
	wrong, err := c.wrongGlance(ctx)
	if wrong {
		f.Mended = append(f.Mended, c.Home.Glance())
		c.glance(ctx)
	}
	return errors.Join(err, c.project(c.states...))
}

// EndUnderWay ends the campaign under way without opening its suite, because
// the suite is what changed.
func EndUnderWay(ctx context.Context, h Home, why string, now func() time.Time, log *slog.Logger) error {
	return byHand(ctx, Options{Home: h, Now: now, Log: log}, func(c *Campaign) error { return c.end(ctx, why) })
}

// byHand does what a person asked of the last campaign, without its suite.
func byHand(ctx context.Context, o Options, do func(c *Campaign) error) error {
	l, err := store.Open(o.Home.Dir)
	if err != nil {
		return err
	}
	c := &Campaign{Options: o, ledger: l}
	c.states, err = Replay(ctx, l)
	if err == nil {
		err = do(c)
	}
	return errors.Join(err, l.Close())
}

// Veto records a person's word against what the last campaign promoted or kept.
// Its reports follow when it is next opened.
func Veto(ctx context.Context, h Home, reason string, now func() time.Time) error {
	return byHand(ctx, Options{Home: h, Now: now}, func(c *Campaign) error { return c.veto(ctx, reason) })
}

func (c *Campaign) veto(ctx context.Context, reason string) error {
	if err := Vetoable(c.Current()); err != nil {
		return err
	}
	return c.record(ctx, loop.Vetoed{Reason: reason})
}

// Vetoable says why there is nothing that a person could not want in a campaign, nil
// where there is. s may be nil.
func Vetoable(s *loop.State) error {
	switch {
	case s == nil || s.Ended == nil || len(s.Kept) == 0:
		return errors.New("no campaign that is over has kept anything")
	case s.Vetoed != nil:
		return fmt.Errorf("campaign %s is vetoed already: %s", s.Started.Campaign, s.Vetoed.Reason)
	}
	return nil
}
