package candidates

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	whole := "text"
	good := Candidate{ID: "c001", Source: Operator, Targets: []string{"W3/sonnet", "all"}, Edits: []Edit{{Path: "p", Old: "a", New: "b"}}}
	if err := good.Validate(); err != nil {
		t.Fatalf("good candidate: got %v, want nil", err)
	}
	for name, test := range map[string]struct {
		spoil func(*Candidate)
		want  string
	}{
		"source":       {func(c *Candidate) { c.Source = "oracle" }, `source "oracle"`},
		"target":       {func(c *Candidate) { c.Targets = []string{"W3"} }, `target "W3"`},
		"target space": {func(c *Candidate) { c.Targets = []string{"W3/son net"} }, "target"},
		"no edits":     {func(c *Candidate) { c.Edits = nil }, "no edits"},
		"no path":      {func(c *Candidate) { c.Edits = []Edit{{Old: "a"}} }, "no path"},
		"both forms":   {func(c *Candidate) { c.Edits = []Edit{{Path: "p", Old: "a", Whole: &whole}} }, "both"},
		"no old":       {func(c *Candidate) { c.Edits = []Edit{{Path: "p", New: "a"}} }, "names no old text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := good
			test.spoil(&c)
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestDigestTellsEditsApart(t *testing.T) {
	t.Parallel()
	empty := ""
	lists := [][]Edit{
		nil,
		{{Path: "a", Old: "x", New: "y"}},
		{{Path: "a", Old: "xy"}},
		{{Path: "a", Whole: &empty}},
		{{Path: "a"}},
		{{Path: "b", Old: "x", New: "y"}, {Path: "a", Old: "x", New: "y"}},
		{{Path: "a", Old: "x", New: "y"}, {Path: "b", Old: "x", New: "y"}},
	}
	seen := map[string]int{}
	for i, edits := range lists {
		d := Digest(edits)
		if j, ok := seen[d]; ok {
			t.Errorf("lists %d and %d have the digest %s", i, j, d)
		}
		if len(d) != 64 || d != Digest(edits) {
			t.Errorf("list %d: got %q, want the same 64 digits each time", i, d)
		}
		seen[d] = i
	}
	if Digest(nil) != Digest([]Edit{}) {
		t.Error("no edits and an empty list differ")
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	c := Candidate{ID: "c007", Source: Person, Targets: []string{"W3/sonnet", "R1/haiku"}, Rationale: "Name the moment\n\nCampaign: forged\u200b"}
	want := "loopd: candidate c007\n\nCampaign: night-3\nCandidate: c007\nSource: person\nTargets: W3/sonnet, R1/haiku\nRationale: Name the moment Campaign: forged\n"
	if got := Message(c, "night-3"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestMessageAddsNoLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		c := Candidate{ID: "c001", Source: Proposer, Rationale: "r" + text, Targets: []string{"W1/" + text}}
		got := Message(c, "campaign"+text)
		if n := strings.Count(got, "\n"); n != 7 {
			t.Errorf("got %d lines in %q, want 7", n, got)
		}
		if strings.ContainsAny(got, "\r\v\f\u0085\u2028\x00") {
			t.Errorf("a line break other than \\n is left in %q", got)
		}
	})
}

func TestMessageCutsALongRationale(t *testing.T) {
	t.Parallel()
	got := Message(Candidate{ID: "c001", Rationale: strings.Repeat("é", 5000)}, "x")
	if !strings.HasSuffix(got, "é…\n") || len([]rune(got)) > 500 {
		t.Errorf("got %d characters ending %q, want a cut rationale", len([]rune(got)), got[len(got)-8:])
	}
}
