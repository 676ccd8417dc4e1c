package fake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

func scenario() harness.Scenario {
	return harness.Scenario{
		ID: "R1",
		Oracle: []harness.Step{
			{Skill: "find"},
			{Bash: "find-it <x> & y"},
			{Edit: &harness.EditStep{Path: "lib/a.rb", Old: "1", New: "2"}},
			{Text: "It is settled – für immer."},
		},
		Nop: []harness.Step{{Text: "Done."}},
	}
}

// start serves a model in which every session passes when lucky.
func start(t *testing.T, s fake.ModelSession) *fake.ModelServer {
	t.Helper()
	srv, err := fake.StartModel(t.Context(), fake.Wording{Base: map[harness.Cell]float64{r1: 0.5}})
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	s.Cell = r1
	if s.Scenario.ID == "" {
		s.Scenario = scenario()
	}
	testenv.Must(t, srv.Register(key, s))
	return srv
}

const opening = `{"role":"user","content":[{"type":"text","text":"do it"}]},` +
	`{"role":"system","content":"# Environment\n - Primary working directory: /p/q\n\n- tiny:find: About.\n- find: other"}`

// body is a request after n answers.
func body(n int, stream bool) string {
	answer := `,{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}` +
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}`
	return `{"model":"m-1","max_tokens":9,"unknown":1,"system":[{"type":"text","text":"s"}],"stream":` + map[bool]string{true: "true", false: "false"}[stream] +
		`,"messages":[` + opening + strings.Repeat(answer, n) + `]}`
}

func post(t *testing.T, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	testenv.Must(t, err)
	if len(header) == 0 {
		header = []string{"X-Api-Key", key}
	}
	req.Header.Set(header[0], header[1])
	resp, err := http.DefaultClient.Do(req)
	testenv.Must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func read(t *testing.T, resp *http.Response) map[string]any {
	t.Helper()
	var m map[string]any
	testenv.Must(t, json.NewDecoder(resp.Body).Decode(&m))
	return m
}

// block is the one content block of a plain answer.
func block(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	content, _ := m["content"].([]any)
	if len(content) != 1 {
		t.Fatalf("content: got %v", m)
	}
	return content[0].(map[string]any)
}

func TestTurns(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{Draw: 0.49})
	ids := make(map[any]bool)
	for n, want := range []map[string]any{
		{"type": "tool_use", "name": "Skill", "input": map[string]any{"skill": "tiny:find"}},
		{"type": "tool_use", "name": "Bash", "input": map[string]any{"command": "find-it <x> & y"}},
		{"type": "tool_use", "name": "Read", "input": map[string]any{"file_path": "/p/q/lib/a.rb"}},
		{"type": "tool_use", "name": "Edit", "input": map[string]any{"file_path": "/p/q/lib/a.rb", "old_string": "1", "new_string": "2"}},
		{"type": "text", "text": "It is settled – für immer."},
		{"type": "text", "text": "It is settled – für immer."}, // asked once more than there are steps
	} {
		m := read(t, post(t, srv.URL()+"/v1/messages?beta=true", body(n, false)))
		got := block(t, m)
		for _, id := range []any{m["id"], got["id"]} {
			if id != nil && ids[id] {
				t.Errorf("turn %d: id %v was given before", n, id)
			}
			ids[id] = true
		}
		delete(got, "id")
		testenv.Same(t, fmt.Sprintf("turn %d", n), want, got)
		again := read(t, post(t, srv.URL()+"/v1/messages", body(n, false)))
		if again["id"] != m["id"] {
			t.Errorf("turn %d: asked again, got another answer", n)
		}
	}
}

func TestDrawDecides(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{Draw: 0.5})
	if got := block(t, read(t, post(t, srv.URL()+"/v1/messages", body(0, false)))); got["text"] != "Done." {
		t.Errorf("at the rate itself: got %v, want the nop", got)
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{})
	if resp := post(t, srv.URL()+"/v1/messages", body(0, false), "Authorization", "Bearer "+key); resp.StatusCode != 200 {
		t.Errorf("got %s", resp.Status)
	}
}

func TestStreamSpellsTheSameAnswer(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{})
	for n := range 5 {
		plain := read(t, post(t, srv.URL()+"/v1/messages", body(n, false)))
		resp := post(t, srv.URL()+"/v1/messages", body(n, true))
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type: got %s", got)
		}
		names, streamed := assemble(t, resp.Body)
		want := []string{"message_start", "ping", "content_block_start", "content_block_delta", "content_block_delta",
			"content_block_stop", "message_delta", "message_stop"}
		testenv.Same(t, "events", want, names)
		testenv.Same(t, fmt.Sprintf("turn %d", n), plain, streamed)
	}
}

// assemble puts a message together from a stream, independently of the
// stand-in's reader.
func assemble(t *testing.T, r io.Reader) (names []string, msg map[string]any) {
	t.Helper()
	data, err := io.ReadAll(r)
	testenv.Must(t, err)
	var content map[string]any
	var text, input string
	for f := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n\n"), "\n\n") {
		name, payload, _ := strings.Cut(f, "\ndata: ")
		names = append(names, strings.TrimPrefix(name, "event: "))
		var e map[string]any
		testenv.Must(t, json.Unmarshal([]byte(payload), &e))
		if e["type"] != names[len(names)-1] {
			t.Errorf("type %v under the name %s", e["type"], names[len(names)-1])
		}
		switch e["type"] {
		case "message_start":
			msg = e["message"].(map[string]any)
		case "content_block_start":
			content = e["content_block"].(map[string]any)
		case "content_block_delta":
			d := e["delta"].(map[string]any)
			s, _ := d["text"].(string)
			p, _ := d["partial_json"].(string)
			text, input = text+s, input+p
		case "message_delta":
			msg["stop_reason"] = e["delta"].(map[string]any)["stop_reason"]
			msg["usage"].(map[string]any)["output_tokens"] = e["usage"].(map[string]any)["output_tokens"]
		}
	}
	if content["type"] == "text" {
		content["text"] = text
	} else {
		var in any
		testenv.Must(t, json.Unmarshal([]byte(input), &in))
		content["input"] = in
	}
	msg["content"] = []any{content}
	return names, msg
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{})
	srv.Forget("never registered")
	for name, c := range map[string]struct {
		path, body, key string
		status          int
		kind            string
	}{
		"unknown key": {"/v1/messages", body(0, true), "other", 401, "authentication_error"},
		"no key":      {"/v1/messages", body(0, true), "", 401, "authentication_error"},
		"other path":  {"/v1/models", "{}", key, 404, "not_found_error"},
		"not json":    {"/v1/messages", "{", key, 400, "invalid_request_error"},
		"no messages": {"/v1/messages", `{"messages":[]}`, key, 400, "invalid_request_error"},
		"odd content": {"/v1/messages", `{"messages":[{"role":"user","content":7}]}`, key, 400, "invalid_request_error"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := post(t, srv.URL()+c.path, c.body, "X-Api-Key", c.key)
			m := read(t, resp)
			e, _ := m["error"].(map[string]any)
			if resp.StatusCode != c.status || e["type"] != c.kind || m["type"] != "error" {
				t.Errorf("got %s %v", resp.Status, m)
			}
		})
	}
	if m := read(t, post(t, srv.URL()+"/v1/messages/count_tokens", body(0, false))); m["input_tokens"].(float64) <= 0 {
		t.Errorf("count_tokens: got %v", m)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{})
	srv.Forget(key)
	if resp := post(t, srv.URL()+"/v1/messages", body(0, false)); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %s", resp.Status)
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	m := fake.NewModel(fake.Wording{})
	good := fake.ModelSession{Scenario: scenario()}
	for name, c := range map[string]struct {
		key   string
		spoil func(*fake.ModelSession)
	}{
		"empty key":     {"", func(*fake.ModelSession) {}},
		"draw of 1":     {key, func(s *fake.ModelSession) { s.Draw = 1 }},
		"draw below 0":  {key, func(s *fake.ModelSession) { s.Draw = -0.1 }},
		"unknown fault": {key, func(s *fake.ModelSession) { s.Fault = "flood" }},
		"no nop":        {key, func(s *fake.ModelSession) { s.Scenario.Nop = nil }},
	} {
		s := good
		c.spoil(&s)
		if err := m.Register(c.key, s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := m.Register(key, good); err != nil {
		t.Error(err)
	}
}

func TestFaultsShow(t *testing.T) {
	t.Parallel()
	for fault, want := range map[fake.Fault][]int{
		fake.FaultNone:        {200, 200, 200},
		fake.FaultOverloaded:  {529, 529, 200, 200},
		fake.FaultUnavailable: {529, 529, 529, 529},
		fake.FaultRateLimit:   {429, 429},
		fake.FaultServerError: {500, 500},
		fake.FaultAuth:        {401, 401},
		fake.FaultBilling:     {400, 400},
		fake.FaultModelGone:   {404, 404},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			srv := start(t, fake.ModelSession{Fault: fault})
			var got []int
			for range want {
				resp := post(t, srv.URL()+"/v1/messages", body(0, true))
				got = append(got, resp.StatusCode)
				if (resp.Header.Get("Retry-After") != "") != (fault == fake.FaultRateLimit) {
					t.Errorf("retry-after: got %q", resp.Header.Get("Retry-After"))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestFatalCommandsComeFirst(t *testing.T) {
	t.Parallel()
	for fault, want := range map[fake.Fault]string{
		fake.FaultCrash:     "kill -9 $PPID",
		fake.FaultTerminate: "kill -TERM $PPID; sleep 10",
	} {
		srv := start(t, fake.ModelSession{Fault: fault})
		first := block(t, read(t, post(t, srv.URL()+"/v1/messages", body(0, false))))
		testenv.Same[any](t, fmt.Sprintf("%s: first turn", fault), map[string]any{"command": want}, first["input"])
		if next := block(t, read(t, post(t, srv.URL()+"/v1/messages", body(1, false)))); next["name"] != "Skill" {
			t.Errorf("%s: second turn: got %v, want the script's first", fault, next)
		}
	}
}

func TestCutStreamBreaksOffOnce(t *testing.T) {
	t.Parallel()
	srv := start(t, fake.ModelSession{Fault: fake.FaultCut})
	if _, err := io.ReadAll(post(t, srv.URL()+"/v1/messages", body(0, true)).Body); err == nil {
		t.Error("the first stream ended well")
	}
	if _, err := io.ReadAll(post(t, srv.URL()+"/v1/messages", body(0, true)).Body); err != nil {
		t.Errorf("the second stream: %v", err)
	}
}

func TestHangHoldsUntilTheClientGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := fake.NewModel(fake.Wording{})
		testenv.Must(t, m.Register(key, fake.ModelSession{Scenario: scenario(), Fault: fake.FaultHang}))
		ctx, cancel := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages", strings.NewReader(body(0, true)))
		req.Header.Set("X-Api-Key", key)
		done := make(chan struct{})
		go func() {
			m.ServeHTTP(httptest.NewRecorder(), req)
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the answer was not held")
		default:
		}
		cancel()
		<-done
	})
}

// TestCloseEndsHeldAnswers: the request's context is the server's.
func TestCloseEndsHeldAnswers(t *testing.T) {
	t.Parallel()
	srv, err := fake.StartModel(t.Context(), fake.Wording{})
	testenv.Must(t, err)
	testenv.Must(t, srv.Register(key, fake.ModelSession{Scenario: scenario(), Fault: fake.FaultHang}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+"/v1/messages", strings.NewReader(body(0, true)))
	testenv.Must(t, err)
	req.Header.Set("X-Api-Key", key)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	sent := make(chan struct{})
	ended := make(chan error, 1)
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }}
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	go func() {
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	<-sent
	for range 2 { // closing twice is harmless
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}
	<-ended
}

// TestWordingIsWhatWasSent: only what the CLI adds counts, in either form, and
// only from before the first answer.
func TestWordingIsWhatWasSent(t *testing.T) {
	t.Parallel()
	w := fake.Wording{Effects: []fake.Effect{{Phrase: "MAGIC words", Lift: 1, Cells: []harness.Cell{r1}}}}
	m := fake.NewModel(w)
	testenv.Must(t, m.Register(key, fake.ModelSession{Scenario: scenario(), Cell: r1}))
	user := func(text string) string { return `{"role":"user","content":[{"type":"text","text":"` + text + `"}]}` }
	system := func(text string) string { return `{"role":"system","content":"` + text + `"}` }
	answer := `{"role":"assistant","content":"x"}`
	for name, c := range map[string]struct {
		system   string
		messages []string
		passes   bool
	}{
		"system block":             {"x MAGIC\\n words", []string{user("a")}, true},
		"system message":           {"", []string{user("a"), system("MAGIC words")}, true},
		"reminder":                 {"", []string{user("<system-reminder>\\nMAGIC words")}, true},
		"still in the second turn": {"", []string{user("a"), system("MAGIC words"), answer, user("b")}, true},
		"prompt":                   {"", []string{user("MAGIC words")}, false},
		"later reminder":           {"", []string{user("a"), answer, user("<system-reminder>MAGIC words")}, false},
		"answer":                   {"", []string{user("a"), `{"role":"assistant","content":"MAGIC words"}`, user("b")}, false},
		"nowhere":                  {"", []string{user("a")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"model":"m","system":"` + c.system + `","messages":[` + strings.Join(c.messages, ",") + `]}`
			got := block(t, read(t, ask(t, m, body)))
			if passes := got["text"] != "Done."; passes != c.passes {
				t.Errorf("got %v, want oracle: %v", got, c.passes)
			}
		})
	}
}
