package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// maxBody bounds a request; the real service takes 32 MB.
const maxBody = 64 << 20

// Model answers the Messages API for the registered sessions.
type Model struct {
	wording Wording
	beside  []OneShot
	book    book
}

// OneShot answers a request whose credential belongs to no session, such as a
// proposer's, by its system prompt and the user's last text; false to refuse it.
type OneShot func(system, prompt string) (answer string, ok bool)

var _ http.Handler = (*Model)(nil)

// NewModel returns a model that answers to wording as w says. Requests of no session
// are answered by the first beside that does, else with a 401.
func NewModel(w Wording, beside ...OneShot) *Model { return &Model{wording: w, beside: beside} }

// Register binds a session to the credential its requests will carry, and
// starts its count of requests anew.
func (m *Model) Register(key string, s ModelSession) error { return m.book.register(key, s) }

// Forget drops a session; later requests with its credential get a 401.
func (m *Model) Forget(key string) { m.book.forget(key) }

// ServeHTTP answers POST /v1/messages and /v1/messages/count_tokens; all else
// is not found.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" && r.URL.Path != "/v1/messages/count_tokens" {
		writeError(w, fault{status: http.StatusNotFound, kind: "not_found_error", message: "not found"})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, fault{status: http.StatusRequestEntityTooLarge, kind: "request_too_large", message: "request too large"})
		return
	}
	if strings.HasSuffix(r.URL.Path, "/count_tokens") {
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": len(body) / 4})
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		writeError(w, fault{status: http.StatusBadRequest, kind: "invalid_request_error", message: "messages: unreadable"})
		return
	}
	m.answer(w, r, req)
}

// answer finds the session, applies its fault and sends the turn asked for.
func (m *Model) answer(w http.ResponseWriter, r *http.Request, req request) {
	key := credential(r.Header)
	s, n, ok := m.book.request(key)
	if text, answered := m.aside(req); !ok && answered {
		m.say(w, r, newReply(key, req.Model, req.turn(), turn{text: text}), req.Stream)
		return
	}
	if !ok {
		writeError(w, fault{status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"})
		return
	}
	f, _ := faultOf(s.Fault)
	if !f.concerns(n) {
		f = fault{}
	}
	w.Header().Set("Request-Id", requestID(key, n))
	switch {
	case f.shape == shapeHang:
		<-r.Context().Done()
		return
	case f.shape == shapeReset:
		panic(http.ErrAbortHandler) // the server's way to drop a connection
	case f.shape == shapeGarbage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Please sign in to this network.</body></html>")
		return
	case f.status != 0:
		if f.used {
			allowance(w.Header(), s.now())
		}
		writeError(w, f)
		return
	}
	turns := s.play(m.wording, req.wording())
	at := req.turn()
	rep := newReply(key, req.Model, at, turns[min(at, len(turns)-1)])
	if f.answer != nil {
		f.answer(&rep)
	}
	if !req.Stream {
		if f.shape == shapeStall || f.shape == shapeEndless {
			<-r.Context().Done()
			return
		}
		writeJSON(w, http.StatusOK, rep.message(true))
		return
	}
	rep.stream(r.Context(), w, f.shape)
}

// aside is the answer to a request of no session.
func (m *Model) aside(req request) (string, bool) {
	for _, b := range m.beside {
		if text, ok := b(strings.Join(req.System, "\n"), req.prompt()); ok {
			return text, true
		}
	}
	return "", false
}

// say sends a whole reply in the form that was asked for.
func (m *Model) say(w http.ResponseWriter, r *http.Request, rep reply, stream bool) {
	if stream {
		rep.stream(r.Context(), w, "")
		return
	}
	writeJSON(w, http.StatusOK, rep.message(true))
}

// credential returns the key of a request, from either header.
func credential(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// requestID names a request without giving the key away.
func requestID(key string, n int) string {
	return "req_01" + digest("request", key, n)[:22]
}

func writeError(w http.ResponseWriter, f fault) {
	if f.retry != "" {
		w.Header().Set("Retry-After", f.retry)
	}
	writeJSON(w, f.status, map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": f.kind, "message": f.message},
		"request_id": w.Header().Get("Request-Id"),
	})
}

// writeJSON sends a document; a client that has gone is no concern of ours.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// ModelServer is a Model listening on loopback.
type ModelServer struct {
	*Model
	url    string
	http   *http.Server
	cancel context.CancelFunc
	wait   sync.WaitGroup
	err    error
}

// StartModel serves a model, as NewModel makes it, on a free port of 127.0.0.1 until Close
// or until ctx ends.
func StartModel(ctx context.Context, w Wording, beside ...OneShot) (*ModelServer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start simulated model: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &ModelServer{Model: NewModel(w, beside...), url: "http://" + l.Addr().String(), cancel: cancel}
	// Requests inherit ctx, so that a held answer ends with the server.
	s.http = &http.Server{Handler: s.Model, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.wait.Go(func() { s.err = s.http.Serve(l) })
	s.wait.Go(func() {
		<-ctx.Done()
		_ = s.http.Close() // Serve reports what matters
	})
	return s, nil
}

// URL is the base address for ANTHROPIC_BASE_URL.
func (s *ModelServer) URL() string { return s.url }

// Close ends every request and waits for the listener to be gone.
func (s *ModelServer) Close() error {
	s.cancel()
	s.wait.Wait()
	if s.err != nil && !errors.Is(s.err, http.ErrServerClosed) {
		return fmt.Errorf("serve simulated model: %w", s.err)
	}
	return nil
}
