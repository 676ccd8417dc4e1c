package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

// rowsOf reads the table as it stands.
func rowsOf(t *testing.T, l *Ledger) []row {
	t.Helper()
	rows, err := l.read.Query(`SELECT seq, time, kind, payload, prev, hash FROM events ORDER BY seq`)
	testenv.Must(t, err)
	defer rows.Close()
	var out []row
	for rows.Next() {
		var r row
		testenv.Must(t, rows.Scan(&r.seq, &r.time, &r.kind, &r.payload, &r.prev, &r.hash))
		out = append(out, r)
	}
	testenv.Must(t, rows.Err())
	return out
}

// firstBad walks a chain as replay does and returns where it is damaged, if it is.
func firstBad(rows []row) (int64, bool) {
	var last head
	for i := range rows {
		if err := rows[i].check(last); err != nil {
			damage, _ := errors.AsType[*DamageError](err)
			return damage.Seq, true
		}
		last = head{rows[i].seq, rows[i].hash}
	}
	return 0, false
}

// TestEverySingleBitOfEveryEvent flips each bit of each column of each of fifty
// events, and wants the damage located in the very event.
func TestEverySingleBitOfEveryEvent(t *testing.T) {
	t.Parallel()
	l := open(t, stateDir(t))
	appendN(t, l, 50)
	rows := rowsOf(t, l)
	if _, bad := firstBad(rows); len(rows) != 50 || bad {
		t.Fatalf("got %d sound rows, want 50", len(rows))
	}
	flips := 0
	for i := range rows {
		good := rows[i]
		for column, text := range map[string]*string{"time": &rows[i].time, "kind": &rows[i].kind, "payload": &rows[i].payload, "prev": &rows[i].prev, "hash": &rows[i].hash} {
			whole := *text
			for bit := range 8 * len(whole) {
				bad := []byte(whole)
				bad[bit/8] ^= 1 << (bit % 8)
				*text = string(bad)
				if got, found := firstBad(rows[:i+1]); !found || got != good.seq {
					t.Fatalf("event %d, %s, bit %d: damage at %d", good.seq, column, bit, got)
				}
				flips++
			}
			*text = whole
		}
		for bit := range 63 {
			rows[i].seq ^= 1 << bit
			if _, found := firstBad(rows[:i+1]); !found {
				t.Fatalf("event %d: bit %d of its number", good.seq, bit)
			}
			rows[i].seq = good.seq
			flips++
		}
	}
	t.Logf("%d flips, each found in its event", flips)
	if flips < 50*8*200 {
		t.Errorf("only %d flips were tried", flips)
	}
}

// TestEveryByteOfTheFile flips a bit of every byte of the file, in the short form
// of every 211th: either the damage is found, or every event reads as before.
func TestEveryByteOfTheFile(t *testing.T) {
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
	every := testenv.Count(211, 1) // a prime, so that it falls in step with no structure of the file
	tried, found := 0, 0
	for at := 0; at < len(good); at += every {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		testenv.Must(t, os.WriteFile(path, bad, 0o600))
		got, err := readAll(t, dir)
		tried++
		if err != nil {
			found++
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("byte %d: no error but (-want +got):\n%s", at, diff)
		}
	}
	t.Logf("%d flips in %d bytes: %d found, the others touched no event", tried, len(good), found)
	if found < tried/3 {
		t.Errorf("only %d of %d flips were found", found, tried)
	}
}

