package report

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/stats"
)

// TestStuck: every hold is told from the champion's counts.
func TestStuck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pass, n, attempts int
		want              Hold
	}{
		"nothing passes":           {0, 8, 8, HoldFloor},
		"everything passes":        {8, 8, 8, HoldCeiling},
		"three passes say little":  {3, 3, 3, HoldPower},
		"half of four says little": {2, 4, 4, HoldPower},
		"half of twelve":           {6, 12, 12, HoldNone},
		"nothing valid":            {0, 0, 6, HoldExposure},
		"never started":            {0, 0, 0, HoldNotRun},
	} {
		got := stuck("R1/haiku", rate("R1/haiku", stats.Count{Pass: c.pass, N: c.n}), c.attempts, map[harness.Class]int{harness.Hang: c.attempts - c.n})
		if got.Hold != c.want || got.Why == "" {
			t.Errorf("%s: got %s (%s), want %s", name, got.Hold, got.Why, c.want)
		}
		if c.want == HoldExposure && !strings.Contains(got.Why, "6 hang") {
			t.Errorf("%s: does not say why: %s", name, got.Why)
		}
	}
}

// TestDigestSaysWhatToType: a promotion is offered and can be refused; once it is
// vetoed it is offered no more, and the record keeps what it was.
func TestDigestSaysWhatToType(t *testing.T) {
	t.Parallel()
	s := promotedStory(t)
	d := BuildDigest(s, nil, nil)
	for _, a := range []loop.Adopted{{Campaign: d.ID, Branch: "words", Commit: strings.Repeat("a", 40)}, {Campaign: "earlier-1", Branch: "old", Commit: "b"}} {
		testenv.Must(t, s.Apply(loop.Event{Payload: a}))
	}
	if text := string(Build(s).Markdown()); !strings.Contains(text, "\nTaken over as branch words, commit "+strings.Repeat("a", 12)+".\n") || strings.Contains(text, "branch old") {
		t.Errorf("the branch that was made of it is not named, or another is:\n%s", text)
	}
	if err := s.Apply(loop.Event{Payload: loop.Adopted{Campaign: d.ID, Branch: "words"}}); err == nil {
		t.Error("adopted without a commit")
	}
	if d.Adopt != "loopd adopt" || d.Veto == "" || len(d.Champions) != 1 || len(d.Try) == 0 {
		t.Errorf("a promotion: adopt %q, veto %q, kept %v, try %v", d.Adopt, d.Veto, d.Champions, d.Try)
	}
	testenv.Must(t, s.Apply(loop.Event{Payload: loop.Vetoed{Reason: "reads badly"}}))
	d = BuildDigest(s, nil, nil)
	if d.Adopt != "" || d.Veto != "" || Confirmed(s) || d.Adoptable() || d.Outcome != loop.Promoted {
		t.Errorf("a veto: adopt %q, veto %q, outcome %s", d.Adopt, d.Veto, d.Outcome)
	}
	if want := "vetoed by hand: reads badly (it was promoted)"; d.Headline != want {
		t.Errorf("got %q, want %q", d.Headline, want)
	}
	if err := s.Apply(loop.Event{Payload: loop.Vetoed{Reason: "again"}}); err == nil {
		t.Error("vetoed twice")
	}
}

// TestAdviceNamesTheAxis: what fails most often says which wording to work on.
func TestAdviceNamesTheAxis(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Funnel{
		"descriptions and the note": {Total: Stage{N: 10, Both: 2, OnlyB: 5, OnlyA: 1, Neither: 2}},
		"body of the skill":         {Total: Stage{N: 10, Both: 2, OnlyA: 7, OnlyB: 1}},
	} {
		if got := axisAdvice(f); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
