package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

// answerWith streams one message whose tokens are counted as the API counts
// them: the input at its start, the output again and again.
func answerWith(id, model string) string {
	return fmt.Sprintf(`event: message_start
data: {"type":"message_start","message":{"id":%q,"model":%q,"content":[],"usage":{"input_tokens":1000,"cache_read_input_tokens":500,"cache_creation_input_tokens":200,"output_tokens":1}}}

event: message_delta
data: {"type":"message_delta","delta":{},"usage":{"output_tokens":40}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1000,"output_tokens":90,"cache_read_input_tokens":null}}

event: message_stop
data: {"type":"message_stop"}

`, id, model)
}

// TestProxy_CountsTokensOnce: three counts of a message are one message, and a
// message that is cut short has what it was counted at last.
func TestProxy_CountsTokensOnce(t *testing.T) {
	t.Parallel()
	answers := []string{
		answerWith("msg_1", "model-5"), answerWith("msg_2", "model-5-20260101"), answerWith("msg_3", "other"),
		strings.SplitAfter(answerWith("msg_4", "model-5"), "40}}\n")[0],
	}
	g := start(t, Credential{}, func(w http.ResponseWriter, r *http.Request) {
		eventStream(w)
		var n int
		fmt.Sscan(r.Header.Get("Anthropic-Beta"), &n)
		io.WriteString(w, answers[n])
	})
	s := session()
	s.Prices = map[string]harness.Price{"model-5": {Input: 2, Output: 10, CacheRead: .2, CacheWrite: 2.5}, "model": {Input: 99}}
	tap := g.Open(s)
	for i := range answers {
		req, _ := http.NewRequest(http.MethodPost, g.URL().String()+"/v1/messages", strings.NewReader("{}"))
		req.Header = http.Header{"X-Api-Key": {tap.Key()}, "Anthropic-Beta": {fmt.Sprint(i)}}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		testenv.Must(t, err)
		body(t, resp)
	}
	tap.Close()
	got := tap.Report()
	one := harness.Usage{Input: 1000, Output: 90, CacheRead: 500, CacheWrite: 200}
	want := map[string]harness.Usage{
		"model-5": {Input: 2000, Output: 130, CacheRead: 1000, CacheWrite: 400}, "model-5-20260101": one, "other": one,
	}
	testenv.Same(t, "tokens", want, got.Usage)
	whole := (2*1000 + 10*90 + .2*500 + 2.5*200) / 1e6
	if short := (2*1000 + 10*40 + .2*500 + 2.5*200) / 1e6; !near(got.USD, 2*whole+short) || got.Priced {
		t.Errorf("cost %v, priced %t; want %v, of which a model had no price", got.USD, got.Priced, 2*whole+short)
	}
}

func near(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

// TestSpendLimit_Reached: the request after the one that emptied a purse is refused in
// the API's own form, what costs nothing still passes, and other sessions that
// share the purse are stopped as well.
func TestSpendLimit_Reached(t *testing.T) {
	t.Parallel()
	passed := 0
	g := start(t, Credential{}, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "count_tokens") {
			io.WriteString(w, `{"input_tokens":3}`)
			return
		}
		passed++
		eventStream(w)
		io.WriteString(w, answerWith(fmt.Sprintf("msg_%d", passed), "model-5"))
	})
	purse := NewSpendLimit("candidate", .008, .001)
	s := Session{Prices: map[string]harness.Price{"model-5": {Input: 2, Output: 10}}, Limits: []*SpendLimit{NewSpendLimit("campaign", 100, 0), purse}}
	first, second, free := g.Open(s), g.Open(s), g.Open(Session{})
	post := func(tap *Proxy, path string) (int, string) {
		resp := send(t, t.Context(), g, tap.Key(), path, "{}")
		return resp.StatusCode, body(t, resp)
	}
	for range 3 { // of .0029 each
		if status, text := post(first, "/v1/messages"); status != http.StatusOK {
			t.Fatalf("with money left: %d %s", status, text)
		}
	}
	for _, tap := range []*Proxy{first, second} {
		status, text := post(tap, "/v1/messages")
		if status != http.StatusBadRequest || !json.Valid([]byte(text)) || !strings.Contains(text, "spending limit of the candidate") {
			t.Errorf("with an empty purse: %d %s, want a refusal that names the candidate", status, text)
		}
		if spent := tap.Report().Spent; !strings.Contains(spent, "candidate") {
			t.Errorf("report says %q, want the purse named", spent)
		}
		if status, _ := post(tap, "/v1/messages/count_tokens"); status != http.StatusOK {
			t.Errorf("a request that costs nothing: %d, want it passed on", status)
		}
	}
	if status, _ := post(free, "/v1/messages"); status != http.StatusOK {
		t.Errorf("a session with no purse: %d, want it passed on", status)
	}
	if got := purse.Spent(); !near(got, .001+3*.0029) {
		t.Errorf("spent %v, want %v", got, .001+3*.0029)
	}
}

// TestProxy_ExposedTo: what counts is the request that a message answers, not any
// request of the session.
func TestProxy_ExposedTo(t *testing.T) {
	t.Parallel()
	n := 0
	g := start(t, Credential{}, func(w http.ResponseWriter, _ *http.Request) {
		n++
		eventStream(w)
		io.WriteString(w, stream(fmt.Sprintf("msg_%d", n), "model-5"))
	})
	tap := g.Open(session())
	whole, _ := json.Marshal(map[string]any{"messages": []any{
		map[string]any{"role": "system", "content": note + "\n" + description + "\n" + other}, map[string]any{"role": "user", "content": "go"},
	}})
	for _, request := range []string{`{"messages":[]}`, string(whole), `{"messages":[]}`} {
		body(t, send(t, t.Context(), g, tap.Key(), "/v1/messages", request))
	}
	tap.Close()
	got := tap.Report()
	if diff := cmp.Diff(map[string]bool{"msg_1": false, "msg_2": true, "msg_3": false}, got.ExposedTo); diff != "" || !got.Exposed {
		t.Errorf("exposed %t, to (-want +got):\n%s", got.Exposed, diff)
	}
}

// TestDummyKey_Kind: a session is told it has what its user has.
func TestDummyKey_Kind(t *testing.T) {
	t.Parallel()
	for header, prefix := range map[Header]string{"": "sk-ant-api03-", HeaderKey: "sk-ant-api03-", HeaderToken: "sk-ant-oat01-"} {
		cred := Credential{Header: header}
		if header != "" {
			cred.Value = "real"
		}
		g := start(t, cred, func(http.ResponseWriter, *http.Request) {})
		if key := g.Open(Session{}).Key(); !strings.HasPrefix(key, prefix) || strings.Contains(key, "real") {
			t.Errorf("%q: key %s, want one that begins with %s", header, key, prefix)
		}
	}
}
