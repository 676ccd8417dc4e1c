package trial_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// provoked is one way to spoil a session, with the class that is right for it
// whichever agent ran.
type provoked struct {
	play play
	want harness.Class
}

// provocations are those whose class depends on what the agent makes of them.
func provocations() map[string]provoked {
	const hook = "hooks/session-start"
	return map[string]provoked{
		"unavailable":         {play{fault: fake.FaultUnavailable}, harness.Overloaded},
		"rate limit":          {play{fault: fake.FaultRateLimit}, harness.RateLimit},
		"server error":        {play{fault: fake.FaultServerError}, harness.ServerError},
		"auth":                {play{fault: fake.FaultAuth}, harness.Auth},
		"billing":             {play{fault: fake.FaultBilling}, harness.Billing},
		"model gone":          {play{fault: fake.FaultModelGone}, harness.ModelGone},
		"hang":                {play{fault: fake.FaultHang}, harness.Hang},
		"crash":               {play{fault: fake.FaultCrash}, harness.Cancelled},
		"hook fails":          {play{lay: inPlugin(hook, to("#!/bin/sh\nexit 1\n"))}, harness.HookNotDelivered},
		"hook without effect": {play{lay: inPlugin(hook, swap("SessionStart", "SessionEnd"))}, harness.HookNotDelivered},
		"program missing":     {play{lay: inPlugin(hook, to("#!/bin/sh\nset -e\nno-such-program --note\n"))}, harness.HookNotDelivered},
		"interpreter missing": {play{lay: inPlugin(hook, to("#!/usr/bin/no-such-interpreter\n"))}, harness.HookNotDelivered},
		"broken manifest":     {play{lay: inPlugin(".claude-plugin/plugin.json", to(`{"name": "os-adr",`))}, harness.PluginNotLoaded},
		"broken hooks.json":   {play{lay: inPlugin("hooks/hooks.json", to(`{"hooks": {`))}, harness.PluginNotLoaded},
		"no plugin":           {play{lay: func(box *isolate.Box) error { return os.RemoveAll(box.Plugin) }}, harness.PluginNotLoaded},
		"skill missing": {play{lay: func(box *isolate.Box) error {
			return os.RemoveAll(filepath.Join(box.Plugin, "skills", "find-decision"))
		}}, harness.NotExposed},
	}
}

// TestTheLadderProvoked spoils sessions of both agents: none is a pass or a
// fail, and both are called the same.
func TestTheLadderProvoked(t *testing.T) {
	t.Parallel()
	t.Run("stand-in", func(t *testing.T) {
		t.Parallel()
		provokeAll(t, newBench(t), 2*time.Second)
	})
	t.Run("real CLI", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.o.Agent, b.o.UID, b.o.GID, b.o.Sandboxes = realAgent(t), nobody(), nobody(), testenv.OpenDir(t)
		provokeAll(t, b, 5*time.Second)
	})
}

// provokeAll runs every provocation once, a few at a time.
func provokeAll(t *testing.T, b *bench, idle time.Duration) {
	t.Helper()
	b.o.Suite.Launch.MaxRetries = 1
	patient := b.executor("R3")
	b.o.Suite.Launch.Clocks.Idle = idle
	hasty := b.executor("R3")
	specs := make(map[string]harness.Spec) // all are planned before the first is run
	for name, p := range provocations() {
		specs[name] = b.spec("R3", "haiku", len(specs)+1, p.play)
	}
	turns := make(chan struct{}, 3)
	var all sync.WaitGroup
	for name, p := range provocations() {
		e := patient
		if p.want == harness.Hang {
			e = hasty
		}
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			b.provoke(e, name, specs[name], p.want)
		})
	}
	all.Wait()
	b.wantClean(harness.Trial{})
}

func (b *bench) provoke(e *trial.Executor, name string, spec harness.Spec, want harness.Class) {
	got, err := e.Run(b.t.Context(), spec)
	if err != nil {
		b.t.Errorf("%s: %v", name, err)
		return
	}
	if got.Class != want || got.Why == "" || got.Result.Outcome != harness.Invalid || got.Passed() || got.Survivors != 0 {
		b.t.Errorf("%s: got %s (%s) %s, %d survivors, want %s and no outcome", name, got.Class, got.Why, got.Result.Outcome, got.Survivors, want)
	}
}
