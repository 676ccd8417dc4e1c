package trial

import (
	"slices"
	"strings"
	"sync"
	"time"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
)

// proxyFor opens the gateway for one session of a wording.
func (e *Executor) proxyFor(t *harness.Trial, w Wording, box *isolate.Box) *gateway.Proxy {
	s := gateway.Session{
		Note: noteFor(t, w), Descriptions: w.Descriptions,
		Own: []string{box.Work, box.Plugin, box.Home, box.Config, box.Tmp, box.Root}, Prices: e.o.Suite.Launch.Prices(),
	}
	if e.o.SpendLimits != nil {
		s.Limits = e.o.SpendLimits(t.Spec)
	}
	return e.o.Gateway.Open(s)
}

// exposed says whether the wording was in front of the model when it spoke
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
		break // an id that was never served is forged, which another rung says
	}
	return seen.Exposed
}

// requests remembers how the CLI asks on each tier. It is safe for concurrent
// use.
type requests struct {
	mu    sync.Mutex
	first map[string]harness.Fingerprint // by tier
	// served are the models that answered valid sessions, by tier.
	served map[string]harness.Served
}

// changed compares a session's first request with the first one seen on its
// tier, and says what differs. What was never seen sets the measure.
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

// account lays what the gateway saw beside what the stream says: what was spent
// where the session never said so, a purse that was empty, and a CLI that asks
// the model otherwise than before.
func (e *Executor) account(a attempt, t *harness.Trial) {
	if f := a.seen.Fingerprint; !f.IsZero() {
		t.Fingerprint = &f
	}
	if len(a.seen.Served) > 0 {
		t.Served = a.seen.Served
	}
	if uncounted(a.seen) {
		t.CostUSD = nil // what nobody counted did not cost nothing
	} else if a.seen.Requests > 0 && a.seen.Unread == 0 && t.CostUSD == nil {
		t.Usage = total(a.seen)
		if a.seen.Priced {
			t.CostUSD = &a.seen.USD
		}
	}
	if q := quotaSaid(a.transcript, e.o.Now()); !q.IsZero() {
		t.Quota = &q
	}
	if t.Class == harness.RateLimit || t.Class == harness.UsageLimit {
		t.Lifts = lifts(a, e.o.Now())
	}
	if t.Class.Fate() == harness.FateHalt {
		return // what ended it already says more
	}
	if why := e.asked.changed(t.Spec.Slot.Cell.Tier, a.seen.Fingerprint); why != "" && t.Class == harness.Valid {
		t.Class, t.Why = harness.VersionDrift, "the agent asks the model otherwise than earlier in this campaign: "+why
	}
	// A session that another model answered is void by the ladder as well, but
	// running it again would end no better.
	if own := t.Class == harness.Valid; own || t.Class == harness.WrongModel {
		if why := e.asked.moved(t.Spec.Slot.Cell.Tier, t.Served, own); why != "" {
			t.Class, t.Why = harness.VersionDrift, "another model answers than earlier in this campaign: "+why
		}
	}
	if a.seen.Spent != "" {
		t.Class, t.Why = harness.Budget, a.seen.Spent
	}
}

// total is the tokens of every model in a session.
func total(seen gateway.Report) harness.Usage {
	var sum harness.Usage
	for _, u := range seen.Usage {
		sum = sum.Add(u)
	}
	return sum
}

// uncounted says whether the service answered and said of no answer how many
// tokens it took.
func uncounted(seen gateway.Report) bool {
	return len(seen.MessageIDs) > 0 && seen.Unread == 0 && total(seen) == (harness.Usage{})
}

// lifts says when the limit that ended a session is over: by the headers of the
// refusal, else by what the CLI passed on of them, and by its words only where
// neither says anything. It is zero where nobody said.
func lifts(a attempt, now time.Time) time.Time {
	if at, ok := gateway.Lifts(a.seen.Limited, now); ok {
		return at
	}
	for _, l := range slices.Backward(a.transcript.Limits) {
		if at := reset(l.Resets, now); l.Status == "rejected" && !at.IsZero() {
			return at
		}
	}
	r, _ := a.transcript.Last()
	for _, text := range []string{r.Text, a.transcript.NoiseText} {
		if at, ok := gateway.ParseReset(text, now); ok {
			return at
		}
	}
	return time.Time{}
}

// quotaSaid is what the stream last said of the account's allowances, the zero
// quota for nothing. Where the gateway saw the headers themselves, those count.
func quotaSaid(tr *transcript.Transcript, now time.Time) harness.Quota {
	var q harness.Quota
	for _, l := range tr.Limits {
		for _, w := range l.Windows {
			a := harness.Allowance{Used: w.Used, Resets: reset(w.Resets, now)}
			switch {
			case w.Used < 0:
				continue
			case w.Name == "five_hour":
				q.FiveHour = a
			case w.Name == "seven_day":
				q.SevenDay = a
			default:
				continue
			}
			q.At = now.UTC().Truncate(time.Second)
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
