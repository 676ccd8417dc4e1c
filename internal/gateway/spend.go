package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"loopd/harness"
)

// SpendLimit is an amount of money that sessions may spend together: one for a trial,
// one for a candidate, one for a campaign. It is safe for concurrent use. What
// sessions under way have not been charged for yet is not held back, so a limit
// can be overdrawn by the requests that were in flight when it ran empty.
type SpendLimit struct {
	name  string
	limit float64

	mu    sync.Mutex
	spent float64
}

// NewSpendLimit is a limit in US dollars, of which some may be spent
// already. The name says in a refusal whose it is.
func NewSpendLimit(name string, limit, spent float64) *SpendLimit {
	return &SpendLimit{name: name, limit: limit, spent: spent}
}

// Spent is what was taken out so far, in US dollars.
func (p *SpendLimit) Spent() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// Reached reports whether nothing is left.
func (p *SpendLimit) Reached() bool { return p.Spent() >= p.limit }

func (p *SpendLimit) add(usd float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += usd
}

// overBudget is why a request that costs money is not passed on, empty when it is.
func (p *Proxy) overBudget(r *http.Request) string {
	if !isMessages(r) {
		return ""
	}
	for _, l := range p.session.Limits {
		if l.Reached() {
			why := fmt.Sprintf("the spending limit of the %s is reached", l.name)
			p.record(func(r *Report) { r.Spent = why })
			return why
		}
	}
	return ""
}

// counts adds to a model's tokens what a message was counted at since it was
// last counted, and charges it.
func (p *Proxy) counts(model string, was, now harness.Usage) {
	more := harness.Usage{
		Input: now.Input - was.Input, Output: now.Output - was.Output,
		CacheRead: now.CacheRead - was.CacheRead, CacheWrite: now.CacheWrite - was.CacheWrite,
	}
	price, priced := priceOf(p.session.Prices, model)
	usd := price.USD(more)
	p.record(func(r *Report) {
		r.Usage[model] = r.Usage[model].Add(more)
		r.USD += usd
		r.Priced = r.Priced && priced
	})
	for _, l := range p.session.Limits {
		l.add(usd)
	}
}

// priceOf finds a model's price by its id, or by the longest id that its own
// begins with: an API may answer with a dated form of the name it was asked by.
func priceOf(prices map[string]harness.Price, model string) (price harness.Price, ok bool) {
	longest := -1
	for id, p := range prices {
		if rest, fits := strings.CutPrefix(model, id); fits && (rest == "" || rest[0] == '-') && len(id) > longest {
			price, ok, longest = p, true, len(id)
		}
	}
	return price, ok
}
