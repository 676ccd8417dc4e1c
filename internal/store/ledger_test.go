package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loopd/internal/testenv"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(appendForever(dir))
	}
	if dir := os.Getenv(holdingDir); dir != "" {
		os.Exit(hold(dir))
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, dir string) *Ledger {
	t.Helper()
	l, err := Open(dir)
	testenv.Must(t, err)
	t.Cleanup(func() { testenv.Must(t, l.Close()) })
	return l
}

// stateDir has a name that a careless connection string would cut or decode.
func stateDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "a b?c#d%20&mode=memory")
}

func event(i int) Record {
	return Record{
		Time:    time.Date(2031, 5, 4, 3, 2, 1, i, time.UTC),
		Kind:    []string{"trial", "verdict", "bet"}[i%3],
		Payload: json.RawMessage(fmt.Sprintf(`{"slot":%d,"note":"brise légère <&>"}`, i)),
	}
}

func appendN(t testing.TB, l *Ledger, n int) {
	t.Helper()
	for i := range n {
		testenv.Must(t, l.Append(t.Context(), event(i)))
	}
}

func collect(t testing.TB, l *Ledger, from int64) ([]Entry, error) {
	t.Helper()
	var got []Entry
	for e, err := range l.Entries(t.Context(), from) {
		if err != nil {
			return got, err
		}
		got = append(got, e)
	}
	return got, nil
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l := open(t, dir)
	local := time.FixedZone("far", 5*3600)
	first := Record{Time: time.Date(2031, 1, 2, 3, 4, 5, 678, local), Kind: "start", Payload: json.RawMessage("{\n \"a\": [1, 2]\n}")}
	testenv.Must(t, l.Append(t.Context(), first, event(1)))
	testenv.Must(t, l.Append(t.Context(), event(2)))
	testenv.Must(t, l.Append(t.Context()))
	want := []Record{
		{Time: first.Time.UTC(), Kind: "start", Payload: json.RawMessage(`{"a":[1,2]}`)},
		event(1), event(2),
	}
	got, err := collect(t, l, 1)
	testenv.Must(t, err)
	var records []Record
	for i, e := range got {
		if e.Seq != int64(i+1) || len(e.Hash) != 64 {
			t.Errorf("entry %d: got seq %d, hash %q", i, e.Seq, e.Hash)
		}
		records = append(records, e.Record)
	}
	testenv.Same(t, "records", want, records)
	tail, err := collect(t, l, 3)
	testenv.Must(t, err)
	testenv.Same(t, "from 3", got[2:], tail)
	beyond, err := collect(t, l, 9)
	testenv.Must(t, err)
	if len(beyond) != 0 {
		t.Errorf("from 9: got %v, want none", beyond)
	}
	testenv.Must(t, l.Verify(t.Context()))
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		t.Errorf("the ledger is not in its directory: %v", err)
	}
}

