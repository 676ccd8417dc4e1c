package store

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // registers the driver

	"loopd/internal/atomicfile"
)

// AUTOINCREMENT is for checkEnd: it makes SQLite remember the highest seq. The
// triggers stop a slip of the hand in another SQLite tool; the chain is for the
// rest.
const createTable = `
CREATE TABLE events (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	time    TEXT NOT NULL,
	kind    TEXT NOT NULL,
	payload TEXT NOT NULL,
	prev    TEXT NOT NULL,
	hash    TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_kind ON events (kind, seq);
CREATE TRIGGER events_stay BEFORE UPDATE ON events
	BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
	BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
`

// The oldest SQLite without the fault that could lose rows when a log was reset
// while another connection looked on.
const oldestSQLite = "3.51.3"

type access string

const (
	reading access = "ro"
	writing access = "rw"
)

// pragmas are set on every connection that writes and read back afterwards: the
// driver ignores what it does not understand.
var pragmas = [...]struct{ name, value string }{
	{"busy_timeout", "5000"},
	{"synchronous", "2"}, // FULL: a commit waits for the disk
	{"fullfsync", "1"},   // where fsync alone only reaches the drive's cache
}

// connect opens the database. Writers have one connection, because the journal
// mode is set on it once under the lock; readers do not wait for each other.
func connect(path string, mode access) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	params := url.Values{"mode": {string(mode)}}
	for _, p := range pragmas {
		params.Add("_pragma", fmt.Sprintf("%s(%s)", p.name, p.value))
	}
	if mode == writing {
		params.Set("_txlock", "immediate")
	}
	dsn := url.URL{Scheme: "file", Path: abs, RawQuery: params.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	if mode == writing {
		db.SetMaxOpenConns(1)
	}
	return db, nil
}

// setUp brings a fresh file to the schema and checks everything the promises
// of Append rest on.
func setUp(db *sql.DB) error {
	if err := checkVersion(db); err != nil {
		return err
	}
	var journal string
	if err := db.QueryRow(`PRAGMA journal_mode = WAL`).Scan(&journal); err != nil {
		return fmt.Errorf("set journal mode: %w", err)
	}
	if journal != "wal" {
		return fmt.Errorf("journal mode is %q, not wal: the file system may not support shared memory", journal)
	}
	for _, p := range pragmas {
		var got string
		if err := db.QueryRow(`PRAGMA ` + p.name).Scan(&got); err != nil {
			return fmt.Errorf("read back %s: %w", p.name, err)
		}
		if got != p.value {
			return fmt.Errorf("%s is %s, not %s", p.name, got, p.value)
		}
	}
	return migrate(db)
}

func checkVersion(db *sql.DB) error {
	var version string
	if err := db.QueryRow(`SELECT sqlite_version()`).Scan(&version); err != nil {
		return fmt.Errorf("ask for SQLite's version: %w", err)
	}
	if older(version, oldestSQLite) {
		return fmt.Errorf("SQLite %s can lose rows; %s or later is needed", version, oldestSQLite)
	}
	return nil
}

// older compares dotted versions number by number.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.Atoi(as[i])
		y, errY := strconv.Atoi(bs[i])
		if errX != nil || errY != nil || x != y {
			return x < y
		}
	}
	return len(as) < len(bs)
}

func migrate(db *sql.DB) error {
	fresh, err := inspect(db)
	if err != nil || !fresh {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(createTable + fmt.Sprintf("PRAGMA user_version = %d;", Schema)); err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	atomicfile.Failpoint("ledger.schema")
	return tx.Commit()
}

// inspect says whether the file is still empty, and refuses what is neither
// empty nor a ledger of this schema.
func inspect(db *sql.DB) (fresh bool, err error) {
	var version, tables int
	if err := db.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		return false, fmt.Errorf("read schema version: %w", err)
	}
	if version > Schema {
		return false, &VersionError{Have: version, Known: Schema}
	}
	const q = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'events'`
	if err := db.QueryRow(q).Scan(&tables); err != nil {
		return false, fmt.Errorf("read schema: %w", err)
	}
	if (version == Schema) != (tables == 1) {
		return false, &DamageError{What: fmt.Sprintf("schema %d with %d tables of events", version, tables)}
	}
	return version == 0, nil
}
