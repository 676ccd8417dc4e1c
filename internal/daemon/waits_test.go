package daemon_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/testenv"
	"loopd/loop"
)

// held runs sessions that all fail, each of a minute; before the first of them it
// holds everything once.
type held struct {
	clock *admission.Moved
	hold  *loop.Paused
}

func (h *held) Run(_ context.Context, spec harness.Spec) (harness.Trial, error) {
	if p := h.hold; p != nil {
		h.hold = nil
		return harness.Trial{}, &loop.HoldError{Paused: *p}
	}
	h.clock.Advance(time.Minute)
	return harness.Trial{
		ID: spec.TrialID(), Spec: spec, Class: harness.Valid,
		Result: harness.Result{Kind: harness.Unprompted, Case: spec.Slot.Cell.Scenario, Outcome: harness.Fail},
	}, nil
}

// shift is a shift on a small campaign of one cell without candidates, which ends
// after its pilot.
func shift(t *testing.T, hold *loop.Paused) (*daemon.Worker, *admission.Moved) {
	t.Helper()
	user, home := filepath.Join(t.TempDir(), "user"), campaign.Home{Dir: filepath.Join(t.TempDir(), "state")}
	bundled, err := fs.Sub(fixtures.Plugins(), "os-adr")
	err = errors.Join(err, frozen.Materialise(bundled, fixtures.PluginMode, user), home.Make())
	testenv.Must(t, err)
	testenv.Repo(t, user)
	sealed, err := home.OpenBundled(t.Context())
	testenv.Must(t, err)
	now := admission.NewMoved(time.Date(2026, 12, 1, 22, 30, 0, 0, time.UTC), nil)
	c, err := campaign.Open(t.Context(), campaign.Options{
		Home: home, Plugin: user, Sealed: sealed, AgentName: "agent 1", AgentSHA: "sha", Credential: "simulated", Now: now.Now, Log: slog.New(slog.DiscardHandler),
	})
	testenv.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	set := loop.DefaultSettings(40).Under(loop.Scout)
	set.MaxCandidates = 1
	testenv.Must(t, c.Begin(t.Context(), set, campaign.Grid{Objective: []harness.Cell{{Scenario: "R1", Tier: "sonnet"}}}))
	return &daemon.Worker{
		Campaign: c, Gate: admission.NewGate(admission.Options{Clock: now, Governor: admission.GovernorOptions{Parallel: 1}}), Status: daemon.NewStatus("serve", now, nil),
		Loop: loop.Loop{Executor: &held{clock: now, hold: hold}, Parallel: 1},
	}, now
}

// The pauses that lift by themselves, and one that does not.
func usage(t time.Time) *loop.Paused {
	return &loop.Paused{Reason: "usage", Class: harness.UsageLimit, Until: t}
}
func battery() *loop.Paused  { return &loop.Paused{Reason: "battery", Battery: true} }
func disk() *loop.Paused     { return &loop.Paused{Reason: "disk", Class: harness.Disk} }
func spending() *loop.Paused { return &loop.Paused{Reason: "spending"} }

