package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loopd/internal/admission"
	"loopd/internal/daemon"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
)

// daily starts once a day at that hour, in UTC.
type daily int

func (h daily) Next(after time.Time) time.Time {
	at := time.Date(after.Year(), after.Month(), after.Day(), int(h), 0, 0, 0, time.UTC)
	for !at.After(after) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// house is a daemon whose windows last eight hours from 22:00, with what happened
// in it.
type house struct {
	dir    string
	opened []time.Time
	work   func(ctx context.Context, w daemon.Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error)
	hand   func(p loop.Payload) (bool, error)
	told   []string
	drain  chan struct{}
	daemon *daemon.Daemon
	never  bool // no window ever opens
}

func (h *house) open(t *testing.T) {
	t.Helper()
	h.drain = make(chan struct{})
	var err error
	h.daemon, err = daemon.New(daemon.Options{
		Dir: h.dir, Clock: admission.Wall{}, Status: daemon.NewStatus("serve", admission.Wall{}, h.drain), Drain: h.drain, Log: slog.New(slog.DiscardHandler),
		Windows: daemon.Windows{Starts: h.starts(), End: func(at time.Time) time.Time { return at.Add(8 * time.Hour) }},
		Guard: func(work func()) {
			defer func() { _ = recover() }()
			work()
		},
		Work: func(ctx context.Context, w daemon.Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error) {
			h.opened = append(h.opened, w.Start)
			return h.work(ctx, w, drain, asks)
		},
		Apply:  func(_ context.Context, p loop.Payload) (bool, error) { return h.hand(p) },
		Notify: func(kind, _ string) { h.told = append(h.told, kind) },
	})
	testenv.Must(t, err)
}

// starts are when windows begin.
func (h *house) starts() []daemon.Schedule {
	if h.never {
		return nil
	}
	return []daemon.Schedule{daily(22)}
}

// run runs the daemon for that long, and what somebody does meanwhile.
func (h *house) run(t *testing.T, long time.Duration, meanwhile ...func()) {
	t.Helper()
	h.open(t)
	for _, f := range meanwhile {
		go f()
	}
	go func() { <-time.After(long); close(h.drain) }()
	testenv.Must(t, h.daemon.Run(t.Context()))
}

// nights counts the windows by their day.
func (h *house) nights() []int {
	var out []int
	for _, at := range h.opened {
		out = append(out, at.Day())
	}
	return out
}

func briefly(context.Context, daemon.Window, <-chan struct{}, <-chan loop.Request) (string, error) {
	<-time.After(time.Hour)
	return "done", nil
}

// TestDaemon_WindowsOpenOnce: one window a night, none twice over a restart, and one
// that should be open is opened late, once.
func TestDaemon_WindowsOpenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it begins at 2000-01-01 00:00 UTC
		h := &house{dir: t.TempDir(), work: briefly}
		h.run(t, 60*time.Hour) // to the 3rd, 12:00
		if got := h.nights(); !slices.Equal(got, []int{31, 1, 2}) {
			t.Errorf("windows of %v, want the open one of the 31st, then the 1st and the 2nd", got)
		}
		h.run(t, 9*time.Hour) // nothing is due before 22:00
		if got := h.nights(); len(got) != 3 {
			t.Errorf("opened %v again after a restart", got[3:])
		}
		<-time.After(5 * time.Hour) // not there from 21:00 to 02:00 of the 4th
		h.run(t, 19*time.Hour)
		if got := h.nights(); !slices.Equal(got, []int{31, 1, 2, 3}) {
			t.Errorf("windows of %v, want that of the 3rd opened late and once", got)
		}
		<-time.After(80 * time.Hour) // a long journey: what is over stays over
		h.run(t, time.Hour)
		if got := h.nights(); !slices.Equal(got, []int{31, 1, 2, 3, 7}) {
			t.Errorf("windows of %v, want only the one that is open after the journey", got)
		}
	})
}

// TestDaemon_ReopensAnInterruptedWindow: one that a signal cut short is opened again by the next
// loopd, while it lasts.
func TestDaemon_ReopensAnInterruptedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir(), work: func(ctx context.Context, _ daemon.Window, drain <-chan struct{}, _ <-chan loop.Request) (string, error) {
			<-drain
			return "drained", nil
		}}
		h.run(t, time.Hour) // 00:00 to 01:00, in the window of the 31st
		<-time.After(time.Hour)
		h.run(t, time.Hour)
		<-time.After(5 * time.Hour)
		h.run(t, time.Hour) // it is over by now
		if got := h.nights(); !slices.Equal(got, []int{31, 31}) {
			t.Errorf("windows of %v, want that of the 31st twice", got)
		}
	})
}

