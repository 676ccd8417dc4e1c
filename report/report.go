// Package report turns the state of a campaign into what people and programs
// read: one report for the campaign, one per candidate, comparisons of two
// reports, results.tsv and loop-results.tsv, as JSON and Markdown.
//
// It decides nothing and reads nothing: every function takes a state and
// returns values or bytes, so that a projection which was deleted is rebuilt to
// the same bytes. Task text cannot appear, for no type here can hold it. Rates
// are always k/n with an interval, never a bare percentage.
package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// The names by which the documents of this package say what shape they have. A
// change of shape takes the next number.
const (
	CampaignSchema  = "loopd:campaign/1"
	CandidateSchema = "loopd:candidate/1"
	DigestSchema    = "loopd:digest/1"
	DiffSchema      = "loopd:diff/1"
	EvalSchema      = "loopd:eval/1"
	EvalDiffSchema  = "loopd:eval-diff/1"
)

// Campaign is the report of a campaign.
type Campaign struct {
	Schema    string       `json:"schema"` // CampaignSchema
	Harness   harness.Kind `json:"harness"`
	ID        string       `json:"campaign"`
	Plugin    string       `json:"plugin"`
	Simulated bool         `json:"simulated"`
	Agent     string       `json:"agent"`
	Phase     loop.Phase   `json:"phase"`
	Outcome   loop.Outcome `json:"outcome,omitempty"`
	Why       string       `json:"why,omitempty"`
	Headline  string       `json:"headline"`
	Promise   string       `json:"promise"`
	// Record counts the campaigns on this suite so far; empty for the first.
	Record     string       `json:"record,omitempty"`
	Profile    loop.Profile `json:"profile"`
	GateE      *float64     `json:"gate_e"`
	Instrument string       `json:"instrument"`
	// Parts are the digests the instrument is made of, by name.
	Parts      map[string]string `json:"parts,omitempty"`
	Seal       string            `json:"seal"`
	Start      string            `json:"start"`
	Champion   string            `json:"champion"`
	Kept       []string          `json:"kept"`
	StartedAt  time.Time         `json:"started_at"`
	ChangedAt  time.Time         `json:"changed_at"`
	Sessions   int               `json:"sessions"`
	Unreached  int               `json:"unreached,omitempty"` // sessions not charged: they never reached the service
	Budget     int               `json:"budget"`
	Cost       Cost              `json:"cost"`
	Cells      []Cell            `json:"cells"`             // every valid rep of start and champion
	Gate       *Gate             `json:"gate"`              // nil when no gate was run
	Transfer   []Cell            `json:"transfer"`          // start and champion on the reserve scenarios; decides nothing
	Windows    *Windows          `json:"windows,omitempty"` // nil while there is one
	AA         *stats.AA         `json:"aa"`                // nil before the end of the pilot
	Guards     []Rate            `json:"guards"`
	Controls   []Rate            `json:"controls"` // beside the metric, never in it
	Guarded    []Guarded         `json:"guard_tiers"`
	Contrasts  []Contrast        `json:"contrasts"`  // of the champion
	Impossible []Impossible      `json:"impossible"` // under any wording
	Funnel     []Funnel          `json:"funnel"`     // of start and champion
	// NotRun are scenarios outside the metric because they cannot be run here.
	NotRun     []harness.Unrun `json:"not_run"`
	Candidates []Summary       `json:"candidates"`
	Invalid    []Invalid       `json:"invalid"`
	Warnings   []string        `json:"warnings"`
	Drift      []Drifted       `json:"drift,omitempty"`
	Rescored   *Rescored       `json:"rescored,omitempty"` // nil unless a rescore was accepted
	Vetoed     string          `json:"vetoed,omitempty"`   // why a person does not want it
	Adopted    []loop.Adopted  `json:"adopted,omitempty"`  // branches made of its wording since
	// Judge is nil where no scenario asks one.
	Judge *Judged `json:"judge,omitempty"`
	// Proposals is nil where nobody was asked.
	Proposals *Asked `json:"proposals,omitempty"`
	// Isolation is what the sessions ran within, none where they were not shut
	// in; empty before the first.
	Isolation string `json:"isolation,omitempty"`
}