// TestWorker_Waits: a pause that lifts by itself is waited out by what lifts it,
// unless the shift is over first, or is not to wait; then it stays on record.
func TestWorker_Waits(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 12, 1, 22, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		hold       *loop.Paused
		end        time.Time
		noWait     bool
		comes      bool   // what is waited for
		want       string // in words, as daemon.Stopped says it
		took       time.Duration
		asked, say []string
	}{
		"nothing":                   {nil, time.Time{}, false, false, "ended: no_change", 0, nil, nil},
		"a limit":                   {usage(begin.Add(2 * time.Hour)), begin.Add(9 * time.Hour), false, false, "ended: no_change", 2 * time.Hour, nil, []string{"00:30:01"}},
		"a limit without an end":    {&loop.Paused{Reason: "rate", Class: harness.RateLimit}, time.Time{}, false, false, "ended: no_change", 15 * time.Minute, nil, []string{"22:45:00"}},
		"a limit beyond the window": {usage(begin.Add(20 * time.Hour)), begin.Add(9 * time.Hour), false, false, "paused: usage", 0, nil, []string{"18:30:01"}},
		"a limit, not to wait":      {usage(begin.Add(2 * time.Hour)), time.Time{}, true, false, "paused: usage", 0, nil, nil},
		"the battery":               {battery(), begin.Add(9 * time.Hour), false, true, "ended: no_change", 0, []string{"battery"}, []string{""}},
		"the battery, for ever":     {battery(), time.Time{}, false, false, "paused: battery", 0, []string{"battery"}, []string{""}},
		"the battery, not to wait":  {battery(), time.Time{}, true, true, "paused: battery", 0, nil, nil},
		"a full disk":               {disk(), begin.Add(9 * time.Hour), false, true, "ended: no_change", 0, []string{"disk"}, []string{""}},
		"a full disk, not to wait":  {disk(), time.Time{}, true, true, "paused: disk", 0, nil, nil},
		"what a person must lift":   {spending(), time.Time{}, false, true, "paused: spending", 0, nil, nil},
		"the window":                {nil, begin.Add(time.Minute), false, false, "paused: " + daemon.WindowOver, time.Minute, nil, nil},
		"a limit, and then no time": {usage(begin.Add(time.Hour)), begin.Add(61 * time.Minute), false, false, "paused: " + daemon.WindowOver, time.Hour, nil, []string{"23:30:01"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, now := shift(t, c.hold)
			var asked, said []string
			s.End, s.NoWait = c.end, c.noWait
			s.Wait = func(ctx context.Context, stop <-chan struct{}, p loop.Paused, due time.Time) bool {
				if !due.IsZero() {
					return s.Gate.Wait(ctx, stop, p, due)
				}
				asked = append(asked, p.Reason)
				return c.comes
			}
			s.Say = func(until time.Time) {
				text := ""
				if !until.IsZero() {
					text = until.Format(time.TimeOnly)
				}
				said = append(said, text)
			}
			testenv.Must(t, s.Run(t.Context(), nil))
			got, took := daemon.Stopped(s.Campaign.Current()), now.Now().Sub(begin)
			if got != c.want || took < c.took || took > c.took+10*time.Minute || !slices.Equal(asked, c.asked) || !slices.Equal(said, c.say) {
				t.Errorf("%s after %v, waited for %v, said %q; want %s after %v, %v, %q", got, took, asked, said, c.want, c.took, c.asked, c.say)
			}
		})
	}
}

// TestWorker_NoWaitAfterALimit: who does not wait goes on all the same once it has lifted.
func TestWorker_NoWaitAfterALimit(t *testing.T) {
	t.Parallel()
	s, now := shift(t, usage(time.Date(2026, 12, 2, 0, 30, 0, 0, time.UTC)))
	s.NoWait = true
	for _, want := range []string{"paused: usage", "paused: usage", "ended: no_change"} {
		if err := s.Run(t.Context(), nil); err != nil || daemon.Stopped(s.Campaign.Current()) != want {
			t.Errorf("at %v: %v, %s; want %s", now.Now(), err, daemon.Stopped(s.Campaign.Current()), want)
		}
		now.Advance(70 * time.Minute)
	}
}

