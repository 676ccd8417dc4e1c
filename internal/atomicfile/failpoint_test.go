package atomicfile

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "a": 0, ":1": 0, "a:": 0, "a:0": 0, "a:-1": 0, "a:x": 0, "a:1": 1, "a.b:12": 12,
	} {
		c := parse(text)
		if got := c != nil; got != (want > 0) {
			t.Errorf("%q: armed %v, want %v", text, got, want > 0)
		} else if got && c.left.Load() != want {
			t.Errorf("%q: got %d hits, want %d", text, c.left.Load(), want)
		}
	}
}

func TestTheNamedHitAlone(t *testing.T) {
	t.Parallel()
	c, deaths := parse("ledger.append:3"), 0
	for _, name := range []string{"ledger.append", "ledger", "ledger.append", "ledger.append.x", "ledger.append", "ledger.append"} {
		c.hit(name, func() { deaths++ })
	}
	if deaths != 1 || c.left.Load() != -1 {
		t.Errorf("got %d deaths and %d left, want 1 death at the third of four hits", deaths, c.left.Load())
	}
}

// TestItIsAKill runs this test binary again with the failpoint armed.
func TestItIsAKill(t *testing.T) {
	t.Parallel()
	if os.Getenv(CrashVariable) != "" {
		Failpoint("here")
		Failpoint("here")
		os.Exit(7)
	}
	for armed, want := range map[string]syscall.Signal{"here:1": syscall.SIGKILL, "here:2": syscall.SIGKILL, "here:3": 0, "there:1": 0} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestItIsAKill$")
		cmd.Env = append(os.Environ(), CrashVariable+"="+armed)
		out, err := cmd.CombinedOutput()
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || err == nil {
			t.Fatalf("%s: got %v: %s", armed, err, out)
		}
		if want == 0 && status.ExitStatus() != 7 || want != 0 && status.Signal() != want {
			t.Errorf("%s: got %v, want signal %v: %s", armed, err, want, strings.TrimSpace(string(out)))
		}
	}
}

func BenchmarkHitUnarmed(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Failpoint("nowhere")
	}
}
