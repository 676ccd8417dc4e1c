package admission

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// childEnv makes the test binary the process that is killed while it keeps the
// machine awake.
const childEnv = "LOOPD_POWER_CHILD"

func TestMain(m *testing.M) {
	if root := os.Getenv(childEnv); root != "" {
		if _, err := (Machine{OS: "linux", Root: root}).KeepAwake(context.Background()); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString("awake\n")
		select {} // until it is killed
	}
	os.Exit(m.Run())
}

// supplies lays out /sys/class/power_supply: files by "supply/file".
func supplies(t *testing.T, files map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		testenv.Write(t, filepath.Join(root, "sys/class/power_supply", name), text+"\n")
	}
	return Machine{OS: "linux", Root: root}
}

func TestSupplyOfLinux(t *testing.T) {
	t.Parallel()
	battery := func(status string) map[string]string {
		return map[string]string{"BAT0/type": "Battery", "BAT0/status": status, "BAT0/capacity": "63"}
	}
	with := func(files map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  Supply
	}{
		"nothing there":            {nil, Supply{}},
		"mains alone":              {map[string]string{"AC/type": "Mains", "AC/online": "1"}, Supply{}},
		"on battery":               {with(battery("Discharging"), "AC/type", "Mains", "AC/online", "0"), Supply{true, true, 63}},
		"on battery, no mains row": {battery("Discharging"), Supply{true, true, 63}},
		"charging":                 {with(battery("Charging"), "AC/type", "Mains", "AC/online", "1"), Supply{Battery: true}},
		"full":                     {battery("Full"), Supply{Battery: true}},
		"unknown":                  {battery("Unknown"), Supply{Battery: true}},
		"mains too weak":           {with(battery("Discharging"), "AC/type", "Mains", "AC/online", "1"), Supply{Battery: true}},
		"charged by USB":           {with(battery("Discharging"), "ucsi/type", "USB", "ucsi/online", "1"), Supply{Battery: true}},
		"USB not in":               {with(battery("Discharging"), "ucsi/type", "USB", "ucsi/online", "0"), Supply{true, true, 63}},
		"a mouse":                  {map[string]string{"hid/type": "Battery", "hid/scope": "Device", "hid/status": "Discharging"}, Supply{}},
		"a UPS":                    {map[string]string{"ups/type": "UPS", "ups/status": "Discharging"}, Supply{Battery: true, OnBattery: true}},
		"no type":                  {map[string]string{"odd/status": "Discharging", "odd/online": "1"}, Supply{}},
		"second of two": {
			with(battery("Full"), "BAT1/type", "Battery", "BAT1/status", "Discharging", "BAT1/capacity", "9"), Supply{true, true, 9},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := supplies(t, test.files).Supply(t.Context())
			if err != nil || got != test.want {
				t.Errorf("got %+v and error %v, want %+v", got, err, test.want)
			}
		})
	}
	if got, err := (Machine{OS: "plan9"}).Supply(t.Context()); err != nil || got != (Supply{}) {
		t.Errorf("another system: got %+v and error %v, want the mains", got, err)
	}
}

func TestSupplyOfMacOS(t *testing.T) {
	t.Parallel()
	const inside = " -InternalBattery-0 (id=1234567)\t"
	for text, want := range map[string]Supply{
		"Now drawing from 'Battery Power'\n" + inside + "71%; discharging; 4:10 remaining present: true\n": {true, true, 71},
		"Now drawing from 'AC Power'\n" + inside + "71%; charging; 0:40 remaining present: true\n":         {Battery: true},
		"Now drawing from 'AC Power'\n":                            {},
		"Now drawing from 'UPS Power'\n -Back-UPS 650\t88%; UPS\n": {true, true, 88},
		"":                                   {},
		"something else\n" + inside + "5%\n": {Battery: true},
	} {
		if got := parsePmset(text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

// keeper puts a stand-in for systemd-inhibit on the PATH, which holds the FIFO
// open as long as it or what it started lives, and returns the root of a machine
// that systemd booted.
func keeper(t *testing.T, script string) (root, fifo string) {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	fifo = filepath.Join(root, "alive")
	testenv.Must(t, errors.Join(
		os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755), syscall.Mkfifo(fifo, 0o600),
		os.WriteFile(filepath.Join(bin, "systemd-inhibit"), []byte("#!/bin/sh\n"+script), 0o755),
	))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FIFO", fifo)
	return root, fifo
}

// runs is what systemd-inhibit does: it drops its options and runs the rest.
const runs = `exec 9>"$FIFO"
while [ "${1#--}" != "$1" ]; do shift; done
"$@"
`

// gone waits until nobody holds the FIFO open.
func gone(t *testing.T, fifo *os.File) {
	t.Helper()
	end := make(chan error, 1)
	go func() { _, err := io.ReadAll(fifo); end <- err }()
	select {
	case err := <-end:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("what keeps the machine awake is still there")
	}
}

func TestKeepAwakeEndsWhenStopped(t *testing.T) {
	root, path := keeper(t, runs)
	fifo := make(chan *os.File, 1)
	go func() { f, _ := os.Open(path); fifo <- f }()
	a, err := Machine{OS: "linux", Root: root}.KeepAwake(t.Context())
	testenv.Must(t, err)
	f := <-fifo
	defer f.Close()
	a.Stop()
	a.Stop() // once more is nothing
	gone(t, f)
}

func TestKeepAwakeEndsWithAKilledLoopd(t *testing.T) {
	root, path := keeper(t, runs)
	fifo := make(chan *os.File, 1)
	go func() { f, _ := os.Open(path); fifo <- f }()
	if said := testenv.KillAfter(t, testenv.Self(t, childEnv+"="+root), 1, 0); said[0] != "awake" {
		t.Fatalf("got %q", said)
	}
	f := <-fifo
	defer f.Close()
	gone(t, f)
}

func TestKeepAwakeSaysWhyNot(t *testing.T) {
	root, _ := keeper(t, "echo 'first words' >&2\necho 'Access denied' >&2\nexit 1\n")
	if _, err := (Machine{OS: "linux", Root: root}).KeepAwake(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "systemd-inhibit: Access denied") {
		t.Errorf("refused: got %v", err)
	}
	if _, err := (Machine{OS: "linux", Root: t.TempDir()}).KeepAwake(t.Context()); !errors.Is(err, ErrNoKeeper) {
		t.Errorf("not booted by systemd: got %v, want %v", err, ErrNoKeeper)
	}
	t.Setenv("PATH", t.TempDir())
	for _, os := range []string{"linux", "darwin", "plan9"} {
		if _, err := (Machine{OS: os, Root: root}).KeepAwake(t.Context()); !errors.Is(err, ErrNoKeeper) {
			t.Errorf("%s without a program: got %v, want %v", os, err, ErrNoKeeper)
		}
	}
	(*Awake)(nil).Stop()
}