// TestWorker_CommandsWhileWaiting: what a person says to a campaign that waits is done at
// once, and ends the wait where it decides what comes next.
func TestWorker_CommandsWhileWaiting(t *testing.T) {
	t.Parallel()
	refused := loop.Decided{Candidate: "c001", Verdict: loop.Keep}
	for name, c := range map[string]struct {
		words []loop.Payload
		want  string
	}{
		"resume":              {[]loop.Payload{nil, refused, loop.Resumed{}}, "ended: no_change"},
		"halt":                {[]loop.Payload{loop.Halted{Reason: "by hand", ByHand: true}}, "halted: by hand"},
		"pause":               {[]loop.Payload{loop.Paused{Reason: "by hand", ByHand: true}}, "paused: by hand"},
		"finish, then resume": {[]loop.Payload{loop.Finished{}, nil, loop.Resumed{}}, "ended: no_change"},
		"nothing but drain":   {nil, "paused: battery"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := shift(t, battery())
			asks, drain := make(chan loop.Request), make(chan struct{})
			s.Requests = asks
			s.Wait = func(_ context.Context, stop <-chan struct{}, _ loop.Paused, _ time.Time) bool {
				go func() {
					for _, p := range c.words {
						told := make(chan error, 1)
						asks <- loop.Request{Payload: p, Done: told}
						if err := <-told; (err != nil) != (p != nil && p.Kind() == refused.Kind()) {
							t.Errorf("%T: %v", p, err)
						}
					}
					if len(c.words) == 0 {
						close(drain)
					}
				}()
				<-stop
				return false
			}
			testenv.Must(t, s.Run(t.Context(), drain))
			if got := daemon.Stopped(s.Campaign.Current()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestWorker_Stopped: drained it ends as it stands, which the window's end does
// not change; so it does when everything is ended.
func TestWorker_Stopped(t *testing.T) {
	t.Parallel()
	s, now := shift(t, battery())
	drain := make(chan struct{})
	close(drain)
	s.End = now.Now().Add(time.Hour)
	if err := s.Run(t.Context(), drain); !errors.Is(err, loop.ErrDrained) || daemon.Stopped(s.Campaign.Current()) != "stopped" {
		t.Errorf("drained: %v, %s", err, daemon.Stopped(s.Campaign.Current()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Wait = func(ctx context.Context, _ <-chan struct{}, _ loop.Paused, _ time.Time) bool {
		cancel()
		<-ctx.Done()
		return false
	}
	if err := s.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("ended while it waits: %v", err)
	}
	testenv.Must(t, s.Campaign.Grant(t.Context(), loop.Halted{Reason: "by hand", ByHand: true}))
	if err := s.Run(t.Context(), nil); err != nil || daemon.Stopped(s.Campaign.Current()) != "halted: by hand" {
		t.Errorf("halted: %v, %s", err, daemon.Stopped(s.Campaign.Current()))
	}
	if got := daemon.Stopped(nil); got != "" {
		t.Errorf("before any campaign: %q", got)
	}
}

// TestStatus_Sessions: when a session began and when it printed last.
func TestStatus_Sessions(t *testing.T) {
	t.Parallel()
	store, spec := t.TempDir(), harness.Spec{Campaign: "a", Attempt: 2}
	spec.Slot.Cell, spec.Slot.Rep = harness.Cell{Scenario: "R1", Tier: "sonnet"}, 3
	board := daemon.NewStatus("run", admission.Wall{}, nil)
	lines := filepath.Join(store, spec.TrialID(), "transcript.jsonl")
	var seen []time.Time
	_, err := board.Watch(store, running(func() {
		look := func() {
			live := board.Live()
			if len(live.Sessions) != 1 || live.Sessions[0].Cell != "R1/sonnet" || live.Sessions[0].Rep != 3 || live.Sessions[0].Attempt != 2 || live.Sessions[0].Since.IsZero() {
				t.Fatalf("got %+v", live.Sessions)
			}
			seen = append(seen, live.Sessions[0].LastEvent)
		}
		look()
		for _, text := range []string{"", "{}\n"} {
			testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(lines), 0o700), os.WriteFile(lines, []byte(text), 0o600)))
			look()
		}
	})).Run(t.Context(), spec)
	if err != nil || len(seen) != 3 || !seen[0].IsZero() || !seen[1].IsZero() || seen[2].IsZero() || len(board.Live().Sessions) != 0 {
		t.Errorf("%v: last lines at %v, want one after something was printed; %d sessions after it", err, seen, len(board.Live().Sessions))
	}
}

type running func()

func (r running) Run(context.Context, harness.Spec) (harness.Trial, error) {
	r()
	return harness.Trial{}, nil
}
