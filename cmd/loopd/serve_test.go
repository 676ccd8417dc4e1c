package main

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/daemon"
	"loopd/internal/testenv"
	"loopd/loop"
)

// TestTellsSystemd: a service manager hears that loopd is ready, what it does,
// that its loop lives for as long as it does, and that it stops.
func TestTellsSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testenv.Must(t, err)
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "300000")
	board := daemon.NewStatus("serve", admission.Wall{}, nil)
	board.Show(daemon.Idle, "", time.Now().Add(time.Hour))
	d, err := daemon.New(daemon.Options{Dir: t.TempDir(), Status: board, Clock: admission.Wall{}, Log: slog.New(slog.DiscardHandler)})
	testenv.Must(t, err)
	s := &server{log: slog.New(slog.DiscardHandler)}
	stop := s.tellSystemd(t.Context(), d)
	heard := make(map[string]int)
	hear := func(want string) {
		t.Helper()
		buf := make([]byte, 1<<10)
		for heard[want] == 0 {
			testenv.Must(t, l.SetReadDeadline(time.Now().Add(30*time.Second)))
			n, err := l.Read(buf)
			if err != nil {
				t.Fatalf("no %s came: %v; heard %v", want, err, heard)
			}
			text := string(buf[:n])
			heard[text]++
			if name, _, ok := strings.Cut(text, "="); ok && name == "STATUS" {
				heard["STATUS"]++
			}
		}
	}
	hear("READY=1")
	hear("STATUS")
	hear("WATCHDOG=1")
	_, shut := d.Open() // a loop that should answer, and does not
	for k := range heard {
		delete(heard, k)
	}
	hear("STATUS")
	hear("STATUS")
	if heard["WATCHDOG=1"] > 1 { // one may have been under way
		t.Errorf("a loop that does not answer was said to live %d times", heard["WATCHDOG=1"])
	}
	shut()
	stop()
	hear("STOPPING=1")
}

// TestWebhook: it gets the notice, may fail, and is ended with all it started when
// it takes too long.
func TestWebhook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, n := env{Env: app.Env{Dir: dir}}, notice{Event: "promoted", Campaign: "abc-1", Why: "it's; $(better)", Next: "loopd adopt"}
	testenv.Must(t, runWebhook(`cat >told; printf %s "$LOOPD_EVENT $LOOPD_WHY" >said`, e, n, time.Minute))
	told, err := os.ReadFile(filepath.Join(dir, "told"))
	said, err2 := os.ReadFile(filepath.Join(dir, "said"))
	testenv.Must(t, errors.Join(err, err2))
	if !strings.Contains(string(told), `"event":"promoted"`) || string(said) != "promoted it's; $(better)" {
		t.Errorf("told %s, said %s", told, said)
	}
	if err := fits(told); err != nil {
		t.Error(err)
	}
	if err := runWebhook("echo no route >&2; exit 7", e, n, time.Minute); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("got %v, want what it said", err)
	}
	began := time.Now()
	if err := runWebhook("sleep 300 & sleep 300", e, n, 100*time.Millisecond); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("a webhook that hangs: %v after %v", err, time.Since(began))
	}
}

// TestWhatIsNoticed: the owner is told of ends, halts and pauses worth knowing, and
// not of every minute that a service is busy.
func TestWhatIsNoticed(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), time.Now()
	s := &server{e: env{Env: app.Env{Dir: dir}}, log: slog.New(slog.DiscardHandler)}
	s.notices.use(`echo "$LOOPD_EVENT" >>told`)
	st := loop.NewState()
	for _, p := range []loop.Payload{
		loop.Paused{Reason: "service", Until: at.Add(time.Minute)},
		loop.Recorded{},
	} {
		s.observe(st, loop.Event{Time: at, Payload: p})
	}
	s.notices.Wait()
	if _, err := os.Stat(filepath.Join(dir, "told")); err == nil {
		t.Error("told of a pause of a minute, or of a session")
	}
	for _, p := range []loop.Payload{
		loop.Paused{Reason: daemon.WindowOver}, loop.Paused{Reason: "usage", Class: harness.UsageLimit, Until: at.Add(5 * time.Hour)},
		loop.Halted{Reason: "drift"}, loop.Ended{Outcome: loop.Promoted}, loop.Ended{Outcome: loop.NothingMeasured},
	} {
		s.observe(st, loop.Event{Time: at, Payload: p})
		s.notices.Wait() // one after the other, for the order
	}
	told, err := os.ReadFile(filepath.Join(dir, "told"))
	if want := "paused\npaused\nhalted\npromoted\nnothing_measured\n"; err != nil || string(told) != want {
		t.Errorf("told %q, %v; want %q", told, err, want)
	}
}
