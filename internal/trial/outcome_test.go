package trial_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// direction is one run of a cell with the outcome that is right for it.
type direction struct {
	spec harness.Spec
	want harness.Outcome
}

// bothWays plans the perfect and the idle run of every scenario. The perfect run
// of a control fails too: that is what a control is for.
func (b *bench) bothWays() []direction {
	var out []direction
	for _, sc := range b.o.Suite.Scenarios {
		perfect := harness.Pass
		if sc.Role == harness.Control {
			perfect = harness.Fail
		}
		out = append(out,
			direction{b.spec(sc.ID, "haiku", 1, play{}), perfect},
			direction{b.spec(sc.ID, "haiku", 2, play{nop: true}), harness.Fail})
	}
	if len(out) == 0 {
		b.t.Fatal("the bundled suite has no scenario")
	}
	return out
}

// told is what must not depend on how many trials ran beside it.
type told struct {
	Class    harness.Class
	Result   harness.Result
	Usage    harness.Usage
	Verified bool
	Exposed  bool
}

// toldOf leaves the ids of tool calls out: they follow from a random key.
func toldOf(t harness.Trial) told {
	r := t.Result
	r.Checks = slices.Clone(r.Checks)
	for i := range r.Checks {
		c := &r.Checks[i]
		c.Evidence, c.NearMisses = withoutIDs(c.Evidence), withoutIDs(c.NearMisses)
	}
	return told{t.Class, r, t.Usage, t.NoteVerified, t.Exposed}
}

func withoutIDs(list []harness.Evidence) []harness.Evidence {
	out := slices.Clone(list)
	for i := range out {
		out[i].Block = ""
	}
	return out
}

func TestRun_BothWaysAloneAndSideBySide(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.o.Judge = &judge{answers: []string{"NO"}}
	e := b.executor()
	runs := b.bothWays()
	together := b.sideBySide(e, runs, 8)
	for i, d := range runs {
		b.wantScored(together[i], d.want)
		b.wantClean(together[i])
	}
	for i, d := range runs {
		if !slices.Contains([]string{"N1", "R1", "W1"}, d.spec.Slot.Cell.Scenario) {
			continue // a few alone are enough to compare with
		}
		got, err := e.Run(t.Context(), d.spec)
		testenv.Must(t, err)
		b.wantScored(got, d.want)
		testenv.Same(t, fmt.Sprintf("%s side by side", d.spec.Slot.Cell), toldOf(got), toldOf(together[i]))
	}
}

// sideBySide runs every direction again, as a later attempt, n at a time.
func (b *bench) sideBySide(e *trial.Executor, runs []direction, n int) []harness.Trial {
	out := make([]harness.Trial, len(runs))
	queue := make(chan int)
	specs := make([]harness.Spec, len(runs))
	for i, d := range runs {
		specs[i] = d.spec
		specs[i].Attempt = 2
		b.plays[specs[i].TrialID()] = b.plays[d.spec.TrialID()]
	}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for i := range queue {
				var err error
				if out[i], err = e.Run(b.t.Context(), specs[i]); err != nil {
					b.t.Error(err)
				}
			}
		})
	}
	for i := range runs {
		queue <- i
	}
	close(queue)
	all.Wait()
	return out
}

// wantScored checks a valid trial: its outcome, its proofs, and what it keeps.
func (b *bench) wantScored(got harness.Trial, want harness.Outcome) {
	b.t.Helper()
	cell := got.Spec.Slot.Cell
	if got.Class != harness.Valid || got.Result.Outcome != want {
		b.t.Errorf("%s: got %s %s (%s %v), want valid %s", cell, got.Class, got.Result.Outcome, got.Why, got.Result.Reasons(), want)
	}
	sc, _ := b.o.Suite.Scenario(cell.Scenario)
	note := sc.Hook == harness.HookNote
	if got.NoteVerified != note || got.ExpectsNote != note || !got.Exposed {
		b.t.Errorf("%s: note verified %t, exposed %t, expected %t", cell, got.NoteVerified, got.Exposed, got.ExpectsNote)
	}
	if model, _ := b.o.Suite.Launch.Model(cell.Tier); got.Model != model || got.CLI == "" || len(got.Session) != 36 || got.Instrument != "instrument" {
		b.t.Errorf("%s: got model %s, CLI %q, session %q, instrument %q", cell, got.Model, got.CLI, got.Session, got.Instrument)
	}
	if got.Seconds <= 0 || got.Usage.Output == 0 || got.CostUSD == nil {
		b.t.Errorf("%s: nothing measured: %+v", cell, got)
	}
	b.wantKept(got)
}

// wantKept checks the files of an attempt: all three there, closed to others,
// the transcript as its digest says, and the task in none of them.
func (b *bench) wantKept(got harness.Trial) {
	b.t.Helper()
	files := b.kept(got.ID)
	if sum := sha(files[trial.TranscriptFile]); sum != got.Transcript {
		b.t.Errorf("transcript: got digest %s, want %s", sum, got.Transcript)
	}
	sc, _ := b.o.Suite.Scenario(got.Spec.Slot.Cell.Scenario)
	for _, name := range []string{trial.TranscriptFile, trial.StderrFile, trial.ChangesFile, trial.LaunchFile} {
		data, ok := files[name]
		if !ok {
			b.t.Errorf("%s: %s is not kept", got.Spec.Slot.Cell, name)
		}
		if spans := sc.Task.Overlap(readable(name, data), taskWords); len(spans) > 0 {
			b.t.Errorf("%s: %s repeats the task in %d places", got.Spec.Slot.Cell, name, len(spans))
		}
	}
	want := 4
	if got.Judgement != nil {
		want++ // what the judge said
	}
	if len(files) != want {
		b.t.Errorf("kept: got %d files, want %d", len(files), want)
	}
}

// taskWords is how long a run of words of the task must be to be its text and
// no turn of phrase that a fixture has too.
const taskWords = 12

func TestRun_TaskInWhatIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sc, _ := b.o.Suite.Scenario("R1")
	own := sc.Task.Reveal()
	got := b.one("R1", play{steps: []harness.Step{
		{Write: &harness.WriteStep{Path: "said.md", Content: own}}, {Text: "You said: " + own},
	}})
	files := b.kept(got.ID)
	for _, name := range []string{trial.TranscriptFile, trial.ChangesFile} {
		if len(sc.Task.Overlap(readable(name, files[name]), taskWords)) == 0 {
			t.Errorf("%s: an agent that repeats the task is not seen", name)
		}
	}
	if !slices.Equal(got.Result.Reasons(), []string{"no_consult", "not_cited"}) {
		t.Errorf("reasons: got %v, want that repeating the task scores nothing", got.Result.Reasons())
	}
}
