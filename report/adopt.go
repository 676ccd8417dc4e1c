package report

import (
	"fmt"
	"slices"
	"strings"

	"loopd/candidates"
	"loopd/loop"
)

// WordingDiff renders the wording change from one Surface to another as one unified
// diff; empty where nothing differs.
func WordingDiff(before, after Texts) string { return diff(before, after) }

// Confirmed says whether the gate confirmed what was kept, and neither a rescore
// nor a person took that back.
func Confirmed(s *loop.State) bool {
	return s.Vetoed == nil && s.Ended != nil && s.Ended.Outcome == loop.Promoted && !s.Withdrawn(loop.SubjectGate)
}

// Adoptable says whether there is a promotion to take over.
func (c Campaign) Adoptable() bool {
	return c.Vetoed == "" && c.Outcome == loop.Promoted && (c.Rescored == nil || !slices.Contains(c.Rescored.Withdrawn, loop.SubjectGate))
}

// AdoptionMessage is the message of the one commit that takes the wording of a
// campaign over: what was kept, what the gate measured, and trailers to find
// the measurement by.
func AdoptionMessage(s *loop.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Adopt the wording of campaign %s\n\n", s.Started.Campaign)
	if Confirmed(s) {
		b.WriteString("Kept candidate by candidate, and confirmed together at the gate:\n\n")
	} else {
		b.WriteString("Kept candidate by candidate, and NOT confirmed at the gate:\n\n")
	}
	for _, id := range s.Kept {
		b.WriteString(wrap("- "+id+": "+candidates.OneLine(keptFor(s.Find(id)))) + "\n")
	}
	if g := gateOf(s); g != nil && g.Effect != nil {
		b.WriteString("\n" + wrap("Fresh sessions of start and champion at the gate: the mean pass rate differs by "+g.Effect.String()+".") + "\n")
	}
	b.WriteString("\n")
	for _, t := range [][2]string{
		{"Campaign", s.Started.Campaign},
		{"Candidates", names(s.Kept)},
		{"Cells", weighed(s)},
		{"E", evidence(s.Ended.EValue)},
		{"Instrument", s.Started.Instrument},
		{"Simulated", map[bool]string{true: "yes, the model is a program"}[s.Started.Simulated]},
	} {
		if t[1] != "" {
			b.WriteString(t[0] + ": " + t[1] + "\n")
		}
	}
	return b.String()
}

// keptFor is why a candidate was thought to help, and who said so.
func keptFor(p *loop.Progress) string {
	text := "by " + string(p.Candidate.Source)
	if why := rationale(p); why != "" {
		return why + " (" + text + ")"
	}
	return text
}

// weighed names the cells the gate rests on, or where there was none those of
// the metric.
func weighed(s *loop.State) string {
	var own []string
	for i, c := range s.Started.Objective {
		if s.GateComparison == nil || s.GateComparison.Weights[i] > 0 {
			own = append(own, c.String())
		}
	}
	return names(own)
}
