package web

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
	"loopd/report"
)

// night fabricates a state directory: the loop itself runs a campaign whose
// sessions are draws, and what it records goes into a real ledger. Equal plans
// give equal bytes.
type night struct {
	plan   plan
	suite  harness.Suite
	rates  map[string]float64 // rise of a wording
	clock  time.Time
	events []loop.Event
	state  *loop.State
}

// plan is what a fabricated campaign is like.
type plan struct {
	candidates int
	budget     int
	rich       int // trials that have files, the first ones; -1 for all
	// class says how a session ends; nil for mostly valid ones.
	class func(harness.Spec) harness.Class
	// words are put wherever a person's or a model's words go.
	words func(i int) string
	// stop ends the campaign after so many events; 0 for its own end.
	stop int
	// pool is how often the start is measured in each cell; 0 for the usual.
	pool int
	// unpriced sessions report no cost.
	unpriced bool
	// suffix stands behind the ids of candidates and scenarios.
	suffix string
	// branch is a candidate's branch; nil for a plain one.
	branch func(i int) string
}

// the moment a fabricated campaign begins, and the one its pages are looked at.
var (
	nightBegan  = time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC)
	nightLooked = time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)
)

// said is what people and models say in a plan without words of its own.
func said(i int) string {
	return []string{
		"say when to look a decision up, not only how",
		"name the moment: before a convention is changed",
		"shorter note, one sentence",
		"ask for the record before work that undoes one",
	}[i%4]
}

// fabricate makes a state directory in dir after a plan.
func fabricate(tb testing.TB, dir string, p plan) *night {
	tb.Helper()
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	testenv.Must(tb, err)
	if p.words == nil {
		p.words = said
	}
	if p.class == nil {
		p.class = usualClass
	}
	if p.branch == nil {
		p.branch = candidateID
	}
	for i := range suite.Scenarios {
		suite.Scenarios[i].ID += p.suffix
	}
	n := &night{plan: p, suite: suite, rates: map[string]float64{wordingOf(0): 0}, clock: nightBegan, state: loop.NewState()}
	n.run(tb)
	n.write(tb, dir)
	return n
}

// wordingOf is the commit of a wording: of the start for 0, else of a candidate.
func wordingOf(i int) string { return fmt.Sprintf("%040x", 0x10000+i) }

func candidateID(i int) string { return fmt.Sprintf("c%03d", i) }

func (n *night) run(tb testing.TB) {
	tb.Helper()
	grid := campaign.GridOf(n.suite, nil, nil)
	set := loop.DefaultSettings(n.plan.budget)
	set.MaxCandidates = max(n.plan.candidates, 1)
	if n.plan.pool > 0 {
		set.PoolReps = n.plan.pool
	}
	start := loop.Started{
		Campaign: "0a1b2c3-1", Plugin: "os-adr", Instrument: strings.Repeat("ab", 32), Seal: frozen.Digest(strings.Repeat("cd", 32)), Start: wordingOf(0),
		Base: wordingOf(9999), Agent: "standin 2.1.332", Simulated: true, Objective: grid.Objective, Guards: grid.Guards, Settings: set,
		NotRun: []harness.Unrun{{Scenario: "R4", Reason: "the code graph has not been built", Hint: "loopd freeze graph build"}},
	}
	n.must(tb, n.apply(start))
	for i := 1; i <= n.plan.candidates; i++ {
		source := []candidates.Source{candidates.Person, candidates.Proposer, candidates.Operator}[i%3]
		c := candidates.Candidate{ID: candidateID(i) + n.plan.suffix, Source: source, Rationale: n.plan.words(i), Author: n.plan.words(i + 1)}
		n.rates[wordingOf(i)] = []float64{0, .02, -.1, .05, 0, .3, -.02}[i%7]
		n.must(tb, n.apply(loop.Queued{Candidate: c}))
	}
	l := &loop.Loop{
		State: n.state, Log: n, Executor: n, Preparer: n, Parallel: 1, Now: n.now,
		Verify: func(context.Context) (*frozen.Drift, error) { return nil, nil },
	}
	if err := l.Run(tb.Context()); err != nil && n.plan.stop == 0 {
		tb.Fatal(err)
	}
}

// apply records one event as the loop does.
func (n *night) apply(p loop.Payload) error {
	e := loop.Event{Time: n.now(), Payload: p}
	if err := n.Append(context.Background(), e); err != nil {
		return err
	}
	return n.state.Apply(e)
}

func (n *night) must(tb testing.TB, err error) {
	tb.Helper()
	testenv.Must(tb, err)
}

