package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/rehearsal"
)

// Stage is what the runs of a scenario are played on.
type Stage struct {
	Binary    agent.Binary // the stand-in
	Isolation app.Isolation
	Parallel  int
}

// Played is what came of the runs: findings, and the scenarios that were not
// run, with the reason and the command that helps.
type Played struct {
	Findings []Finding
	Runs     int
	NotRun   []harness.Unrun
}

// Play plays oracle and nop of the scenarios named, or of all, through the
// stand-in agent and says which come out wrong. A scenario that Lint found
// unfit to be played, given as static, is listed as not run.
func Play(ctx context.Context, s Subject, static []Finding, ids []string, st Stage) (Played, error) {
	out := Played{Findings: []Finding{}, NotRun: []harness.Unrun{}}
	wording, err := campaign.WordingOf(s.Plugin, s.Suite.Launch.Note)
	if err != nil {
		// Lint has a finding for it.
		out.NotRun = append(out.NotRun, harness.Unrun{Reason: "the plugin cannot be used with this suite: " + err.Error(), Hint: "loopd doctor"})
		return out, nil
	}
	suite := s.Suite
	suite.Scenarios = nil
	for _, sc := range s.Suite.Scenarios {
		asked := len(ids) == 0 || slices.Contains(ids, sc.ID)
		switch why := unfit(static, sc.ID); {
		case why != "" && asked:
			out.NotRun = append(out.NotRun, harness.Unrun{Scenario: sc.ID, Reason: why, Hint: "loopd scenario lint " + sc.ID})
		case why == "" && (asked || pairOf(s.Suite, ids, sc.ID)):
			suite.Scenarios = append(suite.Scenarios, sc)
		}
	}
	for _, role := range []harness.Role{harness.Objective, harness.Guard, harness.Control, harness.Reserve, harness.Practice} {
		_, unrun := suite.Runnable(role, s.Graphs)
		out.NotRun = append(out.NotRun, unrun...)
	}
	if len(suite.Scenarios) == 0 {
		return out, nil
	}
	cases, err := rehearsal.BothWays(ctx, rehearsal.SelfTestOptions{
		Suite: suite, Wording: wording, Graphs: s.Graphs, Binary: st.Binary, Isolation: st.Isolation, Parallel: st.Parallel,
	})
	if err != nil {
		return out, fmt.Errorf("play the runs: %w", err)
	}
	for _, c := range cases {
		if f, wrong := wrongRun(suite, c); wrong {
			out.Findings = append(out.Findings, f)
		}
	}
	out.Runs = len(cases)
	out.Findings = sorted(OfScenarios(out.Findings, ids))
	return out, nil
}

// unfit says why a scenario cannot be played, empty where it can.
func unfit(static []Finding, id string) string {
	i := slices.IndexFunc(static, func(f Finding) bool {
		return f.Scenario == id && slices.Contains([]Rule{RuleFormat, RulePattern, RuleFillIn, RuleFixture, RulePair}, f.Rule)
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", static[i].Rule, static[i].Place)
}

// pairOf says whether a scenario that was not asked for is needed beside one
// that was.
func pairOf(s harness.Suite, ids []string, id string) bool {
	return slices.ContainsFunc(s.Scenarios, func(sc harness.Scenario) bool { return sc.Pair == id && slices.Contains(ids, sc.ID) })
}

// wrongRun says what is wrong with how a run came out.
func wrongRun(s harness.Suite, c rehearsal.SelfCase) (Finding, bool) {
	if c.Right {
		return Finding{}, false
	}
	rule := RuleOracle
	if c.Run == rehearsal.NopRun {
		rule = RuleNop
	}
	f := Finding{c.Scenario, rule, string(c.Run), ""}
	sc, _ := s.Scenario(c.Scenario)
	switch {
	case c.Class != harness.Valid:
		f.Detail = fmt.Sprintf("the run is no evidence (%s)", c.Class)
	case sc.Role == harness.Control && c.AxisB != harness.Fail:
		f.Detail = "axis b passes, and of a control it must not"
	case c.Got == harness.Pass:
		f.Detail = "it passes, and an idle run must not"
	default:
		f.Detail = fmt.Sprintf("it fails its own expectation: a %s, b %s (%s)", c.AxisA, c.AxisB, strings.Join(c.Reasons, ", "))
		if at := items(sc, c.Failed); at != "" {
			f.Detail += ": " + at
		}
	}
	return f, true
}

// items names the expectations that failed, with what they ask for. A pattern
// that is the task's own words is left out: a finding repeats none of them.
func items(sc harness.Scenario, failed []string) string {
	var out []string
	for _, place := range failed {
		a, ok := assertionAt(sc, place)
		kind, asks := asked(a)
		switch {
		case !ok:
			out = append(out, place)
		case asks == "" || sc.TaskEchoes(asks, 3) > 0:
			out = append(out, place+" "+kind)
		default:
			out = append(out, fmt.Sprintf("%s %s %q", place, kind, asks))
		}
	}
	return strings.Join(out, ", ")
}

// assertionAt is the assertion of a place such as expect.b[1].
func assertionAt(sc harness.Scenario, place string) (harness.Assertion, bool) {
	for axis, list := range [][]harness.Assertion{sc.Expect.A, sc.Expect.B} {
		for i, a := range list {
			if place == fmt.Sprintf("expect.%c[%d]", 'a'+axis, i) {
				return a, true
			}
		}
	}
	return harness.Assertion{}, false
}

// asked is the kind of an assertion, as the file has it, and the first of what it
// asks for.
func asked(a harness.Assertion) (kind, what string) {
	switch {
	case a.Consults != nil:
		return "consults", ""
	case a.Skill != "":
		return "skill", a.Skill
	case a.Command != "":
		return "command", a.Command
	case a.Touches != "":
		return "touches", a.Touches
	case a.Created != nil:
		return "created", a.Created.Path
	case a.Changed != nil:
		return "changed", a.Changed.Path
	case a.Cites != nil:
		return "cites", a.Cites.ID
	case len(a.Says) > 0:
		return "says", a.Says[0]
	}
	return "never_says", strings.Join(a.NeverSays[:min(1, len(a.NeverSays))], "")
}
