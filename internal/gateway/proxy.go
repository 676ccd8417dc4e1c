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
	// Note: some request held the note whole; also when there is none to hold.
	Note bool
	// Descriptions says the same of each description, in the session's order.
	Descriptions []bool
	// Exposed: one and the same request held the note and every description.
	// ExposedTo says so of the request each message answers.
	Exposed   bool
	ExposedTo map[string]bool
	// Fingerprint is of the first request.
	Fingerprint harness.Fingerprint
	// MessageIDs, ToolIDs and Models are what answers said, in order of first
	// appearance.
	MessageIDs []string
	ToolIDs    []string
	Models     []string
	// Served are the models that answered by the model asked for.
	Served harness.Served
	// Whole are the messages that reached the session complete, and their tool
	// calls; what ended in the middle is listed above only.
	Whole map[string]bool
	// Blocks counts the content blocks served of each message.
	Blocks map[string]int
	// HandedOver: the session came through its Door.
	HandedOver bool
	Statuses   map[int]int // answers by HTTP status
	// Limited are the headers of the last answer with status 429, nil for none.
	Limited http.Header
	// Usage is tokens by the model that served them, each message once. USD is
	// what they cost by the prices given, Priced whether all of them had one.
	Usage  map[string]harness.Usage
	USD    float64
	Priced bool
	// Spent: a purse was empty, and a request was refused for it.
	Spent string
	// Unread counts answers whose ids could not be read, so that an id missing
	// above proves nothing.
	Unread                int
	BytesSent, BytesTaken int64 // by the session
	LastActivity          time.Time
}

// Proxy is one session's way through the gateway.
type Proxy struct {
	gateway *Gateway
	session Session

	served sync.WaitGroup // what serves the session at its door

	mu     sync.Mutex
	closed bool
	door   *net.UnixConn
	server *http.Server
	active map[*http.Request]context.CancelFunc
	idle   *sync.Cond // active has become empty
	report Report
}

func newProxy(g *Gateway, s Session) *Proxy {
	t := &Proxy{gateway: g, session: s, active: make(map[*http.Request]context.CancelFunc)}
	t.idle = sync.NewCond(&t.mu)
	t.report = Report{
		Note: s.Note == "", Descriptions: make([]bool, len(s.Descriptions)), Statuses: make(map[int]int),
		Whole: make(map[string]bool), Blocks: make(map[string]int), ExposedTo: make(map[string]bool),
		Usage: make(map[string]harness.Usage), Priced: true, Served: make(harness.Served),
	}
	return t
}

// Key is the dummy key to give to the session.
func (t *Proxy) Key() string { return t.session.Key }

// Report returns what has passed so far; after Close, all that ever will.
func (t *Proxy) Report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.report
	r.Descriptions = slices.Clone(r.Descriptions)
	r.MessageIDs, r.ToolIDs, r.Models = slices.Clone(r.MessageIDs), slices.Clone(r.ToolIDs), slices.Clone(r.Models)
	r.Statuses, r.Whole, r.Blocks = maps.Clone(r.Statuses), maps.Clone(r.Whole), maps.Clone(r.Blocks)
	r.Served = r.Served.With(nil)
	r.ExposedTo, r.Usage, r.Fingerprint.Names = maps.Clone(r.ExposedTo), maps.Clone(r.Usage), slices.Clone(r.Fingerprint.Names)
	return r
}

// LastActivity is when a byte last passed, the zero time for never.
func (t *Proxy) LastActivity() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report.LastActivity
}

// Close lets no further request through, breaks off those under way and
// returns when they have ended.
func (t *Proxy) Close() {
	t.gateway.forget(t)
	t.breakOff()
	t.served.Wait()
}

func (t *Proxy) breakOff() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.door != nil {
		t.door.Close()
	}
	if t.server != nil {
		t.server.Close()
	}
	for _, cancel := range t.active {
		cancel()
	}
	for len(t.active) > 0 {
		t.idle.Wait()
	}
}

// enter counts a request in, unless the session is closed.
func (t *Proxy) enter(r *http.Request, cancel context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.active[r] = cancel
	}
	return !t.closed
}

func (t *Proxy) leave(r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.active, r); len(t.active) == 0 {
		t.idle.Broadcast()
	}
}

func (t *Proxy) request(size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Requests++
	t.report.BytesSent += int64(size)
	t.report.LastActivity = time.Now()
}

// inspect looks for note and descriptions in the texts of a request, and says
// whether it held them all. The first request is fingerprinted.
func (t *Proxy) inspect(texts []string, body []byte, betas string) (exposed bool) {
	t.fingerprint(body, texts, betas)
	t.mu.Lock()
	defer t.mu.Unlock()
	all := holds(texts, t.session.Note)
	t.report.Note = t.report.Note || all
	for i, d := range t.session.Descriptions {
		whole := holds(texts, d)
		t.report.Descriptions[i] = t.report.Descriptions[i] || whole
		all = all && whole
	}
	t.report.Exposed = t.report.Exposed || all
	return all
}

// fingerprint takes the first request's.
func (t *Proxy) fingerprint(body []byte, texts []string, betas string) {
	t.mu.Lock()
	done := !t.report.Fingerprint.IsZero()
	t.mu.Unlock()
	if done {
		return
	}
	f, err := fingerprintOf(body, texts, betas, slices.Concat(t.session.Own, t.session.Descriptions, []string{t.session.Note}))
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Fingerprint = f
}

func (t *Proxy) answered(status int, h http.Header) {
	t.gateway.tell(status, h)
	t.mu.Lock()
	defer t.mu.Unlock()
	if status == http.StatusTooManyRequests {
		t.report.Limited = h.Clone()
	}
	t.report.Statuses[status]++
	t.report.LastActivity = time.Now()
}

func (t *Proxy) received(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.BytesTaken += int64(n)
	t.report.LastActivity = time.Now()
}

func (t *Proxy) unread() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Unread++
}

// saw writes down what a part of an answer named. asked is the model the
// request asked for, and exposed says whether it held the wording.
func (t *Proxy) saw(s served, asked string, exposed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.report
	r.MessageIDs = addNew(r.MessageIDs, s.message)
	if s.message != "" {
		r.ExposedTo[s.message] = exposed
	}
	r.Models = addNew(r.Models, s.model)
	r.Served.Add(asked, s.model)
	for _, id := range s.tools {
		r.ToolIDs = addNew(r.ToolIDs, id)
	}
}

// counted writes down that blocks of a message began.
func (t *Proxy) counted(message string, blocks int) {
	if message == "" || blocks == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Blocks[message] += blocks
}

// arrived writes down that the session has all of what a part named.
func (t *Proxy) arrived(s served) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range append(s.tools, s.message) {
		if id != "" {
			t.report.Whole[id] = true
		}
	}
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
