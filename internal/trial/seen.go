package trial

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/gateway"
)

// describe lays over a trial what the launch came to, what the stream says of
// itself, and what the gateway counted where the stream is silent.
func (a *attempt) describe(t harness.Trial) harness.Trial {
	t.Transcript, t.Seconds, t.Survivors = a.digest, a.exit.Wall.Seconds(), a.exit.Survivors
	if init, ok := a.transcript.Init(); ok {
		t.Model, t.CLI, t.Session = init.Model, init.Version, init.Session
	}
	t.Exposed = exposed(a.seen, a.transcript)
	if f := a.seen.Fingerprint; !f.IsZero() {
		t.Fingerprint = &f
	}
	if len(a.seen.Served) > 0 {
		t.Served = a.seen.Served
	}
	t.CostUSD, t.Usage = a.transcript.CostUSD(), a.transcript.Usage()
	var total harness.Usage
	for _, u := range a.seen.Usage {
		total = total.Add(u)
	}
	switch read := a.seen.Unread == 0; {
	case read && len(a.seen.MessageIDs) > 0 && total == (harness.Usage{}):
		t.CostUSD = nil // what the service did not count did not cost nothing
	case read && a.seen.Requests > 0 && t.CostUSD == nil:
		t.Usage = total
		if a.seen.Priced {
			t.CostUSD = &a.seen.USD
		}
	}
	if q := quotaSaid(a.transcript, a.at); !q.IsZero() {
		t.Quota = &q
	}
	return t
}

// external is what is known of the session from outside its stream.
func (a *attempt) external() transcript.External {
	return transcript.External{
		Cause: a.exit.Cause, LimitTime: a.exit.LimitTime, Killed: a.exit.Signal != "", ExitCode: a.exit.Code,
		GatewayKnown: true, Exposed: exposed(a.seen, a.transcript), Served: served(a.seen), Blocks: a.seen.Blocks,
	}
}

// served lists the ids the gateway passed on. An answer it could not read makes
// an unknown id prove nothing, so nothing is claimed then.
func served(seen gateway.Report) map[string]bool {
	if seen.Unread > 0 {
		return nil
	}
	out := make(map[string]bool, len(seen.MessageIDs)+len(seen.ToolIDs))
	for _, id := range slices.Concat(seen.MessageIDs, seen.ToolIDs) {
		out[id] = seen.Whole[id]
	}
	return out
}

// exposed reports whether the wording was in front of the model when it spoke
// first: in the request that the main agent's first message answers. A session
// in which it never spoke is asked about any request.
func exposed(seen gateway.Report, tr *transcript.Transcript) bool {
	for _, b := range tr.Blocks {
		if b.Message == "" || b.Parent != "" {
			continue
		}
		if to, served := seen.ExposedTo[b.Message]; served {
			return to
		}
		break // an id that was never served is forged, which the ladder asks elsewhere
	}
	return seen.Exposed
}

// requests remembers how the CLI asks, and what answers, on each tier. It is safe
// for concurrent use.
type requests struct {
	mu     sync.Mutex
	first  map[string]harness.Fingerprint
	served map[string]harness.Served // to valid sessions
}

func newRequests(first map[string]harness.Fingerprint, served map[string]harness.Served) *requests {
	r := &requests{first: make(map[string]harness.Fingerprint), served: make(map[string]harness.Served)}
	maps.Copy(r.first, first)
	maps.Copy(r.served, served)
	return r
}

// changed compares a session's first request with the first one seen on its
// tier, and names what differs. What was never seen sets the measure.
func (r *requests) changed(tier string, f harness.Fingerprint) string {
	if f.IsZero() {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ok := r.first[tier]
	if !ok {
		r.first[tier] = f
		return ""
	}
	return strings.Join(f.Differ(was), "; ")
}

// moved compares the models that answered a session with those that answered
// its tier's valid sessions so far, and names both where one is new. A valid
// session in which nothing is new adds to the measure.
func (r *requests) moved(tier string, s harness.Served, valid bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if moved := s.Moved(r.served[tier]); len(moved) > 0 {
		return strings.Join(moved, "; ")
	}
	if valid && len(s) > 0 {
		r.served[tier] = r.served[tier].With(s)
	}
	return ""
}

// gatewayRuling compares what the gateway saw with earlier sessions of the
// campaign: a CLI that asks or a model that answers otherwise, and a spend limit
// that was reached. by is the ladder's class; one that halts already says more.
func (e *Executor) gatewayRuling(tier string, seen gateway.Report, by harness.Class) (r ruling) {
	if by.Fate() == harness.FateHalt {
		return ruling{}
	}
	valid := by == harness.Valid
	if why := e.asked.changed(tier, seen.Fingerprint); why != "" && valid {
		valid = false
		r = ruling{class: harness.VersionDrift, why: "the agent asks the model otherwise than earlier in this campaign: " + why}
	}
	// A session that another model answered is void by the ladder as well, but
	// running it again would end no better.
	if valid || by == harness.WrongModel {
		if why := e.asked.moved(tier, seen.Served, valid); why != "" {
			r = ruling{class: harness.VersionDrift, why: "another model answers than earlier in this campaign: " + why}
		}
	}
	if seen.Spent != "" {
		r = ruling{class: harness.Budget, why: seen.Spent}
	}
	return r
}

// limitRuling leaves the class of a session that a limit of the account ended, and
// adds when the limit lifts.
func (a *attempt) limitRuling(by harness.Class) ruling {
	if by != harness.RateLimit && by != harness.UsageLimit {
		return ruling{}
	}
	at := a.lifts()
	return ruling{lifts: &at}
}

// lifts is when the limit that ended a session is over: by the headers of the
// refusal, else by what the CLI passed on of them, and by its words only where
// neither says anything. It is zero where nobody said.
func (a *attempt) lifts() time.Time {
	if at, ok := gateway.Lifts(a.seen.Limited, a.at); ok {
		return at
	}
	for _, l := range slices.Backward(a.transcript.Limits) {
		if at := reset(l.Resets, a.at); l.Status == "rejected" && !at.IsZero() {
			return at
		}
	}
	r, _ := a.transcript.Last()
	for _, text := range []string{r.Text, a.transcript.NoiseText} {
		if at, ok := gateway.ParseReset(text, a.at); ok {
			return at
		}
	}
	return time.Time{}
}

// quotaSaid is what the stream last said of the account's allowances, the zero
// quota for nothing. Where the gateway saw the headers themselves, those count.
func quotaSaid(tr *transcript.Transcript, now time.Time) harness.Quota {
	var q harness.Quota
	windows := map[string]*harness.Allowance{"five_hour": &q.FiveHour, "seven_day": &q.SevenDay}
	for _, l := range tr.Limits {
		for _, w := range l.Windows {
			if a := windows[w.Name]; a != nil && w.Used >= 0 {
				*a = harness.Allowance{Used: w.Used, Resets: reset(w.Resets, now)}
				q.At = now.UTC().Truncate(time.Second)
			}
		}
	}
	return q
}

// farthestReset bounds what is believed of a stream that a session can write to:
// a week is the longest window there is.
const farthestReset = 8 * 24 * time.Hour

// reset is the moment a window ends, the zero time for one that is over or too
// far away to be believed.
func reset(unix int64, now time.Time) time.Time {
	at := time.Unix(unix, 0).UTC()
	if !at.After(now) || at.After(now.Add(farthestReset)) {
		return time.Time{}
	}
	return at
}
