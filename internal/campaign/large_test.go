package campaign

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/report"
)

// wordy are drawn sessions whose records are as long as real ones.
type wordy struct{ drawn }

func (w wordy) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t, err := w.drawn.Run(ctx, spec)
	for i := range t.Result.Checks {
		t.Result.Checks[i].Evidence = []harness.Evidence{{What: strings.Repeat("looked at, and found ", 20)}}
	}
	return t, err
}

// inMemory keeps events until they are appended all at once.
type inMemory struct{ events *[]loop.Event }

func (m inMemory) Append(_ context.Context, events ...loop.Event) error {
	*m.events = append(*m.events, events...)
	return nil
}

// season fills the ledger with finished campaigns until it holds so many trials.
func (n *night) season(trials int) (campaigns int) {
	n.t.Helper()
	c := n.open()
	defer n.close(c)
	for total := 0; total < trials; campaigns++ {
		n.begin(c)
		var events []loop.Event
		mem := inMemory{&events}
		l := loop.Loop{State: c.Current(), Log: mem, Executor: wordy{drawn{c}}, Preparer: c.preparer(c.Current()), Now: c.Now, Parallel: 1}
		l.Verify = func(context.Context) (*frozen.Drift, error) { return nil, nil }
		var queue []candidates.Candidate
		for i, text := range sentencesOf(campaigns) {
			cand, err := sentenceOf(text).Candidate()
			testenv.Must(n.t, err)
			cand.ID = fmt.Sprintf("c%03d", campaigns*10+i+1)
			queue = append(queue, cand)
		}
		l.Intake = func(context.Context, *loop.State) ([]candidates.Candidate, error) {
			out := queue
			queue = nil
			return out, nil
		}
		testenv.Must(n.t, l.Run(n.t.Context()))
		testenv.Must(n.t, (Journal{Ledger: c.ledger}).Append(n.t.Context(), events...))
		total += c.Current().Sessions()
	}
	return campaigns
}

func sentencesOf(campaign int) []string {
	return []string{fmt.Sprintf("It is quick, %d times.", campaign), better, fmt.Sprintf("It is short, %d times.", campaign)}
}

// TestReadyAgainWithManyTrials prints how long a start takes, and a look, with the
// ledger of a season; in the long form it holds both to their bounds.
func TestReadyAgainWithManyTrials(t *testing.T) {
	n := newNight(t, "")
	campaigns := n.season(testenv.Count(300, 10_000))
	n.close(n.open()) // the first start writes the reports of all campaigns

	trials := 0
	ready := timed(10, func() {
		c := n.open()
		trials = 0
		for _, s := range c.states {
			trials += s.Sessions()
		}
		n.close(c)
	})
	l, err := store.OpenReadOnly(n.home.Dir)
	testenv.Must(t, err)
	events, _, err := l.Last(t.Context(), "")
	testenv.Must(t, err)
	var states []*loop.State
	replayed := timed(10, func() {
		if states, err = Replay(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}).per(100_000, events)
	began := time.Now()
	newest, err := ReplayNewest(t.Context(), l)
	if err != nil || newest.Started.Campaign != states[len(states)-1].Started.Campaign {
		t.Fatalf("the newest campaign: got %v and %v", newest, err)
	}
	report.Build(newest)
	unkept := time.Since(began)
	c := n.open()
	c.Look = func(s *loop.State, all []*loop.State) any { return report.Build(s) }
	c.glance(t.Context())
	n.close(c)
	look := timed(10, func() {
		if _, ok := n.home.ReadGlance(t.Context(), l); !ok {
			t.Error("the status that was kept is not used")
		}
	})
	testenv.Must(t, l.Close())
	t.Logf("%d trials, %d events in %d campaigns: ready again in %v; 100,000 such events read, checked and applied in %v; a look takes %v, %v where it was not kept",
		trials, events, campaigns, ready, replayed, look, round(unkept))
}

// spells are how long something took, done several times: a machine has other
// things to do.
type spells struct{ best, median time.Duration }

func (s spells) String() string { return fmt.Sprintf("%v (median %v)", round(s.best), round(s.median)) }

// per is how long it would have taken for so many, having done others.
func (s spells) per(many, did int64) spells {
	return spells{s.best * time.Duration(many) / time.Duration(did), s.median * time.Duration(many) / time.Duration(did)}
}

// timed does something so often in the long form, and once else.
func timed(often int, do func()) spells {
	var took []time.Duration
	for range testenv.Count(1, often) {
		began := time.Now()
		do()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return spells{took[0], took[len(took)/2]}
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// TestAGlanceIsOfTheNewestEvent wants what was kept to be used as long as nothing
// was recorded since, and never after.
func TestAGlanceIsOfTheNewestEvent(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	o := n.options()
	o.Look = func(s *loop.State, _ []*loop.State) any { return map[string]int{"sessions": s.Sessions()} }
	c, err := Open(t.Context(), o)
	testenv.Must(t, err)
	n.begin(c)
	looks := 0
	look := func() string {
		text, _ := n.home.ReadGlance(t.Context(), c.ledger)
		return string(text)
	}
	observe := func(s *loop.State, _ loop.Event) {
		if looks++; look() != "" {
			t.Error("what was kept before an event is used after it")
		}
	}
	testenv.Must(t, c.Run(t.Context(), loop.Loop{Executor: drawn{c}, Parallel: 1, Observe: observe}))
	if want := fmt.Sprintf(`{"sessions":%d}`, c.Current().Sessions()); look() != want || looks < 10 {
		t.Errorf("after %d events: got %s, want %s", looks, look(), want)
	}
	kept, err := os.ReadFile(n.home.Glance())
	testenv.Must(t, err)
	overwrite(t, n.home.Glance(), strings.Replace(string(kept), GlanceSchema, "loopd:glance/0", 1))
	if look() != "" {
		t.Error("what says that it has another shape is used")
	}
	overwrite(t, n.home.Glance(), "{")
	if look() != "" {
		t.Error("half a file is used")
	}
	n.close(c)
}
