package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"loopd/internal/daemon"
	"loopd/loop"
)

// work is a made-up campaign that a house works on: it runs until a word or its
// window ends it.
type work struct {
	under, running, paused, halted bool
}

func (c *work) grant(p loop.Payload) error {
	switch p.(type) {
	case nil:
	case loop.Paused, loop.Halted:
		if c.halted {
			return loop.ErrNotUnderWay
		}
		_, c.halted = p.(loop.Halted)
		c.paused = !c.halted
	case loop.Resumed:
		if !c.paused && !c.halted {
			return loop.ErrNotPaused
		}
		c.paused, c.halted = false, false
	case loop.Finished:
		if c.halted {
			return errors.New("no search to end")
		}
		c.under, c.paused = false, false
	}
	return nil
}

// window is one of it. Opening takes a moment, as a ledger does.
func (c *work) window(_ context.Context, w daemon.Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error) {
	<-time.After(2 * time.Second)
	if c.under && (c.paused || c.halted) {
		return "paused", nil
	}
	c.under, c.running = true, true
	defer func() { c.running = false }()
	end := time.After(time.Until(w.End))
	for {
		select {
		case a := <-asks:
			a.Done <- c.grant(a.Payload)
			if !c.under || c.paused || c.halted {
				return "stopped", nil
			}
		case <-end:
			return "over", nil
		case <-drain:
			return "drained", nil
		}
	}
}

func (c *work) hand(p loop.Payload) (bool, error) {
	<-time.After(2 * time.Second)
	if !c.under {
		return false, nil
	}
	return true, c.grant(p)
}

// step is what somebody does, and when after the step before.
type step struct {
	After time.Duration
	Do    string
}

func (s step) String() string { return fmt.Sprintf("%s after %v", s.Do, s.After) }

// TestDaemon_AnyCommandsAtAnyTime says words in any order, most of them around the moments at
// which windows open and close, and kills the daemon in between: whoever was told
// that it is paused sees nothing run until somebody says resume; every word is
// answered; and no night has two windows but for a word or a kill.
func TestDaemon_AnyCommandsAtAnyTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				After: rapid.SampledFrom([]time.Duration{0, time.Second, 2 * time.Second, time.Hour, 8*time.Hour - time.Second, 2*time.Hour - time.Second, 14 * time.Hour}).Draw(t, "after"),
				Do:    rapid.SampledFrom([]string{"pause", "resume", "halt", "finish", "look", "kill", "stop"}).Draw(t, "do"),
			}
		}), 1, 12).Draw(rt, "steps")
		wrong := ""
		synctest.Test(t, func(t *testing.T) { wrong = saying(t, steps) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// TestDaemon_PauseJustBeforeAWindow: nothing opens though the hand that looks for a
// campaign to pause is still at it when the window should.
func TestDaemon_PauseJustBeforeAWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if wrong := saying(t, []step{{2*time.Hour - time.Second, "pause"}}); wrong != "" {
			t.Error(wrong)
		}
	})
}

// saying does the steps and says what went wrong.
func saying(t *testing.T, steps []step) string {
	c, again := &work{}, 0
	h := &house{dir: t.TempDir(), work: c.window, hand: c.hand}
	var stop func(kill bool)
	start := func() {
		h.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); _ = h.daemon.Run(ctx) }()
		ended := false
		stop = func(kill bool) {
			if ended {
				return
			}
			ended = true
			if kill {
				cancel()
			}
			close(h.drain)
			<-over
			cancel()
			again++
		}
	}
	<-time.After(20 * time.Hour) // two hours before a window
	start()
	defer func() { stop(false) }()
	held := false
	for i, s := range steps {
		<-time.After(s.After)
		switch s.Do {
		case "kill", "stop":
			stop(s.Do == "kill")
			start()
		default:
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			_, err := h.daemon.Do(ctx, daemon.Command(s.Do), "")
			cancel()
			if time.Since(began) > 20*time.Second {
				return fmt.Sprintf("step %d, %v: answered after %v: %v", i, s, time.Since(began), err)
			}
			switch s.Do {
			case "pause":
				if held = true; err != nil {
					return fmt.Sprintf("step %d, %v: %v", i, s, err)
				}
			case "resume":
				if err == nil {
					held, again = false, again+1
				}
			}
		}
		<-time.After(5 * time.Second)
		synctest.Wait()
		if held && c.running {
			return fmt.Sprintf("after step %d of %v something runs though a person paused", i, steps)
		}
	}
	<-time.After(26 * time.Hour)
	synctest.Wait()
	if held && c.running {
		return fmt.Sprintf("a day after %v something runs though a person paused", steps)
	}
	stop(false)
	days := h.nights()
	slices.Sort(days)
	if twice := len(days) - len(slices.Compact(days)); twice > again-1 {
		return fmt.Sprintf("after %v: windows of %v, %d starts and resumes", steps, h.nights(), again)
	}
	return ""
}

