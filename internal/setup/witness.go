package setup

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// witness is the API of a probe: it keeps what it is sent and passes it on to the
// simulated model.
type witness struct {
	model http.Handler
	key   string // what the gateway must show in the place of the session's

	mu    sync.Mutex
	sent  []string // each request: its headers and its body, the credential left out
	first []string // the texts of the first request that hands tools to the model
	keyed int      // requests that came with the key
}

var _ http.Handler = (*witness)(nil)

// ServeHTTP keeps the request and passes it on.
func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.keep(r, body)
	w.model.ServeHTTP(out, r)
}

// credentialHeader is the header the gateway is told to put the key into.
const credentialHeader = "X-Api-Key"

func (w *witness) keep(r *http.Request, body []byte) {
	var text strings.Builder
	text.WriteString(r.Method + " " + r.URL.String() + "\n")
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != credentialHeader {
			text.WriteString(name + ": " + strings.Join(r.Header[name], ", ") + "\n")
		}
	}
	text.Write(body)
	texts := textsOf(body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, text.String())
	if r.Header.Get(credentialHeader) == w.key {
		w.keyed++
	}
	if len(w.first) == 0 {
		w.first = texts
	}
}

// textsOf are the strings of a request that hands tools to the model, none of any
// other.
func textsOf(body []byte) []string {
	var request struct {
		Tools    []any `json:"tools"`
		System   any   `json:"system"`
		Messages any   `json:"messages"`
	}
	if json.Unmarshal(body, &request) != nil || len(request.Tools) == 0 {
		return nil
	}
	return append(stringsIn(request.System), stringsIn(request.Messages)...)
}

func stringsIn(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = []string{v}
	case []any:
		for _, x := range v {
			out = append(out, stringsIn(x)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, stringsIn(v[name])...)
		}
	}
	return out
}

// whole says whether a text stands uncut in one of the first request's.
func (w *witness) whole(text string) bool {
	return slices.ContainsFunc(w.first, func(t string) bool { return strings.Contains(t, text) })
}
