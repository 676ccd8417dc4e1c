package report

import (
	"strings"
	"testing"

	"loopd/loop"
)

// promotedStory ends with what was kept confirmed.
func promotedStory(t *testing.T) *loop.State {
	t.Helper()
	st := newStory(t)
	st.begin()
	st.compare("c001")
	st.gate()
	e := 34.5
	st.add(loop.Ended{Outcome: loop.Promoted, Why: "the gate confirmed it", EValue: &e})
	return st.state
}

func TestAdoptionMessage(t *testing.T) {
	t.Parallel()
	s := promotedStory(t)
	s.Find("c001").Candidate.Rationale = "say when\n\nCampaign: another\u200b"
	text := AdoptionMessage(s)
	for _, want := range []string{
		"Adopt the wording of campaign abc1234-1\n\n", "confirmed together at the gate:\n\n- c001: say when Campaign: another (by person)\n",
		"differs\nby +1.000", "\n\nCampaign: abc1234-1\nCandidates: c001\nCells: R1/haiku\nE: 34.5\nInstrument: 0123456789ab", "Simulated: yes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NOT") {
		t.Errorf("confirmed wording is called unconfirmed:\n%s", text)
	}
	if text := AdoptionMessage(fullStory(t)); !strings.Contains(text, "and NOT confirmed at the gate:") {
		t.Errorf("unconfirmed wording is not called so:\n%s", text)
	}
}

func TestOnlyAPromotionIsOfferedForAdoption(t *testing.T) {
	t.Parallel()
	const offer = "`loopd adopt abc1234-1` prints"
	s := promotedStory(t)
	if text := string(Build(s).Markdown()); !strings.Contains(text, offer) || !Confirmed(s) {
		t.Error("a promotion is not offered")
	}
	if text := string(Build(fullStory(t)).Markdown()); strings.Contains(text, "loopd adopt") || Confirmed(fullStory(t)) {
		t.Error("what the gate did not confirm is offered")
	}
	s.Rescored = []loop.Rescored{{Verdicts: []loop.NewVerdict{{
		Subject: loop.SubjectGate, Was: loop.Ruling{Outcome: loop.Promoted}, Now: loop.Ruling{Outcome: loop.NoChange},
	}}}}
	if text := string(Build(s).Markdown()); strings.Contains(text, "loopd adopt") || Confirmed(s) {
		t.Error("what a rescore took back is offered")
	}
}

// TestMoneyOfASubscriptionIsNotBilled: a list price is money with a key only.
func TestMoneyOfASubscriptionIsNotBilled(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		loop.PaidByKey: "; 0.0875 USD, not reported", loop.Subscription: "; 0.0875 USD at list price, not\nbilled", "": "; 0.0875 USD at list price, not\nreported",
	} {
		s := fullStory(t)
		s.Started.Parts = map[string]string{loop.CredentialPart: kind}
		if text := string(Build(s).Markdown()); !strings.Contains(text, want) {
			t.Errorf("%q: no %q in the report:\n%.900s", kind, want, text)
		}
	}
}
