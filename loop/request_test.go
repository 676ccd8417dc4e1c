package loop

import (
	"testing"

	"loopd/internal/testenv"
)

// asked runs a campaign and asks for something when its tenth trial is recorded,
// while others run. It returns the state and what was answered.
func asked(t *testing.T, p Payload) (*world, *State, error) {
	t.Helper()
	w := newWorld(5)
	s := w.begin(t, 500, candidate(w, "c001", lifted(.48)), candidate(w, "c002", lifted(0)))
	asks, told := make(chan Request, 1), make(chan error, 1)
	l := w.loop(s)
	l.Requests = asks
	l.Observe = func(_ *State, e Event) {
		if _, ok := e.Payload.(Recorded); ok && len(s.Trials) == 10 {
			asks <- Request{p, told}
		}
	}
	testenv.Must(t, l.Run(t.Context()))
	return w, s, <-told
}

// TestAPersonPausesALoop: what runs ends and counts, nothing starts, and after
// resume everything comes out as if nobody had asked.
func TestAPersonPausesALoop(t *testing.T) {
	t.Parallel()
	_, free, err := asked(t, nil)
	testenv.Must(t, err)
	for name, p := range map[string]Payload{"pause": Paused{Reason: "guests", ByHand: true}, "halt": Halted{Reason: "wrong model", ByHand: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s, err := asked(t, p)
			if n := len(s.Trials); err != nil || n < 10 || n > 13 || s.Ended != nil || s.Paused == nil && s.Halted == nil {
				t.Fatalf("%v: %d trials, paused %v, halted %v", err, n, s.Paused, s.Halted)
			}
			s = w.replay(t)
			testenv.Must(t, s.Grants(Resumed{}))
			w.events = append(w.events, Event{Time: s.ChangedAt, Payload: Resumed{}})
			s = w.replay(t)
			testenv.Must(t, w.loop(s).Run(t.Context()))
			if got, want := account(s), account(free); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestAPersonEndsTheSearch: the round under way is finished, its candidate is
// left, and the campaign comes to its end.
func TestAPersonEndsTheSearch(t *testing.T) {
	t.Parallel()
	w, s, err := asked(t, Finished{})
	if err != nil || s.Ended == nil || s.Ended.Outcome != NoChange {
		t.Errorf("%v: ended %+v", err, s.Ended)
	}
	if got, want := account(w.replay(t)), account(s); got != want {
		t.Errorf("a replay differs: got\n%s\nwant\n%s", got, want)
	}
}

// TestWhatIsNotGranted: a word that does not fit the state is refused and
// recorded nowhere.
func TestWhatIsNotGranted(t *testing.T) {
	t.Parallel()
	_, over, _ := asked(t, nil)
	w := newWorld(5)
	fresh := w.begin(t, 500, candidate(w, "c001", lifted(0)))
	drifted := w.begin(t, 500)
	drifted.Halted = &Halted{Reason: "drift"}
	for name, c := range map[string]struct {
		s *State
		p Payload
	}{
		"pause what is over":         {over, Paused{}},
		"halt what is over":          {over, Halted{}},
		"resume what runs":           {fresh, Resumed{}},
		"lift a halt that does not":  {drifted, Resumed{}},
		"finish what is halted":      {drifted, Finished{}},
		"finish what is over":        {over, Finished{}},
		"a verdict by word of mouth": {fresh, Decided{Candidate: "c001", Verdict: Keep}},
	} {
		if err := c.s.Grants(c.p); err == nil {
			t.Errorf("%s: granted", name)
		}
	}
	for name, p := range map[string]Payload{"pause": Paused{}, "halt": Halted{}, "finish": Finished{}} {
		if err := fresh.Grants(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
