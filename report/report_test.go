package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/candidates"
	"loopd/internal/testenv"
	"loopd/loop"
)

func TestGoldens(t *testing.T) {
	s := fullStory(t)
	testenv.Golden(t, "testdata/campaign.md", Build(s).Markdown())
	testenv.Golden(t, "testdata/halted.md", Build(haltedStory(t)).Markdown())
	testenv.Golden(t, "testdata/results.tsv", Results(s)) // req 30, 31, 66
	testenv.Golden(t, "testdata/loop-results.tsv", LoopResults(s))
	before, after := Texts{"skills/a/SKILL.md": "old line\nsame\n"}, Texts{"skills/a/SKILL.md": "new ``` line\nsame\n"}
	kept, ok := BuildCandidate(s, "c001", before, after)
	if !ok {
		t.Fatal("c001 is not in the report")
	}
	testenv.Golden(t, "testdata/kept.md", kept.Markdown())
	refused, _ := BuildCandidate(s, "c002", nil, nil)
	testenv.Golden(t, "testdata/refused.md", refused.Markdown())
	testenv.Golden(t, "testdata/digest.md", BuildDigest(s, before, after).Markdown())
	testenv.Golden(t, "testdata/digest-halted.md", BuildDigest(haltedStory(t), nil, nil).Markdown())
	data, err := json.MarshalIndent(Build(s), "", " ")
	testenv.Must(t, err)
	testenv.Golden(t, "testdata/campaign.json", append(data, '\n'))
}

func TestUnknownCandidate(t *testing.T) {
	if _, ok := BuildCandidate(fullStory(t), "c999", nil, nil); ok {
		t.Error("a report for a candidate that does not exist")
	}
}

// A projection that was deleted is rebuilt to the same bytes.
func TestProjectionsAreDeterministic(t *testing.T) {
	a, b := fullStory(t), fullStory(t)
	for name, pair := range map[string][2][]byte{
		"results": {Results(a), Results(b)}, "loop-results": {LoopResults(a), LoopResults(b)}, "campaign": {Build(a).Markdown(), Build(b).Markdown()},
	} {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Errorf("%s: two builds differ", name)
		}
	}
}

// Whatever stands in a cell, the row keeps its number of cells and nothing is
// taken for a formula.
func TestRowsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.String(), 1, 6).Draw(t, "cells")
		var b bytes.Buffer
		writeRow(&b, cells...)
		line, ok := strings.CutSuffix(b.String(), "\n")
		got := strings.Split(line, "\t")
		if !ok || len(got) != len(cells) || strings.ContainsAny(line, "\n\r") {
			t.Fatalf("%q became %q", cells, b.String())
		}
		for _, c := range got {
			if len(c) > 1 && strings.ContainsRune("=@", rune(c[0])) {
				t.Fatalf("cell %q starts a formula", c)
			}
		}
	})
}

func TestNeutral(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "@x": "'@x", "+x": "'+x", "-x": "'-x", "-0.25": "-0.25", "-": "-", "": "", "a\tb\nc": "a b c", "'=": "'=",
	} {
		if got := neutral(in); got != want {
			t.Errorf("neutral(%q) = %q, want %q", in, got, want)
		}
	}
}

// Rates are counts with an interval; a bare percentage never appears.
func TestNoBarePercentage(t *testing.T) {
	s := fullStory(t)
	c, _ := BuildCandidate(s, "c001", nil, nil)
	for _, text := range [][]byte{Build(s).Markdown(), c.Markdown(), BuildDigest(s, nil, nil).Markdown()} {
		if bytes.Contains(text, []byte("%")) && !bytes.Contains(text, []byte("95 %")) {
			t.Errorf("a bare percentage: %s", text)
		}
	}
}

func TestHeadlines(t *testing.T) {
	e := 33.0
	for want, p := range map[string]loop.Payload{
		"promoted: c001, E = 33 at the gate": loop.Ended{Outcome: loop.Promoted, EValue: &e},
		"no change: none":                    loop.Ended{Outcome: loop.NoChange, Why: "none"},
		"nothing measured: none":             loop.Ended{Outcome: loop.NothingMeasured, Why: "none"},
		"paused: rate_limit":                 loop.Paused{Reason: "rate_limit"},
		"halted: auth":                       loop.Halted{Reason: "auth"},
	} {
		st := newStory(t)
		st.begin()
		st.compare("c001")
		st.add(p)
		if got := Build(st.state).Headline; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFenceIsLonger(t *testing.T) {
	if got := fence("a ```` b"); got != "`````" {
		t.Errorf("fence is %q", got)
	}
}

func TestWrap(t *testing.T) {
	for line := range strings.SplitSeq(wrap(strings.Repeat("word ", 60)), "\n") {
		if len(line) > lineWidth {
			t.Errorf("line of %d characters", len(line))
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	st := newStory(&testing.T{})
	st.begin()
	st.compare("c001")
	b.ReportAllocs()
	for b.Loop() {
		Build(st.state).Markdown()
	}
}

func TestRationaleOfAnEchoIsWithheld(t *testing.T) { // req 40
	st := newStory(t)
	st.begin()
	secret := "please shorten the window before the parcels are picked up"
	st.add(
		loop.Queued{Candidate: candidates.Candidate{ID: "c001", Source: candidates.Proposer, Rationale: secret}},
		loop.Decided{Candidate: "c001", Verdict: loop.Reject, Reason: loop.ByLint, Findings: []candidates.Finding{{Class: candidates.Echo, Path: "skills/a/SKILL.md"}}},
	)
	c, _ := BuildCandidate(st.state, "c001", nil, nil)
	for _, text := range [][]byte{Build(st.state).Markdown(), c.Markdown(), Results(st.state), LoopResults(st.state)} {
		if bytes.Contains(text, []byte("parcels")) {
			t.Errorf("held-out text in %s", text)
		}
	}
}
