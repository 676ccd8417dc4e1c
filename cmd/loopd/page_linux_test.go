package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/internal/setup"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/report"
)

// onTerminal is what a verb prints on a terminal of a width, and its exit code.
func onTerminal(t *testing.T, across uint16, verb func(e env) int) (string, int) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	testenv.Must(t, err)
	defer master.Close()
	testenv.Must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	testenv.Must(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	testenv.Must(t, err)
	testenv.Must(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: across}))
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with an error once the other end is closed
		read <- string(text)
	}()
	code := verb(env{Env: app.Env{Dir: t.TempDir()}, stdout: slave, stderr: slave, page: pageOf(slave)})
	slave.Close()
	return strings.ReplaceAll(<-read, "\r\n", "\n"), code
}

// Names of every kind that a suite, a plugin or a tool may have.
var (
	longID  = strings.Repeat("x", 300)
	cjkID   = "数据库迁移的决定记录在哪里"
	emojiID = "👩‍🔧🚀✅"
	rtlID   = "החלטה-על-מסד-נתונים"
)

// writePageState writes a state directory whose campaign has such names, with its
// reports.
func writePageState(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	l, err := store.Open(dir)
	testenv.Must(t, err)
	defer l.Close()
	var cells []harness.Cell
	for _, id := range []string{longID, cjkID, emojiID, rtlID} {
		cells = append(cells, harness.Cell{Scenario: id, Tier: "small"})
	}
	slot := harness.Slot{Wording: "1111111", Cell: cells[0], Rep: 1}
	spec := harness.Spec{Campaign: "1111111-1", Slot: slot, Attempt: 1}
	e := 1.25
	payloads := []loop.Payload{
		loop.Started{Campaign: "1111111-1", Plugin: cjkID, Instrument: "i1", Start: "1111111", Objective: cells, Settings: oneSession()},
		loop.Planned{Round: loop.Round{N: 1, Subject: loop.SubjectStart, Purpose: loop.ForPilot, Slots: []harness.Slot{slot}}},
		loop.Recorded{Trial: harness.Trial{ID: spec.TrialID(), Spec: spec, Instrument: "i1", Class: harness.Valid, Result: harness.Result{Kind: harness.Unprompted, Case: longID, Outcome: harness.Fail}}},
	}
	for i, why := range []string{longID, cjkID + " " + cjkID + " " + emojiID, rtlID + " \x1b[31mred\x1b[0m", strings.Repeat("word ", 60)} {
		id := fmt.Sprintf("c%03d", i+1)
		payloads = append(payloads, loop.Queued{Candidate: candidates.Candidate{ID: id, Source: candidates.Person, Rationale: why}},
			loop.Decided{Candidate: id, Verdict: loop.Inconclusive, Reason: loop.ByBudget, EValue: &e, Sessions: 1234})
	}
	payloads = append(payloads, loop.Halted{Class: harness.DriftedSeal, Reason: "drift: " + strings.Repeat("a reason that goes on ", 9)})
	for _, p := range payloads {
		data, err := json.Marshal(p)
		testenv.Must(t, err)
		testenv.Must(t, l.Append(t.Context(), store.Record{Time: time.Unix(1_700_000_000, 0).UTC(), Kind: string(p.Kind()), Payload: data}))
	}
	states, err := campaign.Replay(t.Context(), l)
	testenv.Must(t, err)
	writePageReports(t, campaign.Home{Dir: dir}.Report("1111111-1"), states[0])
	return dir
}

func writePageReports(t *testing.T, dir string, s *loop.State) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(dir, 0o700))
	digest := report.BuildDigest(s, nil, nil)
	asJSON, err := json.Marshal(digest)
	testenv.Must(t, err)
	c, ok := report.BuildCandidate(s, "c002", nil, nil)
	if !ok {
		t.Fatal("no candidate c002")
	}
	for name, data := range map[string][]byte{"digest.md": digest.Markdown(), "digest.json": asJSON, "c002.md": c.Markdown()} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
}

