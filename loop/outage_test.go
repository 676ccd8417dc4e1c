package loop

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// outage makes sessions of one wording come to nothing, half of their first
// attempts, in the rounds of one subject.
func (w *world) outage(s *State, wording, subject string, class harness.Class) {
	w.class = func(sp harness.Spec) harness.Class {
		r := s.round()
		if sp.Slot.Wording == wording && r != nil && r.Subject == subject && sp.Attempt == 1 && w.draw(sp) < .5 {
			return class
		}
		return harness.Valid
	}
}

// TestAnOutageOfOneArmBlocksTheVerdict: a candidate that is far better is not
// kept on rounds in which only one arm's sessions came to nothing, whichever arm
// that was; where the outage is the account's limit, or hits neither arm, it is.
func TestAnOutageOfOneArmBlocksTheVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wording string
		class   harness.Class
		want    Verdict
		reason  Reason
	}{
		"the candidate's": {"w-c001", harness.Hang, Broken, ByInvalidRate},
		"the champion's":  {"w-start", harness.Hang, Inconclusive, ByInvalidRate},
		"nobody's":        {"w-none", harness.Hang, Keep, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(2)
			set := DefaultSettings(2400)
			set.Profile = Strict
			s := w.beginWith(t, set, candidate(w, "c001", lifted(.9)))
			w.outage(s, c.wording, "c001", c.class)
			w.finish(t, s)
			d := s.Find("c001").Decided
			if d == nil || d.Verdict != c.want || d.Reason != c.reason {
				t.Fatalf("got %+v, want %s (%s)", d, c.want, c.reason)
			}
			if c.want == Inconclusive && !strings.Contains(d.Note, "were invalid") {
				t.Errorf("note %q, want both counts", d.Note)
			}
		})
	}
}

// TestAnOutageAtTheGateConfirmsNothing: the same at the gate.
func TestAnOutageAtTheGateConfirmsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wording string
		want    Outcome
	}{
		"of the start":    {"w-start", Unconfirmed},
		"of the champion": {"w-c001", Unconfirmed},
		"of neither":      {"w-none", Promoted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(2)
			s := w.begin(t, 2400, candidate(w, "c001", lifted(.9)))
			w.outage(s, c.wording, SubjectGate, harness.Hang)
			w.finish(t, s)
			if s.Ended == nil || s.Ended.Outcome != c.want {
				t.Errorf("got %+v, want %s", s.Ended, c.want)
			}
		})
	}
}

// TestWhatComesFromOutsideCountsForNoArm holds the list of such classes.
func TestWhatComesFromOutsideCountsForNoArm(t *testing.T) {
	t.Parallel()
	want := map[harness.Class]bool{
		harness.RateLimit: true, harness.UsageLimit: true, harness.Disk: true, harness.Auth: true, harness.Billing: true,
		harness.ModelGone: true, harness.Startup: true,
	}
	for _, c := range harness.Classes() {
		if FromOutside(c) != want[c] {
			t.Errorf("%s: got %v, want %v", c, FromOutside(c), want[c])
		}
	}
}

// TestSilenceHalts: an agent that prints nothing is one that nobody is logged
// in to; one session that speaks breaks the row, and so does a resume.
func TestSilenceHalts(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	s := w.begin(t, 800, candidate(w, "c001", lifted(.5)))
	n, silentUpTo := 0, 4
	w.class = func(harness.Spec) harness.Class {
		if n++; n <= silentUpTo || n > 5 && n <= 10 {
			return harness.NoOutput
		}
		return harness.Valid
	}
	l := w.loop(s)
	l.Parallel = 1
	testenv.Must(t, l.Run(t.Context()))
	if s.Halted == nil || s.Halted.Class != harness.Auth || !s.Halted.Lifts() || !strings.Contains(s.Halted.Reason, "5 sessions in a row printed nothing") {
		t.Fatalf("halted %+v", s.Halted)
	}
	if n != 10 || len(s.Trials) != 10 {
		t.Errorf("%d sessions run, %d recorded, want 10", n, len(s.Trials))
	}
	silentUpTo, n = 0, 10 // logged in again
	testenv.Must(t, l.record(t.Context(), Resumed{}))
	if err := l.Run(t.Context()); err != nil || s.Halted != nil {
		t.Fatalf("after the resume: %v, halted %+v", err, s.Halted)
	}
}
