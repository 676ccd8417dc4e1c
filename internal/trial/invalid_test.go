package trial_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/fake"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// inPlugin rewrites a file of the plugin's copy in the sandbox.
func inPlugin(name string, change func(text string) string) func(*isolate.Box) error {
	return func(box *isolate.Box) error {
		file := filepath.Join(box.Plugin, filepath.FromSlash(name))
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, []byte(change(string(data))), 0o755)
	}
}

func to(text string) func(string) string { return func(string) string { return text } }

func swap(old, new string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, old, new) }
}

func TestRun_Drift(t *testing.T) {
	t.Parallel()
	spoil := func(b *bench, name string) error {
		f, err := os.OpenFile(filepath.Join(b.dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("More.\n")
		return errors.Join(err, f.Close())
	}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		testenv.Must(t, spoil(b, "rubric.md"))
		got := b.one("N1", play{})
		b.wantInvalid(got, harness.DriftedSeal)
		if got.Why != "rubric.md" {
			t.Errorf("why: got %q, want the path", got.Why)
		}
		if _, err := os.Stat(b.o.Store); !errors.Is(err, os.ErrNotExist) || len(b.keys) > 0 {
			t.Errorf("a session was started: %v, %d keys", err, len(b.keys))
		}
	})
	t.Run("after", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		got := b.one("N1", play{lay: func(*isolate.Box) error { return spoil(b, "scenarios/N1.md") }})
		b.wantInvalid(got, harness.DriftedSeal)
		if got.Why != "scenarios/N1.md" || len(b.keys) != 1 {
			t.Errorf("why: got %q with %d sessions", got.Why, len(b.keys))
		}
		b.wantClean(got)
	})
	t.Run("unreadable", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		broken := errors.New("disk gone")
		b.o.Seal = func(context.Context) (*frozen.Drift, error) { return nil, broken }
		if _, err := b.executor("N1").Run(t.Context(), b.spec("N1", "haiku", 1, play{})); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	})
}

// limitEnds is when the limit of a judge that is "limited" is over.
var limitEnds = time.Date(2026, 3, 1, 3, 50, 0, 0, time.UTC)

// judge answers with the next of its answers, the last one for ever.
type judge struct {
	answers []string
	rubric  string // of every reply
	stop    func()

	mu    sync.Mutex
	asked []unprompted.Question
}

var _ trial.Judge = (*judge)(nil)

// Judge gives the next answer.
func (j *judge) Judge(ctx context.Context, q unprompted.Question) (trial.JudgeReply, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	answer := j.answers[min(len(j.asked), len(j.answers)-1)]
	j.asked = append(j.asked, q)
	switch answer {
	case "YES", "NO":
		return trial.JudgeReply{Yes: answer == "YES", Rubric: j.rubric, Text: answer}, nil
	case "late":
		return trial.JudgeReply{Rubric: j.rubric}, context.DeadlineExceeded
	case "limited":
		return trial.JudgeReply{Rubric: j.rubric, Text: answer}, fmt.Errorf("ask judge: %w", &trial.LimitedError{Until: limitEnds, Err: errors.New("status 429")})
	case "stopped":
		j.stop()
		return trial.JudgeReply{}, ctx.Err()
	}
	return trial.JudgeReply{Rubric: j.rubric, Text: answer}, errors.New("neither YES nor NO")
}

