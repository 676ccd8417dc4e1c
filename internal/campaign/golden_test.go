package campaign

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/store"
	"loopd/internal/testenv"
)

// TestGoldenCampaigns replays ledgers that earlier versions of loopd wrote: what
// they decided stays what they decided, and every record can still be derived. A
// change of the events adds a ledger; the ones there are stay.
func TestGoldenCampaigns(t *testing.T) {
	t.Parallel()
	if testenv.Updating() {
		writeGolden(t)
	}
	files := testenv.Glob(t, filepath.Join("testdata", "ledgers", "*.db.gz"))
	for _, file := range files {
		h := Home{Dir: filepath.Join(t.TempDir(), "state")}
		testenv.Must(t, h.Make())
		unzip(t, file, filepath.Join(h.Dir, "ledger.db"))
		l, err := store.OpenReadOnly(h.Dir)
		testenv.Must(t, err)
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		states, err := Replay(t.Context(), l)
		if err != nil || len(states) == 0 {
			t.Fatalf("%s: got %d campaigns and %v", file, len(states), err)
		}
		got := strings.Join(verdictsWithE(states[0]), "\n") + "\n"
		testenv.Same(t, file, testenv.Read(t, strings.TrimSuffix(file, ".db.gz")+".txt"), got)
		audits, err := Audits(t.Context(), l)
		if err != nil || len(audits) != len(states) || len(audits[0].Wrong) > 0 {
			t.Errorf("%s: derived again: %+v, %v", file, audits, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func unzip(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	testenv.Must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	testenv.Must(t, err)
	data, err := io.ReadAll(z)
	testenv.Must(t, err)
	overwrite(t, to, string(data))
}

// writeGolden writes the ledger of a campaign with a kept candidate.
func writeGolden(t *testing.T) {
	t.Helper()
	n := newNight(t, "")
	n.close(n.twoWordings())
	l, err := store.OpenReadOnly(n.home.Dir)
	testenv.Must(t, err)
	states, err := Replay(t.Context(), l)
	testenv.Must(t, err)
	testenv.Must(t, l.Close())
	name := filepath.Join("testdata", "ledgers", "1")
	testenv.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	f, err := os.Create(name + ".db.gz")
	testenv.Must(t, err)
	z := gzip.NewWriter(f)
	if _, err := io.WriteString(z, testenv.Read(t, filepath.Join(n.home.Dir, "ledger.db"))); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, z.Close())
	testenv.Must(t, f.Close())
	testenv.Must(t, os.WriteFile(name+".txt", []byte(strings.Join(verdictsWithE(states[0]), "\n")+"\n"), 0o644))
}