// TestATornTail cuts the log that SQLite writes before the file at many places, as
// a crash in the middle of a write leaves it. What was whole is there, the rest is
// dropped by itself, and the ledger goes on.
func TestATornTail(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	l := open(t, dir)
	appendN(t, l, 12)
	want, err := collect(t, l, 1)
	testenv.Must(t, err)
	file, err := os.ReadFile(l.path)
	testenv.Must(t, err)
	wal, err := os.ReadFile(l.path + "-wal")
	testenv.Must(t, err)
	every := len(wal) / testenv.Count(61, 997)
	lengths := make(map[int]bool)
	for cut := 0; cut <= len(wal); cut += every {
		torn := filepath.Join(t.TempDir(), "state")
		testenv.Must(t, os.Mkdir(torn, 0o700))
		testenv.Must(t, os.WriteFile(filepath.Join(torn, fileName), file, 0o600))
		testenv.Must(t, os.WriteFile(filepath.Join(torn, fileName+"-wal"), wal[:cut], 0o600))
		again, err := Open(torn)
		testenv.Must(t, err)
		testenv.Must(t, again.Verify(t.Context()))
		got, err := collect(t, again, 1)
		testenv.Must(t, err)
		lengths[len(got)] = true
		if diff := cmp.Diff(want[:len(got)], got, cmp.Transformer("nil", func(e []Entry) []Entry { return append([]Entry{}, e...) })); diff != "" {
			t.Fatalf("cut at %d of %d (-want +got):\n%s", cut, len(wal), diff)
		}
		testenv.Must(t, again.Append(t.Context(), event(99)))
		testenv.Must(t, again.Verify(t.Context()))
		testenv.Must(t, again.Close())
	}
	if len(lengths) < 10 {
		t.Errorf("the cuts left only %d different lengths", len(lengths))
	}
}

// holding makes this test binary hold a ledger until it is killed.
const holdingDir = "LOOPD_LEDGER_TEST_HOLD"

func hold(dir string) int {
	l, err := Open(dir)
	if locked, ok := errors.AsType[*LockedError](err); ok {
		os.Stdout.WriteString("locked " + strconv.Itoa(locked.PID) + "\n")
		return 3
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	defer l.Close()
	os.Stdout.WriteString("holds\n")
	select {}
}

// TestOneHolderOfManyProcesses starts a hundred processes at once on one ledger:
// one gets it, each of the others says which. Killed, it leaves the lock free.
func TestOneHolderOfManyProcesses(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	testenv.Must(t, os.MkdirAll(dir, 0o700))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var holders, refused []string
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() {
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), holdingDir+"="+dir)
			out, err := cmd.StdoutPipe()
			testenv.Must(t, err)
			testenv.Must(t, cmd.Start())
			buf := make([]byte, 64)
			n, _ := out.Read(buf)
			mu.Lock()
			said := strings.TrimSpace(string(buf[:n]))
			if said == "holds" {
				holders = append(holders, strconv.Itoa(cmd.Process.Pid))
			} else {
				refused = append(refused, said)
			}
			if len(refused) == 99 {
				cancel() // kills the holder
			}
			mu.Unlock()
			_ = cmd.Wait() // refused or killed, both are errors
		})
	}
	wait.Wait()
	if len(holders) != 1 || len(refused) != 99 {
		t.Fatalf("got %d holders and %d refused, want 1 and 99: %q", len(holders), len(refused), refused)
	}
	named := 0
	for _, said := range refused {
		switch said {
		case "locked " + holders[0]:
			named++
		case "locked 0": // it has the lock and has not written its number yet
		default:
			t.Errorf("one was told %q; the holder is %s", said, holders[0])
		}
	}
	if named == 0 {
		t.Error("nobody was told who holds it")
	}
	began := time.Now()
	testenv.Must(t, open(t, dir).Append(t.Context(), event(1)))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the lock of a killed holder was free only after %v", took)
	}
}

// TestGoldenLedger reads a ledger of each schema there has been. A new schema adds
// a file; the old ones stay readable for ever.
func TestGoldenLedger(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "schema*.db"))
	testenv.Must(t, err)
	if len(files) != Schema {
		t.Fatalf("got %d golden ledgers for %d schemas", len(files), Schema)
	}
	for _, file := range files {
		dir := filepath.Join(t.TempDir(), "state")
		testenv.Must(t, os.Mkdir(dir, 0o700))
		data, err := os.ReadFile(file)
		testenv.Must(t, err)
		testenv.Must(t, os.WriteFile(filepath.Join(dir, fileName), data, 0o600))
		got, err := readAll(t, dir)
		testenv.Must(t, err)
		if len(got) != 12 || got[11].Hash != "347eaff0c669410dbd36640018ab5d6977b75dcd598c681fb0ecd93356b40ea1" {
			t.Errorf("%s: got %d events, the last %s", file, len(got), got[len(got)-1].Hash)
		}
		testenv.Must(t, open(t, dir).Append(t.Context(), event(12)))
	}
}
