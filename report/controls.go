package report

import (
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// Contrast sets a control beside the scenario it is read with, on one tier and
// one version of the agent CLI, under one wording. It is never in the metric.
type Contrast struct {
	Control string `json:"control"`
	Pair    string `json:"pair"`
	// Lacks is what the control lacks of its pair, in words; it may be empty.
	Lacks string `json:"lacks,omitempty"`
	Tier  string `json:"tier"`
	CLI   string `json:"cli,omitempty"`
	// Passes is the pair's rate, Without the control's.
	Passes  Rate `json:"pair_rate"`
	Without Rate `json:"control_rate"`
	// Difference is the pair's rate minus the control's with its 95 % interval,
	// nil while one of the two has no valid trial.
	Difference *Effect `json:"difference"`
	Reading    Reading `json:"reading"`
}

// Reading is what a contrast says.
type Reading string

// The readings of a contrast.
const (
	// Carried: the pair passes more often, beyond chance.
	Carried Reading = "carried"
	// NotNeeded: the control passes as often as its pair.
	NotNeeded Reading = "not_needed"
	// Unclear: the control passes less often, which may be chance.
	Unclear Reading = "unclear"
	// SaysNothing: the pair never passes, so the control has nothing to explain.
	SaysNothing Reading = "says_nothing"
	// NotRead: one of the two has no valid trial.
	NotRead Reading = "not_run"
)

// setup is what two trials must share to be set side by side.
type setup struct{ tier, cli string }

// contrastsOf makes the contrasts of one wording, in the order of the control
// cells; the versions of the CLI in the order they were met.
func contrastsOf(s *loop.State, trials []loop.Run, w wording) []Contrast {
	out := []Contrast{}
	valid := validOf(s, trials, w)
	for _, c := range s.Started.Controls {
		pair, ok := s.Started.Pairs[c.Scenario]
		if !ok {
			continue
		}
		beside := harness.Cell{Scenario: pair.Scenario, Tier: c.Tier}
		for _, cli := range versionsOf(valid, c, beside) {
			at := setup{c.Tier, cli}
			out = append(out, contrast(at, c.Scenario, pair, countAt(valid, beside, cli), countAt(valid, c, cli)))
		}
	}
	return out
}

// versionsOf lists the CLI versions a control was run with, or, where it was not
// run, those of its pair.
func versionsOf(trials []*loop.Run, control, pair harness.Cell) []string {
	var out []string
	for _, c := range []harness.Cell{control, pair} {
		for _, t := range trials {
			if t.Spec.Slot.Cell == c && !slices.Contains(out, t.CLI) {
				out = append(out, t.CLI)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return []string{""}
}

func countAt(trials []*loop.Run, c harness.Cell, cli string) stats.Count {
	var outcomes []bool
	for _, t := range trials {
		if t.Spec.Slot.Cell == c && t.CLI == cli {
			outcomes = append(outcomes, t.Passed())
		}
	}
	return stats.Tally(outcomes)
}

func contrast(at setup, control string, pair loop.Pair, passes, without stats.Count) Contrast {
	c := Contrast{
		Control: control, Pair: pair.Scenario, Lacks: pair.Lacks, Tier: at.tier, CLI: at.cli,
		Passes: rate(pair.Scenario, passes), Without: rate(control, without),
		Difference: difference(passes, without),
	}
	c.Reading = c.read()
	return c
}

func (c Contrast) read() Reading {
	switch {
	case c.Difference == nil:
		return NotRead
	case c.Passes.K == 0:
		return SaysNothing
	case c.Difference.Difference <= 0:
		return NotNeeded
	case c.Difference.CI.Low > 0:
		return Carried
	}
	return Unclear
}

// lacks names what the control goes without.
func (c Contrast) lacks() string {
	if c.Lacks == "" {
		return "what " + c.Control + " lacks"
	}
	return c.Lacks
}

// contrastText is a contrast and its reading in one sentence each.
func contrastText(c Contrast) string {
	text := fmt.Sprintf("%s: %s %s vs %s %s", c.Tier, c.Pair, countText(c.Passes), c.Control, countText(c.Without))
	if c.Difference != nil {
		text += ", difference " + c.Difference.short()
	}
	if c.CLI != "" {
		text += fmt.Sprintf(" (CLI %s)", c.CLI)
	}
	return text + ". " + readingText(c)
}

func readingText(c Contrast) string {
	switch c.Reading {
	case Carried:
		return fmt.Sprintf("%s passes and %s does not: %s carried it.", c.Pair, c.Control, c.lacks())
	case NotNeeded:
		return fmt.Sprintf("The control passes as often: %s was not needed.", c.lacks())
	case Unclear:
		return "The control passes less often, which may be chance."
	case SaysNothing:
		return fmt.Sprintf("%s does not pass, so %s says nothing.", c.Pair, c.Control)
	}
	return "One of the two has no valid session: nothing to read."
}

// needlessPairs warns where a control passes as often as its pair.
func needlessPairs(s *loop.State) []string {
	var out []string
	for _, c := range contrastsOf(s, s.Trials, armsOf(s)[1]) {
		if c.Reading == NotNeeded {
			out = append(out, fmt.Sprintf("%s on %s: %s was not needed, the control %s passes as often", c.Pair, c.Tier, c.lacks(), c.Control))
		}
	}
	return out
}

func countText(r Rate) string {
	if r.N == 0 {
		return "not run"
	}
	return fmt.Sprintf("%d/%d", r.K, r.N)
}

// Impossible is a control that cannot be passed: how often axis b passed all
// the same, under any wording. One pass halts the campaign.
type Impossible struct {
	Cell  string `json:"cell"`
	AxisB Rate   `json:"axis_b"`
	Leaks []Leak `json:"leaks"`
}

// Leak is a trial that passed axis b where it cannot be passed, and what the
// checker saw.
type Leak struct {
	Trial    string   `json:"trial"`
	Wording  string   `json:"wording"` // start or a candidate id
	JudgedBy string   `json:"judged_by,omitempty"`
	Evidence []string `json:"evidence"`
}

func impossibleOf(s *loop.State) []Impossible {
	out := []Impossible{}
	for _, c := range s.Started.Impossible {
		im := Impossible{Cell: c.String(), Leaks: []Leak{}}
		var passes []bool
		for _, t := range s.Trials {
			if t.Class != harness.Valid || t.Spec.Slot.Cell != c {
				continue
			}
			b := t.Result.Check(harness.AxisB)
			passes = append(passes, b.Outcome == harness.Pass)
			if b.Outcome == harness.Pass {
				im.Leaks = append(im.Leaks, Leak{
					Trial: t.ID, Wording: s.CandidateOf(t.Spec.Slot.Wording), JudgedBy: t.Result.JudgedBy, Evidence: evidenceText(b.Evidence),
				})
			}
		}
		im.AxisB = rate(c.String(), stats.Tally(passes))
		out = append(out, im)
	}
	return out
}

// evidenceText says where a check looked. What a session said stays in its
// transcript: it may repeat words of its task.
func evidenceText(list []harness.Evidence) []string {
	out := []string{}
	for _, e := range list {
		what := e.What
		if strings.HasPrefix(what, "says ") {
			what = "says so"
		}
		if e.Line > 0 {
			what = fmt.Sprintf("line %d of the transcript: %s", e.Line, what)
		}
		out = append(out, what)
	}
	return out
}

// leakText names one leak: the trial, the wording, and what it rests on.
func leakText(l Leak) string {
	text := fmt.Sprintf("trial %s under %s", l.Trial, l.Wording)
	if l.JudgedBy != "" {
		text += ", decided by the " + map[string]string{"file": "files it left", "judge": "judge"}[l.JudgedBy]
	}
	if len(l.Evidence) == 0 {
		return text + "; the checker names no evidence"
	}
	return text + ": " + strings.Join(l.Evidence, "; ")
}

// Guarded is all guard scenarios of a tier together. A detour and a task that
// was not done are two findings: only the first may veto.
type Guarded struct {
	Tier    string `json:"tier"`
	Detours []Rate `json:"detours"` // by wording, as named in each
	Done    []Rate `json:"done"`
}

// guardedOf counts by tier for each wording, in the order of the guard cells.
func guardedOf(s *loop.State, trials []loop.Run, arms []wording) []Guarded {
	out := []Guarded{}
	for _, c := range s.Started.Guards {
		if !slices.ContainsFunc(out, func(g Guarded) bool { return g.Tier == c.Tier }) {
			out = append(out, Guarded{Tier: c.Tier})
		}
	}
	for _, arm := range arms {
		valid := validOf(s, trials, arm)
		for i := range out {
			detours, done := tierGuards(s, valid, out[i].Tier)
			out[i].Detours = append(out[i].Detours, rate(arm.name, detours))
			out[i].Done = append(out[i].Done, rate(arm.name, done))
		}
	}
	return out
}

func tierGuards(s *loop.State, trials []*loop.Run, tier string) (detours, done stats.Count) {
	var went, did []bool
	for _, t := range trials {
		if t.Spec.Slot.Cell.Tier != tier || !slices.Contains(s.Started.Guards, t.Spec.Slot.Cell) {
			continue
		}
		went = append(went, t.Result.Check(harness.AxisA).Outcome != harness.Pass)
		did = append(did, t.Result.Check(harness.AxisB).Outcome == harness.Pass)
	}
	return stats.Tally(went), stats.Tally(did)
}
