package web

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"loopd/loop"
)

// metrics is what a machine that watches wants to know, for Prometheus. No name of
// a candidate is a label: there is no end to them.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	reg := prometheus.NewRegistry()
	gauge := func(name, help string, value float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "loopd", Name: name, Help: help})
		g.Set(value)
		reg.MustRegister(g)
	}
	live := s.liveNow(r.Context())
	gauge("running", "1 while a loopd runs or serves here.", truth(live != nil))
	err := s.store.with(r.Context(), func(v view) error {
		gauge("campaigns", "Campaigns in the ledger.", float64(len(v.s.states)))
		gauge("ledger_events", "Events in the ledger.", float64(v.s.seq))
		if at, ok := v.campaign(""); ok {
			measured(reg, gauge, v.state(at))
		}
		return nil
	})
	if err != nil {
		http.Error(w, "the ledger cannot be read", http.StatusServiceUnavailable)
		return
	}
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// measured are the numbers of the newest campaign.
func measured(reg *prometheus.Registry, gauge func(name, help string, value float64), st *loop.State) {
	gauge("sessions_used", "Sessions of the newest campaign, all attempts.", float64(st.Sessions()))
	gauge("sessions_budget", "Budget of the newest campaign, in sessions.", float64(st.Budget()))
	gauge("halted", "1 while the newest campaign is halted.", truth(st.Halted != nil && st.Ended == nil))
	gauge("paused", "1 while the newest campaign is paused.", truth(st.Paused != nil && st.Ended == nil))
	gauge("kept", "Candidates kept by the newest campaign.", float64(len(st.Kept)))
	gauge("last_event_timestamp_seconds", "When its last event was recorded.", float64(st.ChangedAt.Unix()))
	usd := 0.0
	trials := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "loopd", Name: "trials", Help: "Trials of the newest campaign by class."}, []string{"class"})
	reg.MustRegister(trials)
	for _, t := range st.Trials {
		trials.WithLabelValues(string(t.Class)).Inc()
		if t.CostUSD != nil {
			usd += *t.CostUSD
		}
	}
	gauge("list_price_usd", "List price of its sessions, as far as reported.", usd)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
