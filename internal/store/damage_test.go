package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

// tamper gives f a connection that the ledger knows nothing of, with the guards
// in the schema removed: whoever wants to can do that.
func tamper(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := connect(filepath.Join(dir, fileName), writing)
	testenv.Must(t, err)
	t.Cleanup(func() { testenv.Must(t, db.Close()) })
	_, err = db.Exec(`DROP TRIGGER events_stay; DROP TRIGGER events_remain`)
	testenv.Must(t, err)
	return db
}

func wantDamage(t *testing.T, l *Ledger, seq int64, what string) {
	t.Helper()
	err := l.Verify(t.Context())
	damage, ok := errors.AsType[*DamageError](err)
	if !ok || damage.Seq != seq {
		t.Errorf("%s: got %v, want damage at %d", what, err, seq)
	}
}

func TestEveryFlippedByteIsFoundAndLocated(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l := open(t, dir)
	appendN(t, l, 50)
	db := tamper(t, dir)
	flips := 0
	for _, seq := range []int64{1, 25, 50} {
		for _, column := range []string{"time", "kind", "payload", "prev", "hash"} {
			var old string
			testenv.Must(t, db.QueryRow(`SELECT `+column+` FROM events WHERE seq = ?`, seq).Scan(&old))
			for i := range len(old) {
				bad := []byte(old)
				bad[i] ^= 1 << (i % 8)
				set(t, db, column, seq, string(bad))
				wantDamage(t, l, seq, fmt.Sprintf("%s byte %d", column, i))
				flips++
			}
			set(t, db, column, seq, old+"x")
			wantDamage(t, l, seq, column+" longer")
			set(t, db, column, seq, old)
		}
	}
	if flips < 500 {
		t.Errorf("only %d flips were tried", flips)
	}
	testenv.Must(t, l.Verify(t.Context()))
}

func set(t *testing.T, db *sql.DB, column string, seq int64, value string) {
	t.Helper()
	_, err := db.Exec(`UPDATE events SET `+column+` = ? WHERE seq = ?`, value, seq)
	testenv.Must(t, err)
}

func TestStructuralDamageIsLocated(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, sql string
		want      int64
	}{
		{"first row gone", `DELETE FROM events WHERE seq = 1`, 1},
		{"middle row gone", `DELETE FROM events WHERE seq = 7`, 7},
		{"tail cut", `DELETE FROM events WHERE seq > 8`, 9},
		{"last row gone", `DELETE FROM events WHERE seq = 12`, 12},
		{"all rows gone", `DELETE FROM events`, 1},
		{"rows swapped", `UPDATE events SET seq = 99 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 99`, 4},
		{"renumbered", `UPDATE events SET seq = 40 WHERE seq = 12`, 12},
		{"zeroth row", `UPDATE events SET seq = 0 WHERE seq = 3`, 0},
		{"row from nowhere", `INSERT INTO events SELECT 13, time, kind, payload, prev, hash FROM events WHERE seq = 12`, 13},
		{"counter lowered", `UPDATE sqlite_sequence SET seq = 5`, 6},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := stateDir(t)
			l := open(t, dir)
			appendN(t, l, 12)
			_, err := tamper(t, dir).Exec(c.sql)
			testenv.Must(t, err)
			wantDamage(t, l, c.want, c.name)
			good, err := collect(t, l, 1)
			if _, ok := errors.AsType[*DamageError](err); !ok || len(good) > 12 {
				t.Errorf("reading: got %d entries and %v, want damage", len(good), err)
			}
		})
	}
}

// Whoever forges an event and its hash breaks the tie to the next one, and
// whoever forges the tie breaks that.
func TestForgedHashIsLocated(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l := open(t, dir)
	appendN(t, l, 6)
	db := tamper(t, dir)
	var r row
	const q = `SELECT seq, time, kind, payload, prev FROM events WHERE seq = 4`
	testenv.Must(t, db.QueryRow(q).Scan(&r.seq, &r.time, &r.kind, &r.payload, &r.prev))
	good := r
	r.payload = `{"slot":999}`
	set(t, db, "payload", 4, r.payload)
	set(t, db, "hash", 4, r.digest())
	wantDamage(t, l, 5, "forged content")
	good.prev = strings.Repeat("0", 64)
	set(t, db, "payload", 4, good.payload)
	set(t, db, "prev", 4, good.prev)
	set(t, db, "hash", 4, good.digest())
	wantDamage(t, l, 4, "forged tie")
}

