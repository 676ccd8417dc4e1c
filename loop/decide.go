package loop

import (
	"fmt"
	"math"

	"loopd/harness"
	"loopd/stats"
)

// Decision is what a completed round leads to: more bets, guard reps, or a
// verdict.
type Decision struct {
	Verdict Verdict // empty while undecided
	Reason  Reason
	Note    string
	Guards  []harness.Slot // reps the guards ask for before a keep
}

// Decide looks at a comparison after a completed round, in the fixed order:
// delivery, evidence, guards, futility, limits. It never looks before the
// first round, and keeps nothing that rests on lopsided rounds.
func Decide(s *State, c *Comparison) Decision {
	d := decide(s, c)
	if d.Verdict == Keep || d.Verdict == Shortlisted {
		if why := lopsided(s, c); why != "" {
			return Decision{Verdict: Inconclusive, Reason: ByInvalidRate, Note: why}
		}
	}
	return d
}

func decide(s *State, c *Comparison) Decision {
	if undelivered(s, c) {
		return Decision{Verdict: Broken, Reason: ByDelivery}
	}
	if c.Subject != SubjectGate && s.round() == nil && s.triesOf(c.Wording).tooOften() {
		// As champion it would halt the campaign.
		return Decision{Verdict: Broken, Reason: ByDelivery}
	}
	if c.Rounds > 0 && unequalInvalid(s, c) {
		return Decision{Verdict: Broken, Reason: ByInvalidRate}
	}
	if overspent(s, c) {
		return tooDear(s)
	}
	if s.Started.Settings.Profile == Scout {
		return screened(s, c)
	}
	switch c.stage().Look() {
	case stats.LookEligible:
		return guard(s, c)
	case stats.LookHarm:
		return Decision{Verdict: Reject, Reason: ByHarm}
	case stats.LookFutile:
		return Decision{Verdict: Reject, Reason: ByFutility}
	case stats.LookSpent:
		return Decision{Verdict: Inconclusive, Reason: ByLimit}
	}
	return Decision{}
}

// stage is the comparison in counts.
func (c *Comparison) stage() stats.Stage {
	cells := c.cells()
	return stats.Stage{
		Cells: cells, Extra: c.Extra, LogE: c.LogE, Rounds: c.Rounds, Sessions: c.Sessions - c.Began, Assessment: c.Assessment,
		Rules: stats.NewRules(c.KeepAt, c.Share, cells), Concurrent: c.Concurrent,
	}
}

// keepAt is the evidence the next candidate needs for a keep.
func (s *State) keepAt() float64 {
	tried := 1
	for _, p := range s.Progress {
		if p.Comparison != nil {
			tried++
		}
	}
	return s.Started.Settings.Search().NextKeepAt(tried, len(s.Kept))
}

// keepable reports whether the next candidate could be kept at all.
func (s *State) keepable() bool { return !math.IsInf(s.keepAt(), 1) }

// screened shortlists a candidate whose one rep a cell passes more often than
// the champion's record, if the guards let it.
func screened(s *State, c *Comparison) Decision {
	if c.Rounds == 0 {
		return Decision{}
	}
	rise, ok := c.stage().Rise()
	if !ok {
		return Decision{Verdict: Inconclusive, Reason: ByNothing}
	}
	if rise <= 0 {
		return Decision{Verdict: Reject, Reason: ByFutility}
	}
	d := guard(s, c)
	if d.Verdict == Keep {
		d.Verdict = Shortlisted
	}
	return d
}

// Numbers of the rule that a candidate broke the delivery of its own plugin.
const (
	brokenEarly   = 3  // undelivered among the first attempts
	invalidAtMost = 20 // attempts before the champion's own deliveries are judged
)

// undelivered reports whether the candidate's plugin or hook keeps failing to
// arrive. It is asked within a round too: there is nothing to wait for.
func undelivered(s *State, c *Comparison) bool {
	return c.Subject != SubjectGate && s.triesOf(c.Wording).undeliveredEarly >= brokenEarly
}

// overspent reports whether the sessions of the candidate's own wording have cost
// what one candidate may.
func overspent(s *State, c *Comparison) bool {
	limit := s.Started.Settings.SpendCandidate
	return limit > 0 && c.Subject != SubjectGate && s.SpentOn(c.Wording) >= limit
}

func tooDear(s *State) Decision {
	return Decision{
		Verdict: Inconclusive, Reason: ByLimit, Note: fmt.Sprintf("its sessions cost the %g USD that one candidate may", s.Started.Settings.SpendCandidate),
	}
}

// SpentOn is what the sessions under a wording cost, in USD at list price.
func (s *State) SpentOn(wording string) float64 {
	usd := 0.0
	for _, t := range s.Trials {
		if t.Spec.Slot.Wording == wording && t.CostUSD != nil {
			usd += *t.CostUSD
		}
	}
	return usd
}

// Spent is what all sessions cost, in USD at list price.
func (s *State) Spent() float64 {
	usd := 0.0
	for _, t := range s.Trials {
		if t.CostUSD != nil {
			usd += *t.CostUSD
		}
	}
	return usd
}

// unequalInvalid reports whether the candidate's trials are invalid more often
// than the champion's. Only completed rounds are compared, so that the order in
// which sessions end does not matter.
func unequalInvalid(s *State, c *Comparison) bool {
	if c.Subject == SubjectGate {
		return false
	}
	own, base := s.triesOf(c.Wording), s.triesOf(c.Against)
	return stats.CompareInvalid(stats.Count{Pass: own.invalid, N: own.all}, stats.Count{Pass: base.invalid, N: base.all}).Worse
}

