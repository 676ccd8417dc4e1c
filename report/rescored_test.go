package report

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/loop"
)

// rescoredStory is a promoted campaign whose kept candidate and gate do not hold
// by other rules: one of its passes is a fail.
func rescoredStory(t *testing.T) *loop.State {
	t.Helper()
	st := newStory(t)
	st.begin()
	st.compare("c001")
	st.gate()
	e, less := 25.0, .5
	st.add(loop.Ended{Outcome: loop.Promoted, Why: "the gate's evidence was reached", EValue: &e})
	var now loop.NewScore
	for _, r := range st.state.Trials {
		if r.Spec.Slot.Wording == keptWording && r.Passed() {
			now = loop.NewScore{ID: r.ID, Class: harness.Valid, Result: harness.Result{
				Outcome: harness.Fail, Checks: []harness.Check{{Name: harness.AxisA, Outcome: harness.Pass}, {Name: harness.AxisB, Outcome: harness.Fail, Reason: "shotgun"}},
			}}
			break
		}
	}
	kept := *st.state.Find("c001").Decided.EValue
	st.add(loop.Rescored{
		Reason: "two records | are one too many", Instrument: "4444444444444444", Seal: "5555555555555555", Trials: []loop.NewScore{now},
		Verdicts: []loop.NewVerdict{
			{Subject: "c001", Was: loop.Ruling{Verdict: loop.Keep, EValue: &kept}, Now: loop.Ruling{Verdict: loop.Reject, Reason: loop.ByFutility, EValue: &less}, Round: 2},
			{Subject: loop.SubjectGate, Was: loop.Ruling{Outcome: loop.Promoted, EValue: &e}, Now: loop.Ruling{Why: "not decided", EValue: &less}},
		},
	})
	return st.state
}

// After a rescore both results are shown, and what was taken back is said first.
func TestRescoredIsShownBesideTheRecord(t *testing.T) {
	t.Parallel()
	s := rescoredStory(t)
	rep := Build(s)
	if !strings.HasPrefix(rep.Headline, "withdrawn: c001 was promoted with E = 25 at the gate") || rep.Outcome != loop.Promoted {
		t.Errorf("headline %q, outcome %s", rep.Headline, rep.Outcome)
	}
	if rep.Rescored == nil || !slices.Equal(rep.Rescored.Withdrawn, []string{"c001", loop.SubjectGate}) || len(rep.Rescored.Trials) != 1 {
		t.Fatalf("got %+v", rep.Rescored)
	}
	text := string(rep.Markdown())
	for _, want := range []string{
		"\n## Rescored\n", "two records \\| are one too many", "**Withdrawn:** c001, gate.", "| c001 | keep, withdrawn |",
		"| c001 | keep | 5.47 | reject (futile) | 0.5 | round 2 |", "| gate | promoted | 25 | not decided | 0.5 |  |",
		"R1/haiku | c001 | pass | fail (shotgun) |", "instrument `444444444444`", "`loopd freeze`, then `loopd run`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	one, _ := BuildCandidate(s, "c001", nil, nil)
	if !strings.HasPrefix(string(one.Markdown()), "# c001: keep, withdrawn\n") {
		t.Errorf("candidate: %.60s", one.Markdown())
	}
	if row := string(LoopResults(s)); !strings.Contains(row, "\tdiscard\tc001 (person): keep, withdrawn by a rescore\n") {
		t.Errorf("loop-results.tsv: %s", row)
	}
	rows := strings.Split(string(Results(s)), "\n")
	i := slices.IndexFunc(rows, func(r string) bool { return strings.Contains(r, "A:pass\tB:fail\tFAIL\tshotgun\t") })
	if i < 0 || !strings.HasSuffix(rows[i], "\tA:pass B:pass PASS\tperson") || !strings.HasSuffix(rows[1], "\t1.500\t\t") {
		t.Errorf("results.tsv:\n%s", strings.Join(rows, "\n"))
	}
	if before := Build(fullStory(t)); before.Rescored != nil || strings.Contains(string(before.Markdown()), "Rescored") {
		t.Error("a campaign that was not scored again says it was")
	}
}