// The chain says nothing about the index; SQLite's own check does.
func TestInconsistentFileIsDamage(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l, err := Open(dir)
	testenv.Must(t, err)
	appendN(t, l, 6)
	testenv.Must(t, l.Close())
	db := tamper(t, dir)
	_, err = db.Exec(`PRAGMA writable_schema = 1;
		UPDATE sqlite_schema SET sql = 'CREATE INDEX events_by_kind ON events (time, seq)' WHERE name = 'events_by_kind'`)
	testenv.Must(t, err)
	again, err := OpenReadOnly(dir)
	testenv.Must(t, err)
	defer again.Close()
	wantDamage(t, again, 0, "index")
}

// A cut record must not be continued: the new event would hide the cut.
func TestCutRecordIsNotContinued(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l, err := Open(dir)
	testenv.Must(t, err)
	appendN(t, l, 5)
	_, err = tamper(t, dir).Exec(`DELETE FROM events WHERE seq = 5`)
	testenv.Must(t, err)
	testenv.Must(t, l.Close())
	again := open(t, dir)
	err = again.Append(t.Context(), event(9))
	if damage, ok := errors.AsType[*DamageError](err); !ok || damage.Seq != 5 {
		t.Errorf("got %v, want damage at 5", err)
	}
}

func TestTheSchemaStopsASlipOfTheHand(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	appendN(t, l, 2)
	for _, q := range []string{`UPDATE events SET kind = 'x'`, `DELETE FROM events`} {
		if _, err := l.write.Exec(q); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: got %v, want a refusal", q, err)
		}
	}
}

// A bit that flips on the disk either does no harm to any event or is found.
func TestFlippedBitsOfTheFile(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l, err := Open(dir)
	testenv.Must(t, err)
	appendN(t, l, 50)
	want, err := collect(t, l, 1)
	testenv.Must(t, err)
	testenv.Must(t, l.Close())
	path := filepath.Join(dir, fileName)
	good, err := os.ReadFile(path)
	testenv.Must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 150 {
		bad := append([]byte(nil), good...)
		at, bit := rng.IntN(len(bad)), rng.IntN(8)
		bad[at] ^= 1 << bit
		testenv.Must(t, os.WriteFile(path, bad, 0o600))
		got, err := readAll(t, dir)
		if err != nil {
			found++
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("byte %d bit %d: no error but (-want +got):\n%s", at, bit, diff)
		}
	}
	if found < 50 {
		t.Errorf("only %d of 150 flips were found", found)
	}
}

func readAll(t *testing.T, dir string) ([]Entry, error) {
	t.Helper()
	l, err := OpenReadOnly(dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.Verify(t.Context()); err != nil {
		return nil, err
	}
	return collect(t, l, 1)
}

func TestNotADatabase(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	testenv.Must(t, os.Mkdir(dir, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("not a database ", 500)), 0o600))
	_, errWrite := Open(dir)
	_, errRead := OpenReadOnly(dir)
	for _, err := range []error{errWrite, errRead} {
		if _, ok := errors.AsType[*DamageError](err); !ok {
			t.Errorf("got %v, want a DamageError", err)
		}
	}
}

// childDir makes this test binary a process that appends until it is killed.
const childDir = "LOOPD_LEDGER_TEST_DIR"

func appendForever(dir string) int {
	l, err := Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	for i := 0; ; i++ {
		batch := []Record{event(i), event(i + 1), event(i + 2)}[:1+i%3]
		if err := l.Append(context.Background(), batch...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(len(batch))
	}
}

func TestKilledWriterLosesNothingItAcknowledged(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	rng := rand.New(rand.NewPCG(3, 4))
	acknowledged := 0
	for round := range 20 {
		acknowledged += killAfter(t, dir, 1+rng.IntN(40))
		// A look comes first: it must not need the writer's repair.
		if seen, err := readAll(t, dir); err != nil || len(seen) < acknowledged {
			t.Fatalf("round %d: read-only: got %d entries and %v, want at least %d", round, len(seen), err, acknowledged)
		}
		l, err := Open(dir)
		testenv.Must(t, err)
		testenv.Must(t, l.Verify(t.Context()))
		got, err := collect(t, l, 1)
		testenv.Must(t, err)
		testenv.Must(t, l.Close())
		if len(got) < acknowledged {
			t.Fatalf("round %d: got %d entries, want at least the %d acknowledged", round, len(got), acknowledged)
		}
		// What was written and not yet acknowledged counts from now on.
		acknowledged = len(got)
	}
}

// killAfter kills a writer in full swing once it has acknowledged n batches and
// returns how many records all its acknowledgements cover.
func killAfter(t *testing.T, dir string, n int) int {
	t.Helper()
	records := 0
	for _, line := range testenv.KillAfter(t, testenv.Self(t, childDir+"="+dir), n+1, 0) {
		k, err := strconv.Atoi(line)
		testenv.Must(t, err)
		records += k
	}
	return records
}
