package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
)

// A ledger handed in by --state that holds a result of another harness kind is
// refused by everything that would make a report or a table of it, and the
// refusal names the trial.
func TestLedgerOfAnotherKindIsRefused(t *testing.T) { // req 39
	t.Parallel()
	for _, kind := range []harness.Kind{harness.Unprompted, harness.Trace, harness.RepoState, ""} {
		dir := filepath.Join(t.TempDir(), "state")
		trial := writeLedger(t, dir, kind)
		for _, args := range [][]string{{"report"}, {"report", "--json"}, {"status"}, {"diff", "current", "current"}, {"verify"}} {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), env{Env: app.Env{Dir: t.TempDir()}, stdout: &stdout, stderr: &stderr}, append(args, "--state", dir))
			if kind == harness.Unprompted {
				if code != hint.Done {
					t.Errorf("%s %v: got exit code %d and %s", kind, args, code, stderr.String())
				}
				continue
			}
			if code == hint.Done || stdout.Len() > 0 && args[0] != "verify" || !strings.Contains(stderr.String(), trial) || !strings.Contains(stderr.String(), `kind "`+string(kind)+`"`) {
				t.Errorf("%q %v: got exit code %d, %q and %q, want a refusal naming trial %s", kind, args, code, stdout.String(), stderr.String(), trial)
			}
		}
	}
}

// writeLedger writes a campaign of one trial, whose id it returns.
func writeLedger(t *testing.T, dir string, kind harness.Kind) string {
	t.Helper()
	l, err := store.Open(dir)
	testenv.Must(t, err)
	defer l.Close()
	slot := harness.Slot{Wording: "1111111", Cell: harness.Cell{Scenario: "R1", Tier: "small"}, Rep: 1}
	spec := harness.Spec{Campaign: "1111111-1", Slot: slot, Attempt: 1}
	result := harness.Result{Kind: kind, Case: "R1", Outcome: harness.Fail}
	payloads := []loop.Payload{
		loop.Started{Campaign: "1111111-1", Plugin: "os-adr", Instrument: "i1", Start: "1111111", Objective: []harness.Cell{slot.Cell}, Settings: oneSession()},
		loop.Planned{Round: loop.Round{N: 1, Subject: loop.SubjectStart, Purpose: loop.ForPilot, Slots: []harness.Slot{slot}}},
		loop.Recorded{Trial: harness.Trial{ID: spec.TrialID(), Spec: spec, Instrument: "i1", Class: harness.Valid, Result: result}},
	}
	for _, p := range payloads {
		data, err := json.Marshal(p)
		testenv.Must(t, err)
		testenv.Must(t, l.Append(t.Context(), store.Record{Time: time.Unix(1_700_000_000, 0).UTC(), Kind: string(p.Kind()), Payload: data}))
	}
	return spec.TrialID()
}

// oneSession are settings whose pilot is a single session.
func oneSession() loop.Settings {
	s := loop.DefaultSettings(40)
	s.PilotReps, s.PoolReps = 1, 0
	return s
}
