package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// judgedTrial records a valid trial that passed or failed as the judge said, or
// one the judge gave no answer to.
func (st *story) judgedTrial(sl harness.Slot, by string, calls int, answers ...harness.JudgeAnswer) {
	st.t.Helper()
	spec := harness.Spec{Campaign: "abc1234-1", Slot: sl, Attempt: st.attempt(sl)}
	t := harness.Trial{ID: spec.TrialID(), Spec: spec, Class: harness.Valid}
	t.Result = harness.Result{Kind: harness.Unprompted, Case: sl.Cell.Scenario, Outcome: harness.Fail, JudgedBy: by}
	if by == "file" {
		t.Result.Outcome = harness.Pass
	} else {
		t.Judgement = &harness.Judgement{Answers: answers, Calls: calls}
		answer, settled := t.Judgement.Settled()
		switch {
		case !settled:
			t.Class, t.Result.Outcome = harness.JudgeError, harness.Invalid
		case answer == harness.AnswerYes:
			t.Result.Outcome = harness.Pass
		}
	}
	st.add(loop.Recorded{Trial: t})
}

func (st *story) attempt(sl harness.Slot) int {
	n := 1
	for _, t := range st.state.Trials {
		if t.Spec.Slot == sl {
			n++
		}
	}
	return n
}

const (
	yes   = harness.AnswerYes
	no    = harness.AnswerNo
	wrong = harness.AnswerError
)

// judgedStory is a campaign whose only scenario asks a judge: a pilot, and one
// candidate that is kept.
func judgedStory(t *testing.T, gold int, test *harness.JudgeTest) *story {
	t.Helper()
	st := newStory(t)
	set := loop.DefaultSettings(40)
	set.Seed, set.PilotReps, set.PoolReps = 5, 4, 0
	c := cell("W1", "sonnet")
	st.add(loop.Started{
		Campaign: "abc1234-1", Plugin: "os-adr", Seal: "fedc", Start: startWording, Objective: []harness.Cell{c}, Settings: set,
		Judged: []string{"W1"}, Gold: gold,
	})
	if test != nil {
		st.add(loop.JudgeTested{JudgeTest: *test})
	}
	var slots []harness.Slot
	for range 4 {
		slots = append(slots, st.slot(startWording, c))
	}
	st.add(loop.Planned{Round: loop.Round{N: 1, Subject: loop.SubjectStart, Purpose: loop.ForPilot, Slots: slots}})
	st.judgedTrial(slots[0], "file", 0)
	st.judgedTrial(slots[1], "judge", 2, yes, yes)
	st.judgedTrial(slots[2], "judge", 4, no, no)
	st.judgedTrial(slots[3], "judge", 2, yes, no)
	st.judgedTrial(slots[3], "judge", 3, wrong)
	st.judgedTrial(slots[3], "judge", 2, no, no)
	st.add(loop.Closed{Round: 1})
	st.add(
		loop.Queued{Candidate: candidates.Candidate{ID: "c001", Source: candidates.Person}},
		loop.Committed{Candidate: "c001", Commit: keptWording, Parent: startWording},
	)
	own, base := st.slot(keptWording, c), st.slot(startWording, c)
	bets := stats.PlaceBets([]stats.Cell{{Weight: 1}}, stats.Default())
	st.add(loop.Planned{Round: loop.Round{N: 2, Subject: "c001", Purpose: loop.ForBet, Slots: []harness.Slot{own, base}, Bets: &bets, Reveals: []int{0}}})
	st.judgedTrial(own, "judge", 2, yes, yes)
	st.judgedTrial(base, "judge", 2, no, no)
	st.add(loop.Closed{Round: 2, Seen: []stats.Seen{{Cand: []bool{true}, Base: []bool{false}}}, LogE: 1.7})
	e := 5.4
	st.add(loop.Decided{Candidate: "c001", Verdict: loop.Keep, EValue: &e, Sessions: 2})
	return st
}

func passedTest() *harness.JudgeTest {
	return &harness.JudgeTest{Judge: "model", Yes: harness.Tally{Right: 9, Of: 10}, No: harness.Tally{Right: 10, Of: 10}, Attack: harness.Tally{Right: 10, Of: 10}, Wrong: []int{3}}
}