func TestRun_JudgeAskedAgain(t *testing.T) {
	t.Parallel()
	const proposal = "The gem is in. Shall I record that the queue moves to SQLite as a decision?"
	for name, c := range map[string]struct {
		answers []string
		class   harness.Class
		outcome harness.Outcome
		asked   int
		said    string // the answers that are recorded
	}{
		"yes":              {[]string{"YES"}, harness.Valid, harness.Pass, 2, "YES YES"},
		"no":               {[]string{"NO"}, harness.Valid, harness.Fail, 2, "NO NO"},
		"both":             {[]string{"YES", "NO"}, harness.JudgeError, harness.Invalid, 2, "YES NO"},
		"garbage":          {[]string{"perhaps"}, harness.JudgeError, harness.Invalid, 3, "error"},
		"late":             {[]string{"late"}, harness.JudgeError, harness.Invalid, 3, "error"},
		"late, then yes":   {[]string{"late", "perhaps", "YES"}, harness.Valid, harness.Pass, 4, "YES YES"},
		"limited":          {[]string{"limited"}, harness.RateLimit, harness.Invalid, 1, "error"},
		"called off":       {[]string{"stopped"}, harness.Cancelled, harness.Invalid, 1, ""},
		"too late to say":  {[]string{"late", "perhaps", "late", "YES"}, harness.JudgeError, harness.Invalid, 3, "error"},
		"yes, then nobody": {[]string{"YES", "late"}, harness.JudgeError, harness.Invalid, 4, "YES error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			b := newBench(t)
			j := &judge{answers: c.answers, rubric: sha([]byte(b.o.Suite.Rubric)), stop: stop}
			b.o.Judge = j
			spec := b.spec("W1", "sonnet", 1, play{steps: []harness.Step{{Bash: "adr-list"}, {Text: proposal}}})
			got, err := b.executor("W1").Run(ctx, spec)
			testenv.Must(t, err)
			if got.Class != c.class || got.Result.Outcome != c.outcome || len(j.asked) != c.asked || len(b.keys) != 1 {
				t.Errorf("got %s %s, asked %d times in %d sessions, want %+v", got.Class, got.Result.Outcome, len(j.asked), len(b.keys), c)
			}
			if c.class != harness.Valid {
				b.wantInvalid(got, c.class)
			} else if got.Result.JudgedBy != "judge" {
				t.Errorf("judged by %q", got.Result.JudgedBy)
			}
			if limited := c.class == harness.RateLimit; limited && !got.Lifts.Equal(limitEnds) {
				t.Errorf("lifts %v, want %v", got.Lifts, limitEnds)
			}
			if j.asked[0].Message != proposal || strings.Contains(j.asked[0].Text, proposal) {
				t.Errorf("asked %+v", j.asked[0])
			}
			b.wantJudgement(got, j, c.said)
			b.wantClean(got)
		})
	}
}

func TestRun_QuestionWithoutJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spec := b.spec("W1", "haiku", 1, play{steps: []harness.Step{{Bash: "adr-list"}, {Text: "Shall I record it?"}}})
	if _, err := b.executor("W1").Run(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "no judge") {
		t.Errorf("got %v, want that there is no judge", err)
	}
}

func TestRun_Oversize(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	deep := "mkdir -p " + strings.Repeat("d/", 70)
	got := b.one("N1", play{steps: []harness.Step{{Bash: deep}, {Text: "Done."}}})
	b.wantInvalid(got, harness.Oversize)
	b.wantClean(got)
}

func TestRun_CalledOff(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]func(b *bench, stop func()) play{
		"before":       func(_ *bench, stop func()) play { stop(); return play{} },
		"sandbox laid": func(_ *bench, stop func()) play { return play{lay: func(*isolate.Box) error { stop(); return nil }} },
		"session running": func(b *bench, stop func()) play {
			b.o.Faults = stopper{b, stop}
			return play{fault: fake.FaultHang}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			b := newBench(t)
			p := plan(b, stop)
			got, err := b.executor("N1").Run(ctx, b.spec("N1", "haiku", 1, p))
			testenv.Must(t, err)
			b.wantInvalid(got, harness.Cancelled)
			b.wantClean(got)
		})
	}
}

// stopper calls the trial off a moment after its session was registered.
type stopper struct {
	*bench
	stop func()
}

// Register registers and calls off when the session is under way.
func (s stopper) Register(spec harness.Spec, key string) (func(), error) {
	forget, err := s.bench.Register(spec, key)
	time.AfterFunc(300*time.Millisecond, s.stop)
	return forget, err
}

func TestRun_Refusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.executor("N1")
	if _, err := e.Run(t.Context(), b.spec("X9", "haiku", 1, play{})); err == nil || !strings.Contains(err.Error(), "no scenario X9") {
		t.Errorf("got %v", err)
	}
	spec := b.spec("N1", "opus", 1, play{})
	if _, err := e.Run(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "no scenario") && !strings.Contains(err.Error(), "opus") {
		t.Errorf("got %v", err)
	}
	b.o.Suite.Scenarios[0].Changes = []harness.Change{{Remove: "no/such/file"}}
	if _, err := trial.New(t.Context(), b.o); err == nil || !strings.Contains(err.Error(), b.o.Suite.Scenarios[0].ID) {
		t.Errorf("got %v", err)
	}
	b.wantClean(harness.Trial{})
}