// TestDaemon_ResumeWithinAWindow: a window whose loop goes on at the word is not opened a
// second time when its campaign is over.
func TestDaemon_ResumeWithinAWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir()}
		h.work = func(_ context.Context, _ daemon.Window, _ <-chan struct{}, asks <-chan loop.Request) (string, error) {
			over := time.After(2 * time.Hour)
			for {
				select {
				case a := <-asks:
					a.Done <- nil // running sessions end slowly
				case <-over:
					return "done", nil
				}
			}
		}
		h.run(t, 5*time.Hour, func() { // in the window of the 31st
			<-time.After(time.Hour)
			for _, w := range []daemon.Command{daemon.Pause, daemon.Resume} {
				if _, err := h.daemon.Do(t.Context(), w, ""); err != nil {
					t.Error(w, err)
				}
			}
		})
		if got := h.nights(); !slices.Equal(got, []int{31}) {
			t.Errorf("windows of %v, want that of the 31st once", got)
		}
	})
}

// TestDaemon_ResumeFails: what keeps a campaign from going on is told to whoever says
// resume, though windows were held as well.
func TestDaemon_ResumeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the agent is gone")
		h := &house{dir: t.TempDir(), work: briefly, hand: func(loop.Payload) (bool, error) { return true, gone }}
		h.run(t, 30*time.Hour, func() {
			<-time.After(2 * time.Hour) // the window of the 31st is over
			if done, err := h.daemon.Do(t.Context(), daemon.Pause, ""); err != nil {
				t.Errorf("pause: %q, %v; want the windows held all the same", done, err)
			}
			if _, err := h.daemon.Do(t.Context(), daemon.Resume, ""); !errors.Is(err, gone) {
				t.Errorf("resume: got %v, want %v", err, gone)
			}
		})
		if got := h.nights(); !slices.Equal(got, []int{31}) {
			t.Errorf("windows of %v, want none after the pause", got)
		}
	})
}

// TestDaemon_PauseNotAnswered is told as one, and holds what follows.
func TestDaemon_PauseNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir(), work: briefly}
		h.run(t, 30*time.Hour, func() {
			<-time.After(time.Minute)
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if done, err := h.daemon.Do(short, daemon.Pause, ""); err == nil {
				t.Errorf("pause: %q, and the loop has not heard it", done)
			}
		})
		if got := h.nights(); !slices.Equal(got, []int{31}) {
			t.Errorf("windows of %v, want none after the pause", got)
		}
	})
}

// TestDaemon_LoopPanicsAtACommand answers it all the same.
func TestDaemon_LoopPanicsAtACommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir()}
		h.work = func(_ context.Context, _ daemon.Window, _ <-chan struct{}, asks <-chan loop.Request) (string, error) {
			<-asks
			panic("a bug")
		}
		h.run(t, time.Hour, func() {
			<-time.After(time.Minute)
			if _, err := h.daemon.Do(t.Context(), daemon.Finish, ""); err == nil {
				t.Error("finish: done by a loop that panicked")
			}
		})
	})
}

// TestDaemon_Draining: once loopd is told to stop that is what it is doing.
func TestDaemon_Draining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir()}
		h.work = func(_ context.Context, _ daemon.Window, drain <-chan struct{}, _ <-chan loop.Request) (string, error) {
			<-drain
			<-time.After(10 * time.Minute)
			return "drained", nil
		}
		h.run(t, time.Hour, func() {
			<-time.After(time.Hour + time.Minute)
			if live := h.daemon.Live(); live.Phase != daemon.Stopping {
				t.Errorf("got %+v, want it stopping", live)
			}
		})
	})
}

// TestDaemon_StateDirectoryGone ends a daemon: its lock went with it.
func TestDaemon_StateDirectoryGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir() + "/gone", work: briefly}
		h.open(t)
		if err := h.daemon.Run(t.Context()); err == nil || len(h.opened) != 0 {
			t.Errorf("got %v, opened %v", err, h.opened)
		}
	})
}

