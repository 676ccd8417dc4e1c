package admission

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loopd/harness"
	"loopd/loop"
)

// laptop is a machine on its battery, and what connects it to AC power.
func laptop(t *testing.T) (m Machine, plugIn func()) {
	t.Helper()
	m = supplies(t, map[string]string{"BAT0/type": "Battery", "BAT0/status": "Discharging", "AC/type": "Mains", "AC/online": "0"})
	return m, func() {
		if err := os.WriteFile(filepath.Join(m.Root, "sys/class/power_supply/AC/online"), []byte("1\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
}

type counting struct{ ran int }

func (c *counting) Run(context.Context, harness.Spec) (harness.Trial, error) {
	c.ran++
	return harness.Trial{}, nil
}

// paused returns what kept a session from being started; nil where it was.
func paused(t *testing.T, o Options) *loop.Paused {
	t.Helper()
	c := &counting{}
	_, err := NewGate(o).Admit(c).Run(t.Context(), harness.Spec{})
	hold, held := errors.AsType[*loop.HoldError](err)
	if held == (c.ran > 0) || err != nil && !held {
		t.Fatalf("got %v after %d sessions", err, c.ran)
	}
	if held {
		return &hold.Paused
	}
	return nil
}

func TestGate_Battery(t *testing.T) {
	t.Parallel()
	m, plugIn := laptop(t)
	p := paused(t, Options{Machine: m, PauseOnBattery: true})
	if p == nil || !p.Lifts() || p.Reason != "power: on battery" {
		t.Errorf("on battery: got %+v, want a pause that lifts", p)
	}
	if p := paused(t, Options{Machine: m}); p != nil {
		t.Errorf("told to run: got %+v", p)
	}
	plugIn()
	if p := paused(t, Options{Machine: m, PauseOnBattery: true}); p != nil {
		t.Errorf("on AC power: got %+v", p)
	}
}

func TestGate_Disk(t *testing.T) {
	t.Parallel()
	free, dirs := uint64(2<<30), []string{t.TempDir() + "/not/there/yet"}
	enough := func(string) (uint64, error) { return free, nil }
	if p := paused(t, Options{Disk: Disk{Floor: 2 << 30, Dirs: dirs, Free: enough}}); p != nil {
		t.Errorf("with just enough space: got %+v", p)
	}
	free--
	p := paused(t, Options{Disk: Disk{Floor: 2 << 30, Dirs: dirs, Free: enough}})
	if p == nil || p.Class != harness.Disk || !p.Lifts() || !strings.Contains(p.Reason, "disk_floor is 2.0 GiB") {
		t.Errorf("with less: got %+v, want a pause of the class disk that lifts", p)
	}
	unknown := func(string) (uint64, error) { return 0, errors.New("no such call") }
	for name, d := range map[string]Disk{
		"no limit": {Dirs: dirs, Free: enough}, "cannot tell": {Floor: 2 << 30, Dirs: dirs, Free: unknown},
	} {
		if p := paused(t, Options{Disk: d}); p != nil {
			t.Errorf("%s: got %+v, want it to run", name, p)
		}
	}
}

func TestGate_Spending(t *testing.T) {
	t.Parallel()
	s := loop.NewState()
	s.Started.Start = "start"
	spending := NewSpending(SpendLimits{Session: 1, Candidate: 2, Campaign: 3}, s)
	spec := harness.Spec{Slot: harness.Slot{Wording: "other"}}
	if own, start := spending.Of(spec), spending.Of(harness.Spec{Slot: harness.Slot{Wording: "start"}}); len(own) != 3 || len(start) != 2 || own[1] != spending.Of(spec)[1] {
		t.Errorf("got %d limits of a candidate, %d of the start; want 3 with the candidate's shared, and 2", len(own), len(start))
	}
	if p := paused(t, Options{Spending: spending}); p != nil {
		t.Errorf("nothing spent: got %+v", p)
	}
	spent := NewSpending(SpendLimits{Campaign: 1e-9}, s)
	if p := paused(t, Options{Spending: spent}); p != nil {
		t.Errorf("nothing spent of little: got %+v", p)
	}
	if none := (*Spending)(nil); none.May() != nil || none.Of(spec) != nil || none.Campaign() != nil {
		t.Error("no limit holds something back")
	}
}

func TestGate_WaitForPower(t *testing.T) {
	t.Parallel()
	m, plugIn := laptop(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		g, battery := NewGate(Options{Machine: m}), loop.Paused{Battery: true}
		stop := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(stop) })
		if g.Wait(t.Context(), stop, battery, time.Time{}) || time.Since(began) != time.Hour {
			t.Errorf("stopped after %v, want after one hour", time.Since(began))
		}
		time.AfterFunc(2*time.Hour, plugIn)
		if !g.Wait(t.Context(), nil, battery, time.Time{}) || time.Since(began) > 3*time.Hour+10*time.Second {
			t.Errorf("went on after %v, want after three hours", time.Since(began))
		}
	})
}

func TestGate_Due(t *testing.T) {
	t.Parallel()
	g, began := NewGate(Options{}), time.Date(2026, 12, 1, 22, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		p    loop.Paused
		want time.Time
	}{
		"a limit":                {loop.Paused{Class: harness.UsageLimit, Until: began.Add(time.Hour)}, began.Add(time.Hour + time.Second)},
		"a limit without an end": {loop.Paused{Class: harness.RateLimit}, began.Add(15 * time.Minute)},
		"the disk":               {loop.Paused{Class: harness.Disk}, time.Time{}},
		"the battery":            {loop.Paused{Battery: true}, time.Time{}},
	} {
		if got := g.Due(began, test.p); !got.Equal(test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
