package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/loop"
)

// Funnel counts where the valid trials of one wording ended, by the two axes,
// over the objective cells. A pass needs both.
type Funnel struct {
	Name  string  `json:"name"` // start, champion or candidate
	Total Stage   `json:"total"`
	Cells []Stage `json:"cells"`
	// Reasons are those of the trials that did not pass, most frequent first. A
	// trial may have one for each axis.
	Reasons []Reasoned `json:"reasons"`
}

// Stage counts valid trials by the axes they passed.
type Stage struct {
	Name    string `json:"name"` // the cell, or total
	N       int    `json:"n"`
	Both    int    `json:"both"`
	OnlyA   int    `json:"only_a"`
	OnlyB   int    `json:"only_b"` // the right thing done without consulting
	Neither int    `json:"neither"`
	// InProse are those among OnlyB and Neither that only spoke of consulting or
	// recording.
	InProse int `json:"proposed_only_in_prose"`
}

// Reasoned counts the valid trials that gave one reason.
type Reasoned struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// add counts one valid trial.
func (s *Stage) add(r harness.Result) {
	a, b := r.Check(harness.AxisA), r.Check(harness.AxisB)
	s.N++
	switch {
	case a.Outcome == harness.Pass && b.Outcome == harness.Pass:
		s.Both++
	case a.Outcome == harness.Pass:
		s.OnlyA++
	case b.Outcome == harness.Pass:
		s.OnlyB++
	default:
		s.Neither++
	}
	if a.Outcome != harness.Pass && a.Reason == unprompted.ReasonProposedOnly {
		s.InProse++
	}
}

// wording picks the trials of one wording, under the name it has in a report.
type wording struct {
	name string
	of   string // start, or the id of a candidate
}

// championName is the name of the champion's arm in a campaign report.
const championName = "champion"

// armsOf are the two wordings a campaign report compares.
func armsOf(s *loop.State) []wording {
	return []wording{{"start", loop.SubjectStart}, {championName, s.CandidateOf(s.Champion)}}
}

// comparisonArms are the two wordings a candidate report compares.
func comparisonArms(s *loop.State, c *loop.Comparison) []wording {
	return []wording{{"champion", s.CandidateOf(c.Against)}, {"candidate", s.CandidateOf(c.Wording)}}
}

// until cuts the trials after the last one run for a subject, so that the report
// of a candidate does not change with what came later.
func until(trials []loop.Run, subject string) []loop.Run {
	for i := len(trials) - 1; i >= 0; i-- {
		if trials[i].Subject == subject {
			return trials[:i+1]
		}
	}
	return nil
}

// validOf lists the valid trials of one wording in the order they were recorded. A
// campaign has many and they are large, so they are pointed at.
func validOf(s *loop.State, trials []loop.Run, w wording) []*loop.Run {
	var out []*loop.Run
	for i := range trials {
		if t := &trials[i]; t.Class == harness.Valid && s.CandidateOf(t.Spec.Slot.Wording) == w.of {
			out = append(out, t)
		}
	}
	return out
}

// funnelsOf makes the funnel of each wording from the trials given.
func funnelsOf(s *loop.State, trials []loop.Run, arms []wording) []Funnel {
	out := []Funnel{}
	for _, arm := range arms {
		out = append(out, funnelOf(s, validOf(s, trials, arm), arm.name))
	}
	return out
}

func funnelOf(s *loop.State, trials []*loop.Run, name string) Funnel {
	f := Funnel{Name: name, Total: Stage{Name: "total"}, Cells: []Stage{}, Reasons: []Reasoned{}}
	for _, c := range s.Started.Objective {
		f.Cells = append(f.Cells, Stage{Name: c.String()})
	}
	counts := make(map[string]int)
	for _, t := range trials {
		i := slices.Index(s.Started.Objective, t.Spec.Slot.Cell)
		if i < 0 {
			continue
		}
		f.Cells[i].add(t.Result)
		f.Total.add(t.Result)
		if t.Passed() {
			continue
		}
		for _, reason := range t.Result.Reasons() {
			counts[reason]++
		}
	}
	for reason, n := range counts {
		f.Reasons = append(f.Reasons, Reasoned{reason, n})
	}
	slices.SortFunc(f.Reasons, func(a, b Reasoned) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Reason, b.Reason)) })
	return f
}

// mostReasons is how many reasons a page names for a wording.
const mostReasons = 5

// reasonsText names the most frequent reasons in one line.
func reasonsText(f Funnel) string {
	if len(f.Reasons) == 0 {
		return "none"
	}
	var parts []string
	for _, r := range f.Reasons[:min(mostReasons, len(f.Reasons))] {
		parts = append(parts, fmt.Sprintf("%s %d", tableCell(r.Reason), r.Count))
	}
	if rest := len(f.Reasons) - mostReasons; rest > 0 {
		parts = append(parts, fmt.Sprintf("and %d others", rest))
	}
	return strings.Join(parts, ", ")
}

// stageText prints the four ends of a cell in a fixed order.
func stageText(s Stage) string {
	if s.N == 0 {
		return "not run"
	}
	text := fmt.Sprintf("%d, %d, %d, %d", s.Both, s.OnlyA, s.OnlyB, s.Neither)
	if s.InProse > 0 {
		text += fmt.Sprintf(" (%d in prose)", s.InProse)
	}
	return text
}

// funnelCell is one row of the table by cell: the same cell in every wording.
type funnelCell struct {
	Name string
	Arms []Stage
}

// byCell turns funnels of the same cells into rows.
func byCell(funnels []Funnel) []funnelCell {
	var out []funnelCell
	for i, c := range funnels[0].Cells {
		row := funnelCell{Name: c.Name}
		for _, f := range funnels {
			row.Arms = append(row.Arms, f.Cells[i])
		}
		out = append(out, row)
	}
	return out
}
