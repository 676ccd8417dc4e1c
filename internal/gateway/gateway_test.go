package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"loopd/harness"
	"loopd/internal/testenv"
)

// TestMain allows one goroutine: after refusing a body, net/http itself lingers
// half a second so that the client gets to read the answer.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const (
	note        = "[letters] Look into docs/adr before you change how letters travel."
	description = "Find the record that governs a file before changing it."
	other       = "Write a record when a change settles a question."
)

func session() Session { return Session{Note: note, Descriptions: []string{description, other}} }

// start runs a gateway in front of an upstream for one test.
func start(t *testing.T, cred Credential, upstream http.HandlerFunc) *Gateway {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	testenv.Must(t, err)
	g, err := Start(context.Background(), to, cred)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// send posts a body with a client that keeps no connection.
func send(t *testing.T, ctx context.Context, g *Gateway, key, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL().String()+path, strings.NewReader(body))
	testenv.Must(t, err)
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Anthropic-Version", "2023-06-01")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	testenv.Must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	testenv.Must(t, err)
	return string(data)
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func stream(id, model string, tools ...string) string {
	out := event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":%q,"model":%q,"content":[]}}`, id, model))
	out += event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	out += event("content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"say \"message_start\" {\"id\":\"msg_fake\"}"}}`)
	out += event("content_block_start", `{"type":"content_block_start","index":9,"content_block":{"type":"server_tool_use","id":"srvtoolu_1"}}`)
	for i, id := range tools {
		out += event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":"Bash","input":{}}}`, i+1, id))
	}
	return out + event("message_stop", `{"type":"message_stop"}`)
}

func eventStream(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }

func TestGateway_ReplacesOnlyTheCredential(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		cred     Credential
		key      string // the header the session uses
		wantKey  string
		wantAuth string
	}{
		{"API key", Credential{HeaderKey, "real"}, "x-api-key", "real", ""},
		{"token", Credential{HeaderToken, "real"}, "authorization", "", "Bearer real"},
		{"session of the other kind", Credential{HeaderToken, "real"}, "x-api-key", "", "Bearer real"},
		{"rehearsal", Credential{}, "x-api-key", "dummy-1", ""},
		{"rehearsal with a token", Credential{}, "authorization", "", "Bearer dummy-1"},
	} {
		var got *http.Request
		var gotBody string
		g := start(t, tt.cred, func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			got, gotBody = r, string(data)
		})
		g.Open(Session{Key: "dummy-1"})
		req, err := http.NewRequest(http.MethodPost, g.URL().String()+"/v1/messages?beta=true", strings.NewReader(`{"a": 1}`))
		testenv.Must(t, err)
		req.Header = http.Header{"X-Other": {"kept"}, "User-Agent": {"cli/1"}, "Accept-Encoding": {"gzip, br"}}
		req.Header.Set(tt.key, map[string]string{"x-api-key": "dummy-1", "authorization": "Bearer dummy-1"}[tt.key])
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		testenv.Must(t, err)
		resp.Body.Close()
		want := http.Header{"X-Other": {"kept"}, "User-Agent": {"cli/1"}, "Accept-Encoding": {"identity"}, "Content-Length": {"8"}}
		if tt.wantKey != "" {
			want.Set("X-Api-Key", tt.wantKey)
		}
		if tt.wantAuth != "" {
			want.Set("Authorization", tt.wantAuth)
		}
		testenv.Same(t, fmt.Sprintf("%s: headers", tt.name), want, got.Header)
		if gotBody != `{"a": 1}` || got.URL.RequestURI() != "/v1/messages?beta=true" {
			t.Errorf("%s: got %s with body %q", tt.name, got.URL, gotBody)
		}
	}
}

func TestGateway_RefusesUnknownKeys(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{HeaderKey, "real"}, func(http.ResponseWriter, *http.Request) { t.Error("a stranger got through") })
	tap := g.Open(session())
	closed := g.Open(session())
	closed.Close()
	for _, key := range []string{"", "stranger", tap.Key() + "x", closed.Key(), "real"} {
		resp := send(t, t.Context(), g, key, "/v1/messages", "{}")
		if got := body(t, resp); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(got, `"authentication_error"`) {
			t.Errorf("key %q: got %d %s, want 401", key, resp.StatusCode, got)
		}
	}
	if got := tap.Report().Requests; got != 0 {
		t.Errorf("%d requests counted for the session, want 0", got)
	}
}