// The hash is published in the package comment; a stranger recomputes it.
func TestHashIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	r := row{seq: 1, time: "2031-05-04T03:02:01Z", kind: "start", payload: `{"a":1}`}
	// printf '13:loopd event 1,1:1,20:2031-05-04T03:02:01Z,5:start,7:{"a":1},0:,' | sha256sum
	const want = "66fa7ceac3e5878c21b3fea5107a8497a42202b83ba089c14d3842721f64d2d7"
	if got := r.digest(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReopenContinuesTheChain(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	for i := range 4 {
		l, err := Open(dir)
		testenv.Must(t, err)
		testenv.Must(t, l.Append(t.Context(), event(i), event(i+1)))
		testenv.Must(t, l.Close())
	}
	l := open(t, dir)
	testenv.Must(t, l.Verify(t.Context()))
	got, err := collect(t, l, 1)
	testenv.Must(t, err)
	if len(got) != 8 {
		t.Errorf("got %d entries, want 8", len(got))
	}
}

func TestAppendIsAllOrNothing(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	bad := map[string]Record{
		"no kind":     {Time: event(0).Time, Payload: event(0).Payload},
		"no time":     {Kind: "x", Payload: event(0).Payload},
		"no payload":  {Time: event(0).Time, Kind: "x"},
		"not JSON":    {Time: event(0).Time, Kind: "x", Payload: json.RawMessage(`{"a":`)},
		"two JSON":    {Time: event(0).Time, Kind: "x", Payload: json.RawMessage(`1 2`)},
		"broken text": {Time: event(0).Time, Kind: "x", Payload: json.RawMessage("\"\xff\"")},
	}
	for name, r := range bad {
		if err := l.Append(t.Context(), event(1), r, event(2)); err == nil {
			t.Errorf("%s: got nil, want an error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Append(ctx, event(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v, want its error", err)
	}
	// A failure in the middle of a batch: SQLite itself refuses the second row.
	_, err := l.write.Exec(`CREATE TRIGGER no_bets BEFORE INSERT ON events WHEN NEW.kind = 'bet' BEGIN SELECT RAISE(ABORT, 'no bets'); END`)
	testenv.Must(t, err)
	if err := l.Append(t.Context(), event(0), event(2)); err == nil || errors.Is(err, ErrSuspect) {
		t.Errorf("refused row: got %v, want an error that is not suspect", err)
	}
	got, err := collect(t, l, 1)
	testenv.Must(t, err)
	if len(got) != 0 {
		t.Errorf("got %d entries, want none", len(got))
	}
	testenv.Must(t, l.Append(t.Context(), event(0)))
	testenv.Must(t, l.Verify(t.Context()))
}

func TestSuspectLedgerAcceptsNothing(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	testenv.Must(t, l.Append(t.Context(), event(0)))
	l.suspect = errors.New("fsync: input/output error")
	if err := l.Append(t.Context(), event(1)); !errors.Is(err, ErrSuspect) {
		t.Errorf("got %v, want ErrSuspect", err)
	}
	l.suspect = nil
}

func TestAppendWhileReading(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	appendN(t, l, 5)
	n := 0
	for _, err := range l.Entries(t.Context(), 1) {
		testenv.Must(t, err)
		testenv.Must(t, l.Append(t.Context(), event(n)))
		n++
	}
	if n != 5 {
		t.Errorf("the loop saw %d entries, want the 5 of its start", n)
	}
	for range l.Entries(t.Context(), 1) {
		break
	}
	testenv.Must(t, l.Verify(t.Context()))
}

func TestAppendFromManyGoroutines(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				if err := l.Append(t.Context(), event(g), event(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	testenv.Must(t, l.Verify(t.Context()))
	got, err := collect(t, l, 1)
	testenv.Must(t, err)
	if len(got) != 160 {
		t.Errorf("got %d entries, want 160", len(got))
	}
}

func TestSecondOpenerIsTurnedAway(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l, err := Open(dir)
	testenv.Must(t, err)
	_, err = Open(dir)
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Hint() == "" {
		t.Errorf("got %v, want a LockedError with process %d", err, os.Getpid())
	}
	testenv.Must(t, l.Append(t.Context(), event(0)))
	testenv.Must(t, l.Close())
	again := open(t, dir)
	testenv.Must(t, again.Append(t.Context(), event(1)))
}

func TestOneWinnerOfManyOpeners(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	var wg sync.WaitGroup
	results := make(chan *Ledger, 100)
	for range 100 {
		wg.Go(func() {
			l, err := Open(dir)
			if _, ok := errors.AsType[*LockedError](err); err != nil && !ok {
				t.Errorf("got %v, want a LockedError", err)
			}
			results <- l
		})
	}
	wg.Wait()
	close(results)
	winners := 0
	for l := range results {
		if l != nil {
			winners++
			testenv.Must(t, l.Close())
		}
	}
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
}

func TestReadOnlyBesideTheWriter(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	_, err := OpenReadOnly(dir)
	missing, ok := errors.AsType[*MissingError](err)
	if !ok || !errors.Is(err, fs.ErrNotExist) || missing.Hint() == "" {
		t.Errorf("without a ledger: got %v, want a MissingError", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking created something: %v", err)
	}
	l, err := Open(dir)
	testenv.Must(t, err)
	testenv.Must(t, l.Append(t.Context(), event(0)))
	r, err := OpenReadOnly(dir)
	testenv.Must(t, err)
	testenv.Must(t, l.Append(t.Context(), event(1)))
	got, err := collect(t, r, 1)
	testenv.Must(t, err)
	if len(got) != 2 {
		t.Errorf("beside the writer: got %d entries, want 2", len(got))
	}
	testenv.Must(t, r.Verify(t.Context()))
	if err := r.Append(t.Context(), event(2)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("append: got %v, want fs.ErrPermission", err)
	}
	testenv.Must(t, r.Close())
	testenv.Must(t, l.Close())
	alone, err := OpenReadOnly(dir)
	testenv.Must(t, err)
	testenv.Must(t, alone.Verify(t.Context()))
	testenv.Must(t, alone.Close())
}

func TestOtherUsersAreKeptOut(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l, err := Open(dir)
	testenv.Must(t, err)
	testenv.Must(t, l.Append(t.Context(), event(0)))
	testenv.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
	testenv.Must(t, l.Close())
	for path, mode := range map[string]fs.FileMode{dir: 0o750, filepath.Join(dir, fileName): 0o604} {
		info, err := os.Stat(path)
		testenv.Must(t, err)
		testenv.Must(t, os.Chmod(path, mode))
		_, errWrite := Open(dir)
		_, errRead := OpenReadOnly(dir)
		for _, err := range []error{errWrite, errRead} {
			wide, ok := errors.AsType[*AccessError](err)
			if !ok || wide.Path != path || wide.Hint() != fmt.Sprintf("chmod %o %s", info.Mode().Perm(), path) {
				t.Errorf("mode %v: got %v, want an AccessError with the command", mode, err)
			}
		}
		testenv.Must(t, os.Chmod(path, info.Mode().Perm()))
	}
	testenv.Must(t, open(t, dir).Verify(t.Context()))
}

func TestNewerLedgerIsRefused(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l, err := Open(dir)
	testenv.Must(t, err)
	_, err = l.write.Exec(`PRAGMA user_version = 2`)
	testenv.Must(t, err)
	testenv.Must(t, l.Close())
	_, errWrite := Open(dir)
	_, errRead := OpenReadOnly(dir)
	for _, err := range []error{errWrite, errRead} {
		if newer, ok := errors.AsType[*VersionError](err); !ok || newer.Have != 2 || !strings.Contains(err.Error(), "newer loopd") {
			t.Errorf("got %v, want a VersionError with 2", err)
		}
	}
}

func TestOlderComparesNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"3.51.2", "3.51.3", true}, {"3.51.3", "3.51.3", false}, {"3.54.1", "3.51.3", false},
		{"3.9.9", "3.51.3", true}, {"4.0.0", "3.51.3", false}, {"3.51", "3.51.3", true},
	} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("older(%s, %s): got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	want := func(kind string, newest, ofKind int64) {
		t.Helper()
		a, b, err := l.Last(t.Context(), kind)
		if err != nil || a != newest || b != ofKind {
			t.Errorf("%s: got %d, %d and %v, want %d and %d", kind, a, b, err, newest, ofKind)
		}
	}
	want("trial", 0, 0)
	appendN(t, l, 8) // trial, verdict, bet, and again
	want("trial", 8, 7)
	want("bet", 8, 6)
	want("nothing", 8, 0)
}