// TestWindows_ClockWasWrong: a window that was opened in a year to come keeps none
// from being opened today; one a little ahead is not opened again.
func TestWindows_ClockWasWrong(t *testing.T) {
	t.Parallel()
	w := daemon.Windows{Starts: []daemon.Schedule{daily(22)}, End: func(at time.Time) time.Time { return at.Add(8 * time.Hour) }}
	now := time.Date(2026, 12, 1, 21, 30, 0, 0, time.UTC)
	first := time.Date(2026, 12, 1, 22, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ last, want time.Time }{
		"years ahead":        {now.AddDate(4, 0, 0), first},
		"half an hour ahead": {first, first.AddDate(0, 0, 1)},
		"the night before":   {first.AddDate(0, 0, -1), first},
		"never":              {time.Time{}, first},
	} {
		if got, ok := w.Next(now, c.last); !ok || !got.Start.Equal(c.want) {
			t.Errorf("%s: the next window opens %v, want %v", name, got.Start, c.want)
		}
	}
	late, early := w, w
	late.Starts, early.Starts = []daemon.Schedule{daily(23), daily(22)}, []daemon.Schedule{daily(22), daily(23)}
	for _, w := range []daemon.Windows{late, early} {
		if got, _ := w.Next(now, time.Time{}); !got.Start.Equal(first) {
			t.Errorf("of two starts the one at %v is next", got.Start)
		}
		if got, _ := w.Next(now.Add(3*time.Hour), time.Time{}); !got.Start.Equal(first.Add(time.Hour)) {
			t.Errorf("of two windows that should be open that of %v is, want the newest", got.Start)
		}
	}
	if _, ok := (daemon.Windows{}).Next(now, time.Time{}); ok {
		t.Error("a window opens though none is set")
	}
}

// TestDaemon_NoWindowEver end a daemon with the reason.
func TestDaemon_NoWindowEver(t *testing.T) {
	t.Parallel()
	h := &house{dir: t.TempDir(), never: true}
	h.open(t)
	if err := h.daemon.Run(t.Context()); err == nil {
		t.Error("it waits for no window")
	}
}

// TestDaemon_PauseWithinAWindow: the loop that hears it ends, and resume opens the same
// window again. What is answered says which.
func TestDaemon_PauseWithinAWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &work{}
		h := &house{dir: t.TempDir(), work: c.window, hand: c.hand}
		h.run(t, 5*time.Hour, func() {
			<-time.After(time.Hour)
			for _, say := range []struct {
				word       daemon.Command
				done, look string
			}{
				{daemon.Pause, "paused: running sessions end, and nothing starts until loopd resume", "the loopd that runs takes it in its next window"},
				{daemon.Resume, "going on", "the loopd that runs takes it in its next window, Sat 06:00"},
				{daemon.Halt, "halted: running sessions are ended; loopd resume goes on", "the loopd that runs takes it in its next window, Sat 22:00"},
				{daemon.Resume, "going on", "the loopd that runs takes it in its next window, Sat 06:00"},
			} {
				done, err := h.daemon.Do(t.Context(), say.word, "")
				<-time.After(10 * time.Second)
				look, err2 := h.daemon.Do(t.Context(), daemon.Look, "")
				if done != say.done || look != say.look || errors.Join(err, err2) != nil {
					t.Errorf("%s: %q, then %q: %v; want %q, then %q", say.word, done, look, errors.Join(err, err2), say.done, say.look)
				}
			}
			h.daemon.Status.Show(daemon.Running, "", time.Time{})
			if look, _ := h.daemon.Do(t.Context(), daemon.Look, ""); look != "the loopd that runs takes it after the candidate under way" {
				t.Errorf("while it runs: %q", look)
			}
			if _, err := h.daemon.Do(t.Context(), "erase", ""); err == nil {
				t.Error("erase: done")
			}
		})
		if got := h.nights(); !slices.Equal(got, []int{31, 31, 31}) {
			t.Errorf("windows of %v, want that of the 31st, and again at each resume", got)
		}
	})
}

// TestDaemon_DiskFull ends no daemon: what it cannot write down it knows until it
// ends, and a person's word that a restart would forget is answered as such.
func TestDaemon_DiskFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{dir: t.TempDir(), work: briefly, hand: func(loop.Payload) (bool, error) { return false, nil }}
		h.run(t, 60*time.Hour, func() {
			file := filepath.Join(h.dir, "serve.json")
			<-time.After(time.Minute)
			if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "in the way"), 0o700)); err != nil {
				t.Error(err)
			}
			<-time.After(25 * time.Hour) // the 2nd, 01:01: the window of the 1st is open, its work is done
			for _, w := range []daemon.Command{daemon.Pause, daemon.Resume} {
				if _, err := h.daemon.Do(t.Context(), w, ""); err == nil || !strings.Contains(err.Error(), "a restart would forget it") {
					t.Errorf("%s: got %v", w, err)
				}
			}
		})
		if got := h.nights(); !slices.Equal(got, []int{31, 1, 1, 2}) {
			t.Errorf("windows of %v, want each night's, and that of the 1st again at resume", got)
		}
	})
}
