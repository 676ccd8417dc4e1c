package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/config"
	"loopd/loop"
)

// laptop is a machine on its battery, and what puts it on the mains.
func laptop(t *testing.T) (m admission.Machine, plugIn func()) {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(root, "sys/class/power_supply", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+"\n"), 0o644)); err != nil {
			t.Error(err)
		}
	}
	put("BAT0/type", "Battery")
	put("BAT0/status", "Discharging")
	put("AC/type", "Mains")
	put("AC/online", "0")
	return admission.Machine{OS: "linux", Root: root}, func() { put("AC/online", "1") }
}

type counting struct{ ran int }

func (c *counting) Run(context.Context, harness.Spec) (harness.Trial, error) {
	c.ran++
	return harness.Trial{}, nil
}

func TestOnBatteryNothingIsStarted(t *testing.T) {
	t.Parallel()
	m, plugIn := laptop(t)
	c := &counting{}
	_, err := plugged{config.PauseOnBattery, m, c}.Run(t.Context(), harness.Spec{})
	hold, ok := errors.AsType[*loop.HoldError](err)
	if !ok || !hold.Paused.Lifts() || hold.Paused.Reason != "power: on battery" || c.ran != 0 {
		t.Errorf("got %v after %d sessions, want a hold that lifts and none", err, c.ran)
	}
	if _, err := (plugged{config.RunOnBattery, m, c}).Run(t.Context(), harness.Spec{}); err != nil || c.ran != 1 {
		t.Errorf("told to run: got %v after %d sessions, want one", err, c.ran)
	}
	plugIn()
	if _, err := (plugged{config.PauseOnBattery, m, c}).Run(t.Context(), harness.Spec{}); err != nil || c.ran != 2 {
		t.Errorf("on the mains: got %v after %d sessions, want two", err, c.ran)
	}
}

func TestTheMainsAreWaitedFor(t *testing.T) {
	t.Parallel()
	m, plugIn := laptop(t)
	synctest.Test(t, func(t *testing.T) {
		n, e, began := &night{}, env{machine: m, stderr: io.Discard}, time.Now()
		stop := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(stop) })
		if n.waitForMains(t.Context(), e, stop) || time.Since(began) != time.Hour {
			t.Errorf("stopped after %v, want after one hour", time.Since(began))
		}
		time.AfterFunc(2*time.Hour, plugIn)
		if !n.waitForMains(t.Context(), e, nil) || time.Since(began) > 3*time.Hour+mainsEvery {
			t.Errorf("went on after %v, want after three hours", time.Since(began))
		}
	})
}
