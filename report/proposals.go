package report

import (
	"fmt"
	"slices"
	"strings"

	"loopd/candidates/propose"
	"loopd/loop"
)

// Asked is what came of a campaign's proposers: who was asked how often, how many
// candidates it brought, and why the asks that were in vain were. They are no
// sessions, and what they cost is in no other number.
type Asked struct {
	Models     []string `json:"models"` // in order of first appearance
	Asks       int      `json:"asks"`
	Candidates int      `json:"candidates"`
	Refusals   []string `json:"refusals"` // one for each ask that brought nothing
	// Interrupted are the asks that ended because the campaign was told to stop.
	Interrupted int      `json:"interrupted,omitempty"`
	Tokens      int      `json:"tokens"`
	USD         *float64 `json:"usd"` // list price; nil where nobody named one
}

// askedOf counts the asks of a campaign, nil for none.
func askedOf(s *loop.State) *Asked {
	if len(s.Proposals) == 0 {
		return nil
	}
	a := &Asked{Asks: len(s.Proposals), Refusals: []string{}}
	for _, p := range s.Proposals {
		if !slices.Contains(a.Models, p.Model) {
			a.Models = append(a.Models, p.Model)
		}
		a.Candidates += len(p.Candidates)
		switch p.Refusal {
		case "":
		case propose.Interrupted:
			a.Interrupted++
		default:
			a.Refusals = append(a.Refusals, string(p.Refusal))
		}
		a.Tokens += p.Tokens
		if p.CostUSD != nil {
			sum := *p.CostUSD
			if a.USD != nil {
				sum += *a.USD
			}
			a.USD = &sum
		}
	}
	return a
}

// Text says it in a sentence or two.
func (a Asked) Text() string {
	text := fmt.Sprintf("Asked %d times, %s proposed %d candidates", a.Asks, strings.Join(a.Models, " and "), a.Candidates)
	if a.USD != nil {
		text += fmt.Sprintf(" for $%.2f at list price", *a.USD)
	}
	if n := len(a.Refusals); n > 0 {
		text += fmt.Sprintf("; %d of the asks brought nothing (%s)", n, strings.Join(slices.Compact(slices.Sorted(slices.Values(a.Refusals))), ", "))
	}
	if a.Interrupted > 0 {
		text += fmt.Sprintf("; %d ended because the campaign was told to stop", a.Interrupted)
	}
	return text + "."
}
