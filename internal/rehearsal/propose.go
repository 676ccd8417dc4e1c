package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/loop"
	"loopd/scenarios"
)

// ProposerKind says who fills the queue of a rehearsal.
type ProposerKind string

// The proposers of a rehearsal.
const (
	NoProposer      ProposerKind = ""
	BuiltinProposer ProposerKind = "builtin"
	// AgentProposer is the agent CLI without tools; the simulated model answers it
	// by a script of leaks and clean edits.
	AgentProposer ProposerKind = "agent"
)

// Proposers lists them.
func Proposers() []ProposerKind { return []ProposerKind{BuiltinProposer, AgentProposer} }

// DefaultSessions is the budget in which a profile comes to the end of the queue.
func DefaultSessions(p loop.Profile) int {
	switch p {
	case loop.Scout:
		return 700
	case loop.Strict, loop.Certified:
		return 1500
	}
	return 1200
}

// NullSessions is the budget of a rehearsal in which nothing has an effect.
const NullSessions = 600

// most is how many candidates a proposer may bring in one rehearsal.
func (k ProposerKind) most() int {
	switch k {
	case BuiltinProposer:
		return 8
	case AgentProposer:
		return 48
	}
	return 0
}

// Proposals is what came of a proposer.
type Proposals struct {
	Asks          int `json:"asks"`
	InVain        int `json:"in_vain"` // asks that brought nothing
	Made          int `json:"made"`    // candidates
	Deletions     int `json:"deletions"`
	LeaksPlanted  int `json:"leaks_planted"`
	LeaksAccepted int `json:"leaks_accepted"` // those that got a session
	CleanPlanted  int `json:"clean_planted"`  // put to the lint, each on the start
	CleanRefused  int `json:"clean_refused"`
}

// null is the plan without candidates and effects.
func (p Plan) null() Plan {
	p.Candidates, p.Wording.Effects = nil, nil
	return p
}

// script is what the simulated model says to a proposer.
type script struct {
	leaks, clean []candidates.Candidate
}

// phrased is a phrase that goes behind the end of a place.
type phrased struct {
	Place  Place  `yaml:"place"`
	Phrase string `yaml:"phrase"`
}

// The words that the script's candidates are known by afterwards.
const (
	leakRationale  = "planted leak"
	cleanRationale = "planted clean edit"
)

// readScript reads what an agent is made to propose; nothing for any other.
func (r *run) readScript(p Planting) (script, error) {
	var s script
	if r.Options.Proposer != AgentProposer {
		return s, nil
	}
	name := r.sealed.Suite.Checker.Plugin + ".proposals.yaml"
	data, err := scenarios.Rehearsal(name)
	if err != nil {
		return s, fmt.Errorf("rehearse an agent that proposes: %w", err)
	}
	var doc struct{ Leaks, Clean []phrased }
	if err := yaml.UnmarshalWithOptions(data, &doc, yaml.Strict()); err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	if s.leaks, err = p.phrase(doc.Leaks, leakRationale); err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	if s.clean, err = p.phrase(doc.Clean, cleanRationale); err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	return s, nil
}

// phrase puts each phrase into the start's wording.
func (p Planting) phrase(list []phrased, why string) ([]candidates.Candidate, error) {
	var out []candidates.Candidate
	for i, f := range list {
		path, after, err := p.spot(f.Place)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", why, i+1, err)
		}
		out = append(out, candidates.Candidate{
			Source: candidates.Proposer, Rationale: fmt.Sprintf("%s %d", why, i+1), Edits: []candidates.Edit{{Path: path, Old: after, New: after + " " + f.Phrase}},
		})
	}
	return out, nil
}

// Of three answers two are all leaks and the third has a clean edit as well, so
// that the asks do not end before every leak was tried.
const (
	answersRound = 3
	leaksLast    = propose.MaxCandidates - 1
)

var _ fake.OneShot = script{}.answer

// answer plays the script to the ask that a brief is of. An ask for a deletion is
// answered alike: the lint refuses what does not get shorter as well.
func (s script) answer(system, prompt string) (string, bool) {
	var b propose.Brief
	if !strings.Contains(system, app.ProposerMark) || json.Unmarshal([]byte(strings.TrimSpace(prompt)), &b) != nil {
		return "", false
	}
	data, err := json.Marshal(map[string]any{"candidates": s.turn(b.N)})
	return string(data), err == nil
}

