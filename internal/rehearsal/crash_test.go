package rehearsal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/internal/campaign"
	"loopd/internal/store"
	"loopd/internal/testenv"
)

// soak is what a test of many kills saw.
type soak struct {
	rng   *rand.Rand
	root  string
	acked map[string]bool // trials that were recorded, as the killed ones told
	ready time.Duration   // the longest until one was ready again
	// cut are the attempts that are in no ledger, each to be run again, and repeated
	// the most that one kill added to them: a slot is repeated once for it.
	cut      map[string]bool
	repeated int
}

// TestKilled kills rehearsals again and again, at random moments, and wants the
// same verdicts in the end as if nothing had happened, every trial that was
// recorded there and counted once, no process left a second after the kill, and
// nothing left behind at the end.
func TestKilled(t *testing.T) {
	testenv.NightlyOnly(t, "many rehearsals, killed 200 times")
	if w := undisturbed(); w.err != nil {
		t.Fatal(w.err)
	}
	rng, kills := testenv.Rand(t), 200
	killed, ready, repeated := 0, time.Duration(0), 0
	for rehearsals := 0; killed < kills; rehearsals++ {
		if rehearsals > kills {
			t.Fatalf("only %d kills in %d rehearsals", killed, rehearsals)
		}
		k := &soak{rng: rng, root: testenv.OpenDir(t), acked: make(map[string]bool)}
		for killed < kills && k.killOnce(t) {
			killed++
		}
		k.toItsEnd(t)
		ready, repeated = max(ready, k.ready), max(repeated, k.repeated)
	}
	t.Logf("%d kills; ready again within %v of the start; at most %d sessions run again for one kill", killed, ready.Round(time.Millisecond), repeated)
}

// toItsEnd goes on without kills and compares.
func (k *soak) toItsEnd(t *testing.T) {
	t.Helper()
	k.freshStart(t)
	_, err := os.Stat(filepath.Join(k.root, "work", "rehearsal.json"))
	cmd := command(t.Context(), t, small(), k.root, err == nil)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go on after the kills: %v: %s", err, cmd.Stderr)
	}
	var r Result
	testenv.Must(t, json.Unmarshal(out, &r))
	sameEverywhere(t, r, home(filepath.Join(k.root, "work")).Results())
	k.wantAcked(t)
	nothingLeft(t, filepath.Join(k.root, "tmp"))
	noLeftovers(t, filepath.Join(k.root, "work"))
}

// freshStart clears what a kill before the set-up was done left.
func (k *soak) freshStart(t *testing.T) {
	t.Helper()
	work := filepath.Join(k.root, "work")
	if _, err := os.Stat(filepath.Join(work, "rehearsal.json")); err == nil {
		return
	}
	testenv.Must(t, os.RemoveAll(work))
}

// killOnce starts or continues the rehearsal and kills it after a random while;
// false when it came to its end first.
func (k *soak) killOnce(t *testing.T) bool {
	t.Helper()
	k.freshStart(t)
	_, err := os.Stat(filepath.Join(k.root, "work", "rehearsal.json"))
	cmd := command(t.Context(), t, small(), k.root, err == nil)
	told, write, err := os.Pipe()
	testenv.Must(t, err)
	cmd.ExtraFiles, cmd.Env = []*os.File{write}, append(cmd.Env, toldVariable+"=1")
	// Every fourth hits the set-up or the mending, the others the sessions.
	after := time.Duration(k.rng.Float64() * float64(2500*time.Millisecond))
	kill := time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	began := time.Now()
	testenv.Must(t, cmd.Start())
	if k.rng.IntN(4) == 0 {
		kill.Reset(after / 2)
	}
	write.Close()
	for lines := bufio.NewScanner(told); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "trial "); ok {
			k.acked[id] = true
			continue
		}
		k.ready = max(k.ready, time.Since(began))
		kill.Reset(after)
	}
	err = cmd.Wait()
	told.Close()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return false
	case !failed || exit.ExitCode() != -1:
		t.Fatalf("killed after %v: %v: %s", after, err, cmd.Stderr)
	}
	gone := time.Now()
	for processesIn(t, filepath.Join(k.root, "tmp")) != "" {
		if time.Since(gone) > time.Second {
			t.Fatalf("killed after %v: a second later there is still %s", after, processesIn(t, filepath.Join(k.root, "tmp")))
		}
	}
	k.wantAcked(t)
	t.Logf("killed after %v; %d trials recorded so far", after.Round(time.Millisecond), len(k.acked))
	return true
}

// wantAcked wants the ledger sound, every trial in it that was told of, none twice,
// and no more attempts cut short since the last look than run side by side.
func (k *soak) wantAcked(t *testing.T) {
	t.Helper()
	h := home(filepath.Join(k.root, "work"))
	soundLedger(t, h)
	have := make(map[string]int)
	l, err := store.OpenReadOnly(h.Dir)
	if err == nil {
		states, replayErr := campaign.Replay(t.Context(), l)
		for _, s := range states {
			for _, r := range s.Trials {
				have[r.ID]++
			}
		}
		err = errors.Join(replayErr, l.Close())
	}
	if _, missing := errors.AsType[*store.MissingError](err); err != nil && !missing {
		t.Fatal(err)
	}
	for id := range k.acked {
		if have[id] != 1 {
			t.Errorf("trial %s was recorded and is there %d times", id, have[id])
		}
	}
	begun, _ := os.ReadDir(h.Trials()) // none before the first session
	cut, fresh := make(map[string]bool), 0
	for _, d := range begun {
		if have[d.Name()] > 0 {
			continue
		}
		if cut[d.Name()] = true; !k.cut[d.Name()] {
			fresh++
		}
	}
	k.cut, k.repeated = cut, max(k.repeated, fresh)
	if parallel := options(small(), "").Parallel; fresh > parallel {
		t.Errorf("%d more attempts are in no ledger, want at most the %d that ran", fresh, parallel)
	}
}

// ledgerError is what a look at the whole ledger finds, nil where there is none
// yet.
func ledgerError(t *testing.T, h campaign.Home) error {
	t.Helper()
	l, err := store.OpenReadOnly(h.Dir)
	if _, missing := errors.AsType[*store.MissingError](err); missing {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(l.Verify(t.Context()), l.Close())
}

// nothingLeft wants no sandbox and no process that lives in one.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	testenv.Must(t, err)
	for _, e := range left {
		if strings.Trim(e.Name(), "0123456789") != "" { // numbered ones are no sandboxes
			t.Errorf("%s was left in the directory for temporary files", e.Name())
		}
	}
	if left := processesIn(t, tmp); left != "" {
		t.Errorf("a process outlived its session: %s", left)
	}
}

// processesIn finds a process that lives in a sandbox below tmp, and returns its
// command line.
func processesIn(t *testing.T, tmp string) string {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environs) == 0 {
		t.Logf("no list of processes: %v", err)
		return ""
	}
	for _, path := range environs {
		data, err := os.ReadFile(path) // another user's process, or one that has ended
		if err == nil && bytes.Contains(data, []byte("HOME="+tmp)) {
			line, _ := os.ReadFile(strings.TrimSuffix(path, "environ") + "cmdline")
			return fmt.Sprintf("%q", line)
		}
	}
	return ""
}