func (n *night) now() time.Time {
	n.clock = n.clock.Add(19 * time.Second)
	return n.clock
}

// Append keeps events in memory until all of them are written at once.
func (n *night) Append(_ context.Context, events ...loop.Event) error {
	if n.plan.stop > 0 && len(n.events) >= n.plan.stop {
		return context.Canceled
	}
	n.events = append(n.events, events...)
	return nil
}

// Prepare commits every candidate but the ninth ones, which the lint refuses.
func (n *night) Prepare(_ context.Context, champion string, c candidates.Candidate) (loop.Payload, error) {
	var i int
	if _, err := fmt.Sscanf(c.ID, "c%d", &i); err != nil {
		return nil, err
	}
	if i%9 == 0 {
		return loop.Decided{
			Candidate: c.ID, Verdict: loop.Reject, Reason: loop.ByLint,
			Findings: []candidates.Finding{{Class: candidates.OffSurface, Path: "bin/adr-find", Detail: n.plan.words(i)}},
		}, nil
	}
	return loop.Committed{Candidate: c.ID, Commit: wordingOf(i), Ref: "refs/heads/loopd/0a1b2c3-1/" + n.plan.branch(i), Parent: champion}, nil
}

// CommitAA commits the start's bytes under a second label.
func (n *night) CommitAA(_ context.Context, start string) (loop.Committed, error) {
	n.rates[wordingOf(8888)] = 0
	return loop.Committed{Candidate: loop.SubjectAA, Commit: wordingOf(8888), Ref: "refs/heads/loopd/0a1b2c3-1/aa", Parent: start}, nil
}

