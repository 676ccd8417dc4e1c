package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

// canary is the n-th text that stands in one sealed place and nowhere else.
func canary(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-0123456789ab", n) }

// withCanaries plants a canary in every sealed text of the suite and returns them
// by place: tasks, questions, perfect and idle runs, expectations, rubric, gold,
// records and other files of the fixtures.
func (n *night) withCanaries() map[string]string {
	out := make(map[string]string)
	next := func(place string) string {
		c := canary(len(out) + 1)
		out[place] = c
		return " " + c + "\n"
	}
	s := &n.sealed.Suite
	s.Rubric += next("rubric")
	for i := range s.Gold {
		s.Gold[i].Message += next(fmt.Sprintf("gold %d", i))
	}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		if sc.Role == harness.Practice {
			continue
		}
		sc.Task = harness.NewHeldOut(sc.Task.Reveal() + next("task "+sc.ID))
		sc.Judge += next("question " + sc.ID)
		sc.Oracle = append(slices.Clone(sc.Oracle), harness.Step{Text: "Done." + next("oracle "+sc.ID)})
		sc.Expect.B = append(slices.Clone(sc.Expect.B), harness.Assertion{Says: []string{strings.TrimSpace(next("expectation " + sc.ID))}})
	}
	for name, tree := range s.Fixtures {
		for _, path := range tree.Paths() {
			f := tree[path]
			f.Data = append(slices.Clone(f.Data), next("fixture "+name+"/"+path)...)
			tree[path] = f
		}
	}
	return out
}

// talking is an executor whose sessions leave a transcript that says everything
// there is to say.
type talking struct {
	drawn
	n    *night
	says string
}

