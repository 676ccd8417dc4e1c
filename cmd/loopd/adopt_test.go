package main

import (
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/internal/hint"
	"loopd/loop"
)

// TestAdoptable: only what the gate confirmed, or what it did not and a person
// wants all the same; never what a rescore took back.
func TestAdoptable(t *testing.T) {
	t.Parallel()
	taken := func(subject string) []loop.Rescored {
		v := loop.NewVerdict{Subject: subject, Was: loop.Ruling{Verdict: loop.Keep}, Now: loop.Ruling{Verdict: loop.Reject}}
		if subject == loop.SubjectGate {
			v.Was, v.Now = loop.Ruling{Outcome: loop.Promoted}, loop.Ruling{Outcome: loop.NoChange}
		}
		return []loop.Rescored{{Reason: "the rule was too loose", Verdicts: []loop.NewVerdict{v}}}
	}
	for name, test := range map[string]struct {
		ended       loop.Outcome
		kept        bool
		rescored    []loop.Rescored
		unconfirmed bool
		code        int
		want        string
	}{
		"under way":                         {"", true, nil, true, hint.Usage, "not over"},
		"promoted":                          {loop.Promoted, true, nil, false, hint.Done, ""},
		"promoted, one keep taken back":     {loop.Promoted, true, taken("c001"), false, hint.Done, ""},
		"promotion taken back":              {loop.Promoted, true, taken(loop.SubjectGate), false, hint.Measured, "withdrawn by a rescore: the rule was too loose"},
		"promotion taken back, asked for":   {loop.Promoted, true, taken(loop.SubjectGate), true, hint.Measured, "withdrawn by a rescore"},
		"no change":                         {loop.NoChange, false, nil, true, hint.Measured, "nothing was promoted: so it ended"},
		"nothing measured":                  {loop.NothingMeasured, false, nil, true, hint.Measured, "nothing was promoted"},
		"unconfirmed":                       {loop.Unconfirmed, true, nil, false, hint.Measured, "did not confirm it: so it ended"},
		"unconfirmed, asked for":            {loop.Unconfirmed, true, nil, true, hint.Done, ""},
		"unconfirmed, the keep taken back":  {loop.Unconfirmed, true, taken("c001"), true, hint.Measured, "the keep of c001 was withdrawn"},
		"unconfirmed, another's taken back": {loop.Unconfirmed, true, taken("c002"), true, hint.Done, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := loop.NewState()
			s.Started.Campaign, s.Rescored = "abc1234-1", test.rescored
			s.Progress = []*loop.Progress{{Candidate: candidates.Candidate{ID: "c001"}}}
			if test.kept {
				s.Kept = []string{"c001"}
			}
			if test.ended != "" {
				s.Ended = &loop.Ended{Outcome: test.ended, Why: "so it ended"}
			}
			err := adoptable(s, adoptOptions{unconfirmed: test.unconfirmed})
			if test.code == hint.Done {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if hint.ExitOf(err) != test.code || err == nil || !strings.Contains(err.Error(), test.want) || hint.Of(err) == "" {
				t.Errorf("got %v, want code %d, %q and a hint", err, test.code, test.want)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"../state": "../state", "a b": "'a b'", "": "''", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~/x": "'~/x'",
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
