package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/testenv"
)

// counts gives the values in turn, then the last again.
func counts(known bool, values ...int64) func() (int64, bool) {
	return func() (int64, bool) {
		n := values[0]
		if len(values) > 1 {
			values = values[1:]
		}
		return n, known
	}
}

// TestKillForWantOfMemory ends real sessions by SIGKILL and otherwise while the
// kernel's count stands or rises.
func TestKillForWantOfMemory(t *testing.T) {
	t.Parallel()
	const result = `echo '{"type":"result","subtype":"success"}'; `
	for name, c := range map[string]struct {
		text  string
		count func() (int64, bool)
		want  harness.Class
	}{
		"killed, the count rose":               {`kill -9 $$`, counts(true, 4, 5), harness.OutOfMemory},
		"killed in the middle, the count rose": {`echo '{"type":"system","subtype":"init"}'; kill -9 $$`, counts(true, 0, 2), harness.OutOfMemory},
		"killed from elsewhere":                {`kill -9 $$`, counts(true, 4), ""},
		"killed, and nothing counts":           {`kill -9 $$`, counts(false, 4, 5), ""},
		"another signal, the count rose":       {`kill -11 $$`, counts(true, 4, 5), ""},
		"a command of it was ended":            {`sh -c 'kill -9 $$'; ` + result, counts(true, 4, 5), ""},
		"exits as a shell would":               {`exit 137`, counts(true, 4, 5), ""},
		"killed after its result":              {result + `kill -9 $$`, counts(true, 4, 5), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := defaults()
			b.oomKills = c.count
			got := run(t, t.Context(), b, script(t.TempDir(), c.text))
			if got.Cause != c.want || got.LimitTime {
				t.Errorf("got cause %q of %+v, want %q", got.Cause, got.Exit, c.want)
			}
		})
	}
}

// TestOwnKillIsNoWantOfMemory lets loopd end the session while the count rises.
func TestOwnKillIsNoWantOfMemory(t *testing.T) {
	t.Parallel()
	b := defaults()
	b.term, b.oomKills = 50*time.Millisecond, counts(true, 4, 5)
	l := script(t.TempDir(), `trap '' TERM; while :; do sleep 0.05; done`)
	l.Clocks.Startup = 200 * time.Millisecond
	if got := run(t, t.Context(), b, l); got.Signal != "SIGKILL" || got.Cause != harness.StartupHang {
		t.Errorf("got %+v, want SIGKILL and %s", got.Exit, harness.StartupHang)
	}
	b.oomKills = counts(true, 4, 5)
	l = script(t.TempDir(), `trap '' TERM; while :; do echo at work; sleep 0.05; done`)
	l.Clocks.Total = 300 * time.Millisecond
	if got := run(t, t.Context(), b, l); got.Signal != "SIGKILL" || got.Cause != "" || !got.LimitTime {
		t.Errorf("got %+v, want SIGKILL at the total clock", got.Exit)
	}
}

func TestMemoryCounts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		name = filepath.Join(root, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testenv.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	machine := put("vmstat", "pgfault 12\noom_kill 9\n")
	put("one/memory/night/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
	put("two/night/memory.events", "low 0\nmax 8\noom 4\noom_kill 2\noom_group_kill 1\n")
	put("mixed/unified/night/memory.events", "oom 4\noom_kill 6\n")
	put("old/memory/night/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n")
	for name, c := range map[string]struct {
		mount, groups string
		want          int64
	}{
		"version 1":            {"one", "5:devices:/\n4:cpu,memory:/night\n0::/\n", 3},
		"version 2":            {"two", "0::/night\n", 2},
		"version 2 beside 1":   {"mixed", "5:devices:/\n0::/night\n", 6},
		"no count in the file": {"old", "4:memory:/night\n", 9},
		"no such group":        {"two", "0::/day\n", 9},
		"no groups":            {"two", "", 9},
		"garbage":              {"two", "memory\n:\n", 9},
	} {
		if got, ok := firstCount(append(memoryCounts(filepath.Join(root, c.mount), c.groups), machine)); got != c.want || !ok {
			t.Errorf("%s: got %d %v, want %d", name, got, ok, c.want)
		}
	}
	for _, text := range []string{"", "pgfault 12\n", "oom_kill many\n", "oom_kill_disable 1\n"} {
		if got, ok := firstCount([]string{filepath.Join(root, "gone"), put("odd", text)}); ok {
			t.Errorf("%q: got %d, want none", text, got)
		}
	}
	if data, err := os.ReadFile("/proc/vmstat"); err == nil && bytes.Contains(data, []byte("\noom_kill ")) {
		if n, ok := oomKills(); !ok || n < 0 {
			t.Errorf("of this machine: got %d %v, want a count", n, ok)
		}
	}
}