func TestGateway_PassesStreamsOnAtOnce(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	parts := strings.SplitAfter(stream("msg_1", "model-5", "toolu_1"), "\n")
	g := start(t, Credential{}, func(w http.ResponseWriter, r *http.Request) {
		eventStream(w)
		for _, part := range parts {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
			select {
			case <-more:
			case <-r.Context().Done():
				return
			}
		}
	})
	tap := g.Open(session())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp := send(t, ctx, g, tap.Key(), "/v1/messages", "{}")
	for i, part := range parts {
		got := make([]byte, len(part))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != part {
			t.Fatalf("part %d: got %q, %v, want %q before the next is sent", i, got, err, part)
		}
		if i == 2 && len(tap.Report().MessageIDs) != 1 {
			t.Errorf("the session has seen msg_1, the report has not: %+v", tap.Report())
		}
		if i < len(parts)-1 {
			more <- struct{}{}
		}
	}
	close(more)
}

func request(system string, messages ...string) string {
	return fmt.Sprintf(`{"model":"m","system":[{"type":"text","text":%s}],"messages":[%s]}`, quote(system), strings.Join(messages, ","))
}

func quote(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

func said(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%s}]}`, role, quote(text))
}

func TestProxy_Exposure(t *testing.T) {
	t.Parallel()
	all := note + "\n- letters:find: " + description + "\n- letters:write: " + other + "\n"
	for _, tt := range []struct {
		name   string
		path   string
		bodies []string
		whole  bool
	}{
		{"in a system message", "", []string{request("x", said("user", "hi"), said("system", "Context: "+all))}, true},
		{"in the first user message", "", []string{request("x", said("user", "<system-reminder>"+all+"</system-reminder>"))}, true},
		{"in the system prompt", "", []string{request(all, said("user", "hi"))}, true},
		{"system as a string", "", []string{`{"system":` + quote(all) + `,"messages":[{"role":"user","content":"hi"}]}`}, true},
		{"over two texts", "", []string{request(note, said("user", description+"\n"+other))}, true},
		{"among blocks of unknown kinds", "", []string{`{"messages":[{"role":"user","content":[{"type":"new","text":{}},7,{"type":"text","text":` + quote(all) + `}]}]}`}, true},
		{"nothing", "", []string{request("x", said("user", "hi"))}, false},
		{"no note", "", []string{request("x", said("user", description+other))}, false},
		{"cut description", "", []string{request("x", said("user", note+other+description[:len(description)-1]))}, false},
		{"note with its end missing", "", []string{request("x", said("user", note[:len(note)-1]+description+other))}, false},
		{"never in one request", "", []string{request(note), request(description + other)}, false},
		{"later", "", []string{request("x"), request(all)}, true},
		{"quoted by the model", "", []string{request("x", said("assistant", all))}, false},
		{"read from a file", "", []string{request("x", `{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":`+quote(all)+`}]}]}`)}, false},
		{"in a block that is not text", "", []string{request("x", `{"role":"user","content":[{"type":"document","text":`+quote(all)+`}]}`)}, false},
		{"in a tool's description", "", []string{`{"tools":[{"name":"x","description":` + quote(all) + `}],"messages":[]}`}, false},
		{"another path", "/v1/messages/count_tokens", []string{request(all)}, false},
		{"not JSON", "", []string{all}, false},
	} {
		g := start(t, Credential{}, func(w http.ResponseWriter, _ *http.Request) {})
		tap := g.Open(session())
		for _, b := range tt.bodies {
			path := "/v1/messages?beta=true"
			if tt.path != "" {
				path = tt.path
			}
			send(t, t.Context(), g, tap.Key(), path, b)
		}
		tap.Close()
		got := tap.Report()
		if got.Exposed != tt.whole || got.Requests != len(tt.bodies) {
			t.Errorf("%s: got exposed %t, %d requests, want %t, %d", tt.name, got.Exposed, got.Requests, tt.whole, len(tt.bodies))
		}
	}
}

