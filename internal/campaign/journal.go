package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"loopd/internal/store"
	"loopd/loop"
)

// Journal makes a loop's events durable in the ledger.
type Journal struct {
	Ledger *store.Ledger
	// Full is asked when the disk has no room for them, and says when to try again;
	// an error gives up. Nil gives up at once.
	Full func(err error) error
}

var _ loop.Log = Journal{}

// Append writes the events, all of them or none. Where the disk is full it waits
// for room: its caller starts nothing meanwhile, and what has ended is not lost.
func (j Journal) Append(ctx context.Context, events ...loop.Event) error {
	records := make([]store.Record, len(events))
	for i, e := range events {
		data, err := json.Marshal(e.Payload)
		if err != nil {
			return fmt.Errorf("encode %s: %w", e.Payload.Kind(), err)
		}
		records[i] = store.Record{Time: e.Time, Kind: string(e.Payload.Kind()), Payload: data}
	}
	for {
		err := j.Ledger.Append(ctx, records...)
		if !errors.Is(err, store.ErrFull) || j.Full == nil {
			return err
		}
		if waited := j.Full(err); waited != nil {
			return waited
		}
	}
}

// Replay adds up the ledger into one state per campaign, oldest first.
func Replay(ctx context.Context, l *store.Ledger) ([]*loop.State, error) {
	return replayFrom(ctx, l, 1)
}

// Known replays what a state directory knows, without its lock; nothing where
// there is no ledger yet.
func Known(ctx context.Context, h Home) ([]*loop.State, error) {
	l, err := store.OpenReadOnly(h.Dir)
	if _, missing := errors.AsType[*store.MissingError](err); missing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return Replay(ctx, l)
}

// ReplayNewest adds up the newest campaign alone, nil where there is none. The
// chain is checked from its first event on.
func ReplayNewest(ctx context.Context, l *store.Ledger) (*loop.State, error) {
	_, started, err := l.Last(ctx, string(loop.KindStarted))
	if err != nil || started == 0 {
		return nil, err
	}
	states, err := replayFrom(ctx, l, started)
	if err != nil || len(states) == 0 {
		return nil, err
	}
	return states[len(states)-1], nil
}

func replayFrom(ctx context.Context, l *store.Ledger, from int64) ([]*loop.State, error) {
	var states []*loop.State
	for e, err := range l.Entries(ctx, from) {
		if err != nil {
			return nil, fmt.Errorf("replay ledger: %w", err)
		}
		p, err := loop.Decode(loop.Kind(e.Kind), e.Payload)
		if err != nil {
			return nil, fmt.Errorf("replay ledger: event %d: %w", e.Seq, err)
		}
		if p.Kind() == loop.KindStarted {
			states = append(states, loop.NewState())
		}
		if len(states) == 0 {
			return nil, fmt.Errorf("replay ledger: event %d: %s before any campaign", e.Seq, e.Kind)
		}
		if err := states[len(states)-1].Apply(loop.Event{Time: e.Time, Payload: p}); err != nil {
			return nil, fmt.Errorf("replay ledger: event %d: %w", e.Seq, err)
		}
	}
	return states, nil
}

// States are all campaigns of the state directory, oldest first.
func (c *Campaign) States() []*loop.State { return c.states }
