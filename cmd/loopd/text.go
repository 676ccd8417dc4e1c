package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"maps"

	"loopd/internal/rehearsal"
	"loopd/loop"
)

// outcomeText is how a rehearsal ended, in words.
func outcomeText(r rehearsal.Result) string {
	switch {
	case r.HaltedBy != "":
		return "halted by " + r.HaltedBy
	case r.Outcome == "":
		return "not finished"
	case r.GateE != nil:
		return fmt.Sprintf("%s, E = %s at the gate", r.Outcome, eText(r.GateE))
	}
	return string(r.Outcome)
}

func verdictList(list []loop.Verdict) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return strings.Join(out, " or ")
}

func verdictText(v loop.Verdict, r loop.Reason) string {
	switch {
	case v == "":
		return "none"
	case r != "":
		return fmt.Sprintf("%s (%s)", v, r)
	}
	return string(v)
}

// eText prints an evidence value to three digits, or a dash for none.
func eText(e *float64) string {
	if e == nil {
		return "-"
	}
	return strconv.FormatFloat(*e, 'g', 3, 64)
}

func mark(c rehearsal.Compared) string {
	switch {
	case c.Right:
		return "as planned"
	case c.Verdict == "":
		return "not reached"
	}
	return "MISMATCH: right is " + verdictList(c.Expected)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func invalidText(m map[string]int) string {
	if len(m) == 0 {
		return "none invalid"
	}
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[class], class))
	}
	return "invalid: " + strings.Join(parts, ", ")
}