func TestProxy_RecordsAnswers(t *testing.T) {
	t.Parallel()
	plain := `{"type":"message","id":"msg_2","model":"model-5","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"toolu_3","name":"Read","input":{"id":"toolu_no"}}]}`
	crlf := strings.ReplaceAll(stream("msg_3", "model-6", "toolu_4"), "\n", "\r\n")
	answers := map[string]http.HandlerFunc{
		"stream": func(w http.ResponseWriter, _ *http.Request) {
			eventStream(w)
			io.WriteString(w, stream("msg_1", "model-5", "toolu_1", "toolu_2"))
		},
		"plain": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			io.WriteString(w, plain)
		},
		"bytes": func(w http.ResponseWriter, _ *http.Request) {
			eventStream(w)
			for i := range len(crlf) {
				io.WriteString(w, crlf[i:i+1])
				w.(http.Flusher).Flush()
			}
		},
		"529": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(529)
			io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error"}}`)
		},
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			eventStream(w)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, stream("msg_9", "model-9"))
			z.Close()
		},
	}
	g := start(t, Credential{}, func(w http.ResponseWriter, r *http.Request) { answers[r.Header.Get("X-Want")](w, r) })
	tap, stranger := g.Open(session()), g.Open(session())
	for _, want := range []string{"stream", "plain", "bytes", "529", "gzip"} {
		req, _ := http.NewRequest(http.MethodPost, g.URL().String()+"/v1/messages", strings.NewReader("{}"))
		req.Header = http.Header{"X-Api-Key": {tap.Key()}, "X-Want": {want}, "Accept-Encoding": {"gzip"}}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		testenv.Must(t, err)
		got := body(t, resp)
		if want == "529" && (resp.StatusCode != 529 || resp.Header.Get("Retry-After") != "7" || !strings.Contains(got, "overloaded_error")) {
			t.Errorf("529: got %d %v %s", resp.StatusCode, resp.Header, got)
		}
	}
	tap.Close()
	want := Report{
		Requests: 5, Unread: 1,
		MessageIDs: []string{"msg_1", "msg_2", "msg_3"},
		ToolIDs:    []string{"toolu_1", "toolu_2", "toolu_3", "toolu_4"},
		Blocks:     map[string]int{"msg_1": 4, "msg_2": 2, "msg_3": 3},
		Whole: map[string]bool{
			"msg_1": true, "msg_2": true, "msg_3": true, "toolu_1": true, "toolu_2": true, "toolu_3": true, "toolu_4": true,
		},
		ExposedTo: map[string]bool{"msg_1": false, "msg_2": false, "msg_3": false}, Usage: map[string]harness.Usage{}, Priced: true, Served: harness.Served{},
	}
	got := tap.Report()
	testenv.Same(t, "report", want, got, cmpopts.IgnoreFields(Report{}, "LastActivity"))
	if since := time.Since(tap.LastActivity()); since < 0 || since > time.Minute {
		t.Errorf("last activity %v ago", since)
	}
	if r := stranger.Report(); r.Requests != 0 || len(r.MessageIDs) != 0 || !r.LastActivity.IsZero() {
		t.Errorf("the other session's report: %+v, want nothing in it", r)
	}
}

func TestOpen_SameKeyTwice(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{}, func(http.ResponseWriter, *http.Request) {})
	first, second := g.Open(Session{Key: "dummy-1"}), g.Open(Session{Key: "dummy-1"})
	first.Close()
	if resp := send(t, t.Context(), g, "dummy-1", "/v1/messages", "{}"); resp.StatusCode != http.StatusOK {
		t.Errorf("got %d, want the second session served", resp.StatusCode)
	}
	if a, b := first.Report().Requests, second.Report().Requests; a != 0 || b != 1 {
		t.Errorf("requests: %d and %d, want 0 and 1", a, b)
	}
}