// TestDaemon_WindowFails: a panic, an error and a state directory in use each end
// no daemon; the last is tried again within the window.
func TestDaemon_WindowFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		h := &house{dir: t.TempDir(), work: func(context.Context, daemon.Window, <-chan struct{}, <-chan loop.Request) (string, error) {
			switch n++; {
			case n == 1:
				panic("a bug")
			case n == 2:
				return "", errors.New("the agent is gone")
			case n < 6:
				return "", &store.LockedError{Dir: "state", PID: 4711}
			}
			return "done", nil
		}}
		h.run(t, 69*time.Hour)
		if got := h.nights(); !slices.Equal(got, []int{31, 1, 2, 2, 2, 2}) || !slices.Equal(h.told, []string{"failed", "failed"}) {
			t.Errorf("windows of %v, told %v", got, h.told)
		}
		if live := h.daemon.Live(); live.Stopped != "done" {
			t.Errorf("stopped %q", live.Stopped)
		}
	})
}

// TestDaemon_Pause: a pause holds every window, also over a restart and where
// there is no campaign; resume opens the one that should be open.
func TestDaemon_Pause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir(), work: briefly, hand: func(loop.Payload) (bool, error) { return false, nil }}
		h.open(t)
		if done, err := h.daemon.Do(t.Context(), daemon.Pause, "guests"); err != nil || done != "paused: no window opens until loopd resume" {
			t.Errorf("pause: %q, %v", done, err)
		}
		h.run(t, 50*time.Hour)
		if len(h.opened) != 0 {
			t.Errorf("opened %v though a person paused", h.opened)
		}
		h.run(t, 24*time.Hour, func() { // on the 3rd, 23:00
			<-time.After(21 * time.Hour)
			if live := h.daemon.Live(); live.Phase != daemon.Held || live.Why != "paused by hand: guests" {
				t.Errorf("held: %+v", live)
			}
			if _, err := h.daemon.Do(t.Context(), daemon.Resume, ""); err != nil {
				t.Error(err)
			}
			if _, err := h.daemon.Do(t.Context(), daemon.Resume, ""); err == nil {
				t.Error("resumed twice")
			}
		})
		if got := h.nights(); !slices.Equal(got, []int{3}) {
			t.Errorf("windows of %v, want the open one of the 3rd", got)
		}
	})
}

// TestDaemon_CommandsReachTheLoop: in a window a word goes to the loop; where the loop is
// over, or none runs, it is done by hand.
func TestDaemon_CommandsReachTheLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard, byHand []loop.Kind
		h := &house{dir: t.TempDir(), hand: func(p loop.Payload) (bool, error) {
			byHand = append(byHand, p.Kind())
			return true, nil
		}}
		h.work = func(_ context.Context, _ daemon.Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error) {
			over := time.After(4 * time.Hour)
			for {
				select {
				case a := <-asks:
					if a.Payload != nil {
						heard = append(heard, a.Payload.Kind())
					}
					a.Done <- nil
				case <-over:
					return "done", nil
				case <-drain:
					return "drained", nil
				}
			}
		}
		h.run(t, 20*time.Hour, func() { // the window of the 31st is open from the first moment on
			<-time.After(time.Hour)
			if !h.daemon.Alive(t.Context()) {
				t.Error("the loop is said not to answer")
			}
			for _, w := range []daemon.Command{daemon.Finish, daemon.Halt} {
				if _, err := h.daemon.Do(t.Context(), w, ""); err != nil {
					t.Error(w, err)
				}
			}
			<-time.After(8 * time.Hour) // between two windows
			if live := h.daemon.Live(); live.Phase != daemon.Idle || live.Until.Hour() != 22 || live.Stopped != "done" {
				t.Errorf("idle: %+v", live)
			}
			if _, err := h.daemon.Do(t.Context(), daemon.Resume, ""); err != nil {
				t.Error(err)
			}
		})
		if !slices.Equal(heard, []loop.Kind{loop.KindFinished, loop.KindHalted}) || !slices.Equal(byHand, []loop.Kind{loop.KindResumed}) {
			t.Errorf("heard %v, by hand %v", heard, byHand)
		}
	})
}

// TestDaemon_LoopHangs: a loop that takes no ask is found out, and whoever asks is
// told within their patience.
func TestDaemon_LoopHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir(), work: briefly}
		h.run(t, 3*time.Hour, func() {
			<-time.After(time.Minute)
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if h.daemon.Alive(short) {
				t.Error("a loop that takes no ask counts as alive")
			}
			if _, err := h.daemon.Do(short, daemon.Finish, ""); err == nil {
				t.Error("nobody answered, and that was no error")
			}
		})
	})
}

// TestNew_DamagedState: a file that cannot be read stops the start, with its name.
func TestNew_DamagedState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "serve.json"), []byte("{half"), 0o600))
	if _, err := daemon.New(daemon.Options{Dir: dir, Status: daemon.NewStatus("serve", admission.Wall{}, nil)}); err == nil {
		t.Error("half a file was read")
	}
}
