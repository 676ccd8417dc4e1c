package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// row is an event as it stands in the table.
type row struct {
	seq                             int64
	time, kind, payload, prev, hash string
}

func prepare(records []Record) ([]row, error) {
	rows := make([]row, len(records))
	for i, r := range records {
		if r.Kind == "" {
			return nil, fmt.Errorf("record %d: no kind", i+1)
		}
		if r.Time.IsZero() {
			return nil, fmt.Errorf("record %d: %s: no time", i+1, r.Kind)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, r.Payload); err != nil {
			return nil, fmt.Errorf("record %d: %s: payload: %w", i+1, r.Kind, err)
		}
		if !utf8.Valid(text.Bytes()) || !utf8.ValidString(r.Kind) {
			return nil, fmt.Errorf("record %d: %q: not valid UTF-8", i+1, r.Kind)
		}
		rows[i] = row{time: r.Time.UTC().Format(time.RFC3339Nano), kind: r.Kind, payload: text.String()}
	}
	return rows, nil
}

// tie makes r the successor of last.
func (r *row) tie(last head) {
	r.seq, r.prev = last.seq+1, last.hash
	r.hash = r.digest()
}

// digest computes the hash from the other columns, as the package comment says.
func (r *row) digest() string {
	buf := make([]byte, 0, len(r.payload)+256)
	fields := [...]string{"loopd event 1", strconv.FormatInt(r.seq, 10), r.time, r.kind, r.payload, r.prev}
	for _, f := range fields {
		buf = strconv.AppendInt(buf, int64(len(f)), 10)
		buf = append(buf, ':')
		buf = append(buf, f...)
		buf = append(buf, ',')
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

// check says what is wrong with r as the successor of last, or nil.
func (r *row) check(last head) error {
	want := last.seq + 1
	switch {
	case r.seq > want:
		return &DamageError{Seq: want, What: fmt.Sprintf("missing; the next event there is %d", r.seq)}
	case r.seq < want:
		return &DamageError{Seq: r.seq, What: fmt.Sprintf("event %d should not exist", r.seq)}
	case r.prev != last.hash:
		return &DamageError{Seq: r.seq, What: "not tied to the event before it"}
	case r.hash != r.digest():
		return &DamageError{Seq: r.seq, What: "content does not match its hash"}
	}
	return nil
}

func (r *row) entry() (Entry, error) {
	when, err := time.Parse(time.RFC3339Nano, r.time)
	if err != nil {
		return Entry{}, &DamageError{Seq: r.seq, What: fmt.Sprintf("time %q is not one", r.time)}
	}
	record := Record{Time: when.UTC(), Kind: r.kind, Payload: json.RawMessage(r.payload)}
	return Entry{Record: record, Seq: r.seq, Prev: r.prev, Hash: r.hash}, nil
}

func insert(ctx context.Context, tx *sql.Tx, r row) error {
	const q = `INSERT INTO events (seq, time, kind, payload, prev, hash) VALUES (?, ?, ?, ?, ?, ?)`
	if _, err := tx.ExecContext(ctx, q, r.seq, r.time, r.kind, r.payload, r.prev, r.hash); err != nil {
		return fmt.Errorf("event %d: %w", r.seq, err)
	}
	return nil
}

func readHead(ctx context.Context, tx *sql.Tx) (head, error) {
	var h head
	err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1`).Scan(&h.seq, &h.hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return head{}, err
	}
	// A record cut off at its end must not be continued as if it were whole.
	return h, checkEnd(ctx, tx, h.seq)
}

// checkEnd compares the last seq with the highest SQLite ever gave out, which
// it keeps apart from the table and does not lower when rows are deleted.
func checkEnd(ctx context.Context, tx *sql.Tx, last int64) error {
	var highest int64
	err := tx.QueryRowContext(ctx, `SELECT seq FROM sqlite_sequence WHERE name = 'events'`).Scan(&highest)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return err
	}
	if highest > last {
		return &DamageError{Seq: last + 1, What: fmt.Sprintf("missing; the record once reached %d", highest)}
	}
	if highest < last {
		return &DamageError{Seq: highest + 1, What: fmt.Sprintf("not counted; the record only reached %d", highest)}
	}
	return nil
}
