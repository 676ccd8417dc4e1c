package report

import (
	"testing"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/stats"
)

// story is a small campaign as the ledger would tell it.
type story struct {
	t     *testing.T
	state *loop.State
	clock time.Time
	rep   map[string]int
	// outside, where set, adds controls and practice to the pilot and says how
	// the cells outside the metric end.
	outside map[harness.Cell]bool
}

func newStory(t *testing.T) *story {
	t.Helper()
	return &story{t: t, state: loop.NewState(), clock: time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC), rep: make(map[string]int)}
}

func (st *story) add(payloads ...loop.Payload) {
	st.t.Helper()
	for _, p := range payloads {
		st.clock = st.clock.Add(time.Minute)
		testenv.Must(st.t, st.state.Apply(loop.Event{Time: st.clock, Payload: p}))
	}
}

func cell(scenario, tier string) harness.Cell { return harness.Cell{Scenario: scenario, Tier: tier} }

func (st *story) slot(wording string, c harness.Cell) harness.Slot {
	st.rep[wording+c.String()]++
	return harness.Slot{Wording: wording, Cell: c, Rep: st.rep[wording+c.String()]}
}

// trial records one attempt at a slot.
func (st *story) trial(sl harness.Slot, attempt int, class harness.Class, pass bool) {
	st.t.Helper()
	if set, ok := st.outside[sl.Cell]; ok {
		pass = set
	}
	spec := harness.Spec{Campaign: "abc1234-1", Slot: sl, Attempt: attempt}
	cost := 0.0125
	t := harness.Trial{
		ID: spec.TrialID(), Spec: spec, Instrument: "0123456789abcdef0123", Class: class, Seconds: 1.5, CostUSD: &cost,
		Usage: harness.Usage{Input: 100, Output: 20, CacheRead: 5}, Isolation: "bwrap",
	}
	t.Result = harness.Result{Kind: harness.Unprompted, Case: sl.Cell.Scenario, Outcome: harness.Invalid}
	if class == harness.Valid {
		t.Result.Outcome = harness.Fail
		a := harness.Check{Name: harness.AxisA, Outcome: harness.Fail, Reason: "no_consult"}
		b := harness.Check{Name: harness.AxisB, Outcome: harness.Fail, Reason: "=1+1\tnot\ncited"}
		if pass {
			t.Result.Outcome = harness.Pass
			a, b = harness.Check{Name: harness.AxisA, Outcome: harness.Pass}, harness.Check{Name: harness.AxisB, Outcome: harness.Pass}
		}
		t.Result.Checks = []harness.Check{a, b}
	} else {
		t.CostUSD = nil
	}
	st.add(loop.Recorded{Trial: t})
}

const startWording = "1111111111111111111111111111111111111111"

// begin starts the campaign and runs its pilot: one rep fails, one passes after
// an attempt that did not count.
func (st *story) begin() {
	st.t.Helper()
	set := loop.DefaultSettings(40)
	set.PilotReps, set.PoolReps, set.GuardReps = 1, 0, 1
	var controls []harness.Cell
	if st.outside != nil {
		controls = []harness.Cell{cell("X1", "haiku")}
	}
	st.add(loop.Started{
		Controls: controls, Campaign: "abc1234-1", Plugin: "os-adr", Instrument: "0123456789abcdef0123", Seal: "fedcba98765432100000", Start: startWording,
		Agent: "standin 2.1.332", Simulated: true, Objective: []harness.Cell{cell("R1", "haiku"), cell("R1", "sonnet")},
		Guards: []harness.Cell{cell("N1", "haiku")}, Reserve: []harness.Cell{cell("R8", "haiku")}, Settings: set,
		NotRun: []harness.Unrun{{Scenario: "R4", Reason: "the code graph of shop has not been built", Hint: "loopd freeze graph build"}},
	})
	a, b, g := st.slot(startWording, cell("R1", "haiku")), st.slot(startWording, cell("R1", "sonnet")), st.slot(startWording, cell("N1", "haiku"))
	slots := []harness.Slot{a, b, g}
	if st.outside != nil {
		slots = append(slots, st.slot(startWording, cell("X1", "haiku")), st.slot(startWording, cell("P1", "haiku")))
	}
	st.add(loop.Planned{Round: loop.Round{N: 1, Subject: loop.SubjectStart, Purpose: loop.ForPilot, Slots: slots}})
	st.trial(a, 1, harness.Valid, false)
	st.trial(b, 1, harness.Overloaded, false)
	st.trial(b, 2, harness.Valid, true)
	st.trial(g, 1, harness.Valid, true)
	for _, sl := range slots[3:] {
		st.trial(sl, 1, harness.Valid, false)
	}
	st.add(loop.Closed{Round: 1, AA: &stats.AA{P: .62, Smallest: 4, Noticeable: true}})
}

