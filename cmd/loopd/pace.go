package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/config"
	"loopd/internal/gateway"
	"loopd/internal/hint"
	"loopd/loop"
)

// governorOf keeps a night's sessions within the limits of the account. What was
// known before a restart is known again, unless a person says to ask anew: then
// one session goes ahead and finds out.
func governorOf(cfg config.Config, parallel int, states []*loop.State, anew bool) *admission.Governor {
	o := admission.Options{
		Parallel: parallel, Leave: admission.Leave{FiveHour: float64(cfg.LeaveFiveHour), SevenDay: float64(cfg.LeaveSevenDay)},
	}
	if anew {
		o.Probe = true
		return admission.New(o)
	}
	o.Quota = lastQuota(states)
	if n := len(states); n > 0 {
		o.Probe = states[n-1].Paused != nil && states[n-1].Paused.Lifts()
	}
	return admission.New(o)
}

// lastQuota is what the API said last of the account's allowances.
func lastQuota(states []*loop.State) harness.Quota {
	for i := len(states) - 1; i >= 0; i-- {
		for j := len(states[i].Trials) - 1; j >= 0; j-- {
			if q := states[i].Trials[j].Quota; q != nil {
				return *q
			}
		}
	}
	return harness.Quota{}
}

// askedOf is how the agent asked the model on each tier in the campaign so far.
func askedOf(s *loop.State) map[string]harness.Fingerprint {
	out := make(map[string]harness.Fingerprint)
	for _, t := range s.Trials {
		tier := t.Spec.Slot.Cell.Tier
		if _, known := out[tier]; !known && t.Class == harness.Valid && t.Fingerprint != nil {
			out[tier] = *t.Fingerprint
		}
	}
	return out
}

// servedOf are the models that answered on each tier in the campaign so far.
func servedOf(s *loop.State) map[string]harness.Served {
	out := make(map[string]harness.Served)
	for _, t := range s.Trials {
		if t.Class == harness.Valid && len(t.Served) > 0 {
			tier := t.Spec.Slot.Cell.Tier
			out[tier] = out[tier].With(t.Served)
		}
	}
	return out
}

// purses are the limits of spending of one campaign.
type purses struct {
	cfg      config.Config
	state    *loop.State
	campaign *gateway.SpendLimit // nil for no limit

	mu         sync.Mutex
	candidates map[string]*gateway.SpendLimit // by wording
}

// priced says why a limit of spending could not hold: it counts tokens, and needs
// the price of every model.
func priced(cfg config.Config, s harness.Suite) error {
	if cfg.SpendSession == 0 && cfg.SpendCandidate == 0 && cfg.SpendCampaign == 0 {
		return nil
	}
	for _, t := range s.Launch.Tiers {
		if t.Price == nil {
			return hint.Usagef("loopd config", "start campaign: the settings limit spending, and launch.yaml gives the tier %s no price", t.Name)
		}
	}
	return nil
}

func pursesOf(cfg config.Config, state *loop.State) *purses {
	p := &purses{cfg: cfg, state: state, candidates: make(map[string]*gateway.SpendLimit)}
	if cfg.SpendCampaign > 0 {
		p.campaign = gateway.NewSpendLimit("campaign", cfg.SpendCampaign, state.Spent())
	}
	return p
}

// of lists what pays for one session.
func (p *purses) of(spec harness.Spec) []*gateway.SpendLimit {
	var out []*gateway.SpendLimit
	if p.cfg.SpendSession > 0 {
		out = append(out, gateway.NewSpendLimit("session", p.cfg.SpendSession, 0))
	}
	if wording := spec.Slot.Wording; p.cfg.SpendCandidate > 0 && wording != p.state.Started.Start {
		p.mu.Lock()
		if p.candidates[wording] == nil {
			p.candidates[wording] = gateway.NewSpendLimit("candidate", p.cfg.SpendCandidate, 0)
		}
		out = append(out, p.candidates[wording])
		p.mu.Unlock()
	}
	if p.campaign != nil {
		out = append(out, p.campaign)
	}
	return out
}

// within starts no session once the campaign's purse is empty.
func (p *purses) within(e loop.Executor) loop.Executor { return paying{p, e} }

type paying struct {
	p *purses
	e loop.Executor
}

// Run runs the session while there is money for it.
func (e paying) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	if err := e.p.may(); err != nil {
		return harness.Trial{}, err
	}
	return e.e.Run(ctx, spec)
}

// may says that the campaign's purse is empty, as a *loop.HoldError.
func (p *purses) may() error {
	if c := p.campaign; c == nil || !c.Reached() {
		return nil
	}
	return &loop.HoldError{Paused: loop.Paused{Reason: fmt.Sprintf("spending: the campaign's limit of %g USD is reached", p.cfg.SpendCampaign)}}
}

// sayPaused says what is waited for.
func (n *night) sayPaused(ctx context.Context, e env, s *loop.State, until time.Time) {
	if p := s.Paused; p.Battery {
		fmt.Fprintf(e.stderr, "loopd: paused: %s; going on when the mains are back\n", p.Reason)
		return
	}
	if s.Paused.Class == harness.Disk {
		fmt.Fprintf(e.stderr, "loopd: paused: %s; going on when there is room\n", s.Paused.Reason)
		return
	}
	if end := n.allowed.Deadline; !end.IsZero() && until.After(end) {
		now := time.Now()
		fmt.Fprintf(e.stderr, "loopd: the limit lifts at %s, after the time given is over at %s\n", timeText(now, until), timeText(now, end))
		return
	}
	reason, class := pauseReason(s)
	fmt.Fprintf(e.stderr, "loopd: paused: %s%s; going on at %s\n", reason, whyFailed(ctx, e, class), timeText(time.Now(), until))
	if !n.o.serving {
		fmt.Fprintln(e.stderr, "loopd: --no-wait stops instead")
	}
}

// timeText writes a moment as people at this machine say it, with the day where
// it is not that of now.
func timeText(now, t time.Time) string {
	now, t = now.Local(), t.Local()
	if now.YearDay() == t.YearDay() && now.Year() == t.Year() {
		return t.Format("15:04")
	}
	return t.Format("Mon 15:04")
}

// quotaLine is how much of a subscription is used, empty where nobody said.
func quotaLine(q harness.Quota) string {
	if q.IsZero() {
		return ""
	}
	line := fmt.Sprintf("5h %.0f %%", 100*q.FiveHour.Used)
	if !q.FiveHour.Resets.IsZero() {
		line += ", resets " + timeText(time.Now(), q.FiveHour.Resets)
	}
	line += fmt.Sprintf("; 7d %.0f %%", 100*q.SevenDay.Used)
	if q.SevenDay.Used >= .5 && !q.SevenDay.Resets.IsZero() {
		line += ", resets " + timeText(time.Now(), q.SevenDay.Resets)
	}
	return line
}
