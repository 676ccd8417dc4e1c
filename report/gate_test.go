package report

import (
	"strings"
	"testing"

	"loopd/loop"
	"loopd/stats"
)

func TestGateNamesItsCellsAndTheWholeGrid(t *testing.T) {
	t.Parallel()
	c := Build(fullStory(t))
	if c.Gate == nil || c.Gate.Effect == nil || c.Gate.Effect.Cells != 1 || c.Gate.Effect.Difference != 1 {
		t.Fatalf("got %+v, want a rise of 1 in the one declared cell", c.Gate)
	}
	if c.Gate.Grid != nil {
		t.Errorf("got %+v over the whole grid, want nothing known: a cell has no fresh rep", c.Gate.Grid)
	}
	text := string(c.Markdown())
	for _, want := range []string{"on R1/haiku.", "guard only", "not known", "which may be nothing", "A/A pilot"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}

func TestTransferIsShownApart(t *testing.T) {
	t.Parallel()
	st := newStory(t)
	st.begin()
	st.compare("c001")
	st.gate()
	if got := Build(st.state).Transfer; len(got) != 0 {
		t.Errorf("got %v before the reserve was run", got)
	}
	st.transfer()
	c := Build(st.state)
	if len(c.Transfer) != 1 || c.Transfer[0].Name != "R8/haiku" || c.Transfer[0].Champion.N != 1 || c.Transfer[0].Candidate.K != 1 {
		t.Errorf("got %+v, want one rep of R8/haiku for each", c.Transfer)
	}
	for _, cell := range c.Cells {
		if cell.Name == "R8/haiku" {
			t.Error("a reserve scenario is among the cells of the metric")
		}
	}
	if !strings.Contains(string(c.Markdown()), "They decide nothing.") {
		t.Error("the page does not say that the transfer decides nothing")
	}
}

func TestRecordCountsCampaigns(t *testing.T) {
	t.Parallel()
	first, second, other := fullStory(t), fullStory(t), fullStory(t)
	other.Started.Seal = "another"
	first.Ended.Outcome = loop.Promoted
	if got := Build(first).Record; got != "" {
		t.Errorf("first campaign: got %q", got)
	}
	want := "2nd campaign on this suite, 1 promoted, each could promote wrongly at most 1 time in 20 when nothing helps."
	if got := Build(second, other, first).Record; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for n, want := range map[int]string{1: "1st", 3: "3rd", 5: "5th", 11: "11th", 12: "12th", 22: "22nd", 113: "113th"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

// The mean of the reps is given as it is, never as a majority.
func TestTenRepsSixRight(t *testing.T) { // case G9
	t.Parallel()
	r := rate("R1/haiku", stats.Count{Pass: 6, N: 10})
	if r.Mean == nil || *r.Mean != .6 || !strings.HasPrefix(rateText(r), "6/10 [") {
		t.Errorf("got %v, %q, want 0.6 and 6/10", r.Mean, rateText(r))
	}
	if r := rate("none", stats.Count{}); r.Mean != nil || rateText(r) != "not run" {
		t.Errorf("no rep: got %v, %q", r.Mean, rateText(r))
	}
}

func TestWindowsAreCompared(t *testing.T) {
	t.Parallel()
	st := newStory(t)
	st.begin()
	if got := Build(st.state).Windows; got != nil {
		t.Errorf("one window: got %+v", got)
	}
	st.add(loop.Paused{Reason: "window"}, loop.Resumed{})
	st.compare("c001")
	c := Build(st.state)
	if c.Windows == nil || len(c.Windows.Rates) != 2 || c.Windows.Rates[0].N != 2 || c.Windows.Rates[1].N != 1 || c.Windows.P > 1 {
		t.Fatalf("got %+v, want two valid reps of the start before the pause and one after", c.Windows)
	}
	if text := string(c.Markdown()); !strings.Contains(text, "window 2 0/1") {
		t.Errorf("the page does not show the second window:\n%s", text)
	}
}