func TestGateway_RequestTooLarge(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{}, func(http.ResponseWriter, *http.Request) { t.Error("passed on") })
	tap := g.Open(Session{})
	req, _ := http.NewRequest(http.MethodPost, g.URL().String()+"/v1/messages", io.LimitReader(zeros{}, maxRequest+1))
	req.Header.Set("X-Api-Key", tap.Key())
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	testenv.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d, want 413", resp.StatusCode)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestClose_BreaksOffRequests(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"tap", "gateway", "client"} {
		ended := make(chan struct{})
		g := start(t, Credential{}, func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			eventStream(w)
			io.WriteString(w, ": open\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done() // a stream that stalls
		})
		tap := g.Open(Session{})
		ctx, cancel := context.WithCancel(t.Context())
		resp := send(t, ctx, g, tap.Key(), "/v1/messages", "{}")
		if _, err := io.ReadFull(resp.Body, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		switch how {
		case "tap":
			tap.Close()
		case "gateway":
			g.Close()
		case "client":
			cancel()
		}
		<-ended
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: the answer ended as if it were whole", how)
		}
		cancel()
	}
}

func TestGateway_UpstreamNotReached(t *testing.T) {
	t.Parallel()
	to, _ := url.Parse("http://127.0.0.1:1")
	g, err := Start(context.Background(), to, Credential{HeaderKey, "real-secret"})
	testenv.Must(t, err)
	defer g.Close()
	tap := g.Open(Session{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL().String()+"/v1/messages", strings.NewReader("{}"))
	testenv.Must(t, err)
	req.Header.Set("X-Api-Key", tap.Key())
	if resp, err := http.DefaultClient.Do(req); err == nil {
		t.Errorf("got %d %s, want no answer at all", resp.StatusCode, body(t, resp))
	}
	if r := tap.Report(); len(r.MessageIDs) != 0 || r.Requests != 1 {
		t.Errorf("got %+v, want one request and no answer", r)
	}
}

func TestCredential_StaysSecret(t *testing.T) {
	t.Parallel()
	c := Credential{HeaderKey, "real-secret"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, &c)} {
		if strings.Contains(text, "secret") {
			t.Errorf("printed: %s", text)
		}
	}
	if data, err := json.Marshal(c); err == nil {
		t.Errorf("marshalled: %s", data)
	}
	for _, bad := range []Credential{{"cookie", "x"}, {HeaderKey, "a\r\nb"}} {
		if g, err := Start(context.Background(), &url.URL{}, bad); err == nil {
			g.Close()
			t.Errorf("%v: got no error", bad)
		}
	}
}

func TestEventReader_LongEvents(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{}, func(http.ResponseWriter, *http.Request) {})
	tap := g.Open(Session{})
	e := &eventReader{answer: &answer{proxy: tap, looked: func() {}}}
	e.feed([]byte("data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_long\",\"x\":\""))
	for range maxEvent>>20 + 1 {
		e.feed(bytes.Repeat([]byte("x"), 1<<20))
		if cap(e.line) > 3*maxEvent {
			t.Fatalf("keeps %d bytes", cap(e.line))
		}
	}
	e.feed([]byte("\"}}\r\n\r"))
	e.feed([]byte("\n" + stream("msg_1", "m")))
	e.end()
	if got := tap.Report(); got.Unread != 1 || !cmp.Equal(got.MessageIDs, []string{"msg_1"}) {
		t.Errorf("got %+v, want the long event unread and the next one read", got)
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add([]byte(stream("msg_1", "m", "toolu_1")), 7)
	f.Add([]byte("data:\r\n\r\n: x\n\ndata: {\n\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		whole, pieces := newProxy(nil, Session{}), newProxy(nil, Session{})
		a, b := &eventReader{answer: &answer{proxy: whole, looked: func() {}}}, &eventReader{answer: &answer{proxy: pieces, looked: func() {}}}
		a.feed(data)
		a.end()
		for size := max(1, cut&63); len(data) > 0; data = data[min(size, len(data)):] {
			b.feed(data[:min(size, len(data))])
		}
		b.end()
		testenv.Same(t, "cut in pieces it reads otherwise", whole.Report(), pieces.Report())
	})
}

func BenchmarkEventReader(b *testing.B) {
	text := []byte(stream("msg_1", "m", "toolu_1") + strings.Repeat(event("content_block_delta", `{"type":"content_block_delta","delta":{"text":"word"}}`), 10000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	tap := newProxy(nil, Session{})
	for b.Loop() {
		e := &eventReader{answer: &answer{proxy: tap, looked: func() {}}}
		e.feed(text)
		e.end()
	}
}
