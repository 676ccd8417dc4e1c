package report

import (
	"cmp"
	"fmt"
	"slices"

	"loopd/harness"
)

// cases compares the results case by case, in A's order, then what is new.
func (s *SavedDiff) cases(a, b []harness.Evaluated) {
	inA, inB := byCaseID(a), byCaseID(b)
	done := make(map[string]bool)
	for _, r := range a {
		if !done[r.Case] {
			done[r.Case] = true
			s.oneCase(r.Case, inA[r.Case], inB[r.Case])
		}
	}
	for _, r := range b {
		if !done[r.Case] {
			done[r.Case] = true
			s.oneCase(r.Case, nil, inB[r.Case])
		}
	}
}

func byCaseID(list []harness.Evaluated) map[string][]harness.Evaluated {
	out := make(map[string][]harness.Evaluated)
	for _, r := range list {
		out[r.Case] = append(out[r.Case], r)
	}
	return out
}

// oneCase pairs the results of one case: one with one whatever their documents
// are called, several by document.
func (s *SavedDiff) oneCase(id string, a, b []harness.Evaluated) {
	if len(a) == 1 && len(b) == 1 {
		s.pair(Item{Case: plain(id)}, a[0], b[0])
		return
	}
	several := len(a) > 1 || len(b) > 1
	at := func(r harness.Evaluated) Item {
		i := Item{Case: plain(id)}
		if several {
			i.Document = plain(document(r))
		}
		return i
	}
	inA, inB := byDocument(a), byDocument(b)
	for _, r := range a {
		if now, ok := inB[document(r)]; ok {
			s.pair(at(r), r, now)
			continue
		}
		i := at(r)
		i.What, i.Regression, i.A, i.B = ItemMissing, true, string(r.Outcome), "missing"
		s.add(i)
	}
	for _, r := range b {
		if _, known := inA[document(r)]; !known {
			i := at(r)
			i.What, i.A, i.B = ItemNew, "not there", string(r.Outcome)
			s.add(i)
		}
	}
}

func byDocument(list []harness.Evaluated) map[string]harness.Evaluated {
	out := make(map[string]harness.Evaluated, len(list))
	for _, r := range list {
		out[document(r)] = r
	}
	return out
}

// pair compares two results of one case.
func (s *SavedDiff) pair(at Item, a, b harness.Evaluated) {
	add := func(what ItemKind, regression bool, name, was, is string) {
		i := at
		i.What, i.Regression, i.Name, i.A, i.B = what, regression, name, was, is
		s.add(i)
	}
	if a.CaseDigest != b.CaseDigest {
		add(ItemCase, false, "", orDash(plain(a.CaseDigest)), orDash(plain(b.CaseDigest)))
	}
	if a.Outcome != b.Outcome {
		worse := a.Outcome == harness.Pass || b.Outcome == harness.NotRun || b.Outcome == harness.Invalid
		add(ItemOutcome, worse, "", string(a.Outcome), string(b.Outcome))
	}
	for _, name := range checkNames(a, b) {
		was, is := a.Check(name).Outcome, b.Check(name).Outcome
		if was != is && (was == harness.Fail || is == harness.Fail) {
			add(ItemCheck, is == harness.Fail, plain(name), string(was), string(is))
		}
	}
	s.tools(at, a.Coverage, b.Coverage)
	if a.Verdict != b.Verdict {
		add(ItemVerdict, false, "", orDash(plain(a.Verdict)), orDash(plain(b.Verdict)))
	}
	if was, is := a.Metrics[harness.ToolCalls], b.Metrics[harness.ToolCalls]; was != is {
		i, delta := at, is-was
		i.What, i.A, i.B, i.Delta = ItemToolCalls, fmt.Sprintf("%.0f", was), fmt.Sprintf("%.0f", is), &delta
		s.add(i)
	}
}

// checkNames are the names of the checks of both results, in their order.
func checkNames(a, b harness.Evaluated) []string {
	var out []string
	for _, c := range slices.Concat(a.Checks, b.Checks) {
		if !slices.Contains(out, c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

// tools compares which required tools are covered. A tool that only one of the
// cases asks for is no change of the trace.
func (s *SavedDiff) tools(at Item, a, b *harness.Coverage) {
	if a == nil || b == nil {
		return
	}
	for _, move := range []struct {
		from, to []string
		worse    bool
		was, is  string
	}{{a.Covered, b.Uncovered, true, "covered", "uncovered"}, {a.Uncovered, b.Covered, false, "uncovered", "covered"}} {
		for _, tool := range move.from {
			if slices.Contains(move.to, tool) {
				i := at
				i.What, i.Regression, i.Name, i.A, i.B = ItemTool, move.worse, plain(tool), move.was, move.is
				s.add(i)
			}
		}
	}
}

// Text is the item in one line.
func (i Item) Text() string {
	what := i.Case
	if i.Document != "" {
		what += " (" + i.Document + ")"
	}
	change := fmt.Sprintf("%s, was %s", i.B, i.A)
	if i.Delta != nil {
		change += fmt.Sprintf(" (%+.4g)", *i.Delta)
	}
	switch i.What {
	case ItemMissing:
		return fmt.Sprintf("%s is missing, was %s", what, i.A)
	case ItemNew:
		return fmt.Sprintf("%s is new: %s", what, i.B)
	case ItemOutcome:
		return fmt.Sprintf("%s: %s", what, change)
	case ItemCase:
		return what + ": the case itself has changed"
	case ItemVerdicts:
		return fmt.Sprintf("verdict %s: %s", i.Name, change)
	case ItemPassRate:
		return "pass rate: " + change
	}
	label := map[ItemKind]string{
		ItemCheck: "", ItemTool: "tool ", ItemVerdict: "verdict", ItemToolCalls: "tool calls", ItemDuration: "mean duration in ms",
		ItemTokens: "mean cost-equivalent tokens",
	}[i.What] + i.Name
	if what == "" {
		return fmt.Sprintf("%s: %s", cmp.Or(map[ItemKind]string{ItemToolCalls: "mean tool calls"}[i.What], label), change)
	}
	return fmt.Sprintf("%s: %s: %s", what, label, change)
}
