package gateway

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"loopd/harness"
)

// Session is what the gateway is to look for in one session's requests.
type Session struct {
	Key string // the dummy key the session was given
	// Note is the text the hook should have delivered; empty when none.
	Note string
	// Descriptions are those of the plugin's skills.
	Descriptions []string
	// Own are the directories of the sandbox and other texts that differ from
	// session to session by design, for the fingerprint.
	Own []string
	// Prices are what a model's tokens cost, by its id; a model without a price
	// is served and counted, and costs nothing here.
	Prices map[string]harness.Price
	// Limits pay for the session. When one is empty no further request is passed
	// on.
	Limits []*SpendLimit
}

// Report is what passed between one session and the API.
type Report struct {
	Requests int
	// Exposed: one and the same request held the note and every description, also
	// when there are none to hold. ExposedTo says so of the request each message
	// answers.
	Exposed   bool
	ExposedTo map[string]bool
	// Fingerprint is of the first request.
	Fingerprint harness.Fingerprint
	// MessageIDs and ToolIDs are what answers said, in order of first appearance.
	MessageIDs []string
	ToolIDs    []string
	// Served are the models that answered by the model asked for.
	Served harness.Served
	// Whole are the messages that reached the session complete, and their tool
	// calls; what ended in the middle is listed above only.
	Whole map[string]bool
	// Blocks counts the content blocks served of each message.
	Blocks map[string]int
	// HandedOver: the session came through its Handoff.
	HandedOver bool
	// Limited are the headers of the last answer with status 429, nil for none.
	Limited http.Header
	// Usage is tokens by the model that served them, each message once. USD is
	// what they cost by the prices given, Priced whether all of them had one.
	Usage  map[string]harness.Usage
	USD    float64
	Priced bool
	// Spent: a spend limit was reached, and a request was refused for it.
	Spent string
	// Unread counts answers whose ids could not be read, so that an id missing
	// above proves nothing.
	Unread       int
	LastActivity time.Time
}

// Proxy is one session's way through the gateway.
type Proxy struct {
	gateway *Gateway
	session Session

	served sync.WaitGroup // what serves the session on its own socket

	mu      sync.Mutex
	closed  bool
	handoff *net.UnixConn
	server  *http.Server
	active  map[*http.Request]context.CancelFunc
	idle    *sync.Cond // active has become empty
	report  Report
}

func newProxy(g *Gateway, s Session) *Proxy {
	p := &Proxy{gateway: g, session: s, active: make(map[*http.Request]context.CancelFunc)}
	p.idle = sync.NewCond(&p.mu)
	p.report = Report{
		Whole: make(map[string]bool), Blocks: make(map[string]int), ExposedTo: make(map[string]bool),
		Usage: make(map[string]harness.Usage), Priced: true, Served: make(harness.Served),
	}
	return p
}

// Key is the dummy key to give to the session.
func (p *Proxy) Key() string { return p.session.Key }

// record changes the report.
func (p *Proxy) record(change func(*Report)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.report)
}

// Report returns what has passed so far; after Close, all that ever will.
func (p *Proxy) Report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report
	r.MessageIDs, r.ToolIDs, r.Fingerprint.Names = slices.Clone(r.MessageIDs), slices.Clone(r.ToolIDs), slices.Clone(r.Fingerprint.Names)
	r.Whole, r.Blocks, r.ExposedTo, r.Usage = maps.Clone(r.Whole), maps.Clone(r.Blocks), maps.Clone(r.ExposedTo), maps.Clone(r.Usage)
	r.Served = r.Served.With(nil)
	return r
}

// LastActivity is when a byte last passed, the zero time for never.
func (p *Proxy) LastActivity() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.report.LastActivity
}

// Close lets no further request through, breaks off those under way and
// returns when they have ended.
func (p *Proxy) Close() {
	p.gateway.forget(p)
	p.breakOff()
	p.served.Wait()
}

func (p *Proxy) breakOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.handoff != nil {
		p.handoff.Close()
	}
	if p.server != nil {
		p.server.Close()
	}
	for _, cancel := range p.active {
		cancel()
	}
	for len(p.active) > 0 {
		p.idle.Wait()
	}
}

// enter counts a request in, unless the session is closed.
func (p *Proxy) enter(r *http.Request, cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.active[r] = cancel
	}
	return !p.closed
}

func (p *Proxy) leave(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.active, r); len(p.active) == 0 {
		p.idle.Broadcast()
	}
}

// inspect looks for note and descriptions in the texts of a request, and reports
// whether it held them all. The first request is fingerprinted.
func (p *Proxy) inspect(texts []string, body []byte, betas string) (exposed bool) {
	var first bool
	p.record(func(r *Report) { first = r.Fingerprint.IsZero() })
	if first {
		own := slices.Concat(p.session.Own, p.session.Descriptions, []string{p.session.Note})
		if f, err := fingerprintOf(body, texts, betas, own); err == nil {
			p.record(func(r *Report) { r.Fingerprint = f })
		}
	}
	for _, want := range append([]string{p.session.Note}, p.session.Descriptions...) {
		if !holds(texts, want) {
			return false
		}
	}
	p.record(func(r *Report) { r.Exposed = true })
	return true
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
