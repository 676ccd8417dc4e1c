package trial

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/testenv"
)

// stream is a session in which one tool call printed the text.
func stream(t *testing.T, output string) *transcript.Transcript {
	t.Helper()
	quoted, err := json.Marshal(output)
	testenv.Must(t, err)
	lines := fmt.Sprintf(`{"type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat x"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":%s}]}}
`, quoted)
	tr, err := transcript.Parse(strings.NewReader(lines), transcript.Limits{})
	testenv.Must(t, err)
	return tr
}

func TestContaminated(t *testing.T) {
	t.Parallel()
	suite := harness.Suite{
		Rubric: "Answer YES when the message offers, in whatever words it likes, to write down why the parcels are sorted by weight and not by size.",
		Scenarios: []harness.Scenario{{ID: "S1", Oracle: []harness.Step{
			{Bash: "ls"}, {Text: "I left the sorter as it was, because what you ask for goes against the decision in force, which is to sort parcels by weight."},
		}}},
	}
	sealed := SealedTexts(suite)
	for name, tc := range map[string]struct {
		output string
		want   int
	}{
		"the rubric":        {"# rubric\n" + suite.Rubric, 2},
		"a part of it":      {"offers, in whatever words it likes, to write down\nwhy the parcels are sorted by weight and not by size", 2},
		"the oracle's text": {suite.Scenarios[0].Oracle[1].Text, 2},
		"a shared phrase":   {"parcels are sorted by weight and not by size", 0},
		"nothing":           {"docs lib test", 0},
	} {
		if got := contaminated(sealed, stream(t, tc.output)); got != tc.want {
			t.Errorf("%s: got line %d, want %d", name, got, tc.want)
		}
	}
}