// coin is a number in [0,1) that depends on what is asked alone.
func coin(of string) float64 {
	sum := sha256.Sum256([]byte(of))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

func usualClass(s harness.Spec) harness.Class {
	switch v := coin(s.TrialID() + "class"); {
	case v < .03:
		return harness.Overloaded
	case v < .05:
		return harness.Hang
	}
	return harness.Valid
}

// Run is one session: a draw.
func (n *night) Run(_ context.Context, s harness.Spec) (harness.Trial, error) {
	c := s.Slot.Cell
	t := harness.Trial{
		ID: s.TrialID(), Spec: s, Instrument: strings.Repeat("ab", 32), Class: n.plan.class(s), Started: n.clock, Seconds: 20 + 60*coin(s.TrialID()), Isolation: "bwrap",
		Model: "claude-" + c.Tier + "-4-5", CLI: "2.1.332", Usage: harness.Usage{Input: 900, Output: 300, CacheRead: 9000}, Session: s.TrialID(),
		ExpectsNote: true, NoteVerified: true, Exposed: coin(s.TrialID()+"exposed") < .98, Transcript: strings.Repeat("ef", 32),
	}
	if cost := .01 + .05*coin(s.TrialID()+"cost"); !n.plan.unpriced && cost > .012 {
		t.CostUSD = &cost
	}
	t.Result = harness.Result{Kind: harness.Unprompted, Case: c.Scenario, Outcome: harness.Invalid}
	if t.Class != harness.Valid {
		t.Why = "the API said: " + n.plan.words(len(n.events))
		return t, nil
	}
	base := map[string]float64{"haiku": .15, "sonnet": .55}[c.Tier]
	if strings.HasPrefix(c.Scenario, "N") {
		base = .97
	} else {
		base = min(max(base+n.rates[s.Slot.Wording], 0), 1)
	}
	outcome, reason := harness.Fail, "no_consult"
	if coin(s.Slot.Key()) < base {
		outcome, reason = harness.Pass, ""
	}
	t.Result.Outcome = outcome
	t.Result.Checks = []harness.Check{
		{Name: harness.AxisA, Outcome: outcome, Reason: reason, Evidence: []harness.Evidence{{Line: 4, Block: "toolu_01", What: "a skill of the plugin: " + n.plan.words(1)}}},
		{Name: harness.AxisB, Outcome: outcome, Reason: reason, NearMisses: []harness.Evidence{{Line: 8, What: "an id without a verb"}}},
	}
	if strings.HasPrefix(c.Scenario, "W") {
		t.Judgement = &harness.Judgement{
			Rubric: strings.Repeat("1", 64), Question: strings.Repeat("2", 64), Message: strings.Repeat("3", 64), Calls: 2,
			Answers: []harness.JudgeAnswer{harness.AnswerYes, harness.AnswerYes},
		}
	}
	return t, nil
}

// write lays the state directory out as a loopd would have left it.
func (n *night) write(tb testing.TB, dir string) {
	tb.Helper()
	n.must(tb, os.Chmod(dir, 0o700))
	l, err := store.Open(dir)
	n.must(tb, err)
	records := make([]store.Record, len(n.events))
	for i, e := range n.events {
		data, err := json.Marshal(e.Payload)
		n.must(tb, err)
		records[i] = store.Record{Time: e.Time, Kind: string(e.Payload.Kind()), Payload: data}
	}
	n.must(tb, l.Append(tb.Context(), records...))
	n.must(tb, l.Close())
	home := campaign.Home{Dir: dir}
	for i, t := range n.state.Trials {
		if n.plan.rich < 0 || i < n.plan.rich {
			n.writeTrial(tb, filepath.Join(home.Trials(), t.ID), t.Trial)
		}
	}
	reports := home.Report(n.state.Started.Campaign)
	n.must(tb, os.MkdirAll(reports, 0o700))
	for i, p := range n.state.Progress {
		before := report.Texts{"skills/find/SKILL.md": "---\nname: find\n---\nLook at the records.\nUse it when asked.\n"}
		after := report.Texts{"skills/find/SKILL.md": "---\nname: find\n---\nLook at the records.\nUse it when a convention changes. " + n.plan.words(i) + "\n"}
		if p.Commit == "" {
			before, after = nil, nil
		}
		c, _ := report.BuildCandidate(n.state, p.Candidate.ID, before, after)
		data, err := json.Marshal(c)
		n.must(tb, err)
		if len(p.Candidate.ID) < 200 { // longer is no file's name
			n.must(tb, os.WriteFile(filepath.Join(reports, p.Candidate.ID+".json"), data, 0o600))
		}
	}
}

// writeTrial writes what a session left.
func (n *night) writeTrial(tb testing.TB, dir string, t harness.Trial) {
	tb.Helper()
	n.must(tb, os.MkdirAll(dir, 0o700))
	words := n.plan.words(len(t.ID) + int(t.ID[0]))
	file := "docs/adr/0003.md"
	if t.Result.Outcome != harness.Pass {
		file = "docs/0003.md"
	}
	lines := []any{
		hookLine("[os-adr] Decisions are kept here. " + words),
		map[string]any{"type": "system", "subtype": "init", "cwd": "/tmp/abcdefgh/project", "session_id": t.ID, "tools": []string{"Bash", "Skill"}, "model": t.Model},
		assistant("thinking", "thinking", "Perhaps it is written down. "+words),
		assistant("tool_use", "id", "toolu_01", "name", "Skill", "input", map[string]string{"skill": "os-adr:find", "args": words}),
		result("toolu_01", "Launching skill: os-adr:find. "+words, false),
		assistant("tool_use", "id", "toolu_02", "name", "Bash", "input", map[string]string{"command": "cat " + file + " # " + words}),
		result("toolu_02", "no such file: "+words, t.Result.Outcome != harness.Pass),
		assistant("text", "text", "ADR 0003 governs retries. "+words),
		map[string]any{"type": "result", "subtype": "success", "is_error": false, "num_turns": 4, "result": "ADR 0003 governs retries. " + words, "session_id": t.ID, "total_cost_usd": .02},
	}
	n.must(tb, os.WriteFile(filepath.Join(dir, trial.TranscriptFile), jsonLines(tb, lines), 0o600))
	n.must(tb, os.WriteFile(filepath.Join(dir, trial.StderrFile), []byte(words+"\n"), 0o600))
	n.must(tb, os.WriteFile(filepath.Join(dir, trial.LaunchFile), []byte(`{"agent":"`+t.CLI+`"}`), 0o600))
}

func hookLine(note string) any {
	doc, _ := json.Marshal(map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": "SessionStart", "additionalContext": note}})
	return map[string]any{"type": "system", "subtype": "hook_response", "hook_name": "SessionStart:startup", "hook_event": "SessionStart", "output": string(doc) + "\n", "exit_code": 0, "outcome": "success"}
}

// assistant is a line with one block of the keys and values given.
func assistant(kind string, pairs ...any) any {
	block := map[string]any{"type": kind}
	for i := 0; i < len(pairs); i += 2 {
		block[pairs[i].(string)] = pairs[i+1]
	}
	return map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "id": "msg_01", "content": []any{block}}, "parent_tool_use_id": nil}
}

func result(id, text string, failed bool) any {
	block := map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}
	return map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{block}}, "parent_tool_use_id": nil}
}

func jsonLines(tb testing.TB, lines []any) []byte {
	tb.Helper()
	var out []byte
	for _, l := range lines {
		data, err := json.Marshal(l)
		testenv.Must(tb, err)
		out = append(append(out, data...), '\n')
	}
	return out
}