// Whatever a verb prints keeps within the terminal, at any width, and a pipe gets
// whole lines without a code that moves a cursor or sets a colour.
func TestPagesFitTheirTerminal(t *testing.T) {
	t.Parallel()
	dir := writePageState(t)
	verb := func(args ...string) func(env) int {
		return func(e env) int { return run(t.Context(), e, append(args, "--state", dir)) }
	}
	direct := func(print func(env) error) func(env) int {
		return func(e env) int { return finish(e, print(e)) }
	}
	e := 1.23e+04
	for name, c := range map[string]struct {
		verb func(env) int
		code int
		says string // in a pipe, on one line
	}{
		"status":         {verb("status"), hint.Done, "Campaign 1111111-1: halted: drift: a reason"},
		"report":         {verb("report"), hint.Done, "| " + longID + "/small | "},
		"report c002":    {verb("report", "c002"), hint.Done, "# c002: inconclusive (budget)"},
		"digest":         {verb("report", "--digest"), hint.Done, longID},
		"candidate list": {verb("candidate", "list"), hint.Done, "c004       inconclusive (budget)  1234      1.25  person"},
		"candidate show": {verb("candidate", "show", "c002"), hint.Done, cjkID},
		"diff":           {verb("diff", "current", "current"), hint.Done, "1111111-1"},
		"diff markdown":  {verb("diff", "current", "current", "--markdown"), hint.Done, "| A | 1111111-1 |"},
		"verify":         {verb("verify"), hint.Failed, "ledger: every hash right"},
		"no candidate":   {verb("report", strings.Repeat("no such thing ", 12)), hint.Usage, "no such thing no such thing"},
		"plan": {direct(func(e env) error {
			printOutlook(e, outlook{Chosen: strings.Repeat("because ", 20), SecondsFrom: strings.Repeat("measured ", 20)})
			return nil
		}), hint.Done, "because because"},
		"rehearse": {direct(func(e2 env) error {
			return printRehearsal(e2, rehearsal.Result{Candidates: []rehearsal.Compared{
				{ID: "c001", Planted: rehearsal.Eager, Expected: []loop.Verdict{loop.Reject, loop.Inconclusive, loop.Keep}, Verdict: loop.Inconclusive, Reason: loop.ByBudget, Sessions: 1234, EValue: &e, Right: true},
				{ID: "c002", Planted: rehearsal.Eager, Expected: []loop.Verdict{loop.Reject, loop.Inconclusive, loop.Keep}, Verdict: loop.Keep},
			}})
		}), hint.Done, "MISMATCH: right is reject or inconclusive or keep"},
		"doctor": {direct(func(e env) error {
			return printRows(e, []setup.Row{{Name: "isolation", Health: setup.HealthWarning, Detail: strings.Repeat("a detail ", 20)}})
		}), hint.Done, "warning  isolation  a detail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pipe bytes.Buffer
			if code := c.verb(env{Env: app.Env{Dir: t.TempDir()}, stdout: &pipe, stderr: &pipe}); code != c.code || !strings.Contains(pipe.String(), c.says) {
				t.Errorf("in a pipe: exit code %d and\n%s", code, pipe.String())
			}
			free(t, "a pipe", pipe.String())
			for _, across := range []int{80, 160} {
				text, code := onTerminal(t, uint16(across), c.verb)
				if code != c.code || text == "" {
					t.Errorf("on %d: exit code %d and %q", across, code, text)
				}
				free(t, fmt.Sprint(across), text)
				for line := range strings.Lines(text) {
					line = strings.TrimRight(line, "\n")
					// A word that is wider than the page, and a command to copy, stay whole.
					if report.Width(line) > across && !strings.Contains(line, longID) && !strings.HasPrefix(line, "Next: ") && !strings.HasPrefix(line, "loopd: hint: ") {
						t.Errorf("on %d: a line of %d cells: %s", across, report.Width(line), line)
					}
				}
			}
		})
	}
}

// free fails where a text holds what moves a terminal.
func free(t *testing.T, where, text string) {
	t.Helper()
	if strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("on %s: a control character in %q", where, text)
	}
}

// Only a terminal that can move its cursor gets a page drawn over, or a bar.
func TestWatchDrawsWhereItCan(t *testing.T) {
	t.Parallel()
	dir := writePageState(t)
	stopped := make(chan struct{})
	close(stopped)
	for kind, want := range map[string]bool{"xterm": true, "dumb": false} {
		text, code := onTerminal(t, 80, func(e env) int {
			e.Environ, e.drain = []string{"TERM=" + kind, "NO_COLOR=1"}, stopped
			if got := e.draws(e.stderr); got != want {
				t.Errorf("%s: a bar is drawn: %v", kind, got)
			}
			return run(t.Context(), e, []string{"status", "--watch", "--state", dir})
		})
		if code != hint.Done || strings.HasPrefix(text, "\x1b[H\x1b[2J") != want || strings.Count(text, "\x1b") > 2 || !strings.Contains(text, "Campaign 1111111-1") {
			t.Errorf("%s: got exit code %d and %q", kind, code, text)
		}
	}
}

// A status that is taller than the screen loses lines of its middle, and never the
// command that comes next.
func TestCropped(t *testing.T) {
	t.Parallel()
	text := []byte("head\n" + strings.Repeat("candidate\n", 40) + "\nNext: loopd run\n")
	got := string(cropped(text, 20))
	if lines := strings.Count(got, "\n"); lines != 19 || !strings.HasPrefix(got, "head\n") || !strings.HasSuffix(got, "\nNext: loopd run\n") || !strings.Contains(got, "… 25 lines are left out; loopd status prints them\n") {
		t.Errorf("got %d lines:\n%s", lines, got)
	}
	for _, height := range []int{0, 5, 44} {
		if got := cropped(text, height); !bytes.Equal(got, text) {
			t.Errorf("on %d lines: got\n%s", height, got)
		}
	}
}
