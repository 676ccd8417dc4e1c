package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/redact"
	"loopd/internal/testenv"
)

// judge puts a message to the fixture's command as a trial does. The command
// finds a directory for its notes in $DIR; a line a time in asked counts it, and
// prompt is what it read.
func (f fixture) judge(t *testing.T, suite harness.Suite) {
	notes, attempt := t.TempDir(), t.TempDir()
	command := "DIR='" + notes + "'; echo >>\"$DIR/asked\"; " + f.Command
	sc, ok := suite.Scenario("write")
	if !ok {
		t.Fatal("the suite has no scenario write")
	}
	start, err := StartOf(suite, sc, nil)
	testenv.Must(t, err)
	f.files["transcript"] = "hook\ninit\nbash: adr-list\ntext: " + f.Message + "\nresult\n"
	stored := f.stored(t, start)
	in := unprompted.Input{Scenario: sc, Checker: suite.Checker, Transcript: stored.Transcript, Project: usualProject, Start: start, End: stored.End}
	e := &Executor{o: Options{Redactor: redact.New()}}
	c, err := check(in, func(q unprompted.Question) (*Judged, error) {
		out, said, err := askTwice(t.Context(), CommandJudge{Command: command, Rubric: suite.Rubric}, suite.Rubric, q)
		return out, errors.Join(err, e.keepJudgement(attempt, said))
	})
	if err != nil || c.judged == nil {
		t.Fatal(c, err)
	}
	tr := rule(harness.Trial{}, transcript.Judgement{}, c.result, ruling{class: harness.Valid}, c.ruling)
	f.wantClass(t, tr.Class, tr.Why)
	if tr.Class == harness.Valid {
		f.wantScore(t, unprompted.Evaluation{Result: tr.Result})
	}
	if asked := bytes.Count(note(t, notes, "asked"), []byte("\n")); asked != f.Want.Asked {
		t.Errorf("asked %d times, want %d", asked, f.Want.Asked)
	}
	f.wantReplies(t, attempt)
	f.wantSent(t, notes, suite)
}

// note is a file the command left, empty when it left none.
func note(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

// wantReplies compares what is kept of answers that are none, to the letter.
func (f fixture) wantReplies(t *testing.T, attempt string) {
	t.Helper()
	var kept judged
	testenv.Must(t, json.Unmarshal(note(t, attempt, JudgeFile), &kept))
	var got []string
	for _, r := range kept.Replies {
		if r.Error != "" {
			got = append(got, r.Text)
		}
	}
	testenv.Same(t, "kept replies", f.Want.Replies, got)
}

// wantSent looks at the prompt a command wrote down: it begins with the very
// bytes of the sealed rubric, and the message stands once, between its markers.
func (f fixture) wantSent(t *testing.T, notes string, suite harness.Suite) {
	t.Helper()
	prompt := note(t, notes, "prompt")
	if len(prompt) > 0 {
		sealed, sent := sha256.Sum256([]byte(suite.Rubric)), sha256.Sum256(prompt[:min(len(prompt), len(suite.Rubric))])
		if sealed != sent || strings.Count(string(prompt), f.Message) != 1 {
			t.Errorf("the judge read %q", prompt)
		}
	}
	if listed := note(t, notes, "listing"); len(listed) > 0 {
		t.Errorf("the judge found %q where it was started", listed)
	}
}

func TestCommandJudge_RelativePath(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	testenv.Must(t, err)
	for command, want := range map[string]string{
		"./judge.sh":           "'" + here + "/judge.sh' ",
		" tools/judge -x 'y'":  "'" + here + "/tools/judge' -x 'y'",
		"judge":                "judge",
		"/opt/judge":           "/opt/judge",
		"X=./a judge":          "X=./a judge",
		"cat >/dev/null; true": "cat >/dev/null; true",
		"$HOME/judge":          "$HOME/judge",
	} {
		if got := fromHere(command); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
}
