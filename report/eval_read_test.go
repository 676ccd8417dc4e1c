package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

// What was written is read again, one result after the other, and no further than
// is asked for.
func TestReadEval(t *testing.T) {
	t.Parallel()
	want := evalSample()
	var b bytes.Buffer
	testenv.Must(t, want.WriteJSON(&b, want.each))
	var got EvalDocument
	var err error
	got.Eval, err = ReadEval("a.json", bytes.NewReader(b.Bytes()), func(r harness.Evaluated) error {
		got.Results = append(got.Results, r)
		return nil
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	n := 0
	head, err := ReadEval("a.json", strings.NewReader(b.String()[:b.Len()-400]), func(harness.Evaluated) error {
		n++
		return ErrEnough
	})
	if diff := cmp.Diff(want.Eval, head); err != nil || n != 1 || diff != "" {
		t.Errorf("the head alone: %d results, %v (-want +got):\n%s", n, err, diff)
	}
	broken := errors.New("broken")
	if _, err := ReadEval("a.json", bytes.NewReader(b.Bytes()), func(harness.Evaluated) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the receiver's error", err)
	}
}

func TestReadEvalRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "it is no JSON object", "[]": "it is no JSON object", "hello": "it is no JSON object",
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": "i", "results": [{}`:                                                          "not JSON: it ends in the middle",
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": "i", "results": []`:                                                           "not JSON: it ends in the middle",
		`{"schema": "loopd:eval/1", "harness": `:                                                                                                    "not JSON: it ends in the middle",
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": "i", "results": {}}`:                                                          "results is no list",
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": "i", "results": [{"case": 7}]}`:                                               "case is a number, which it cannot be",
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": "i"}`:                                                                         "it lacks instrument or results",
		`{"schema": "loopd:eval/1", "harness": "trace", "results": []}`:                                                                             "it lacks instrument or results",
		`{"schema": "loopd:eval/2", "harness": "trace", "instrument": "i", "results": []}`:                                                          "its schema is \"loopd:eval/2\"",
		`{"schema": "loopd:campaign/1", "harness": "unprompted", "results": []}`:                                                                    "it is of a campaign and not of an evaluator",
		`{"schema": "loopd:eval/1", "harness": "dance", "results": []}`:                                                                             `its harness is "dance"`,
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": 7, "results": []}`:                                                            "instrument is a number, which it cannot be",
		`{"schema": "loopd:eval/1", "harness": "trace", "instrument": "i", "summary": {"pass_rate": {"name": "r", "k": 2, "n": 1}}, "results": []}`: "r counts 2 of 1",
	} {
		_, err := ReadEval("a.json", strings.NewReader(text), func(harness.Evaluated) error { return nil })
		if _, ok := errors.AsType[*IncomparableError](err); !ok || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.json") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
