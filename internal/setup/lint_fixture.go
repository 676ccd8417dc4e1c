package setup

import (
	"fmt"
	"path"

	"loopd/harness"
)

// fixtureFindings looks for files that a scenario takes for granted. What a
// command of a run makes nobody knows before it is run, so that after the first
// one nothing is missed any more.
func (s Subject) fixtureFindings(sc harness.Scenario) []Finding {
	fixture, ok := s.Suite.Fixtures[sc.Fixture]
	if !ok {
		return []Finding{{sc.ID, RuleFixture, "fixture", fmt.Sprintf("no directory fixtures/%s", sc.Fixture)}}
	}
	var out []Finding
	start := make(harness.Tree)
	for name, f := range fixture {
		start[name] = f
	}
	for i, c := range sc.Changes {
		next, err := start.With([]harness.Change{c})
		if err != nil {
			out = append(out, Finding{sc.ID, RuleFixture, fmt.Sprintf("changes[%d]", i), fmt.Sprintf("fixtures/%s has nothing at %q", sc.Fixture, c.Remove)})
			continue
		}
		start = next
	}
	if sc.Graph {
		return out // the graph's own files are not in the fixture
	}
	out = append(out, lackedBy(sc, "oracle", sc.Oracle, start)...)
	return append(out, lackedBy(sc, "nop", sc.Nop, start)...)
}

func lackedBy(sc harness.Scenario, run string, steps []harness.Step, start harness.Tree) []Finding {
	var out []Finding
	made := make(map[string]bool)
	for i, st := range steps {
		name, kind := st.Read, "read"
		switch {
		case st.Bash != "":
			return out
		case st.Write != nil:
			made[path.Clean(st.Write.Path)] = true
			continue
		case st.Edit != nil:
			name, kind = st.Edit.Path, "edit.path"
		}
		if name == "" || unfilled(name) || made[path.Clean(name)] || has(start, path.Clean(name)) {
			continue
		}
		out = append(out, Finding{sc.ID, RuleFixture, fmt.Sprintf("%s[%d].%s", run, i, kind), fmt.Sprintf("the project has no file %q", name)})
	}
	return out
}