// Drifted is a path of the seal that changed, with what was sealed and what is
// there now.
type Drifted struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Cost is list price and tokens, and how many sessions reported none.
type Cost struct {
	// PaidWith is the kind of credential: with a subscription the list price is
	// not billed. It is empty where nothing is known of it.
	PaidWith    string  `json:"paid_with,omitempty"`
	USD         float64 `json:"usd"`
	Unreported  int     `json:"unreported"`
	InputTokens int     `json:"input_tokens"`
	OutputToken int     `json:"output_tokens"`
	// CostEquivalent is as harness.Usage.Equivalent weighs them.
	CostEquivalent float64 `json:"cost_equivalent_tokens"`
	Seconds        float64 `json:"seconds"`
}

// Rate is k/n with its 95 % Wilson interval.
type Rate struct {
	Name string         `json:"name"`
	K    int            `json:"k"`
	N    int            `json:"n"`
	CI   stats.Interval `json:"ci95"`
	// Mean is k/n, nil for no rep. It is never rounded to a majority.
	Mean *float64 `json:"mean"`
}

// Cell compares the two arms in one objective cell.
type Cell struct {
	Name      string `json:"cell"`
	Champion  Rate   `json:"champion"`
	Candidate Rate   `json:"candidate"`
	Target    bool   `json:"target"`
}

