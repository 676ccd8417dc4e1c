package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxRequest is the largest request body passed on.
const maxRequest = 64 << 20

// usualRequest is what few requests are larger than.
const usualRequest = 1 << 20

// Header is the header a credential travels in.
type Header string

// The headers of the two kinds of credential.
const (
	HeaderKey   Header = "x-api-key"     // an API key
	HeaderToken Header = "authorization" // an OAuth token, sent as a bearer
)

// Credential is what the real API is to be shown instead of the dummy key. With
// an empty Value the dummy key itself is passed on, for a simulated model.
type Credential struct {
	Header Header
	Value  string
}

// String keeps the value out of logs and messages.
func (c Credential) String() string { return string(c.Header) + ": [credential]" }

// GoString keeps the value out of debugging output too.
func (c Credential) GoString() string { return c.String() }

// MarshalJSON always fails: a credential belongs in no document.
func (c Credential) MarshalJSON() ([]byte, error) {
	return nil, errors.New("credential cannot be serialised")
}

func (c Credential) validate() error {
	switch {
	case c.Value == "":
		return nil
	case c.Header != HeaderKey && c.Header != HeaderToken:
		return fmt.Errorf("credential header %q is neither %s nor %s", c.Header, HeaderKey, HeaderToken)
	case strings.ContainsAny(c.Value, "\r\n\x00"):
		return errors.New("credential holds a line break")
	}
	return nil
}

// Gateway is the running server.
type Gateway struct {
	url       *url.URL
	upstream  *url.URL
	cred      Credential
	newServer func(http.Handler) *http.Server
	server    *http.Server
	transport *http.Transport
	all       sync.WaitGroup

	mu      sync.Mutex
	proxies map[string]*Proxy // by dummy key
	watch   func(status int, h http.Header)
}

// Watch has every answer's status and headers told to f from now on, before the
// session sees them.
func (g *Gateway) Watch(f func(status int, h http.Header)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watch = f
}

func (g *Gateway) tell(status int, h http.Header) {
	g.mu.Lock()
	f := g.watch
	g.mu.Unlock()
	if f != nil {
		f(status, h)
	}
}

// Start listens on a free port of 127.0.0.1 and passes requests on to upstream.
// When ctx ends, requests under way are broken off; Close ends the server.
func Start(ctx context.Context, upstream *url.URL, cred Credential) (*Gateway, error) {
	if err := cred.validate(); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // an answer must be readable in passing
	transport.MaxIdleConnsPerHost = 64
	g := &Gateway{
		url:       &url.URL{Scheme: "http", Host: listener.Addr().String()},
		upstream:  upstream,
		cred:      cred,
		transport: transport,
		proxies:   make(map[string]*Proxy),
	}
	g.newServer = func(h http.Handler) *http.Server {
		return &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 30 * time.Second,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ErrorLog:          log.New(io.Discard, "", 0),
		}
	}
	g.server = g.newServer(http.HandlerFunc(g.serveHTTP))
	g.all.Go(func() { _ = g.server.Serve(listener) }) // Close waits for it
	return g, nil
}

// URL is the address sessions are given as the API's.
func (g *Gateway) URL() *url.URL {
	u := *g.url
	return &u
}

// Close breaks off what is under way and returns when nothing runs any more.
func (g *Gateway) Close() error {
	err := g.server.Close()
	g.mu.Lock()
	proxies := slices.Collect(maps.Values(g.proxies))
	g.mu.Unlock()
	for _, p := range proxies {
		p.Close()
	}
	g.all.Wait()
	g.transport.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("close gateway: %w", err)
	}
	return nil
}

// Kind is the header of the user's credential, and so of the dummy keys.
func (g *Gateway) Kind() Header {
	if g != nil && g.cred.Header == HeaderToken { // without a gateway, as with a key
		return HeaderToken
	}
	return HeaderKey
}

// DummyKey is a new random key that looks like the kind the user has.
func (g *Gateway) DummyKey() string {
	return map[Header]string{HeaderKey: "sk-ant-api03-", HeaderToken: "sk-ant-oat01-"}[g.Kind()] + rand.Text() + rand.Text()
}

