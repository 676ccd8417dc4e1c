package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
)

// Entries yields the events from seq from on (1 is the first), checking the
// chain as it goes. It sees the ledger as it was when the loop began; Append may
// be called within the loop. The first error ends it.
func (l *Ledger) Entries(ctx context.Context, from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := l.replay(ctx, max(from, 1), yield); err != nil {
			yield(Entry{}, fmt.Errorf("read ledger: %w", err))
		}
	}
}

func (l *Ledger) replay(ctx context.Context, from int64, yield func(Entry, error) bool) error {
	// One read transaction: the counter and the rows must be of one moment.
	tx, err := l.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	last, err := before(ctx, tx, from)
	if err != nil {
		return err
	}
	after := last.seq
	if after == 0 {
		after = math.MinInt64 // a row before the first is damage, not a row to skip
	}
	const q = `SELECT seq, time, kind, payload, prev, hash FROM events WHERE seq > ? ORDER BY seq`
	rows, err := tx.QueryContext(ctx, q, after)
	if err != nil {
		return located(err, last)
	}
	defer rows.Close()
	for rows.Next() {
		entry, err := next(rows, last)
		if err != nil {
			return err
		}
		last = head{entry.Seq, entry.Hash}
		if !yield(entry, nil) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return located(err, last)
	}
	return checkEnd(ctx, tx, last.seq)
}

func next(rows *sql.Rows, last head) (Entry, error) {
	var r row
	if err := rows.Scan(&r.seq, &r.time, &r.kind, &r.payload, &r.prev, &r.hash); err != nil {
		return Entry{}, located(err, last)
	}
	if err := r.check(last); err != nil {
		return Entry{}, err
	}
	return r.entry()
}

// before returns the link that the event from must be tied to. When from lies
// beyond the end, it is the end itself.
func before(ctx context.Context, tx *sql.Tx, from int64) (head, error) {
	var h head
	if from == 1 {
		return h, nil
	}
	const q = `SELECT seq, hash FROM events WHERE seq < ? ORDER BY seq DESC LIMIT 1`
	err := tx.QueryRowContext(ctx, q, from).Scan(&h.seq, &h.hash)
	if errors.Is(err, sql.ErrNoRows) {
		return head{}, nil
	}
	return h, located(err, h)
}

// Verify reads the whole ledger and recomputes every hash, then lets SQLite
// check its own structures. Damage is a DamageError with the first bad seq.
func (l *Ledger) Verify(ctx context.Context) error {
	var last head
	for e, err := range l.Entries(ctx, 1) {
		if err != nil {
			return fmt.Errorf("verify ledger: %w", err)
		}
		last = head{seq: e.Seq}
	}
	var answer string
	err := l.read.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&answer)
	if err != nil {
		return fmt.Errorf("verify ledger: %w", located(err, last))
	}
	if answer != "ok" {
		return fmt.Errorf("verify ledger: %w", &DamageError{What: "the file is inconsistent: " + answer})
	}
	return nil
}
