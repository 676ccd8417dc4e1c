package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/testenv"
)

// proposer is a made-up one: what it brings follows from the number of the ask.
type proposer struct {
	w     *world
	bring func(n int) []candidates.Candidate // none is a refusal
	asked []int
}

func (p *proposer) ask(_ context.Context, s *State, n int) (Proposal, error) {
	p.asked = append(p.asked, n)
	out := Proposal{Proposed: Proposed{Model: "made up", Ask: propose.AskOf(n, .25)}}
	for i, c := range p.bring(n) {
		c.ID = fmt.Sprintf("c%03d", len(s.Progress)+i+1)
		p.w.rates["w-"+c.ID] = lifted(0)
		out.Candidates = append(out.Candidates, c)
	}
	if len(out.Candidates) == 0 {
		out.Proposed.Refusal, out.Proposed.Why = propose.Nothing, "it had nothing"
	}
	return out, nil
}

func one(int) []candidates.Candidate  { return []candidates.Candidate{{Source: candidates.Operator}} }
func none(int) []candidates.Candidate { return nil }
func leaks(int) []candidates.Candidate {
	return []candidates.Candidate{{Rationale: "lint"}, {Rationale: "lint"}}
}

// beginAsking begins a campaign without a queue in which so many candidates may
// be tried.
func beginAsking(t *testing.T, w *world, budget, most int) *State {
	t.Helper()
	set := DefaultSettings(budget)
	s := w.beginWith(t, set)
	s.Started.Settings.MaxCandidates = most
	started := w.events[0].Payload.(Started)
	started.Settings.MaxCandidates = most
	w.events[0].Payload = started
	return s
}

func (w *world) asking(s *State, p *proposer, perWindow int) *Loop {
	l := w.loop(s)
	l.Proposing = Proposing{Ask: p.ask, PerWindow: perWindow}
	return l
}

func audited(t *testing.T, events []Event) Audit {
	t.Helper()
	a := NewAuditor()
	for i, e := range events {
		testenv.Must(t, a.Event(fmt.Sprint(i), e))
	}
	if len(a.Audit.Wrong) > 0 {
		t.Errorf("the audit finds %q", a.Audit.Wrong)
	}
	return a.Audit
}

// An empty queue does not end the search while somebody proposes.
func TestProposerFeedsAnEmptyQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	p := &proposer{w: w, bring: one}
	s := beginAsking(t, w, 2000, 6)
	testenv.Must(t, w.asking(s, p, 0).Run(t.Context()))
	if len(s.Proposals) != 6 || len(s.Progress) != 6 || s.Ended == nil {
		t.Fatalf("got %d asks, %d candidates, ended %v, want 6, 6 and an end", len(s.Proposals), len(s.Progress), s.Ended)
	}
	for i, made := range s.Proposals {
		if want := fmt.Sprintf("c%03d", i+1); made.N != i+1 || !slices.Equal(made.Candidates, []string{want}) {
			t.Errorf("ask %d: got %+v", i+1, made)
		}
	}
	if got := w.replay(t); account(got) != account(s) || len(got.Proposals) != 6 {
		t.Errorf("replayed: got\n%s\nwant\n%s", account(got), account(s))
	}
	audited(t, w.events)
}

func TestProposerIsAskedThreeTimesInVain(t *testing.T) {
	t.Parallel()
	second := func(then func(int) []candidates.Candidate) func(int) []candidates.Candidate {
		return func(n int) []candidates.Candidate {
			if n == 2 {
				return one(n)
			}
			return then(n)
		}
	}
	for name, c := range map[string]struct {
		bring      func(int) []candidates.Candidate
		asks, made int
	}{
		"nothing":              {none, 3, 0},
		"only leaks":           {leaks, 3, 6},
		"good in between":      {second(none), 5, 1},
		"leaks after a good":   {second(leaks), 5, 9},
		"a leak beside a good": {func(n int) []candidates.Candidate { return append(leaks(n)[:1], one(n)...) }, 6, 12},
	} {
		w := newWorld(5)
		p := &proposer{w: w, bring: c.bring}
		s := beginAsking(t, w, 1500, 12)
		testenv.Must(t, w.asking(s, p, 0).Run(t.Context()))
		if len(s.Proposals) != c.asks || len(s.Progress) != c.made || s.Ended == nil || s.Ended.Outcome != NoChange {
			t.Errorf("%s: got %d asks, %d candidates, end %+v, want %d, %d and no_change", name, len(s.Proposals), len(s.Progress), s.Ended, c.asks, c.made)
		}
		audited(t, w.events)
	}
}

