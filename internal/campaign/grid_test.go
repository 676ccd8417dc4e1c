package campaign

import (
	"maps"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

func TestGridOf(t *testing.T) { // req 36, 47, 77
	dir := t.TempDir() + "/suite"
	testenv.Must(t, WriteBundled(dir))
	sealed, err := Home{Dir: t.TempDir()}.OpenBundled(t.Context())
	testenv.Must(t, err)
	without := GridOf(sealed.Suite, nil, nil)
	if len(without.Objective) != 12 || len(without.NotRun) != 2 {
		t.Errorf("without a graph: %d objective cells, not run %v; want 12 and R4 with its control", len(without.Objective), without.NotRun)
	}
	for _, u := range without.NotRun {
		if u.Reason == "" || u.Hint == "" {
			t.Errorf("%s is not run without reason or hint", u.Scenario)
		}
	}
	if len(without.Impossible) == 0 || len(without.Impossible) != len(without.Controls) {
		t.Errorf("controls %v, impossible %v: without R4 only X1 is left", without.Controls, without.Impossible)
	}
	graphs := map[string]harness.Tree{"webhook-relay": {"graph.json": {}}}
	with := GridOf(sealed.Suite, graphs, func(c harness.Cell) bool { return c.Tier == "haiku" })
	if len(with.Objective) != 7 || len(with.NotRun) != 0 || len(with.Controls) != 2 || len(with.Impossible) != 1 {
		t.Errorf("with a graph, on haiku: %+v", with)
	}
	if want := map[string]loop.Pair{"R4-nograph": {Scenario: "R4", Lacks: "the code graph"}}; !maps.Equal(with.Pairs, want) || without.Pairs != nil {
		t.Errorf("got pairs %v, and %v without a graph, want %v and none", with.Pairs, without.Pairs, want)
	}
}

func TestLackingIsWhatThePairHas(t *testing.T) {
	t.Parallel()
	suite := harness.Suite{Scenarios: []harness.Scenario{
		{ID: "full", Graph: true, Changes: []harness.Change{{Remove: "notes"}}},
	}}
	for name, c := range map[string]struct {
		control harness.Scenario
		want    string
	}{
		"the graph":           {harness.Scenario{Pair: "full", Changes: []harness.Change{{Remove: "notes"}}}, "the code graph"},
		"a folder":            {harness.Scenario{Pair: "full", Graph: true, Changes: []harness.Change{{Remove: "docs"}}}, "docs"},
		"both":                {harness.Scenario{Pair: "full", Changes: []harness.Change{{Remove: "docs"}}}, "the code graph, docs"},
		"something rewritten": {harness.Scenario{Pair: "full", Graph: true, Changes: []harness.Change{{Path: "a", Write: "b"}}}, ""},
		"no such pair":        {harness.Scenario{Pair: "none"}, ""},
	} {
		if got := lacking(suite, c.control); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
