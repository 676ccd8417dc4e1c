package rehearsal

import (
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
	"loopd/internal/ledger"
)

// kills is how often the crash test kills. The moments are drawn anew in every
// run of the test and printed.
const kills = 3

// TestKilled kills a rehearsal again and again, at random moments, and wants
// the same verdicts in the end as if nothing had happened, every trial counted
// once, and nothing left behind.
func TestKilled(t *testing.T) {
	root := openTemp(t)
	if w := undisturbed(); w.err != nil {
		t.Fatal(w.err)
	}
	killed := 0
	for i := 0; killed < kills && i < 4*kills; i++ {
		if killOnce(t, root, i) {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("the rehearsal was never killed in its middle")
	}
	cmd := command(t.Context(), t, small(), root, true)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go on after %d kills: %v: %s", killed, err, cmd.Stderr)
	}
	var r Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	sameEverywhere(t, r, home(filepath.Join(root, "work")).Results())
	nothingLeft(t, filepath.Join(root, "tmp"))
}

// soakFull says whether the long form of the crash tests is asked for.
func soakFull() bool { return os.Getenv("LOOPD_SOAK") == "full" }

// ledgerError is what a look at the whole ledger finds, nil where there is none
// yet.
func ledgerError(t *testing.T, h campaign.Home) error {
	t.Helper()
	l, err := ledger.OpenReadOnly(h.Dir)
	if _, missing := errors.AsType[*ledger.MissingError](err); missing {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(l.Verify(t.Context()), l.Close())
}

// killOnce starts or continues the rehearsal and kills it after a random while;
// false when it came to its end first.
func killOnce(t *testing.T, root string, n int) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(root, "work", "rehearsal.json"))
	cmd := command(t.Context(), t, small(), root, err == nil)
	if err != nil { // killed before it was set up: begin anew
		if err := os.RemoveAll(filepath.Join(root, "work")); err != nil {
			t.Fatal(err)
		}
	}
	// The quick ones hit the set-up and the mending, the long ones the sessions.
	after := time.Duration(rand.Float64() * float64(2500*time.Millisecond))
	t.Logf("kill %d after %v", n, after)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return false
	case failed && exit.ExitCode() == -1:
		return true
	}
	t.Fatalf("run %d: %v: %s", n, err, cmd.Stderr)
	return false
}

// nothingLeft wants no sandbox and no process that lives in one.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.Trim(e.Name(), "0123456789") != "" { // numbered ones are no sandboxes
			t.Errorf("%s was left in the directory for temporary files", e.Name())
		}
	}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environs) == 0 {
		t.Logf("no list of processes: %v", err)
		return
	}
	for _, path := range environs {
		data, err := os.ReadFile(path) // another user's process, or one that has ended
		if err == nil && bytes.Contains(data, []byte("HOME="+tmp)) {
			line, _ := os.ReadFile(strings.TrimSuffix(path, "environ") + "cmdline")
			t.Errorf("a process outlived its session: %s", fmt.Sprintf("%q", line))
		}
	}
}
