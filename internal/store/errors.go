package store

import (
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"loopd/internal/hint"
)

// ErrSuspect is returned by Append after the disk failed in a way that leaves
// open what is on it. The ledger accepts nothing more until it is opened again.
var ErrSuspect = hint.New(hint.Failed, errors.New("the ledger is suspect after a disk error"), "loopd verify")

// ErrFull is returned by Append when the disk has no room. Nothing was recorded,
// and the ledger is as it was: the same may be appended once there is room.
var ErrFull = errors.New("no room left on the disk of the ledger")

// LockedError says that another process has the ledger open for writing.
type LockedError struct {
	Dir string
	PID int // 0 when the holder has not written it down yet
}

// Error names the directory and the process that holds it.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another loopd", e.Dir)
	}
	return fmt.Sprintf("%s is in use by another loopd (process %d)", e.Dir, e.PID)
}

// Hint returns the command to type.
func (e *LockedError) Hint() string { return "loopd status" }

// MissingError says that there is no ledger yet. It is an fs.ErrNotExist.
type MissingError struct{ Path string }

// Error names the file that is not there.
func (e *MissingError) Error() string { return e.Path + " does not exist" }

// Unwrap makes errors.Is(err, fs.ErrNotExist) true.
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// Hint returns the command to type.
func (e *MissingError) Hint() string { return "loopd run" }

// AccessError says that other users could read or change the ledger.
type AccessError struct {
	Path string
	Mode fs.FileMode // what it is
	Want fs.FileMode // what it may be at most
}

// Error names the path and both modes.
func (e *AccessError) Error() string {
	return fmt.Sprintf("%s has mode %04o, which lets other users in", e.Path, e.Mode)
}

// Hint returns the command to type.
func (e *AccessError) Hint() string { return fmt.Sprintf("chmod %o %s", e.Want, e.Path) }

// Exit returns the code of wrong configuration.
func (e *AccessError) Exit() int { return hint.Usage }

// VersionError says that a newer loopd wrote the ledger.
type VersionError struct{ Have, Known int }

// Error names both schemas.
func (e *VersionError) Error() string {
	return fmt.Sprintf("written by a newer loopd: it has schema %d, this loopd knows up to %d", e.Have, e.Known)
}

// Hint returns the command to type.
func (e *VersionError) Hint() string { return "loopd version" }

// DamageError says that the record cannot be trusted from Seq on. Seq 0 means
// that the damage is in the file and not in one event.
type DamageError struct {
	Seq  int64
	What string
}

// Error names the first bad event and what is wrong with it.
func (e *DamageError) Error() string {
	if e.Seq == 0 {
		return "ledger is damaged: " + e.What
	}
	return fmt.Sprintf("ledger is damaged at event %d: %s", e.Seq, e.What)
}

func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return lib.SQLITE_OK
}

// unsure tells failures after which the file may hold either state from those
// that SQLite undid, such as a full disk. An fsync that failed once may succeed
// the second time without the data having been written.
func unsure(err error) bool {
	code := sqliteCode(err)
	return !full(err) && code == lib.SQLITE_IOERR || code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}

// full holds where there was no room for the record, or for the memory that SQLite
// shares with readers in a file beside it, which is written before the record is.
func full(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == lib.SQLITE_IOERR_SHMSIZE || e.Code()&0xff == lib.SQLITE_FULL
	}
	return false
}

// named turns SQLite's words for a broken file into a DamageError.
func named(err error) error { return located(err, head{seq: -1}) }

func located(err error, last head) error {
	if code := sqliteCode(err); code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB {
		return &DamageError{Seq: last.seq + 1, What: err.Error()}
	}
	return err
}