// Summary is one line about a candidate.
type Summary struct {
	ID        string       `json:"id"`
	Source    string       `json:"source"`
	Rationale string       `json:"rationale,omitempty"`
	Verdict   loop.Verdict `json:"verdict,omitempty"`
	Reason    loop.Reason  `json:"reason,omitempty"`
	Sessions  int          `json:"sessions"`
	EValue    *float64     `json:"e_value"`
	// ConcurrentE is of the stage with both arms fresh, nil without one.
	ConcurrentE *float64 `json:"concurrent_e,omitempty"`
	Ref         string   `json:"ref,omitempty"`
	// Withdrawn: by an accepted rescore the keep no longer holds.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Invalid counts trials of one class under one wording.
type Invalid struct {
	Wording string        `json:"wording"` // start or a candidate id
	Class   harness.Class `json:"class"`
	Count   int           `json:"count"`
	Of      int           `json:"of"` // all attempts under that wording
}

// Build makes the campaign report from the state. before are the campaigns run
// on the same suite earlier.
func Build(s *loop.State, before ...*loop.State) Campaign {
	c := Campaign{
		Schema: CampaignSchema, Harness: harness.Unprompted, ID: s.Started.Campaign, Plugin: s.Started.Plugin,
		Simulated: s.Started.Simulated, Agent: s.Started.Agent, Phase: s.Phase, Instrument: s.Started.Instrument,
		Seal: string(s.Started.Seal), Start: s.Started.Start, Champion: s.Champion, Kept: slices.Clone(s.Kept),
		StartedAt: s.StartedAt, ChangedAt: s.ChangedAt, Sessions: s.Sessions(), Unreached: s.Unreached(), Budget: s.Budget(),
		Cost: costOf(s, func(*loop.Run) bool { return true }), Invalid: invalidOf(s), Warnings: warningsOf(s), Promise: promise(s),
		Record: record(s, before), Profile: s.Started.Settings.Profile, AA: s.AA, Gate: gateOf(s), Windows: windowsOf(s), Transfer: transferOf(s),
		Rescored: rescoredOf(s), Isolation: isolationOf(s), Proposals: askedOf(s),
	}
	c.Cells, c.Guards, c.Controls = campaignCells(s)
	arms := armsOf(s)
	c.Parts, c.Funnel, c.Guarded = s.Started.Parts, funnelsOf(s, s.Trials, arms), guardedOf(s, s.Trials, arms)
	c.Contrasts, c.Impossible = contrastsOf(s, s.Trials, arms[1]), impossibleOf(s)
	c.Judge = judgedOf(s, arm{"start", s.Started.Start}, arm{"champion", s.Champion})
	c.NotRun = append([]harness.Unrun{}, s.Started.NotRun...)
	for _, p := range s.Progress {
		c.Candidates = append(c.Candidates, summary(s, p))
	}
	if s.Ended != nil {
		c.Outcome, c.Why, c.GateE = s.Ended.Outcome, s.Ended.Why, s.Ended.EValue
	}
	if s.Vetoed != nil {
		c.Vetoed = s.Vetoed.Reason
	}
	for _, a := range s.Adopted {
		if a.Campaign == c.ID {
			c.Adopted = append(c.Adopted, a)
		}
	}
	if s.Halted != nil {
		for _, d := range s.Halted.Deltas {
			c.Drift = append(c.Drift, Drifted{Path: d.Path, Kind: string(d.Kind), Old: d.Old, New: d.New})
		}
	}
	c.Headline = Headline(s)
	return c
}

func summary(s *loop.State, p *loop.Progress) Summary {
	out := Summary{ID: p.Candidate.ID, Source: string(p.Candidate.Source), Rationale: rationale(p), Ref: p.Ref, Withdrawn: s.Withdrawn(p.Candidate.ID)}
	if p.Comparison != nil {
		out.Sessions = p.Comparison.Sessions
	}
	if d := p.Decided; d != nil {
		out.Verdict, out.Reason, out.Sessions, out.EValue = d.Verdict, d.Reason, d.Sessions, d.EValue
		out.ConcurrentE = d.ConcurrentE
	}
	return out
}

// rationale is what the author gave as the reason, withheld where the lint found
// held-out text in the candidate: it may be in the reason too.
func rationale(p *loop.Progress) string {
	if p.Decided == nil {
		return p.Candidate.Rationale
	}
	for _, f := range p.Decided.Findings {
		if f.Class == candidates.Echo {
			return "[withheld: the candidate repeats held-out text]"
		}
	}
	return p.Candidate.Rationale
}

// costOf sums up the trials picked.
func costOf(s *loop.State, pick func(t *loop.Run) bool) Cost {
	c := Cost{PaidWith: s.Started.Parts[loop.CredentialPart]}
	for i := range s.Trials {
		t := &s.Trials[i]
		if !pick(t) {
			continue
		}
		if t.CostUSD == nil {
			c.Unreported++
		} else {
			c.USD += *t.CostUSD
		}
		c.InputTokens += t.Usage.Input + t.Usage.CacheRead + t.Usage.CacheWrite
		c.OutputToken += t.Usage.Output
		c.CostEquivalent += t.Usage.Equivalent()
		c.Seconds += t.Seconds
	}
	c.USD, c.CostEquivalent = math.Round(c.USD*1e6)/1e6, math.Round(c.CostEquivalent*100)/100
	c.Seconds = math.Round(c.Seconds*1e3) / 1e3
	return c
}

// invalidOf lists what was invalid, by wording and class, in queue order.
func invalidOf(s *loop.State) []Invalid {
	type key struct {
		wording string
		class   harness.Class
	}
	counts, all := make(map[key]int), make(map[string]int)
	for _, t := range s.Trials {
		name := s.CandidateOf(t.Spec.Slot.Wording)
		all[name]++
		if t.Class != harness.Valid {
			counts[key{name, t.Class}]++
		}
	}
	out := []Invalid{}
	for _, name := range append([]string{loop.SubjectStart}, ids(s)...) {
		for _, class := range harness.Classes() {
			if n := counts[key{name, class}]; n > 0 {
				out = append(out, Invalid{Wording: name, Class: class, Count: n, Of: all[name]})
			}
		}
	}
	return out
}

// unequalInvalid is the difference in invalid shares, in points of 1, that is
// worth a warning even where no test speaks.
const unequalInvalid = 0.02

// noIsolation is the isolation of a session that was not shut in.
const noIsolation = "none"

// isolationOf names what the sessions ran within, in the order it was first
// seen.
func isolationOf(s *loop.State) string {
	var seen []string
	for _, t := range s.Trials {
		if t.Isolation != "" && !slices.Contains(seen, t.Isolation) {
			seen = append(seen, t.Isolation)
		}
	}
	return strings.Join(seen, ", ")
}

func warningsOf(s *loop.State) []string {
	out := []string{}
	open := 0
	for _, t := range s.Trials {
		if t.Isolation == noIsolation {
			open++
		}
	}
	if open > 0 {
		out = append(out, fmt.Sprintf("%d of %d sessions were not isolated from the machine: they could read what their user can, and reach the network", open, len(s.Trials)))
	}
	if line := unequalArms(s); line != "" {
		out = append(out, line)
	}
	if line := untestedJudge(s); line != "" {
		out = append(out, line)
	}
	if s.Alarmed {
		out = append(out, "the sentinels found the model changed in the middle of the campaign: from then on the champion was measured fresh for each candidate")
	}
	out = append(out, needlessPairs(s)...)
	if s.Started.Simulated {
		out = append(out, "simulated: the model behind these numbers is a program")
	}
	return out
}

// unequalArms names the candidates whose share of invalid sessions differs from
// the start's by more than a little. What came of a limit or of the account is
// left out, as it is from the test that may block a verdict.
func unequalArms(s *loop.State) string {
	all, invalid := make(map[string]int), make(map[string]int)
	for _, t := range s.Trials {
		if loop.FromOutside(t.Class) {
			continue
		}
		name := s.CandidateOf(t.Spec.Slot.Wording)
		all[name]++
		if t.Class != harness.Valid {
			invalid[name]++
		}
	}
	share := func(name string) float64 { return float64(invalid[name]) / float64(max(all[name], 1)) }
	var differ []string
	for _, id := range ids(s) {
		if all[id] > 0 && math.Abs(share(id)-share(loop.SubjectStart)) > unequalInvalid {
			differ = append(differ, fmt.Sprintf("%s %d/%d", id, invalid[id], all[id]))
		}
	}
	if len(differ) == 0 {
		return ""
	}
	return fmt.Sprintf("invalid sessions are more than 2 points apart, which may be chance: start %d/%d, but %s", invalid[loop.SubjectStart], all[loop.SubjectStart], names(differ))
}

// rate makes a Rate from a count.
func rate(name string, c stats.Count) Rate {
	r := Rate{Name: name, K: c.Pass, N: c.N, CI: stats.Wilson(c, level)}
	if mean, ok := c.Rate(); ok {
		r.Mean = &mean
	}
	return r
}

// countsOf counts the valid trials by wording and cell. The second label of the
// A/A pilot is the start.
func countsOf(s *loop.State) func(wording string, c harness.Cell) stats.Count {
	counts := make(map[string]stats.Count)
	for _, t := range s.Trials {
		if t.Class != harness.Valid {
			continue
		}
		key := s.CandidateOf(t.Spec.Slot.Wording) + " " + t.Spec.Slot.Cell.String()
		n := stats.Count{N: 1}
		if t.Passed() {
			n.Pass = 1
		}
		counts[key] = counts[key].Add(n)
	}
	return func(wording string, c harness.Cell) stats.Count { return counts[s.CandidateOf(wording)+" "+c.String()] }
}

// campaignCells lists what is known of start and champion in each cell, all
// valid reps of the campaign pooled by wording.
func campaignCells(s *loop.State) (cells []Cell, guards, controls []Rate) {
	of := countsOf(s)
	for _, c := range s.Started.Objective {
		cells = append(cells, Cell{
			Name: c.String(), Champion: rate("start", of(s.Started.Start, c)), Candidate: rate("champion", of(s.Champion, c)), Target: true,
		})
	}
	controls = []Rate{}
	for _, c := range s.Started.Guards {
		guards = append(guards, rate(c.String(), of(s.Champion, c)))
	}
	for _, c := range s.Started.Controls {
		controls = append(controls, rate(c.String(), of(s.Champion, c)))
	}
	return cells, guards, controls
}
