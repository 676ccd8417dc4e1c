package report

import (
	"encoding/json"
	"strings"
	"testing"

	"loopd/candidates/propose"
	"loopd/loop"
)

func TestReportSaysWhoProposed(t *testing.T) {
	t.Parallel()
	if askedOf(loop.NewState()) != nil {
		t.Error("nobody was asked: got a report of it")
	}
	cost := .25
	s := loop.NewState()
	s.Proposals = []loop.Proposed{
		{N: 1, Model: "agent big", Candidates: []string{"c001", "c002"}, Tokens: 100, CostUSD: &cost},
		{N: 2, Model: "agent big", Refusal: propose.Garbage, Tokens: 50, CostUSD: &cost},
		{N: 3, Model: "builtin", Refusal: propose.Garbage},
		{N: 4, Model: "builtin", Refusal: propose.Interrupted},
	}
	a := askedOf(s)
	want := "Asked 4 times, agent big and builtin proposed 2 candidates for $0.50 at list price; 2 of the asks brought nothing (garbage); 1 ended because the campaign was told to stop."
	if a.Text() != want || a.Tokens != 150 {
		t.Errorf("got %q with %d tokens, want %q", a.Text(), a.Tokens, want)
	}
	c := Build(s)
	if !strings.Contains(strings.Join(strings.Fields(string(c.Markdown())), " "), want) {
		t.Error("the page does not say it")
	}
	data, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(data), `"proposals":{"models":["agent big","builtin"],"asks":4`) {
		t.Errorf("JSON: %v", err)
	}
}
