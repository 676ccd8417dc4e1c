package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/loop"
)

// drawNight runs a campaign over what waits in the spool of a plugin, with
// sessions that are drawn instead of run: "drawnight DIR BUDGET LUCK". A wording
// with the word "settles" in it nearly always passes in its first LUCK reps of a
// cell; else a session rarely passes.
func drawNight(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: drawnight DIR BUDGET LUCK")
	}
	luck, err := strconv.Atoi(args[2])
	ts.Check(err)
	budget, err := strconv.Atoi(args[1])
	ts.Check(err)
	plugin, ctx := ts.MkAbs(args[0]), context.Background()
	home, err := campaign.DefaultHome(plugin, ts.Getenv)
	ts.Check(err)
	ts.Check(home.Make())
	sealed, err := home.OpenBundled(ctx)
	ts.Check(err)
	c, err := campaign.Open(ctx, campaign.Options{
		Home: home, Plugin: plugin, Sealed: sealed, AgentName: "agent 1", AgentSHA: "sha", Credential: "api_key", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ts.Check(err)
	defer c.Close()
	set := loop.DefaultSettings(budget)
	set.Seed, set.MaxCandidates = 1, 1
	ts.Check(c.Begin(ctx, set, campaign.Grid{
		Objective: []harness.Cell{{Scenario: "R1", Tier: "sonnet"}, {Scenario: "W1", Tier: "haiku"}}, Guards: []harness.Cell{{Scenario: "N1", Tier: "haiku"}},
	}))
	ts.Check(c.Run(ctx, loop.Loop{Executor: drawnSessions{c, luck}, Parallel: 1}))
}

type drawnSessions struct {
	c    *campaign.Campaign
	luck int
}

// Run draws the outcome of a spec from its slot.
func (d drawnSessions) Run(_ context.Context, spec harness.Spec) (harness.Trial, error) {
	w, err := d.c.Wordings.Trial(spec.Slot.Wording)
	if err != nil {
		return harness.Trial{}, err
	}
	rate := .1
	if strings.Contains(w.Note, "settles") && spec.Slot.Rep <= d.luck {
		rate = .95
	}
	if spec.Slot.Cell.Scenario == "N1" {
		rate = 1
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", spec.Slot.Cell, spec.Slot.Rep))
	outcome := harness.Fail
	if float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) < rate {
		outcome = harness.Pass
	}
	return harness.Trial{
		ID: spec.TrialID(), Spec: spec, Class: harness.Valid, Instrument: d.c.Current().Started.Instrument, Started: d.c.Now().UTC(),
		Result: harness.Result{
			Kind: harness.Unprompted, Case: spec.Slot.Cell.Scenario, Outcome: outcome,
			Checks: []harness.Check{{Name: harness.AxisA, Outcome: outcome}, {Name: harness.AxisB, Outcome: outcome}},
		},
	}, nil
}
