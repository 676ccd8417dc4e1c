package loop

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/testenv"
)

// world is a made-up truth: a pass rate by wording and cell, and an executor
// whose draws depend on the slot alone, as a real session's do not but a test's
// must.
type world struct {
	mu     sync.Mutex
	seed   uint64
	rates  map[string]func(harness.Cell) float64
	class  func(harness.Spec) harness.Class
	calls  map[string]int
	events []Event
	stopAt int // appends allowed before a crash; 0 for no crash
	drift  bool
	// controls are impossible ones; leak makes them pass axis b.
	controls []harness.Cell
	leak     bool
	reserve  []harness.Cell
}

var errCrash = errors.New("crash")

func base(c harness.Cell) float64 {
	if strings.HasPrefix(c.Scenario, "N") {
		return .95
	}
	if c.Tier == "haiku" {
		return .05
	}
	return map[string]float64{"W1": .85, "R1": .2, "R2": .9, "R3": .8}[c.Scenario]
}

// lifted moves every objective cell the same share of its room upward.
func lifted(by float64) func(harness.Cell) float64 {
	return func(c harness.Cell) float64 {
		p := base(c)
		if strings.HasPrefix(c.Scenario, "N") {
			return p
		}
		if by < 0 {
			return p * (1 + by)
		}
		return p + by*(1-p)
	}
}

func newWorld(seed uint64) *world {
	return &world{
		seed: seed, calls: make(map[string]int),
		rates: map[string]func(harness.Cell) float64{"w-start": base},
		class: func(harness.Spec) harness.Class { return harness.Valid },
	}
}

func (w *world) draw(spec harness.Spec) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", w.seed, spec.Slot.Key()))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

func (w *world) Run(_ context.Context, spec harness.Spec) (harness.Trial, error) {
	w.mu.Lock()
	w.calls[spec.Slot.Key()]++
	w.mu.Unlock()
	t := harness.Trial{ID: spec.TrialID(), Spec: spec, Class: w.class(spec)}
	t.Result.Kind = harness.Unprompted
	if t.Class != harness.Valid {
		t.Result.Outcome = harness.Invalid
		return t, nil
	}
	t.Result.Outcome = harness.Fail
	if strings.HasPrefix(spec.Slot.Cell.Scenario, "X") {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.leak {
			t.Result.Checks = []harness.Check{{Name: harness.AxisB, Outcome: harness.Pass}}
		}
		return t, nil
	}
	if w.draw(spec) < w.rates[spec.Slot.Wording](spec.Slot.Cell) {
		t.Result.Outcome = harness.Pass
	}
	t.Result.Checks = []harness.Check{{Name: harness.AxisA, Outcome: t.Result.Outcome}}
	return t, nil
}

func (w *world) Prepare(_ context.Context, champion string, c candidates.Candidate) (Payload, error) {
	if c.Rationale == "lint" {
		return Decided{Candidate: c.ID, Verdict: Reject, Reason: ByLint}, nil
	}
	return Committed{Candidate: c.ID, Commit: "w-" + c.ID, Ref: "refs/heads/loopd/t/" + c.ID, Parent: champion}, nil
}

func (w *world) CommitAA(_ context.Context, start string) (Committed, error) {
	w.rates["w-twin"] = w.rates[start]
	return Committed{Candidate: SubjectAA, Commit: "w-twin", Ref: "refs/heads/loopd/t/aa", Parent: start}, nil
}

// Append keeps the events as the ledger does, through their JSON, and fails
// like a machine that lost power once stopAt are kept.
func (w *world) Append(_ context.Context, events ...Event) error {
	if w.stopAt > 0 && len(w.events)+len(events) > w.stopAt {
		return errCrash
	}
	for _, e := range events {
		data, err := json.Marshal(e.Payload)
		if err != nil {
			return err
		}
		back, err := Decode(e.Payload.Kind(), data)
		if err != nil {
			return err
		}
		w.events = append(w.events, Event{Time: e.Time, Payload: back})
	}
	return nil
}

func (w *world) loop(s *State) *Loop {
	return &Loop{
		State: s, Log: w, Executor: w, Preparer: w, Parallel: 3,
		Verify: func(context.Context) (*frozen.Drift, error) {
			if w.drift {
				return &frozen.Drift{Deltas: []frozen.Delta{{Path: "rubric.md", Kind: frozen.Changed, Old: "a", New: "b"}}}, nil
			}
			return nil, nil
		},
		Now: func() time.Time { return time.Unix(1_700_000_000, 0).UTC() },
	}
}

func cellsOf(scenarios ...string) []harness.Cell {
	var out []harness.Cell
	for _, sc := range scenarios {
		for _, tier := range []string{"haiku", "sonnet"} {
			out = append(out, harness.Cell{Scenario: sc, Tier: tier})
		}
	}
	return out
}

// begin starts a campaign with the candidates named; c.Rationale carries what
// the fake lint should do.
func (w *world) begin(t *testing.T, budget int, queue ...candidates.Candidate) *State {
	t.Helper()
	return w.beginWith(t, DefaultSettings(budget), queue...)
}

func (w *world) beginWith(t *testing.T, set Settings, queue ...candidates.Candidate) *State {
	t.Helper()
	s := NewState()
	l := w.loop(s)
	set.Seed, set.MaxCandidates = w.seed, len(queue)
	err := l.record(t.Context(), Started{
		Campaign: "t", Start: "w-start", Objective: cellsOf("R1", "R2", "R3", "W1"), Guards: cellsOf("N1"),
		Controls: w.controls, Impossible: w.controls, Reserve: w.reserve, Settings: set,
	})
	testenv.Must(t, err)
	for _, c := range queue {
		testenv.Must(t, l.record(t.Context(), Queued{c}))
	}
	return s
}

func candidate(w *world, id string, rate func(harness.Cell) float64, targets ...string) candidates.Candidate {
	w.rates["w-"+id] = rate
	return candidates.Candidate{ID: id, Source: candidates.Person, Targets: targets}
}

// replay builds the state again from the kept events.
func (w *world) replay(t *testing.T) *State {
	t.Helper()
	s := NewState()
	for _, e := range w.events {
		testenv.Must(t, s.Apply(e))
	}
	return s
}

// account is what must not depend on crashes: every verdict, its evidence and
// the end.
func account(s *State) string {
	var b strings.Builder
	for _, p := range s.Progress {
		e := math.NaN()
		if p.Decided == nil {
			fmt.Fprintf(&b, "%s undecided\n", p.Candidate.ID)
			continue
		}
		if p.Decided.EValue != nil {
			e = *p.Decided.EValue
		}
		fmt.Fprintf(&b, "%s %s %s %d %x\n", p.Candidate.ID, p.Decided.Verdict, p.Decided.Reason, p.Decided.Sessions, math.Float64bits(e))
	}
	if s.Ended != nil {
		fmt.Fprintf(&b, "%s %d", s.Ended.Outcome, s.Sessions())
	}
	return b.String()
}