// turn is the n-th answer, from 1; none once every leak was brought.
func (s script) turn(n int) []map[string]any {
	rounds, last := (n-1)/answersRound, n%answersRound == 0
	from := rounds*(answersRound*propose.MaxCandidates-1) + (n-1)%answersRound*propose.MaxCandidates
	width := propose.MaxCandidates
	if last {
		width = leaksLast
	}
	list := s.leaks[min(from, len(s.leaks)):min(from+width, len(s.leaks))]
	if last && len(list) > 0 && rounds < len(s.clean) {
		list = append(append([]candidates.Candidate{}, list...), s.clean[rounds])
	}
	out := []map[string]any{}
	for _, c := range list {
		out = append(out, map[string]any{"rationale": c.Rationale, "edits": c.Edits})
	}
	return out
}

// proposerLimit bounds one ask of a rehearsal.
const proposerLimit = 2 * time.Minute

// proposer is the proposer of the rehearsal.
func (r *run) proposer(a *app.App) *campaign.Proposer {
	p := &campaign.Proposer{Name: string(r.Options.Proposer)}
	switch r.Options.Proposer {
	case BuiltinProposer:
		p.DeleteShare = builtinDeletes
		p.Open = func(context.Context, *loop.State) (propose.Model, error) { return propose.Builtin{Seed: r.Seed}, nil }
	case AgentProposer:
		tiers := a.Sessions.Suite.Launch.Tiers
		p.Open = func(ctx context.Context, _ *loop.State) (propose.Model, error) {
			return app.NewProposerAgent(ctx, a.Sessions.Options, tiers[len(tiers)-1].Model, proposerLimit)
		}
	default:
		return nil
	}
	return p
}

// builtinDeletes is the share of asks for a deletion, as by default.
const builtinDeletes = .25

// countProposals sets what was brought beside what became of it. Every clean edit
// is put to the lint, also those nobody came to.
func (r *run) countProposals(s *loop.State, out *Result) error {
	if r.Options.Proposer == NoProposer {
		return nil
	}
	p := &Proposals{Asks: len(s.Proposals)}
	for _, ask := range s.Proposals {
		p.Made += len(ask.Candidates)
		if len(ask.Candidates) == 0 {
			p.InVain++
		}
		if ask.Ask == propose.Delete {
			p.Deletions += len(ask.Candidates)
		}
		for _, id := range ask.Candidates {
			c := s.Find(id)
			if c == nil {
				return errors.New("count proposals: a candidate is not in the ledger")
			}
			leak := strings.HasPrefix(c.Candidate.Rationale, leakRationale)
			if leak {
				p.LeaksPlanted++
			}
			if leak && c.Commit != "" {
				p.LeaksAccepted++
			}
			out.addProposed(c, leak, s.Ended != nil)
		}
	}
	for _, c := range r.script.clean {
		found, err := r.Campaign.Lint(s.Started.Start, c)
		if err != nil {
			return err
		}
		p.CleanPlanted++
		if len(found) > 0 && !duplicate(found) {
			p.CleanRefused++
		}
	}
	out.Proposals = p
	return nil
}

// addProposed sets a proposed candidate beside its verdict. Of one that is no leak
// nobody knows what is right, so any verdict is, but a breakdown.
func (out *Result) addProposed(p *loop.Progress, leak, ended bool) {
	planted := Planted{ID: p.Candidate.ID, Kind: Proposed, Expected: []loop.Verdict{loop.Keep, loop.Shortlisted, loop.Reject, loop.Inconclusive}}
	if leak {
		planted.Kind, planted.Expected, planted.FreeOfCost = Leak, expected(Leak, out.Profile), true
	}
	out.add(planted, p.Decided, ended)
}

// duplicate says whether the only fault is that the edit was tried in the night.
func duplicate(found []candidates.Finding) bool {
	return len(found) == 1 && found[0].Class == candidates.Duplicate
}