// Open lets a session's requests through. An empty Key is replaced by a random
// one of the kind the user has; Key names it. A key belongs to the session that
// was opened with it last.
func (g *Gateway) Open(s Session) *Proxy {
	if s.Key == "" {
		s.Key = g.DummyKey()
	}
	t := newProxy(g, s)
	g.mu.Lock()
	g.proxies[s.Key] = t
	g.mu.Unlock()
	return t
}

func (g *Gateway) find(key string) *Proxy {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proxies[key]
}

func (g *Gateway) forget(t *Proxy) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.proxies[t.session.Key] == t {
		delete(g.proxies, t.session.Key)
	}
}

// serveHTTP passes a request of a known session on.
func (g *Gateway) serveHTTP(w http.ResponseWriter, r *http.Request) {
	p := g.find(dummyKey(r.Header))
	if p == nil {
		refuseKey(w)
		return
	}
	g.serve(p, w, r)
}

// serve passes a request of one session on.
func (g *Gateway) serve(p *Proxy, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if !p.enter(r, cancel) {
		refuseKey(w)
		return
	}
	defer p.leave(r)
	body, err := readRequest(w, r)
	p.record(func(r *Report) { r.Requests++; r.LastActivity = time.Now() })
	why := p.overBudget(r)
	if err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", "request over 64 MiB")
		}
		return
	}
	// The API has the request while it is looked at.
	var look sync.WaitGroup
	defer look.Wait()
	a := &answer{proxy: p, looked: look.Wait}
	betas, shows := r.Header.Get("anthropic-beta"), isMessages(r)
	look.Go(func() {
		// What cannot be read is the API's to refuse.
		req, err := parseRequest(body)
		a.asked = req.Model
		a.exposed = err == nil && shows && p.inspect(req.texts(), body, betas)
	})
	if why != "" {
		refuse(w, http.StatusBadRequest, "invalid_request_error", why)
		return
	}
	out := r.Clone(ctx)
	// A connection the API closed while idle is tried again with the same body.
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength, out.TransferEncoding = int64(len(body)), nil
	g.proxyFor(a).ServeHTTP(w, out) // panics when the session did not take all of the answer
	a.arrived()
}

// proxyFor is a proxy whose answer is read as it passes.
func (g *Gateway) proxyFor(a *answer) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:      g.transport,
		FlushInterval:  -1, // every write at once
		ErrorLog:       log.New(io.Discard, "", 0),
		Rewrite:        g.rewrite,
		ModifyResponse: a.begin,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			// A service that was not reached gave no answer, so the session gets none:
			// a status made up here would pass for the service's own.
			panic(http.ErrAbortHandler)
		},
	}
}

// dummyKey is the key a session shows, in whichever header its kind uses.
func dummyKey(h http.Header) string {
	if key := h.Get(string(HeaderKey)); key != "" {
		return key
	}
	auth := h.Get(string(HeaderToken))
	if len(auth) > 7 && strings.EqualFold(auth[:7], "bearer ") {
		return auth[7:]
	}
	return ""
}

func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(g.upstream)
	r.Out.Host = g.upstream.Host
	r.Out.Header.Set("Accept-Encoding", "identity")
	if g.cred.Value == "" {
		return
	}
	r.Out.Header.Del(string(HeaderKey))
	r.Out.Header.Del(string(HeaderToken))
	value := g.cred.Value
	if g.cred.Header == HeaderToken {
		value = "Bearer " + value
	}
	r.Out.Header.Set(string(g.cred.Header), value)
}

// readRequest takes the whole body in.
func readRequest(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var read bytes.Buffer
	// One allocation for a usual request, the look for the end included; what a
	// session merely announces takes no more than this.
	read.Grow(int(min(max(r.ContentLength, 0), usualRequest)) + bytes.MinRead)
	_, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest))
	return read.Bytes(), err
}

// isMessages tells the requests that a model answers from those that are free.
func isMessages(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == "/v1/messages"
}

func refuseKey(w http.ResponseWriter) {
	refuse(w, http.StatusUnauthorized, "authentication_error", "unknown key")
}

// refuse answers in the API's own form, which the agent knows how to read.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
}
