package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/loop"
)

// failer is what a test and a property have in common.
type failer interface{ Fatalf(string, ...any) }

func same(t failer, what string, want, got any) {
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s:\n%s", what, d)
	}
}

func TestFunnelCountsBothAxes(t *testing.T) { // req 17
	t.Parallel()
	one, two, guard := cell("F1", "small"), cell("F2", "small"), cell("N1", "small")
	yes, no := harness.Pass, harness.Fail
	rep := Build(pilotOf(t, loop.Started{Objective: []harness.Cell{one, two}, Guards: []harness.Cell{guard}},
		session{cell: one, a: yes, b: yes},
		session{cell: one, a: yes, b: no},
		session{cell: one, a: no, b: yes, reason: unprompted.ReasonNoConsult},
		session{cell: one, a: no, b: no, reason: unprompted.ReasonProposedOnly},
		session{cell: two, a: no, b: yes, reason: unprompted.ReasonProposedOnly},
		session{cell: two, a: no, b: no, reason: unprompted.ReasonNoConsult},
		session{cell: two, a: no, b: no, reason: unprompted.ReasonNoConsult},
		session{cell: two, a: yes, b: yes, reason: unprompted.ReasonBySubagent},
		session{cell: guard, a: no, b: no, reason: unprompted.ReasonDetour},
	))
	want := Funnel{
		Name: "start", Total: Stage{Name: "total", N: 8, Both: 2, OnlyA: 1, OnlyB: 2, Neither: 3, InProse: 2},
		Cells: []Stage{
			{Name: "F1/small", N: 4, Both: 1, OnlyA: 1, OnlyB: 1, Neither: 1, InProse: 1},
			{Name: "F2/small", N: 4, Both: 1, OnlyB: 1, Neither: 2, InProse: 1},
		},
		Reasons: []Reasoned{{unprompted.ReasonNoConsult, 3}, {unprompted.ReasonProposedOnly, 2}},
	}
	same(t, "start", want, rep.Funnel[0])
	want.Name = "champion"
	same(t, "champion", want, rep.Funnel[1])
	text := string(rep.Markdown())
	for _, line := range []string{"| start | 8 | 2 | 1 | 2 | 3 | 2 |", "| F2/small | 1, 0, 1, 2 (1 in prose) | 1, 0, 1, 2 (1 in prose) |", "- start: no_consult 3, proposed_only_in_prose 2"} {
		if !strings.Contains(text, line) {
			t.Errorf("the page does not show %q:\n%s", line, text)
		}
	}
}

// The stages of every funnel add up to the trials of the rates beside it.
func TestFunnelAgreesWithTheRates(t *testing.T) {
	t.Parallel()
	rep := Build(fullStory(t))
	for i, f := range rep.Funnel {
		n, k := 0, 0
		for j, c := range f.Cells {
			r := []Rate{rep.Cells[j].Champion, rep.Cells[j].Candidate}[i]
			if c.N != r.N || c.Both != r.K || c.Both+c.OnlyA+c.OnlyB+c.Neither != c.N {
				t.Errorf("%s %s: got %+v beside %d/%d", f.Name, c.Name, c, r.K, r.N)
			}
			n, k = n+c.N, k+c.Both
		}
		if f.Total.N != n || f.Total.Both != k || n == 0 {
			t.Errorf("%s: got %+v, want %d and %d", f.Name, f.Total, n, k)
		}
	}
}

// The report of a candidate does not change with what is run after its verdict.
func TestFunnelOfACandidateEndsWithIt(t *testing.T) {
	t.Parallel()
	st := newStory(t)
	st.begin()
	st.compare("c001")
	before, _ := BuildCandidate(st.state, "c001", nil, nil)
	st.gate()
	after, _ := BuildCandidate(st.state, "c001", nil, nil)
	same(t, "funnel", before.Funnel, after.Funnel)
	same(t, "guards", before.Guarded, after.Guarded)
	if before.Funnel[1].Total.N != 1 {
		t.Errorf("got %+v, want the one session of the candidate", before.Funnel[1].Total)
	}
}

func TestManyReasonsAreCut(t *testing.T) {
	t.Parallel()
	f := Funnel{}
	for _, r := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		f.Reasons = append(f.Reasons, Reasoned{r, 1})
	}
	if got := reasonsText(f); got != "a 1, b 1, c 1, d 1, e 1, and 2 others" {
		t.Errorf("got %q", got)
	}
}