// Run draws the outcome and stores the transcript.
func (e talking) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t, err := e.drawn.Run(ctx, spec)
	if err != nil {
		return t, err
	}
	if t.Result.Outcome == harness.Fail {
		t.Result.Checks[0].Reason, t.Result.Checks[1].Reason = "attempted_only", e.says
	}
	dir := filepath.Join(e.n.home.Trials(), t.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t, err
	}
	var stream strings.Builder
	for _, line := range []any{
		map[string]any{"type": "system", "subtype": "init", "session_id": "s"},
		message("assistant", map[string]any{"type": "text", "text": e.says}),
		message("assistant", map[string]any{"type": "tool_use", "id": "t1", "name": "Bash", "input": map[string]string{"command": "cat " + e.says}}),
		message("user", map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": e.says}),
		message("assistant", map[string]any{"type": "tool_use", "id": "t2", "name": "Tool " + e.says, "input": map[string]string{"a": e.says}}),
	} {
		data, err := json.Marshal(line)
		if err != nil {
			return t, err
		}
		stream.Write(append(data, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, trial.TranscriptFile), []byte(stream.String()), 0o600); err != nil {
		return t, err
	}
	return t, os.WriteFile(filepath.Join(dir, trial.ChangesFile), []byte("{}"), 0o600)
}

func message(role string, block map[string]any) map[string]any {
	return map[string]any{"type": role, "session_id": "s", "message": map[string]any{"id": "m", "role": role, "model": "m", "content": []any{block}}}
}

// keeping is a proposer that keeps its briefs and answers as Builtin does.
type keeping struct {
	briefs []propose.Brief
	answer func(propose.Brief) ([]candidates.Candidate, error)
}

// Propose notes the brief.
func (k *keeping) Propose(ctx context.Context, b propose.Brief) ([]candidates.Candidate, error) {
	k.briefs = append(k.briefs, b)
	if k.answer != nil {
		return k.answer(b)
	}
	return propose.Builtin{Seed: 1}.Propose(ctx, b)
}

func (k *keeping) proposer() Proposer {
	return Proposer{Name: "keeping", DeleteShare: .25, Open: func(context.Context, *loop.State) (propose.Model, error) { return k, nil }}
}

// beginPractising begins a campaign that shows practice sessions.
func (n *night) beginPractising(c *Campaign) {
	n.t.Helper()
	g := Grid{
		Objective: []harness.Cell{{Scenario: "R1", Tier: "sonnet"}, {Scenario: "W1", Tier: "haiku"}}, Guards: []harness.Cell{{Scenario: "N1", Tier: "haiku"}},
		Practice: PracticeCells(n.sealed.Suite, nil, nil),
	}
	if len(g.Practice) < 2 {
		n.t.Fatal("the suite has no practice cells")
	}
	testenv.Must(n.t, c.Begin(n.t.Context(), settings(), g))
}

// TestBriefHoldsNothingSealed plants a canary in every sealed text, lets sessions say all of
// them, and finds none in any brief; nor five words in a row of a task, nor the
// name of a cell.
func TestBriefHoldsNothingSealed(t *testing.T) {
	n := newNight(t, ".")
	planted := n.withCanaries()
	if len(planted) < 60 {
		t.Fatalf("planted %d canaries", len(planted))
	}
	says := "I looked at ADR-0002 in lib/relay/store.rb for R1/sonnet."
	for _, sc := range n.sealed.Suite.Scenarios {
		if sc.Role != harness.Practice {
			says += "\n" + sc.Task.Reveal()
		}
	}
	for _, c := range planted {
		says = c + "\n" + says
	}
	c := n.open()
	defer n.close(c)
	n.beginPractising(c)
	// A person's candidate that leaks, and one that does not: of the first a
	// proposer is told the class.
	n.drop(sentence(t, "One more."))
	whole := "---\nname: find-decision\ndescription: " + canary(1) + "\n---\nBody.\n"
	n.drop(Dropped{Files: map[string]string{findSkill: whole}, Rationale: "a leak " + canary(2)})
	k := &keeping{}
	testenv.Must(t, c.Run(t.Context(), loop.Loop{Executor: talking{drawn{c}, n, says}, Parallel: 1, Proposing: c.Proposing(k.proposer())}))
	if len(k.briefs) < 2 {
		t.Fatalf("got %d briefs", len(k.briefs))
	}
	last := k.briefs[len(k.briefs)-1]
	if len(last.Practice) == 0 || len(last.Tools) == 0 || len(last.Failures) == 0 || len(last.Rejected) < 2 || last.Cells[0].N == 0 {
		t.Errorf("the brief is empty where it must say something: %+v", last)
	}
	for i, b := range k.briefs {
		data, err := json.Marshal(b)
		testenv.Must(t, err)
		for _, p := range b.Practice {
			if p.Task == "" {
				t.Errorf("brief %d shows a session of another scenario", i+1)
			}
		}
		nothingSealed(t, fmt.Sprintf("brief %d", i+1), string(data), n.sealed.Suite, planted)
	}
	nothingSealed(t, "log", n.log.String(), n.sealed.Suite, planted)
}

// nothingSealed looks for canaries, runs of words of tasks and names of cells.
func nothingSealed(t *testing.T, what, text string, suite harness.Suite, planted map[string]string) {
	t.Helper()
	for place, c := range planted {
		if strings.Contains(text, c) {
			t.Errorf("%s: holds the canary of %s", what, place)
		}
	}
	for _, sc := range suite.Scenarios {
		for _, s := range sc.Task.Overlap(text, EchoWords) {
			t.Errorf("%s: repeats the task of %s: %q", what, sc.ID, text[s.Start:s.End])
		}
	}
	for _, id := range []string{"R1", "W1", "N1"} {
		if regexp.MustCompile(`\b` + id + `\b`).MatchString(text) {
			t.Errorf("%s: names the scenario %s", what, id)
		}
	}
}

// Of what the lint refused a proposer is told the class alone.
func TestBriefTellsOnlyTheClass(t *testing.T) {
	n := newNight(t, ".")
	c := n.open()
	defer n.close(c)
	n.begin(c)
	leak := "[os-adr] Use it as in ADR-0002, the answer to everything.\n"
	k := &keeping{answer: func(b propose.Brief) ([]candidates.Candidate, error) {
		return []candidates.Candidate{{Source: candidates.Proposer, Rationale: "it helps with 0002", Edits: []candidates.Edit{{Path: "hooks/session-start-note.md", Whole: &leak}}}}, nil
	}}
	testenv.Must(t, c.Run(t.Context(), loop.Loop{Executor: drawn{c}, Parallel: 1, Proposing: c.Proposing(k.proposer())}))
	s := c.Current()
	if len(k.briefs) != 3 || len(s.Progress) != 3 {
		t.Fatalf("got %d asks and %d candidates, want 3: each is a leak", len(k.briefs), len(s.Progress))
	}
	for _, p := range s.Progress {
		if p.Decided.Reason != loop.ByLint || p.Decided.Sessions != 0 {
			t.Errorf("%s: got %+v", p.Candidate.ID, p.Decided)
		}
	}
	want := propose.Rejected{Verdict: "reject", Reason: "lint", Classes: []candidates.Class{candidates.Echo}}
	for _, r := range k.briefs[2].Rejected {
		if fmt.Sprint(r) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
	if s.Ended == nil || s.Ended.Outcome != loop.NoChange {
		t.Errorf("ended %+v, want no change", s.Ended)
	}
}

// What a proposer brings is aimed as a person's candidate is, and a secret in it
// never reaches the ledger.
func TestProposalsAreAimed(t *testing.T) {
	n := newNight(t, ".")
	c := n.open()
	defer n.close(c)
	n.begin(c)
	secret := "sk-ant-" + "api03-" + strings.Repeat("Ab1", 20)
	note := "[os-adr] Look here. " + secret + "\n"
	k := &keeping{answer: func(b propose.Brief) ([]candidates.Candidate, error) {
		edits := []candidates.Edit{{Path: findSkill, Old: anchor, New: anchor + " Take number " + fmt.Sprint(b.N) + "."}}
		if b.N > 1 {
			edits = []candidates.Edit{{Path: "hooks/session-start-note.md", Whole: &note}}
		}
		return []candidates.Candidate{{Source: candidates.Proposer, Edits: edits}}, nil
	}}
	testenv.Must(t, c.Run(t.Context(), loop.Loop{Executor: drawn{c}, Parallel: 1, Proposing: c.Proposing(k.proposer())}))
	s := c.Current()
	if len(s.Progress) != 1 || len(s.Proposals) != 4 || s.Proposals[1].Refusal != propose.Garbage {
		t.Fatalf("got %d candidates, asks %+v", len(s.Progress), s.Proposals)
	}
	if got := s.Progress[0].Candidate; got.ID != "c001" || !slices.Equal(got.Targets, []string{"R1/sonnet"}) || got.TargetsFrom == "" {
		t.Errorf("got %+v, want the cell of the skill", got)
	}
	states, err := Replay(t.Context(), c.ledger)
	if err != nil || len(states[0].Proposals) != 4 {
		t.Errorf("replayed: %v", err)
	}
}
