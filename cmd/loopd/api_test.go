package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type apiKey struct{}

// api is a Messages API that answers everything with one sentence. A script may
// hold its answers back.
type api struct {
	server *httptest.Server

	mu      sync.Mutex
	changed *sync.Cond
	seen    int  // requests so far
	held    bool // answers wait
	status  int  // refuse with it, 0 to answer
	// used is what is said of the five-hour allowance, for so long from the next
	// request on; after that nothing of it is used. Over all of it, requests are
	// refused.
	used   float64
	lasts  time.Duration
	resets time.Time
}

func newAPI() *api {
	a := &api{}
	a.changed = sync.NewCond(&a.mu)
	a.server = httptest.NewServer(a)
	return a
}

func (a *api) close() {
	a.hold(false)
	a.server.CloseClientConnections()
	a.server.Close()
}

func (a *api) hold(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = on
	a.changed.Broadcast()
}

// wait returns when n requests have come in.
func (a *api) wait(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.seen < n {
		a.changed.Wait()
	}
}

// admit counts a request, keeps it waiting while answers are held and says with
// which status to refuse it.
func (a *api) admit(h http.Header) (n, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	n = a.seen
	a.changed.Broadcast()
	for a.held {
		a.changed.Wait()
	}
	a.allowances(h)
	if h.Get("Anthropic-Ratelimit-Unified-Status") == "rejected" {
		return n, http.StatusTooManyRequests
	}
	return n, a.status
}

// allowances writes what the service says of a subscription.
func (a *api) allowances(h http.Header) {
	if a.lasts == 0 {
		return
	}
	if a.resets.IsZero() {
		a.resets = time.Now().Add(a.lasts)
	}
	const unified = "Anthropic-Ratelimit-Unified-"
	used, status, reset := a.used, "allowed", strconv.FormatInt(a.resets.Unix(), 10)
	if time.Now().After(a.resets) {
		used, reset = 0, strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	}
	if used > 1 {
		status = "rejected"
	}
	h.Set(unified+"Status", status)
	h.Set(unified+"Representative-Claim", "five_hour")
	h.Set(unified+"5h-Utilization", strconv.FormatFloat(used, 'f', -1, 64))
	h.Set(unified+"5h-Reset", reset)
	h.Set(unified+"7d-Utilization", "0.1")
	h.Set(unified+"7d-Reset", strconv.FormatInt(time.Now().Add(90*time.Hour).Unix(), 10))
}

// answerText settles no scenario.
const answerText = "I looked at the code and would leave it as it is."

// ServeHTTP answers a request for a message, as a stream where asked to.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req struct {
		Model  string
		Stream bool
	}
	if err != nil || r.URL.Path != "/v1/messages" || json.Unmarshal(body, &req) != nil {
		http.NotFound(w, r)
		return
	}
	n, status := a.admit(w.Header())
	if status != 0 {
		refuse(w, status)
		return
	}
	m := map[string]any{
		"id": fmt.Sprintf("msg_%06d", n), "type": "message", "role": "assistant", "model": req.Model,
		"content": []any{map[string]any{"type": "text", "text": answerText}}, "stop_reason": "end_turn", "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 100, "output_tokens": 12},
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	m["content"], m["stop_reason"] = []any{}, nil
	send(w, "message_start", map[string]any{"message": m})
	send(w, "content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	send(w, "content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": answerText}})
	send(w, "content_block_stop", map[string]any{"index": 0})
	send(w, "message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 12},
	})
	send(w, "message_stop", map[string]any{})
}

// refuse answers as the service does when a limit is reached or a key is wrong.
func refuse(w http.ResponseWriter, status int) {
	kind := map[int]string{http.StatusTooManyRequests: "rate_limit_error", http.StatusUnauthorized: "authentication_error"}[status]
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "3600")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":"not now"}}`, kind)
}

func send(w io.Writer, name string, data map[string]any) {
	data["type"] = name
	text, err := json.Marshal(data)
	if err == nil {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	}
}

// askAPI is the command "api": "api none" fails when a request has come in,
// "api seen N" when fewer than N have; "api refuse STATUS" refuses from now on,
// "api refuse 0" no longer; "api used SHARE FOR" says so much of the five-hour
// allowance is used for so long, and refuses above 1.
func askAPI(ts *testscript.TestScript, _ bool, args []string) {
	a := ts.Value(apiKey{}).(*api)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(args) == 1 && args[0] == "none":
		if a.seen != 0 {
			ts.Fatalf("got %d requests, want none", a.seen)
		}
	case len(args) == 2 && args[0] == "seen":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		if a.seen < n {
			ts.Fatalf("got %d requests, want %d or more", a.seen, n)
		}
	case len(args) == 3 && args[0] == "used":
		used, err := strconv.ParseFloat(args[1], 64)
		ts.Check(err)
		lasts, err := time.ParseDuration(args[2])
		ts.Check(err)
		a.used, a.lasts, a.resets = used, lasts, time.Time{}
	case len(args) == 2 && args[0] == "hold":
		a.held = args[1] == "on"
		a.changed.Broadcast()
	case len(args) == 2 && args[0] == "refuse":
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		a.status = status
	default:
		ts.Fatalf("usage: api none | api seen N | api hold on|off | api refuse STATUS | api used SHARE FOR")
	}
}
