package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"loopd/harness"
	"loopd/loop"
	"loopd/stats"
)

// resultsHeader names the columns of results.tsv.
var resultsHeader = []string{
	"scenario", "model", "axis_a", "axis_b", "result", "reasons", "candidate", "rep", "trial", "instrument", "cost_usd", "tokens", "seconds",
	"recorded", "source",
}

// Results renders results.tsv: one row per trial in ledger order, the header
// once. A cell can neither break its row nor be taken for a formula.
func Results(campaigns ...*loop.State) []byte {
	var b bytes.Buffer
	writeRow(&b, resultsHeader...)
	for _, s := range campaigns {
		for _, t := range s.Trials {
			writeRow(&b, resultRow(s, t)...)
		}
	}
	return b.Bytes()
}

// Row renders one scored run the way results.tsv begins: scenario, model, the
// axes, the result and the reasons.
func Row(scenario, model string, class harness.Class, r harness.Result) []byte {
	var b bytes.Buffer
	writeRow(&b, append([]string{scenario, model}, resultCells(class, r)...)...)
	return b.Bytes()
}

// RowHeader names the columns of Row.
func RowHeader() []byte {
	var b bytes.Buffer
	writeRow(&b, resultsHeader[:6]...)
	return b.Bytes()
}

// resultCells are the two axes, the result and the reasons.
func resultCells(class harness.Class, r harness.Result) []string {
	if class != harness.Valid {
		return []string{"A:" + string(harness.Invalid), "B:" + string(harness.Invalid), "INVALID", string(class)}
	}
	return []string{
		"A:" + string(r.Check(harness.AxisA).Outcome), "B:" + string(r.Check(harness.AxisB).Outcome),
		strings.ToUpper(string(r.Outcome)), strings.Join(r.Reasons(), ","),
	}
}

func resultRow(s *loop.State, t loop.Run) []string {
	cost := ""
	if t.CostUSD != nil {
		cost = strconv.FormatFloat(*t.CostUSD, 'f', 6, 64)
	}
	row := append([]string{t.Spec.Slot.Cell.Scenario, t.Spec.Slot.Cell.Tier}, resultCells(t.Class, t.Result)...)
	return append(row,
		s.CandidateOf(t.Spec.Slot.Wording), strconv.Itoa(t.Spec.Slot.Rep), t.ID, short(t.Instrument), cost,
		strconv.Itoa(t.Usage.Input+t.Usage.Output), strconv.FormatFloat(t.Seconds, 'f', 3, 64), recordedCell(t), sourceOf(s, t.Spec.Slot.Wording),
	)
}

// sourceOf is who wrote the candidate a wording came from, empty for the start.
func sourceOf(s *loop.State, wording string) string {
	if p := s.Find(s.CandidateOf(wording)); p != nil {
		return string(p.Candidate.Source)
	}
	return ""
}

// recordedCell is what was recorded, where an accepted rescore says otherwise.
func recordedCell(t loop.Run) string {
	if t.Recorded == nil {
		return ""
	}
	return strings.TrimSpace(strings.Join(resultCells(t.Recorded.Class, t.Recorded.Result), " "))
}

// LoopResults renders loop-results.tsv, which tools that follow a metric over
// iterations can read.
func LoopResults(s *loop.State) []byte {
	var b bytes.Buffer
	b.WriteString("# metric_direction: higher_is_better\n")
	writeRow(&b, "iteration", "timestamp", "commit", "metric", "delta", "guard", "guard-metric", "status", "description")
	base := meanRate(startCounts(s))
	writeRow(&b, "0", stamp(s.StartedAt), short(s.Started.Start), metric(base), "0", "-", "-", "baseline", "the wording the campaign started with")
	n := 0
	for _, p := range s.Progress {
		if p.Decided == nil {
			continue
		}
		n++
		writeRow(&b, loopRow(s, n, p)...)
	}
	return b.Bytes()
}

func loopRow(s *loop.State, n int, p *loop.Progress) []string {
	value, delta, guard := "-", "-", "-"
	if p.Comparison != nil {
		base, own := p.Comparison.Counts()
		value = metric(meanRate(own))
		if b, o := meanRate(base), meanRate(own); b != nil && o != nil {
			delta = strconv.FormatFloat(*o-*b, 'f', 4, 64)
		}
		if kept(p) {
			guard = "pass"
		} else if p.Decided.Reason == loop.ByVeto {
			guard = "fail"
		}
	}
	description := string(p.Decided.Verdict)
	if p.Decided.Reason != "" {
		description += " (" + string(p.Decided.Reason) + ")"
	}
	status := loopStatus(p)
	if s.Withdrawn(p.Candidate.ID) {
		status, description = "discard", description+", withdrawn by a rescore"
	}
	return []string{
		strconv.Itoa(n), stamp(p.DecidedAt), short(p.Commit), value, delta, guard, "-", status, p.Candidate.ID + " (" + string(p.Candidate.Source) + "): " + description,
	}
}

func kept(p *loop.Progress) bool {
	return p.Decided.Verdict == loop.Keep || p.Decided.Verdict == loop.Shortlisted
}

// loopStatus maps a verdict to the status words of that file.
func loopStatus(p *loop.Progress) string {
	switch {
	case kept(p):
		return "keep"
	case p.Decided.Verdict == loop.Broken:
		return "crash"
	case p.Decided.Reason == loop.ByLint:
		return "no-op"
	default:
		return "discard"
	}
}

func startCounts(s *loop.State) []stats.Count {
	var out []stats.Count
	cells, _, _ := campaignCells(s)
	for _, c := range cells {
		out = append(out, stats.Count{Pass: c.Champion.K, N: c.Champion.N})
	}
	return out
}

// meanRate is the mean of the cells' rates, nil when a cell has no rep.
func meanRate(counts []stats.Count) *float64 {
	sum := 0.0
	for _, c := range counts {
		r, ok := c.Rate()
		if !ok {
			return nil
		}
		sum += r
	}
	if len(counts) == 0 {
		return nil
	}
	sum /= float64(len(counts))
	return &sum
}

func metric(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 4, 64)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// writeRow writes one line of tab-separated cells.
func writeRow(b *bytes.Buffer, cells ...string) {
	for i, c := range cells {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(neutral(c))
	}
	b.WriteByte('\n')
}

// neutral keeps a cell from breaking its row and from being read as a formula.
func neutral(cell string) string {
	cell = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, cell)
	if cell != "-" && cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
		if _, err := strconv.ParseFloat(cell, 64); err != nil {
			return "'" + cell
		}
	}
	return cell
}

// short abbreviates a digest for reading.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// number prints an evidence value the way people read it.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