// What a person queued goes first, and nobody is asked where nobody proposes.
func TestProposerComesAfterTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(9)
	s := w.begin(t, 900, candidate(w, "c001", lifted(0)), candidate(w, "c002", lifted(0)))
	p := &proposer{w: w, bring: one}
	testenv.Must(t, w.asking(s, p, 0).Run(t.Context()))
	if len(p.asked) > 0 || s.Ended == nil {
		t.Errorf("asked %v, want nobody asked: the two that may be tried were in the queue", p.asked)
	}
	w = newWorld(9)
	s = beginAsking(t, w, 900, 5)
	if err := w.loop(s).Run(t.Context()); err != nil || s.Ended == nil || len(s.Proposals) > 0 {
		t.Errorf("without a proposer: %v, %+v", err, s.Ended)
	}
}

func TestProposerIsBoundedByWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(9)
	p := &proposer{w: w, bring: one}
	s := beginAsking(t, w, 2000, 9)
	if err := w.asking(s, p, 2).Run(t.Context()); err != nil || s.Ended == nil || len(s.Proposals) != 2 {
		t.Fatalf("got %d asks, %v, want 2", len(s.Proposals), err)
	}
	state := &State{lifted: 1, asksWindow: 0, asks: 2}
	if n := state.asksInWindow(); n != 0 {
		t.Errorf("the next window has had %d asks, want 0", n)
	}
}

// A crash after any event: the same asks, candidates and verdicts.
func TestProposerAndCrashes(t *testing.T) {
	t.Parallel()
	make1 := func() (*world, *State, *proposer) {
		w := newWorld(11)
		w.rates["w-twin"] = base
		p := &proposer{w: w, bring: func(n int) []candidates.Candidate {
			if n == 2 {
				return nil
			}
			return append(leaks(n)[:1], one(n)...)
		}}
		return w, beginAsking(t, w, 700, 5), p
	}
	w, s, p := make1()
	testenv.Must(t, w.asking(s, p, 0).Run(t.Context()))
	want, all := account(s), len(w.events)
	if len(s.Progress) != 5 {
		t.Errorf("got %d candidates, want the 5 that may be tried", len(s.Progress))
	}
	for cut := 4; cut < all; cut += 7 {
		w, s, p := make1()
		w.stopAt = cut
		if err := w.asking(s, p, 0).Run(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		w.stopAt = 0
		again := w.replay(t)
		testenv.Must(t, w.asking(again, p, 0).Run(t.Context()))
		if got := account(again); got != want {
			t.Fatalf("cut at %d: got\n%s\nwant\n%s", cut, got, want)
		}
	}
}

// A limit pauses and an error records nothing: the same ask is put again. One that
// ended because loopd stops is recorded as such.
func TestProposerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(13)
	p := &proposer{w: w, bring: one}
	s := beginAsking(t, w, 700, 1)
	l := w.asking(s, p, 0)
	broken := errors.New("no such program")
	l.Proposing.Ask = func(context.Context, *State, int) (Proposal, error) { return Proposal{}, broken }
	if err := l.Run(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	drain := make(chan struct{})
	l.Drain = drain
	l.Proposing.Ask = func(ctx context.Context, _ *State, _ int) (Proposal, error) {
		close(drain)
		<-ctx.Done()
		return Proposal{}, ctx.Err()
	}
	if err := l.Run(t.Context()); !errors.Is(err, ErrDrained) {
		t.Fatalf("got %v, want %v", err, ErrDrained)
	}
	l.Drain = nil
	until := time.Unix(1_800_000_000, 0).UTC()
	l.Proposing.Ask = func(context.Context, *State, int) (Proposal, error) {
		return Proposal{}, &HoldError{Paused{Reason: "rate_limit", Class: harness.RateLimit, Until: until}}
	}
	if err := l.Run(t.Context()); err != nil || s.Paused == nil || !s.Paused.Until.Equal(until) {
		t.Fatalf("got %v, paused %+v, want a pause", err, s.Paused)
	}
	if len(s.Proposals) != 1 || s.Proposals[0].Refusal != propose.Interrupted {
		t.Fatalf("got asks %+v recorded, want one that was interrupted", s.Proposals)
	}
	testenv.Must(t, l.record(t.Context(), Resumed{}))
	l.Proposing.Ask = p.ask
	if err := l.Run(t.Context()); err != nil || !slices.Equal(p.asked, []int{2}) {
		t.Errorf("got %v, asked %v, want ask 2", err, p.asked)
	}
}

// A word that stops the loop ends an ask at once, which counts against nobody;
// one that may not be recorded is answered and ends nothing.
func TestAWordEndsAnAsk(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]Payload{"pause": Paused{Reason: "guests", ByHand: true}, "halt": Halted{Reason: "wrong model", ByHand: true}, "finish": Finished{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(13)
			p := &proposer{w: w, bring: one}
			s := beginAsking(t, w, 700, 1)
			asks := make(chan Request)
			say := func(p Payload) error {
				told := make(chan error, 1)
				asks <- Request{p, told}
				return <-told
			}
			told := make(chan error, 1)
			hangs := func(ctx context.Context, _ *State, _ int) (Proposal, error) {
				if alive, no := say(nil), say(Resumed{}); alive != nil || !errors.Is(no, ErrNotPaused) || ctx.Err() != nil {
					t.Errorf("alive: %v, resume: %v, ended: %v", alive, no, ctx.Err())
				}
				asks <- Request{word, told}
				<-ctx.Done()
				return Proposal{Proposed: Proposed{Model: "made up", Tokens: 7}, Candidates: one(1)}, ctx.Err()
			}
			l := w.asking(s, p, 1)
			l.Requests, l.Proposing.Ask = asks, hangs
			for n := range mostUnfruitful + 1 {
				testenv.Must(t, errors.Join(l.Run(t.Context()), <-told))
				if s.Ended != nil { // at the word finish
					break
				}
				last := s.Proposals[len(s.Proposals)-1]
				if len(s.Proposals) != n+1 || last.Refusal != propose.Interrupted || last.Tokens != 7 || len(s.Progress) != 0 {
					t.Fatalf("recorded %+v and %d candidates", s.Proposals, len(s.Progress))
				}
				testenv.Must(t, l.record(t.Context(), Resumed{}))
			}
			l.Proposing.Ask = p.ask
			if err := l.Run(t.Context()); err != nil || s.Ended == nil || len(s.Progress) != 1 && name != "finish" {
				t.Errorf("%v: ended %v, %d candidates; want one ask more and its candidate", err, s.Ended, len(s.Progress))
			}
			audited(t, w.events)
		})
	}
}

func TestProposedThatCannotFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(13)
	s := beginAsking(t, w, 700, 2)
	good := Proposed{N: 1, Candidates: []string{"c001"}}
	if err := s.Apply(Event{Payload: good}); err == nil {
		t.Error("in the pilot: got no error")
	}
	s.Phase = Search
	for name, p := range map[string]Proposed{
		"the second first": {N: 2, Candidates: []string{"c001"}},
		"neither":          {N: 1},
		"both":             {N: 1, Candidates: []string{"c001"}, Refusal: propose.Garbage},
	} {
		if err := s.Apply(Event{Payload: p}); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if err := s.Apply(Event{Payload: good}); err != nil {
		t.Error(err)
	}
}

// The audit wants an ask only where one was due.
func TestAuditOfAnAskThatWasNotDue(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	p := &proposer{w: w, bring: none}
	s := beginAsking(t, w, 900, 4)
	testenv.Must(t, w.asking(s, p, 0).Run(t.Context()))
	a := NewAuditor()
	for i, e := range w.events[:len(w.events)-1] {
		testenv.Must(t, a.Event(fmt.Sprint(i), e))
	}
	if err := a.Event("extra", Event{Payload: Proposed{N: 4, Refusal: propose.Nothing}}); err != nil || len(a.Audit.Wrong) != 1 {
		t.Errorf("a fourth ask in vain: got %q, %v, want it named", a.Audit.Wrong, err)
	}
}

// Practice cells are run once, in the pilot, and enter nothing.
func TestPracticeIsRunOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(17)
	s := beginAsking(t, w, 700, 1)
	s.Started.Practice = cellsOf("P1")
	w.rates["w-start"] = func(c harness.Cell) float64 { return base(harness.Cell{Scenario: "R1", Tier: c.Tier}) }
	p := &proposer{w: w, bring: none}
	testenv.Must(t, w.asking(s, p, 0).Run(t.Context()))
	n := 0
	for _, r := range s.Trials {
		if r.Spec.Slot.Cell.Scenario == "P1" {
			n++
		}
	}
	if n != len(s.Started.Practice) {
		t.Errorf("got %d sessions of practice cells, want %d", n, len(s.Started.Practice))
	}
}

// Candidates that game one side of the metric lose to the guards and to the cells
// they give up, whatever they gain: one that uses the plugin everywhere, one that
// cites everything (the checker fails a shotgun on every question about a record),
// one that always writes a record.
func TestOverfitCandidatesAreNotKept(t *testing.T) {
	t.Parallel()
	on := func(prefix string, then float64, otherwise func(harness.Cell) float64) func(harness.Cell) float64 {
		return func(c harness.Cell) float64 {
			if strings.HasPrefix(c.Scenario, prefix) {
				return then
			}
			return otherwise(c)
		}
	}
	for name, rate := range map[string]func(harness.Cell) float64{
		"over-trigger": on("N", .1, lifted(.35)),
		"shotgun":      on("R", .02, on("W", .98, base)),
		"always-write": on("N", .05, on("W", .98, lifted(.1))),
	} {
		kept, promoted := 0, 0
		for seed := range uint64(12) {
			w := newWorld(seed + 900)
			s := w.begin(t, 900, candidate(w, "c001", rate))
			testenv.Must(t, w.loop(s).Run(t.Context()))
			if s.Find("c001").Decided.Verdict == Keep {
				kept++
			}
			if s.Ended.Outcome == Promoted {
				promoted++
			}
		}
		if kept > 1 || promoted > 0 {
			t.Errorf("%s: kept in %d and promoted in %d of 12 campaigns, want at most 1 and none", name, kept, promoted)
		}
	}
}