const keptWording = "2222222222222222222222222222222222222222"

// compare tries a candidate in one round and keeps it.
func (st *story) compare(id string) {
	st.t.Helper()
	st.add(
		loop.Queued{Candidate: candidates.Candidate{ID: id, Source: candidates.Person, Author: "sam", Rationale: "say when | not what", Targets: []string{"R1/haiku"}}},
		loop.Committed{Candidate: id, Commit: keptWording, Ref: "refs/heads/loopd/abc1234-1/001-22222222", Parent: startWording},
	)
	own, base := st.slot(keptWording, cell("R1", "haiku")), st.slot(startWording, cell("R1", "haiku"))
	bets := stats.PlaceBets([]stats.Cell{{Weight: 1}, {Weight: 0}}, stats.Default())
	st.add(loop.Planned{Round: loop.Round{
		N: 2, Subject: id, Purpose: loop.ForBet, Slots: []harness.Slot{own, base}, Bets: &bets, Reveals: []int{0, 0},
	}})
	st.trial(own, 1, harness.Valid, true)
	st.trial(base, 1, harness.Valid, false)
	st.add(loop.Closed{Round: 2, Seen: []stats.Seen{{Cand: []bool{true}, Base: []bool{false}}, {}}, LogE: 1.7})
	e := 5.473947391727201
	st.add(loop.Decided{Candidate: id, Verdict: loop.Keep, EValue: &e, Sessions: 2})
}

// gate runs one round of the gate: the kept candidate declared R1/haiku.
func (st *story) gate() {
	st.t.Helper()
	own, base := st.slot(keptWording, cell("R1", "haiku")), st.slot(startWording, cell("R1", "haiku"))
	bets := stats.PlaceBets([]stats.Cell{{Weight: 1}, {Weight: 0}}, stats.Default())
	st.add(loop.Planned{Round: loop.Round{
		N: 3, Subject: loop.SubjectGate, Purpose: loop.ForBet, Slots: []harness.Slot{own, base}, Bets: &bets, Reveals: []int{0, 0},
	}})
	st.trial(own, 1, harness.Valid, true)
	st.trial(base, 1, harness.Valid, false)
	st.add(loop.Closed{Round: 3, Seen: []stats.Seen{{Cand: []bool{true}, Base: []bool{false}}, {}}, LogE: 2.5})
}

// transfer runs the reserve scenario once for start and champion.
func (st *story) transfer() {
	st.t.Helper()
	own, base := st.slot(keptWording, cell("R8", "haiku")), st.slot(startWording, cell("R8", "haiku"))
	st.add(loop.Planned{Round: loop.Round{N: 4, Subject: loop.SubjectTransfer, Purpose: loop.ForTransfer, Slots: []harness.Slot{own, base}}})
	st.trial(own, 1, harness.Valid, true)
	st.trial(base, 1, harness.Valid, false)
	st.add(loop.Closed{Round: 4})
}

// refuse adds a candidate that the lint refuses.
func (st *story) refuse(id string) {
	st.t.Helper()
	st.add(
		loop.Queued{Candidate: candidates.Candidate{ID: id, Source: candidates.Proposer}},
		loop.Decided{
			Candidate: id, Verdict: loop.Reject, Reason: loop.ByLint,
			Findings: []candidates.Finding{{Class: candidates.OffSurface, Path: "bin/adr-find", Detail: "not wording"}},
		},
	)
}

func fullStory(t *testing.T) *loop.State {
	t.Helper()
	st := newStory(t)
	st.begin()
	st.compare("c001")
	st.refuse("c002")
	st.gate()
	e := 12.5
	st.add(loop.Ended{Outcome: loop.Unconfirmed, Why: "the budget ended", EValue: &e})
	return st.state
}

func haltedStory(t *testing.T) *loop.State {
	t.Helper()
	st := newStory(t)
	st.begin()
	st.add(loop.Halted{Reason: "drift", Deltas: []frozen.Delta{{Path: "rubric.md", Kind: frozen.Changed, Old: "aaaa", New: "bbbb"}}})
	return st.state
}
