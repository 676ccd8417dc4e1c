package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Last returns the seq of the newest event, 0 for none, and the seq of the newest
// one of a kind, 0 where there is none. It reads no payload and checks no chain: it
// is for deciding what need not be read.
func (l *Ledger) Last(ctx context.Context, kind string) (newest, ofKind int64, err error) {
	const q = `SELECT (SELECT seq FROM events ORDER BY seq DESC LIMIT 1), (SELECT seq FROM events WHERE kind = ? ORDER BY seq DESC LIMIT 1)`
	var a, b sql.NullInt64
	if err := l.read.QueryRowContext(ctx, q, kind).Scan(&a, &b); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, fmt.Errorf("read ledger: %w", err)
	}
	return a.Int64, b.Int64, nil
}
