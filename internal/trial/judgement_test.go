package trial_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

// wantJudgement checks what a trial says of its judge, and the file with the raw
// replies beside it: one a call, closed to others.
func (b *bench) wantJudgement(got harness.Trial, j *judge, said string) {
	b.t.Helper()
	path := filepath.Join(b.o.Store, got.ID, trial.JudgeFile)
	if said == "" {
		if _, err := os.Lstat(path); got.Judgement != nil || err == nil {
			b.t.Errorf("got %+v, file %v, want no judgement", got.Judgement, err)
		}
		return
	}
	if got.Judgement == nil {
		b.t.Fatal("no judgement")
	}
	answers := make([]string, len(got.Judgement.Answers))
	for i, a := range got.Judgement.Answers {
		answers[i] = string(a)
	}
	if strings.Join(answers, " ") != said || got.Judgement.Calls != len(j.asked) {
		b.t.Errorf("got %+v, want %s in %d calls", got.Judgement, said, len(j.asked))
	}
	sc, _ := b.o.Suite.Scenario(got.Spec.Slot.Cell.Scenario)
	want := [3]string{sha([]byte(b.o.Suite.Rubric)), sha([]byte(sc.Judge)), sha([]byte(j.asked[0].Message))}
	if d := got.Judgement; [3]string{d.Rubric, d.Question, d.Message} != want {
		b.t.Errorf("got %+v, want the digests %v", d, want)
	}
	var kept struct {
		harness.Judgement
		Replies []struct{ Text, Error string }
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		b.t.Fatalf("%s: %v, %v, want a file only its owner reads", path, info, err)
	}
	testenv.Must(b.t, json.Unmarshal(b.kept(got.ID)[trial.JudgeFile], &kept))
	for i, r := range kept.Replies {
		answer := j.answers[min(i, len(j.answers)-1)]
		if ok := answer == "YES" || answer == "NO"; ok != (r.Error == "") || answer != "late" && r.Text != answer {
			b.t.Errorf("reply %d: got %+v, want %q", i+1, r, answer)
		}
	}
	if len(kept.Replies) != len(j.asked) || kept.Calls != len(j.asked) || kept.Message != want[2] {
		b.t.Errorf("kept %+v, want %d replies", kept, len(j.asked))
	}
}

// What a judge says is kept as it came, but for secrets.
func TestRun_RepliesWithoutSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
	b.o.Judge = trial.CommandJudge{Command: "cat >/dev/null; echo YES because; echo " + secret, Rubric: b.o.Suite.Rubric}
	got := b.one("W1", play{steps: []harness.Step{{Bash: "adr-list"}, {Text: "Shall I record it?"}}})
	kept := string(b.kept(got.ID)[trial.JudgeFile])
	if got.Class != harness.JudgeError || !strings.Contains(kept, `"text": "YES because\n`) || strings.Contains(kept, secret) {
		t.Errorf("got %s, kept %s", got.Class, kept)
	}
}

// Case F4: the digest is of the text that was sent, so a path in its place shows.
func TestCommandJudge_RubricDigest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := sha([]byte(b.o.Suite.Rubric))
	for rubric, same := range map[string]bool{b.o.Suite.Rubric: true, "suite/rubric.md": false} {
		j := trial.CommandJudge{Command: `cat >/dev/null; echo NO`, Rubric: rubric}
		r, err := j.Judge(t.Context(), question())
		if err != nil || (r.Rubric == sealed) != same {
			t.Errorf("rubric of %d bytes: got digest %s, %v, sealed is %s", len(rubric), r.Rubric, err, sealed)
		}
		test, err := trial.TestJudge(t.Context(), b.o.Suite, j, "model", 4)
		if err != nil || (test.Rubric == test.Sealed) != same || test.Sealed != sealed {
			t.Errorf("test: got %+v, %v", test, err)
		}
	}
}

// Case F5: a session that ends without a word is silent and nobody is asked.
func TestRun_EmptyMessageAsksNoJudge(t *testing.T) {
	t.Parallel()
	for _, text := range []string{" ", "\n\t\n"} {
		b := newBench(t)
		j := &judge{answers: []string{"YES"}}
		b.o.Judge = j
		got := b.one("W1", play{steps: []harness.Step{{Bash: "adr-list"}, {Text: text}}})
		if got.Class != harness.Valid || got.Result.Outcome != harness.Fail || !slices.Contains(got.Result.Reasons(), unprompted.ReasonSilent) {
			t.Errorf("%q: got %s %s %v, want valid, fail, silent", text, got.Class, got.Result.Outcome, got.Result.Reasons())
		}
		if len(j.asked) > 0 || got.Judgement != nil {
			t.Errorf("%q: the judge was asked %d times", text, len(j.asked))
		}
	}
}

// The gold set finds a judge that says YES to everything, one that says NO to
// everything, one that talks, and one that falls for a marker.
func TestTestJudge_BadJudges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct{ command, want string }{
		"always yes": {"cat >/dev/null; echo YES", "YES where NO is right (NO items 0 of 10 right, attack items 0 of 10 right"},
		"always no":  {"cat >/dev/null; echo NO", "missed too many proposals (YES items 0 of 10 right"},
		"talks":      {"cat >/dev/null; echo 'YES, it does'", "no answer to gold items 1, 2, 3"},
		"fails":      {"cat >/dev/null; echo YES; exit 1", "no answer to gold items 1, 2, 3"},
		"obeys": {`p=$(sed '1,/^Question: /d' | sed '$d'); case $p in *YES*) echo YES;; *) echo NO;; esac`,
			"YES where NO is right (NO items 10 of 10 right, attack items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := trial.CommandJudge{Command: c.command, Rubric: b.o.Suite.Rubric}
			test, err := trial.TestJudge(t.Context(), b.o.Suite, j, trial.CommandName(c.command), 4)
			if got := loop.JudgeFault(test); err != nil || !strings.Contains(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if missed := len(test.Wrong) + len(test.Unanswered); missed != 30-test.Yes.Right-test.No.Right-test.Attack.Right {
				t.Errorf("got %+v: %d missed", test, missed)
			}
		})
	}
}

// A limit of the account says nothing of the judge: the test is held back, and
// the items after it are not asked.
func TestTestJudge_Limit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	j := &judge{answers: []string{"YES", "limited"}}
	_, err := trial.TestJudge(t.Context(), b.o.Suite, j, "model", 1)
	hold, ok := errors.AsType[*loop.HoldError](err)
	if !ok || hold.Paused.Class != harness.RateLimit || !hold.Paused.Until.Equal(limitEnds) || len(j.asked) != 2 {
		t.Errorf("got %v after %d questions, want a hold until %v after 2", err, len(j.asked), limitEnds)
	}
}

func TestTestJudge_CalledOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, stop := context.WithCancel(t.Context())
	j := &judge{answers: []string{"YES", "stopped"}, stop: stop}
	if _, err := trial.TestJudge(ctx, b.o.Suite, j, "model", 1); err != context.Canceled {
		t.Errorf("got %v, want canceled", err)
	}
}
