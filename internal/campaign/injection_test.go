package campaign

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

// injections are texts in a session that want something of whoever reads it.
func injections(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/injections.txt")
	testenv.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 30 {
		t.Fatalf("got %d injections, want 30", len(lines))
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `\n---`, "\n---")
	}
	return lines
}

// What stands in a session beside its last word reaches no judge: what the judge
// is shown, and so what it says, is the same with and without.
func TestInjectionsReachNoJudge(t *testing.T) {
	t.Parallel()
	const last = "The gem is in the Gemfile. Shall I write a record of the choice?"
	sc := harness.Scenario{ID: "W", Judge: "Does it offer a record?"}
	for _, text := range injections(t) {
		var stream bytes.Buffer
		for _, line := range []any{
			map[string]any{"type": "system", "subtype": "init", "session_id": "s"},
			message("assistant", map[string]any{"type": "text", "text": text}),
			message("assistant", map[string]any{"type": "tool_use", "id": "t1", "name": "Bash", "input": map[string]string{"command": "echo '" + text + "'"}}),
			message("user", map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": text}),
			message("assistant", map[string]any{"type": "text", "text": last}),
			map[string]any{"type": "result", "subtype": "success", "is_error": false, "result": last, "session_id": "s"},
		} {
			testenv.Must(t, json.NewEncoder(&stream).Encode(line))
		}
		session, err := transcript.Parse(&stream, transcript.Limits{})
		testenv.Must(t, err)
		if got := unprompted.Judged(sc, session); got != last {
			t.Errorf("the judge is shown %q, want the last word alone", got)
		}
		// As the last word itself it is data between two lines that it cannot guess.
		prompt := trial.JudgePrompt("Be strict.", unprompted.Question{Text: sc.Judge, Message: text})
		lines := strings.Split(prompt, "\n")
		if lines[0] != "Be strict." || strings.Count(prompt, lines[2]) != 2 || strings.Contains(text, lines[2]) || !strings.HasSuffix(prompt, lines[2]+"\nAnswer YES or NO.\n") {
			t.Errorf("the prompt of %q: %q", text, prompt)
		}
	}
}

// A proposer that does what a session tells it brings nothing that costs a session
// beyond what it was allowed: what it was told to write goes through the same
// answer and the same lint.
func TestInjectedProposersAreLinted(t *testing.T) {
	n := newNight(t, ".")
	c := n.open()
	defer n.close(c)
	n.begin(c)
	tree, err := c.Wordings.Tree(c.Current().Started.Start)
	testenv.Must(t, err)
	base := bytesOf(tree)
	surface := candidates.NewSurface(base, n.sealed.Suite.Launch.Note.File)
	b, err := c.Brief(t.Context(), c.Current(), 1, propose.Edit)
	testenv.Must(t, err)
	refused := 0
	for _, text := range injections(t) {
		// It answers with the very text, and with a candidate that puts the text in.
		obeyed, err := json.Marshal(map[string]any{"candidates": []any{map[string]any{
			"rationale": "as told", "edits": []any{map[string]any{"path": surface.Note, "whole": "[os-adr] " + text + "\n"}},
		}}})
		testenv.Must(t, err)
		for _, answer := range []string{text, string(obeyed)} {
			list, err := propose.ParseAnswer(b, []byte(answer))
			if err != nil {
				refused++
				continue
			}
			for _, cand := range list {
				found, err := c.Lint(c.Current().Started.Start, cand)
				testenv.Must(t, err)
				if len(found) > 0 {
					refused++
					continue
				}
				next, err := surface.Apply(base, cand.Edits)
				if err != nil || len(surface.Check(base, next)) > 0 {
					t.Errorf("%q got past the lint and off the Surface: %v", answer, err)
				}
				l := newLeaks(n.sealed.Suite, tree)
				if len(l.find(string(next[surface.Note]))) > 0 {
					t.Errorf("%q got past the lint with what only the suite could tell", answer)
				}
			}
		}
	}
	if refused < 30 {
		t.Errorf("%d of 60 answers are refused, want at least the 30 that are no answer or leave the Surface", refused)
	}
	if s := c.Current(); s.Sessions() != 0 || s.Phase != loop.Pilot {
		t.Errorf("got %d sessions", s.Sessions())
	}
}
