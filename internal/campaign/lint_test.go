package campaign

import (
	"slices"
	"testing"

	"loopd/candidates"
	"loopd/internal/testenv"
)

// A candidate is linted on the champion of the campaign under way, and on HEAD
// when there is none: by the rules of the night, and without taking part in it.
func TestForelint(t *testing.T) {
	n := newNight(t, "plugins/adr")
	c := n.twoWordings()
	defer c.Close()
	s := *c.Current()
	const note = "hooks/session-start-note.md"
	whole := func(commit string) candidates.Candidate {
		tree, err := c.Wordings.Tree(commit)
		testenv.Must(t, err)
		cand := candidates.Candidate{Source: candidates.Person}
		for _, path := range candidates.NewSurface(bytesOf(tree), note).Paths {
			text := string(tree[path].Data)
			cand.Edits = append(cand.Edits, candidates.Edit{Path: path, Whole: &text})
		}
		return cand
	}
	echo := "[os-adr] " + s.Started.Campaign + " " + n.sealed.Suite.Scenarios[0].Task.Reveal()
	cases := []struct {
		name             string
		c                candidates.Candidate
		before, underWay []candidates.Class
	}{
		{"the start", whole(s.Started.Start), []candidates.Class{candidates.NoOp}, []candidates.Class{candidates.Duplicate}},
		{"the champion", whole(s.Champion), nil, []candidates.Class{candidates.NoOp}},
		{"a task", candidates.Candidate{Source: candidates.Person, Edits: []candidates.Edit{{Path: note, Whole: &echo}}}, []candidates.Class{candidates.Echo}, []candidates.Class{candidates.Echo}},
		{"a program", candidates.Candidate{Source: candidates.Person, Edits: []candidates.Edit{{Path: "bin/adr-find", Whole: &echo}}}, []candidates.Class{candidates.OffSurface}, []candidates.Class{candidates.OffSurface}},
	}
	if s.Champion == s.Started.Start {
		t.Fatal("nothing was kept")
	}
	f := Forelint{Home: n.home, Plugin: n.plugin, Suite: n.sealed.Suite, Current: &s}
	lint := func(name string, want []candidates.Class, cand candidates.Candidate) {
		t.Helper()
		found, err := f.Lint(cand)
		if got := candidates.Classes(found); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	for _, tc := range cases {
		lint(tc.name+", after the campaign", tc.before, tc.c)
	}
	s.Ended = nil // the same campaign, still under way
	for _, tc := range cases {
		lint(tc.name+", during the campaign", tc.underWay, tc.c)
	}
}
