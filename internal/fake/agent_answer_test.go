package fake

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

const (
	frameStart = "event: message_start\ndata: {\"message\":{\"id\":\"m1\",\"model\":\"x\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"
	frameText  = "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n" +
		"event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"ä\"}}\n\n" +
		"event: content_block_stop\ndata: {}\n\n"
	frameTool = "event: content_block_start\ndata: {\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{\"ignored\":1}}}\n\n" +
		"event: content_block_delta\ndata: {\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"comm\"}}\n\n" +
		"event: content_block_delta\ndata: {\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"and\\\":\\\"ls\\\"}\"}}\n\n" +
		"event: content_block_stop\ndata: {}\n\n"
	frameEnd = "event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n" +
		"event: message_stop\ndata: {}\n\n"
)

func TestReadStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		text   string
		calls  []call
		stop   string
	}{
		"text":   {frameStart + frameText + frameEnd, "aä", nil, "end_turn"},
		"crlf":   {strings.ReplaceAll(frameStart+frameText+frameEnd, "\n", "\r\n"), "aä", nil, "end_turn"},
		"no end": {frameStart + frameText, "aä", nil, ""},
		"tool":   {frameStart + frameTool + frameEnd, "", []call{{"t", "Bash", []byte(`{"command":"ls"}`)}}, "end_turn"},
		"two tools": {frameStart + frameTool + strings.Replace(frameTool, `\"ls`, `\"pwd`, 1) + frameEnd, "",
			[]call{{"t", "Bash", []byte(`{"command":"ls"}`)}, {"t", "Bash", []byte(`{"command":"pwd"}`)}}, "end_turn"},
		"text and tool":   {frameStart + frameText + frameTool + frameEnd, "aä", []call{{"t", "Bash", []byte(`{"command":"ls"}`)}}, "end_turn"},
		"unknown event":   {frameStart + "event: new\ndata: {\"a\":1}\n\n" + frameText + frameEnd, "aä", nil, "end_turn"},
		"comment":         {": hello\n\n" + frameStart + frameText + frameEnd, "aä", nil, "end_turn"},
		"broken input":    {frameStart + strings.Replace(frameTool, `\"ls\"}`, `\"ls`, 1), "", []call{{"t", "Bash", []byte(`"{\"command\":\"ls"`)}}, ""},
		"input of no use": {frameStart + strings.Replace(frameTool, `{\"comm`, ``, 1)[:strings.Index(frameTool, "event: content_block_delta")] + "event: content_block_stop\ndata: {}\n\n", "", []call{{"t", "Bash", []byte(`{}`)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := readStream(strings.NewReader(c.stream))
			testenv.Must(t, err)
			if a.text() != c.text || a.stopReason != c.stop || a.id != "m1" {
				t.Errorf("got %q %q %q", a.text(), a.stopReason, a.id)
			}
			testenv.Same(t, "calls", c.calls, a.calls(), cmp.AllowUnexported(call{}))
		})
	}
}

func TestReadStreamRefuses(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]io.Reader{
		"nothing":     strings.NewReader(""),
		"data only":   strings.NewReader("data: {}\n\n"),
		"not json":    strings.NewReader("event: ping\ndata: {\n\n"),
		"error event": strings.NewReader(frameStart + "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n"),
		"broken off":  io.MultiReader(strings.NewReader(frameStart+frameText), brokenReader{}),
	} {
		if a, err := readStream(r); err == nil {
			t.Errorf("%s: accepted as %v", name, a)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func FuzzReadStream(f *testing.F) {
	f.Add(frameStart + frameText + frameTool + frameEnd)
	f.Add("event: content_block_delta\ndata: {\"delta\":{\"text\":\"x\"}}\n\n")
	f.Add("event: content_block_stop\ndata: null\n\nevent: message_start\ndata: {\"message\":null}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		a, err := readStream(strings.NewReader(stream))
		if err != nil {
			return
		}
		for _, c := range a.calls() {
			if len(c.input) == 0 {
				t.Errorf("call %v has no input at all", c)
			}
		}
	})
}

// TestPrices holds the costs the pinned CLI reported for the same usage.
func TestPrices(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]float64{
		"claude-haiku-5-5":           0.001248,
		"claude-sonnet-5-5":          8 * 0.00292,
		"claude-opus-5-5":            8 * 0.00584,
		"claude-sonnet-4-5-20250929": 0.03744,
	} {
		u := usage{Input: 80, CacheWrite: 8000, CacheRead: 16000, Output: 160}
		if got := priceOf(model).of(u); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
}

func TestRetryRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		e     apiError
		retry bool
		word  string
	}{
		"overloaded":  {apiError{status: 529}, true, "server_error"},
		"server":      {apiError{status: 503}, true, "server_error"},
		"limit":       {apiError{status: 429, retryAfter: 2e9}, true, "rate_limit"},
		"long limit":  {apiError{status: 429, retryAfter: 3600e9}, false, "rate_limit"},
		"told not to": {apiError{status: 529, final: true}, false, "server_error"},
		"key":         {apiError{status: 401}, true, "authentication_failed"},
		"no model":    {apiError{status: 404}, false, "model_not_found"},
		"bad request": {apiError{status: 400}, false, "invalid_request"},
		"no credit":   {apiError{status: 400, message: "Your credit balance is too low"}, false, "billing_error"},
		"no answer":   {apiError{cause: errors.New("x")}, true, "server_error"},
		"forbidden":   {apiError{status: http.StatusForbidden}, false, "authentication_failed"},
	} {
		if c.e.retryable() != c.retry || c.e.name() != c.word {
			t.Errorf("%s: got %v %s, want %v %s", name, c.e.retryable(), c.e.name(), c.retry, c.word)
		}
	}
}

func TestTakesSystemMessages(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"claude-haiku-5-5": true, "claude-sonnet-4-5-20250929": false, "claude-3-5-haiku-20241022": false, "next": true,
	} {
		if got := takesSystemMessages(model); got != want {
			t.Errorf("%s: got %v", model, got)
		}
	}
}

func TestEnvironmentLastOneWins(t *testing.T) {
	t.Parallel()
	e := environment{"A=1", "B=x=y", "A=2"}
	if e.value("A") != "2" || e.value("B") != "x=y" || e.value("C") != "" || e.with("A=3").value("A") != "3" {
		t.Errorf("got %q %q %q", e.value("A"), e.value("B"), e.value("C"))
	}
}
