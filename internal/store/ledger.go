// Package store is the append-only record of everything a campaign did, and
// the only truth: every table, page and report is rebuilt from it.
//
// It is one SQLite file holding one table of events, each chained to the one
// before by its hash. The package refuses to change or remove an event, to be
// opened for writing twice, to read past damage, to open a ledger written by a
// newer loopd, and to work in a directory other users can look into. It gives
// no meaning to kinds and payloads.
//
// Invariants:
//   - When Append returns nil, all its records are on stable storage; when it
//     returns an error, none of them is in the ledger, unless the error is
//     ErrSuspect: then the disk did not say, and nothing more is accepted. A disk
//     without room is ErrFull, and Append may be called again.
//   - Entries yields an unbroken chain or ends with a DamageError naming the
//     first bad seq; it never skips.
//   - seq counts from 1 without gaps.
//
// The hash of an event is the lower-case hexadecimal sha256 of the netstrings
// (decimal length, colon, bytes, comma) of "loopd event 1", seq in decimal,
// time, kind, payload and prev, in this order, all as they stand in the table.
// prev of the first event is empty. The chain shows what was altered, inserted
// or removed within the record. SQLite's own counter shows that the end was cut
// off; a whole older copy put in place is beyond what one file can show.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"loopd/internal/atomicfile"
)

// Schema is the version of the table this package reads and writes.
const Schema = 1

const (
	fileName = "ledger.db"
	lockName = "lock"
)

// Record is an event to be appended. Payload is any JSON text; it is stored
// without insignificant white space.
type Record struct {
	Time    time.Time
	Kind    string
	Payload json.RawMessage
}

// Entry is a recorded event.
type Entry struct {
	Record
	Seq  int64
	Prev string // hash of the event before
	Hash string
}

// Digest computes the hash from the other fields, for an entry that has left
// its ledger.
func (e Entry) Digest() string {
	r := row{seq: e.Seq, time: e.Time.UTC().Format(time.RFC3339Nano), kind: e.Kind, payload: string(e.Payload), prev: e.Prev}
	return r.digest()
}

// Ledger is an open ledger. Its methods may be called from several goroutines.
type Ledger struct {
	path  string
	read  *sql.DB
	write *sql.DB // nil when opened read-only
	lock  *Lock   // nil when opened read-only

	mu      sync.Mutex
	head    head
	known   bool  // whether head is what the file says
	suspect error // the first failure after which the file's state is unknown
}

// head is the end of the chain, to which the next event is tied.
type head struct {
	seq  int64
	hash string
}

// Open opens the ledger in dir for writing, creating both when missing, and
// holds dir's lock until Close. A second opener gets a LockedError.
func Open(dir string) (*Ledger, error) {
	if err := prepareDir(dir); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	lock, err := Hold(dir, lockName)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l := &Ledger{path: filepath.Join(dir, fileName), lock: lock}
	if err := l.openForWriting(); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger: %w", err), l.Close())
	}
	return l, nil
}

// OpenReadOnly opens the ledger in dir to look at it, also while a daemon
// writes to it. Without a ledger the error is a MissingError.
func OpenReadOnly(dir string) (*Ledger, error) {
	l := &Ledger{path: filepath.Join(dir, fileName)}
	if err := checkExisting(dir, l.path); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := l.openForReading(); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger: %w", err), l.Close())
	}
	return l, nil
}

func (l *Ledger) openForWriting() error {
	if err := createFile(l.path); err != nil {
		return err
	}
	db, err := connect(l.path, writing)
	if err != nil {
		return err
	}
	l.write = db
	if err := setUp(db); err != nil {
		return named(err)
	}
	return l.openForReading()
}

func (l *Ledger) openForReading() error {
	db, err := connect(l.path, reading)
	if err != nil {
		return err
	}
	l.read = db
	fresh, err := inspect(db)
	if fresh {
		// The daemon has made the file and is about to fill it.
		return &MissingError{Path: l.path}
	}
	return named(err)
}

// Close releases the files and, last, the lock.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, db := range []*sql.DB{l.read, l.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Release())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close ledger: %w", err)
	}
	return nil
}

// Append records all of records or none. It returns when they would survive a
// power cut. A ctx that ends while it works does not interrupt it: the answer
// to "is it recorded" must not depend on timing.
func (l *Ledger) Append(ctx context.Context, records ...Record) error {
	rows, err := prepare(records)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("append to ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.write == nil:
		return fmt.Errorf("append to ledger: opened read-only: %w", fs.ErrPermission)
	case l.suspect != nil:
		return fmt.Errorf("append to ledger: %w: %w", ErrSuspect, l.suspect)
	case len(rows) == 0:
		return nil
	}
	if err := l.appendRows(context.WithoutCancel(ctx), rows); err != nil {
		l.known = false
		if full(err) {
			return fmt.Errorf("append to ledger: %w: %w", ErrFull, err)
		}
		if unsure(err) {
			l.suspect = err
			return fmt.Errorf("append to ledger: %w: %w", ErrSuspect, err)
		}
		return fmt.Errorf("append to ledger: %w", err)
	}
	return nil
}

func (l *Ledger) appendRows(ctx context.Context, rows []row) error {
	tx, err := l.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	last := l.head
	if !l.known {
		if last, err = readHead(ctx, tx); err != nil {
			return err
		}
	}
	for i := range rows {
		rows[i].tie(last)
		last = head{rows[i].seq, rows[i].hash}
		if err := insert(ctx, tx, rows[i]); err != nil {
			return err
		}
	}
	atomicfile.Failpoint("ledger.append.before")
	if err := tx.Commit(); err != nil {
		return err
	}
	atomicfile.Failpoint("ledger.append.after")
	l.head, l.known = last, true
	return nil
}
