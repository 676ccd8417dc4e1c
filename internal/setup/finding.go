package setup

import (
	"cmp"
	"fmt"
	"slices"
)

// Rule names what a finding is about.
type Rule string

// The rules, in the order in which findings of one scenario are listed.
const (
	RuleFormat    Rule = "format"       // a file that cannot be read as it should be
	RulePattern   Rule = "pattern"      // a pattern that does not compile
	RuleFillIn    Rule = "fill_in"      // still the text that a new scenario begins with
	RuleObjective Rule = "no_objective" // nothing in the suite enters the metric
	RulePlugin    Rule = "plugin"       // checker or launch profile are for another plugin
	RuleSkill     Rule = "skill"        // a skill the plugin does not have
	RuleFixture   Rule = "fixture"      // a project or a file of it that is not there
	RulePair      Rule = "pair"         // a scenario to be read beside that is not there
	RuleCoaching  Rule = "coaching"     // the task says what the session should find by itself
	RuleEcho      Rule = "echo"         // the task repeats the plugin's own wording
	RuleOracle    Rule = "oracle"       // the perfect run does not come to what it must
	RuleNop       Rule = "nop"          // the idle run does not come to what it must
)

// Rules lists the rules in their order.
func Rules() []Rule {
	return []Rule{RuleFormat, RulePattern, RuleFillIn, RuleObjective, RulePlugin, RuleSkill, RuleFixture, RulePair, RuleCoaching, RuleEcho, RuleOracle, RuleNop}
}

// Finding is one thing to put right. Scenario is empty where it is about the
// whole suite; Place is a key of the scenario, or a file of the suite.
type Finding struct {
	Scenario string `json:"scenario"`
	Rule     Rule   `json:"rule"`
	Place    string `json:"place"`
	Detail   string `json:"detail"`
}

// String is the finding on one line, without the scenario.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Rule, f.Place, f.Detail) }

// sorted puts findings in order: the suite's own, then scenario by scenario, and
// what one rule found in the order of the file.
func sorted(list []Finding) []Finding {
	rank := make(map[Rule]int)
	for i, r := range Rules() {
		rank[r] = i
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(rank[a.Rule], rank[b.Rule]))
	})
	return slices.Compact(list)
}
