package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"loopd/internal/ledger"
	"loopd/loop"
)

// Found is what a check of a state directory found and mended.
type Found struct {
	Events    int64    `json:"events"`
	Campaigns int      `json:"campaigns"`
	Trials    int      `json:"trials"`
	Seal      string   `json:"seal,omitempty"`
	Mended    []string `json:"mended"` // projections made again
	// Audits are set by a deep check: every campaign derived again.
	Audits []loop.Audit `json:"audits,omitempty"`
}

// Check recomputes every hash of the ledger, replays it, compares every
// projection with it, and mends what can be mended. Damage to the ledger is an
// error naming the first bad event.
//
// A deep check derives every bet, e-value and verdict of every campaign again
// from the events before it, too.
func Check(ctx context.Context, o Options, deep bool) (Found, error) {
	f := Found{Mended: []string{}}
	l, err := ledger.OpenReadOnly(o.Home.Dir)
	if _, missing := errors.AsType[*ledger.MissingError](err); missing {
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
	return f, f.mend(ctx, o)
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
	if f.Mended, err = c.Stale(); err != nil {
		return err
	}
	return c.project(c.states...)
}

// EndUnderWay ends the campaign under way without opening its suite, because
// the suite is what changed.
func EndUnderWay(ctx context.Context, h Home, why string, now func() time.Time, log *slog.Logger) error {
	l, err := ledger.Open(h.Dir)
	if err != nil {
		return err
	}
	c := &Campaign{Options: Options{Home: h, Now: now, Log: log}, ledger: l}
	c.states, err = Replay(ctx, l)
	if err == nil {
		err = c.end(ctx, why)
	}
	return errors.Join(err, l.Close())
}

// Veto records a person's word against what the last campaign promoted or kept.
// Its reports follow when it is next opened.
func Veto(ctx context.Context, h Home, reason string, now func() time.Time) error {
	l, err := ledger.Open(h.Dir)
	if err != nil {
		return err
	}
	c := &Campaign{Options: Options{Home: h, Now: now}, ledger: l}
	c.states, err = Replay(ctx, l)
	if err == nil {
		err = c.veto(ctx, reason)
	}
	return errors.Join(err, l.Close())
}

func (c *Campaign) veto(ctx context.Context, reason string) error {
	s := c.Current()
	switch {
	case s == nil || s.Ended == nil || len(s.Kept) == 0:
		return errors.New("no campaign that is over has kept anything")
	case s.Vetoed != nil:
		return fmt.Errorf("campaign %s is vetoed already: %s", s.Started.Campaign, s.Vetoed.Reason)
	}
	return c.record(ctx, loop.Vetoed{Reason: reason})
}