// lopsided says why the rounds of a comparison do not compare like with like:
// sessions of one arm came to nothing more often than the other's, as in an
// outage that hit one of them. It looks at these rounds alone, for an outage of
// another hour says nothing about them.
func lopsided(s *State, c *Comparison) string {
	var own, base stats.Count
	for _, t := range s.Trials {
		if t.Subject != c.Subject || !t.Purpose.compares() || FromOutside(t.Class) {
			continue
		}
		arm := &base
		if t.Spec.Slot.Wording == c.Wording {
			arm = &own
		}
		arm.N++
		if t.Class != harness.Valid {
			arm.Pass++
		}
	}
	if !stats.CompareInvalid(own, base).Unequal {
		return ""
	}
	return fmt.Sprintf("in its own rounds %d of %d sessions were invalid, of the other wording's %d of %d", own.Pass, own.N, base.Pass, base.N)
}

// tooOften reports whether more than one attempt in twenty was not delivered.
func (t *tries) tooOften() bool { return t.all >= invalidAtMost && t.undelivered*20 > t.all }

// instrumentBroken reports whether the champion itself fails to be delivered too
// often for anything to be measured with it.
func instrumentBroken(s *State) string {
	t := s.triesOf(s.Champion)
	// Within a round only what cannot change any more is looked at: where a crash
	// falls must not decide.
	dead := t.undeliveredEarly >= brokenEarly
	if !dead && (s.round() != nil || !t.tooOften()) {
		return ""
	}
	return fmt.Sprintf("the champion's plugin or hook did not arrive in %d of %d sessions", t.undelivered, t.all)
}

// guard runs only on a candidate that has the evidence for a keep. It asks for
// reps until every cell and every tier is clear, or one of them vetoes.
func guard(s *State, c *Comparison) Decision {
	taken := make(map[string]int)
	wanted, fall := c.stage().Guard(stats.HarmProb)
	if fall != nil {
		return s.fell(fall)
	}
	asks := s.guardSlots(c, wanted, taken)
	for _, tier := range s.tiers() {
		d := guardTier(s, c, tier, taken)
		if d.Verdict != "" {
			return d
		}
		asks = append(asks, d.Guards...)
	}
	if !c.Controlled {
		asks = append(asks, controlSlots(s, c, taken)...)
	}
	if len(asks) > 0 {
		return Decision{Guards: asks}
	}
	return Decision{Verdict: Keep}
}

// controlSlots are the reps of the controls before a keep. They veto nothing: a
// report shows them beside the cells they are read with, and a pass of the
// impossible one halts.
func controlSlots(s *State, c *Comparison, taken map[string]int) []harness.Slot {
	var out []harness.Slot
	for _, cell := range s.Started.Controls {
		out = append(out, s.nextSlots(c.Wording, cell, s.Started.Settings.ControlReps, taken)...)
	}
	return out
}

// fell is the veto of a cell.
func (s *State) fell(f *stats.Fall) Decision {
	return Decision{Verdict: Reject, Reason: ByVeto, Note: fmt.Sprintf("%s fell: chance of a collapse %.2f", s.Started.Objective[f.Cell], f.Chance)}
}

// guardSlots are the reps that guards ask for, by objective cell.
func (s *State) guardSlots(c *Comparison, asks []stats.Ask, taken map[string]int) []harness.Slot {
	var out []harness.Slot
	for i, a := range asks {
		cell := s.Started.Objective[i]
		out = append(out, s.nextSlots(c.Wording, cell, a.Cand, taken)...)
		out = append(out, s.nextSlots(c.Against, cell, a.Base, taken)...)
	}
	return out
}

// guardTier looks at all guard scenarios of a tier as one pooled cell.
func guardTier(s *State, c *Comparison, tier string, taken map[string]int) Decision {
	var own, base stats.Count
	var cells []harness.Cell
	for i, cell := range s.Started.Guards {
		if cell.Tier != tier {
			continue
		}
		cells = append(cells, cell)
		own = own.Add(stats.Tally(c.GuardOwn[i]))
		base = base.Add(stats.Tally(c.GuardBase[i]))
	}
	if len(cells) == 0 {
		return Decision{}
	}
	asked := c.Detours[tier]
	if asked == 0 {
		var first []harness.Slot
		for _, cell := range cells {
			first = append(first, s.nextSlots(c.Wording, cell, 1, taken)...)
		}
		return Decision{Guards: first}
	}
	next := cells[asked%len(cells)]
	switch action, chance := stats.OverTriggerGuard().Step(own, base, asked-len(cells)); action {
	case stats.GuardVeto:
		return Decision{Verdict: Reject, Reason: ByVeto, Note: fmt.Sprintf("%s detours where no record matters: chance of a rise %.2f", tier, chance)}
	case stats.GuardAsk:
		return Decision{Guards: s.nextSlots(c.Wording, next, 1, taken)}
	case stats.GuardAskBoth:
		return Decision{Guards: append(s.nextSlots(c.Wording, next, 1, taken), s.nextSlots(c.Against, next, 1, taken)...)}
	}
	return Decision{}
}

// tiers lists the tiers of the guard cells in order of first appearance.
func (s *State) tiers() []string {
	var out []string
	seen := make(map[string]bool)
	for _, c := range s.Started.Guards {
		if !seen[c.Tier] {
			seen[c.Tier] = true
			out = append(out, c.Tier)
		}
	}
	return out
}

// eValue is the evidence as a number to report, nil when nothing was bet.
func (c *Comparison) eValue() *float64 {
	if len(c.Path) == 0 {
		return nil
	}
	e := c.E()
	return &e
}

// concurrentE is the evidence of the stage with both arms fresh, nil without.
func (c *Comparison) concurrentE() *float64 {
	if !c.Concurrent {
		return nil
	}
	e := finite(c.LogE)
	return &e
}