func TestTheJudgeIsCountedArmByArm(t *testing.T) {
	t.Parallel()
	s := judgedStory(t, 30, passedTest()).state
	start := JudgedArm{Valid: 5, ByFile: 1, ByJudge: 1, Calls: 15, Flips: 1, Errors: 2}
	cand := JudgedArm{Valid: 1, ByJudge: 1, Calls: 2}
	named := func(a JudgedArm, name string) JudgedArm { a.Arm = name; return a }
	rep := Build(s)
	if want := []JudgedArm{named(start, "start"), named(cand, "champion")}; rep.Judge == nil || !slices.Equal(rep.Judge.Arms, want) {
		t.Errorf("campaign: got %+v, want %+v", rep.Judge, want)
	}
	one, _ := BuildCandidate(s, "c001", nil, nil)
	if want := []JudgedArm{named(start, "champion"), named(cand, "candidate")}; one.Judge == nil || !slices.Equal(one.Judge.Arms, want) {
		t.Errorf("candidate: got %+v, want %+v", one.Judge, want)
	}
	for name, text := range map[string]string{"campaign": string(rep.Markdown()), "candidate": string(one.Markdown())} {
		for _, want := range []string{"## Judge", "10 proposals of the gold set right, 10 of 10 other messages", "| 5 | 1 | 1 | 15 | 2 | 1 |"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		_, section, _ := strings.Cut(text, "## Judge")
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			if len(line) > 81 {
				t.Errorf("%s: a line of %d columns: %s", name, len(line)-1, line)
			}
		}
	}
	if slices.ContainsFunc(rep.Warnings, func(w string) bool { return strings.Contains(w, "judge") }) {
		t.Errorf("warned of a judge that was tested: %v", rep.Warnings)
	}
}

func TestAJudgeThatWasNotTestedIsAWarning(t *testing.T) {
	t.Parallel()
	rep := Build(judgedStory(t, 0, nil).state)
	if !slices.Contains(rep.Warnings, "the judge of W1 was not tested: the suite has no gold set") || rep.Judge.Test != nil {
		t.Errorf("got %v", rep.Warnings)
	}
	if !strings.Contains(string(rep.Markdown()), "It has not been tested.") {
		t.Error("the section does not say so")
	}
	none := Build(fullStory(t))
	data, err := json.Marshal(none)
	if err != nil || none.Judge != nil || strings.Contains(string(data), `"judge"`) || strings.Contains(string(none.Markdown()), "## Judge") {
		t.Errorf("a judge where no scenario asks one: %+v", none.Judge)
	}
}

// The order of the sheet is the seed's: it follows neither arm nor time.
func TestJudgedTrialsComeInTheSeedsOrder(t *testing.T) {
	t.Parallel()
	s := judgedStory(t, 30, passedTest()).state
	got := JudgedTrials(s)
	if len(got) != 5 {
		t.Fatalf("got %d trials, want the 5 with an answer", len(got))
	}
	order := func() (keys, ids []string) {
		for _, t := range JudgedTrials(s) {
			keys, ids = append(keys, JudgedKey(s, t.ID)), append(ids, t.ID)
		}
		return keys, ids
	}
	keys, first := order()
	if !slices.IsSorted(keys) || len(slices.Compact(keys)) != 5 {
		t.Errorf("got keys %v", keys)
	}
	differs := false
	for seed := range uint64(8) {
		s.Started.Settings.Seed = seed
		_, now := order()
		differs = differs || !slices.Equal(now, first)
	}
	if !differs {
		t.Error("eight seeds, one order")
	}
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	s := judgedStory(t, 30, passedTest()).state
	labels := make(map[string]bool)
	flipped := false
	for _, run := range JudgedTrials(s) {
		answer, _ := run.Judgement.Settled()
		labels[JudgedKey(s, run.ID)] = answer == yes
		if answer == no && !flipped { // the person disagrees once, with a NO
			labels[JudgedKey(s, run.ID)], flipped = true, true
		}
	}
	got, err := Agree(s, labels)
	if err != nil || got.All.K != 4 || got.All.N != 5 || got.Unlabeled != 0 || len(got.Arms) != 2 {
		t.Fatalf("got %+v, %v, want 4 of 5 in two arms", got, err)
	}
	if want := stats.Wilson(stats.Count{Pass: 4, N: 5}, .95); got.All.CI != want {
		t.Errorf("interval: got %v, want %v", got.All.CI, want)
	}
	// 2 YES by both, 2 NO by both, 1 YES by the label alone: chance is .6 x .4 + .4 x .6.
	if got.All.Kappa == nil || math.Abs(*got.All.Kappa-(.8-.48)/(1-.48)) > 1e-12 {
		t.Errorf("kappa: got %v", got.All.Kappa)
	}
	if a := got.Arms[1]; a.Name != "c001" || a.K != 1 || a.N != 1 || a.Kappa != nil {
		t.Errorf("c001: got %+v, want 1 of 1 and no kappa", a)
	}
	delete(labels, JudgedKey(s, JudgedTrials(s)[0].ID))
	if got, err := Agree(s, labels); err != nil || got.All.N != 4 || got.Unlabeled != 1 {
		t.Errorf("one label less: got %+v, %v", got, err)
	}
	labels["0123456789abcdef"] = true
	if _, err := Agree(s, labels); err == nil || !strings.Contains(err.Error(), "0123456789abcdef is no judged message") {
		t.Errorf("a label of another campaign: got %v", err)
	}
}
